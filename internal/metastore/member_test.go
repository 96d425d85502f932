package metastore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnnouncementsAreLeases(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		announce := func(holder string, ttl time.Duration, members ...Member) error {
			return f.Announce(f.ctx(), holder, members, ttl)
		}
		broker, historical := Member{Role: "broker", Address: "h:1"}, Member{Role: "historical", Address: "h:2", Payload: []byte(`{"tier":"hot"}`)}
		f.ok(announce("a", time.Hour, broker, historical))
		f.refused(announce("b", time.Hour, historical), "Another process is already the [historical] at [h:2].")
		f.ok(announce("a", -time.Second, historical)) // it is no broker any more, and what it is has run out
		sees := func(want ...Member) {
			t.Helper()
			got, err := f.Members(f.ctx())
			f.ok(err)
			for i := range got {
				if got[i].Held != (got[i].Left > 0) || got[i].Left > time.Hour {
					t.Errorf("[%s] of a lease are left: %+v", got[i].Left, got[i])
				}
				got[i].Left = 0
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		historical.Holder, historical.Epoch = "a", 1
		sees(historical)
		f.ok(announce("b", time.Hour, historical))
		historical.Holder, historical.Epoch, historical.Held = "b", 2, true
		sees(historical)
		if n, err := f.RenewMembers(f.ctx(), "a", time.Hour); n != 0 || err != nil {
			t.Errorf("renewed [%d] of a process that was followed: %v", n, err)
		}
		if n, err := f.RenewMembers(f.ctx(), "b", time.Hour); n != 1 || err != nil {
			t.Errorf("renewed [%d]: %v", n, err)
		}
		f.ok(f.Withdraw(f.ctx(), "b"))
		sees()
	})
}

func TestAFencedContextGuardsEveryWrite(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		first, _, err := f.AcquireLease(f.ctx(), "overlord", "a", "", -time.Second)
		f.ok(err)
		second, acquired, err := f.AcquireLease(f.ctx(), "overlord", "b", "", time.Hour)
		f.ok(err)
		if !acquired {
			t.Fatal("the lease has not run out")
		}
		insert := func(l Lease, id string) error {
			return f.InsertTask(WithFence(f.ctx(), l.Fence()), Fence{}, Task{ID: id, GroupID: id, Active: true, StatusCode: "RUNNING"}, nil)
		}
		f.refused(insert(first, "t"), "This process is no longer the leader for [overlord]")
		f.ok(insert(second, "t"))
	})
}
