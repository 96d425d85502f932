package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// lapsing is a lease that another process holds, by a database whose clock may be ahead of the one
// that the test moves.
type lapsing struct {
	clock    clock.Clock
	expires  time.Time // by the database's clock
	ahead    time.Duration
	released bool
}

func (l *lapsing) now() time.Time { return l.clock.Now().Add(l.ahead) }

func (l *lapsing) renew(ttl time.Duration) { l.expires = l.now().Add(ttl) }

func (l *lapsing) AcquireLease(ctx context.Context, name, holder, address string, _ time.Duration) (metastore.Lease, bool, error) {
	if lease, _ := l.Leader(ctx, name); lease.Held {
		return lease, false, nil
	}
	return metastore.Lease{Name: name, Holder: holder, Address: address, Epoch: 2, Held: true}, true, nil
}

func (l *lapsing) RenewLease(context.Context, metastore.Lease, time.Duration) (bool, error) {
	return true, nil
}

func (l *lapsing) ReleaseLease(context.Context, metastore.Lease) error { return nil }

func (l *lapsing) Leader(_ context.Context, name string) (metastore.Lease, error) {
	left := max(0, l.expires.Sub(l.now()))
	if l.released {
		left = 0
	}
	return metastore.Lease{Name: name, Holder: "other", Address: "http://other", Epoch: 1, Held: left > 0, Left: left, Released: l.released}, nil
}

const lease = 3 * time.Second

func waiting(leases *lapsing, address string) *Leadership {
	return NewLeadership(leases, LeaderOptions{Name: Coordinator, Holder: "b", Address: address, TTL: lease, Clock: leases.clock, Log: quiet})
}

// look has a candidate look once and reports whether it leads then.
func look(t *testing.T, l *Leadership) (leads bool, seen metastore.Lease) {
	t.Helper()
	seen, leads, err := l.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return leads, seen
}

// A leader that is gone without a word is followed when its lease has run out and the next look is
// due, a sixth of a lease later, whenever in between it renewed it last, and whatever the
// database's clock does meanwhile: with the lease of service.leader.leaseDuration that is below
// five seconds (role, TestALeaderIsFollowedInTime).
func TestALeaderIsFollowedWithinALeaseAndALook(t *testing.T) {
	const step = lease / looksPerLease
	for _, renewed := range []time.Duration{0, time.Millisecond, step / 2, step - 1} {
		for jump := -1; jump < looksPerLease; jump++ { // before which look the clock goes forward; -1: never
			fake := fakeclock.New(time.Unix(0, 0))
			leases := &lapsing{clock: fake}
			candidate := waiting(leases, "http://b")
			leases.renew(lease)
			look(t, candidate)
			fake.Advance(renewed)
			leases.renew(lease)
			fake.Advance(step - renewed)
			took, n := step-renewed, 0
			for {
				if n == jump && n > 0 { // what was never seen does not count
					leases.ahead = time.Hour
				}
				if leads, _ := look(t, candidate); leads {
					break
				}
				if took > lease+step {
					t.Fatalf("renewed after %s: nobody leads after %s", renewed, took)
				}
				fake.Advance(step)
				took += step
				n++
			}
			if took < lease || took > lease+step {
				t.Errorf("renewed after %s, the clock goes forward before look [%d]: another leads after %s", renewed, jump, took)
			}
		}
	}
}

// The database's clock goes forward by some time, once or again and again: a leader that renews its
// lease is followed by nobody, and is known all the time.
func TestAClockThatGoesForwardCostsNoLeadership(t *testing.T) {
	for _, jump := range []time.Duration{lease / 2, lease, 10 * time.Second, time.Hour, -time.Hour} {
		for offset := range 2 {
			t.Run(fmt.Sprint(jump, " ", offset), func(t *testing.T) {
				fake := fakeclock.New(time.Unix(0, 0))
				leases := &lapsing{clock: fake}
				candidate, observer := waiting(leases, "http://b"), waiting(leases, "")
				for n := range 60 {
					if n%2 == 0 {
						leases.renew(lease) // as leaders do each third of a lease
					}
					if n%10 == 4+offset {
						leases.ahead += jump
					}
					if leads, _ := look(t, candidate); leads {
						t.Fatalf("a leader that lives is followed at look [%d]", n)
					}
					if _, seen := look(t, observer); !seen.Held || seen.Address != "http://other" {
						t.Fatalf("no leader is known at look [%d]: %+v", n, seen)
					}
					fake.Advance(lease / looksPerLease)
				}
			})
		}
	}
}

func TestALeaseThatIsGivenUpIsTakenAtOnce(t *testing.T) {
	leases := &lapsing{clock: fakeclock.New(time.Unix(0, 0))}
	candidate := waiting(leases, "http://b")
	leases.renew(lease)
	if leads, _ := look(t, candidate); leads {
		t.Fatal("a lease that is held was taken")
	}
	leases.released = true
	if _, seen := look(t, waiting(leases, "")); seen.Held {
		t.Error("a lease that was given up is held")
	}
	if leads, _ := look(t, candidate); !leads {
		t.Error("a lease that was given up was not taken at once")
	}
}

// announcing is announcements by a database's clock.
type announcing struct {
	Announcements
	members []metastore.Member
	expires map[string]time.Time
	now     time.Time
}

func (a *announcing) Members(context.Context) ([]metastore.Member, error) {
	out := make([]metastore.Member, len(a.members))
	for i, m := range a.members {
		m.Left = max(0, a.expires[m.Address].Sub(a.now))
		m.Held, m.Payload = m.Left > 0, []byte(`{"host":"`+m.Address+`"}`)
		out[i] = m
	}
	return out, nil
}

func TestAClockThatGoesForwardCostsNoMember(t *testing.T) {
	fake := fakeclock.New(time.Unix(0, 0))
	a := &announcing{now: fake.Now(), expires: map[string]time.Time{}, members: []metastore.Member{
		{Role: Broker, Address: "dies", Holder: "a", Epoch: 1}, {Role: Broker, Address: "lives", Holder: "b", Epoch: 1}, {Role: Broker, Address: "leaves", Holder: "c", Epoch: 1},
	}}
	m := &Membership{Store: a, Holder: "z", TTL: lease, View: NewView(), Clock: fake, Log: quiet}
	sees := func(when string, want int) {
		t.Helper()
		if err := m.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(m.View.Members("")); got != want {
			t.Errorf("%s: [%d] members instead of [%d]", when, got, want)
		}
	}
	for _, m := range a.members {
		a.expires[m.Address] = a.now.Add(lease)
	}
	advance := func(d time.Duration) {
		fake.Advance(d)
		a.now = a.now.Add(d)
	}
	sees("in the beginning", 3)
	a.now = a.now.Add(time.Hour)
	sees("behind the jump", 3)
	advance(lease / 3)
	a.expires["lives"] = a.now.Add(lease)
	sees("when one has renewed", 3)
	a.members = a.members[:2]
	sees("when one has left", 2)
	advance(lease - lease/3)
	sees("when one has run out", 1)
	a.members[1].Epoch, a.expires["lives"] = 2, time.Time{}
	sees("when another process has run out at its address", 0)
}
