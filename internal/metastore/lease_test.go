package metastore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// The tests of leases use lives of zero and of an hour: the database's clock is not the test's.

func TestLease(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		if l, err := f.Leader(f.ctx(), "coordinator"); err != nil || l.Epoch != 0 || l.Held {
			t.Errorf("before any lease: %+v %v", l, err)
		}
		acquire := func(holder string, ttl time.Duration) (Lease, bool) {
			t.Helper()
			l, ok, err := f.AcquireLease(f.ctx(), "coordinator", holder, "http://"+holder, ttl)
			f.ok(err)
			return l, ok
		}
		a, ok := acquire("a", time.Hour)
		if !ok || a.Epoch != 1 || !a.Held {
			t.Errorf("first: %+v %v", a, ok)
		}
		if l, ok := acquire("b", time.Hour); ok || l.Holder != "a" || l.Address != "http://a" || l.Epoch != 1 || l.Left <= time.Minute || l.Left > time.Hour {
			t.Errorf("while held: %+v %v", l, ok)
		}
		if ok, err := f.RenewLease(f.ctx(), a, 0); err != nil || !ok {
			t.Errorf("renewing: %v %v", ok, err)
		}
		b, ok := acquire("b", time.Hour)
		if !ok || b.Epoch != 2 {
			t.Errorf("after it ran out: %+v %v", b, ok)
		}
		if ok, err := f.RenewLease(f.ctx(), a, time.Hour); err != nil || ok {
			t.Errorf("a lost lease was renewed: %v %v", ok, err)
		}
		f.ok(f.ReleaseLease(f.ctx(), a))
		if l, err := f.Leader(f.ctx(), "coordinator"); err != nil || l.Holder != "b" || !l.Held {
			t.Errorf("the leader is %+v %v", l, err)
		}
		b, ok = acquire("b", time.Hour)
		if !ok || b.Epoch != 3 {
			t.Errorf("the holder after a restart: %+v %v", b, ok)
		}
		f.ok(f.ReleaseLease(f.ctx(), b))
		if l, err := f.Leader(f.ctx(), "coordinator"); err != nil || l.Held || l.Left != 0 || !l.Released {
			t.Errorf("after the release: %+v %v", l, err)
		}
		if c, ok := acquire("c", time.Hour); !ok || c.Epoch != 4 {
			t.Errorf("after the release: %+v %v", c, ok)
		}
	})
}

// A database that has lost its last moments gives an epoch, and the number of a run, that it has
// given before. Who had it then writes nothing.
func TestNumbersThatWereLost(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		lose := func(statement string) {
			t.Helper()
			f.ok(f.write(f.ctx(), func(ctx context.Context, tx *tx) error {
				_, err := tx.exec(ctx, statement)
				return err
			}))
			f.clock.Advance(time.Second)
		}
		acquire := func(holder string, ttl time.Duration) Lease {
			t.Helper()
			l, ok, err := f.AcquireLease(f.ctx(), "overlord", holder, "", ttl)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			return l
		}
		writes := func(fence Fence) error { return f.CheckFence(WithFence(f.ctx(), fence)) }
		deposed := func(who string, fence Fence) {
			t.Helper()
			if err := writes(fence); !errors.Is(err, ErrDeposed) {
				t.Errorf("%s: %v", who, err)
			}
		}
		acquire("a", 0)
		lost := acquire("b", time.Hour)
		f.ok(writes(lost.Fence()))
		lose("UPDATE leases SET holder = 'a', epoch = 1, expires = 0")
		again := acquire("c", time.Hour)
		if again.Epoch != lost.Epoch {
			t.Fatalf("epochs [%d] and [%d]", lost.Epoch, again.Epoch)
		}
		deposed("the leader that was lost", lost.Fence())
		f.ok(writes(again.Fence()))
		if ok, err := f.RenewLease(f.ctx(), lost, time.Hour); ok || err != nil {
			t.Errorf("the lost lease is renewed: %v %v", ok, err)
		}

		f.ok(f.InsertTask(f.ctx(), Fence{}, Task{ID: "t", GroupID: "t", Active: true, StatusCode: "RUNNING"}, nil))
		first, err := f.AssignTask(f.ctx(), Fence{}, "t", nil)
		f.ok(err)
		f.ok(writes(Fence{Task: "t", Epoch: first}))
		lose("UPDATE tasks SET run = 0")
		deposed("a run that nobody knows", Fence{Task: "t", Epoch: first})
		second, err := f.AssignTask(f.ctx(), Fence{}, "t", nil)
		f.ok(err)
		deposed("the run that was lost", Fence{Task: "t", Epoch: first})
		f.ok(writes(Fence{Task: "t", Epoch: second}))
	})
}

// TestFence tries every write that takes a fence with the epoch of a leader that was followed.
func TestFence(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		old, _, err := f.AcquireLease(f.ctx(), "overlord", "a", "", 0)
		f.ok(err)
		v := f.replace(day(1, 2), 1)
		next, ok, err := f.AcquireLease(f.ctx(), "overlord", "b", "", time.Hour)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		owner := f.owner(50)
		f.lock(owner, tasklock.Exclusive, day(2, 3))
		ctx, fence, null := f.ctx(), old.Fence(), json.RawMessage("null")
		writes := map[string]func(Fence) error{
			"Publish": func(fence Fence) error {
				_, err := f.Publish(ctx, Publication{
					Fence: fence, TaskID: owner.TaskID, DataSource: "wiki", Segments: []*timeline.Segment{segment(day(2, 3), v, 0, 1)},
				})
				return err
			},
			"AllocateSegment": func(fence Fence) error {
				r := f.appendRequest(owner, "s", day(5, 6).Start)
				r.Fence = fence
				_, _, _, err := f.AllocateSegment(ctx, r)
				return err
			},
			"TryLock": func(fence Fence) error {
				_, _, err := f.TryLock(ctx, LockRequest{Fence: fence, Request: tasklock.Request{Owner: owner, DataSource: "x", Interval: day(1, 2), Type: tasklock.Shared}})
				return err
			},
			"ReleaseLocks": func(fence Fence) error { return f.ReleaseLocks(ctx, fence, "x", nil) },
			"DeletePending": func(fence Fence) error {
				_, err := f.DeletePending(ctx, fence, "x", PendingFilter{})
				return err
			},
			"MarkUnused": func(fence Fence) error {
				_, err := f.MarkUnused(ctx, fence, "x", Selection{}, nil)
				return err
			},
			"MarkUsed":        func(fence Fence) error { _, err := f.MarkUsed(ctx, fence, "x", Selection{}); return err },
			"MarkSegmentUsed": func(fence Fence) error { _, err := f.MarkSegmentUsed(ctx, fence, "x", "y"); return err },
			"DeleteUnused":    func(fence Fence) error { _, err := f.DeleteUnused(ctx, fence, "x", []string{"y"}); return err },
			"ForgetFiles":     func(fence Fence) error { return f.ForgetFiles(ctx, fence, nil) },
			"CompactChanges":  func(fence Fence) error { return f.CompactChanges(ctx, fence, 0) },
			"InsertTask": func(fence Fence) error {
				return f.InsertTask(ctx, fence, Task{ID: "t", GroupID: "t", Active: true}, nil)
			},
			"UpdateTask":    func(fence Fence) error { _, err := f.UpdateTask(ctx, fence, "t", "RUNNING", nil); return err },
			"FinishTask":    func(fence Fence) error { _, err := f.FinishTask(ctx, fence, "t", "FAILED", nil); return err },
			"DeleteTasks":   func(fence Fence) error { _, _, err := f.DeleteTasks(ctx, fence, 0, 1); return err },
			"PutTaskStage":  func(fence Fence) error { return f.PutTaskStage(ctx, fence, "t", "0", null) },
			"PutTaskFile":   func(fence Fence) error { return f.PutTaskFile(ctx, fence, TaskFile{TaskID: "t", Kind: "log"}) },
			"SetRules":      func(fence Fence) error { _, err := f.SetRules(ctx, fence, "x", null, nil); return err },
			"SetSetting":    func(fence Fence) error { _, err := f.SetSetting(ctx, fence, "x", null, nil); return err },
			"DeleteSetting": func(fence Fence) error { _, err := f.DeleteSetting(ctx, fence, "x", nil); return err },
			"DeleteAudit":   func(fence Fence) error { _, err := f.DeleteAudit(ctx, fence, 0); return err },
			"PutSupervisor": func(fence Fence) error { return f.PutSupervisor(ctx, fence, SupervisorVersion{ID: "x"}, nil) },
			"SwapOffsets": func(fence Fence) error {
				return f.SwapOffsets(ctx, fence, "x", OffsetSwap{ID: "x", Next: func(json.RawMessage) (json.RawMessage, error) { return null, nil }})
			},
			"DeleteOffsets": func(fence Fence) error { _, err := f.DeleteOffsets(ctx, fence, "x"); return err },
		}
		for name, write := range writes {
			if err := write(fence); !errors.Is(err, ErrDeposed) {
				t.Errorf("%s by a deposed leader: %v", name, err)
			}
			if err := write(Fence{Lease: "nobody", Epoch: 1}); !errors.Is(err, ErrDeposed) {
				t.Errorf("%s with a lease that was never held: %v", name, err)
			}
		}
		for _, name := range []string{"InsertTask", "UpdateTask", "FinishTask", "Publish", "SetRules"} {
			f.ok(writes[name](next.Fence()))
		}
	})
}
