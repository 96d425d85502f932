package metastore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
)

// TestLockTable is the table of spec/ingestion.md, section 9, for the same interval and for one
// inside the other.
func TestLockTable(t *testing.T) {
	kinds := []tasklock.Type{tasklock.Exclusive, tasklock.Shared, tasklock.Append, tasklock.Replace, tasklock.Kill}
	outer, inner, beside := day(1, 4), day(2, 3), day(4, 5)
	for _, held := range kinds {
		for _, asked := range kinds {
			name := string(held) + " held, " + string(asked) + " asked"
			same := map[[2]tasklock.Type]bool{{tasklock.Shared, tasklock.Shared}: true, {tasklock.Append, tasklock.Append}: true, {tasklock.Append, tasklock.Replace}: true, {tasklock.Replace, tasklock.Append}: true}[[2]tasklock.Type{held, asked}]
			if (held == tasklock.Kill) != (asked == tasklock.Kill) {
				same = true
			}
			if got := tasklock.Coexist(held, outer, asked, outer); got != same {
				t.Errorf("%s, same interval: %v", name, got)
			}
			// An append inside a replacement goes, a replacement inside an append does not.
			insideOuter := same && !(held == tasklock.Append && asked == tasklock.Replace)
			if got := tasklock.Coexist(held, outer, asked, inner); got != insideOuter {
				t.Errorf("%s inside: %v", name, got)
			}
			aroundInner := same && !(held == tasklock.Replace && asked == tasklock.Append)
			if got := tasklock.Coexist(held, inner, asked, outer); got != aroundInner {
				t.Errorf("%s around: %v", name, got)
			}
			if !tasklock.Coexist(held, outer, asked, beside) {
				t.Errorf("%s beside each other exclude each other", name)
			}
			if tasklock.Coexist(held, outer, asked, inner) != tasklock.Coexist(asked, inner, held, outer) {
				t.Errorf("%s: not symmetric", name)
			}
		}
	}
}

func (f *fixture) try(owner tasklock.Owner, kind tasklock.Type, iv chrono.Interval) (tasklock.Lock, bool) {
	f.t.Helper()
	l, granted, err := f.TryLock(f.ctx(), LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "wiki", Interval: iv, Type: kind}})
	f.ok(err)
	return l, granted
}

func TestLocksAndPriorities(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		batch, stream, compact := f.owner(50), f.owner(75), f.owner(25)
		first := f.lock(batch, tasklock.Exclusive, day(1, 3))
		if _, granted := f.try(f.owner(50), tasklock.Exclusive, day(2, 4)); granted {
			t.Error("equal priority got the lock")
		}
		if _, granted := f.try(compact, tasklock.Replace, day(2, 4)); granted {
			t.Error("lower priority got the lock")
		}
		if again := f.lock(batch, tasklock.Exclusive, day(1, 2)); again.ID != first.ID {
			t.Error("the holder got another lock over a part of its own")
		}
		mate := tasklock.Owner{TaskID: "mate", GroupID: batch.GroupID, Priority: 50}
		if again := f.lock(mate, tasklock.Exclusive, day(1, 2)); again.ID != first.ID {
			t.Error("tasks of one group do not share")
		}
		wider := f.lock(batch, tasklock.Exclusive, day(1, 5))
		if wider.ID == first.ID || wider.Version <= first.Version {
			t.Errorf("a wider lock: %+v after %+v", wider, first)
		}

		// A high priority takes only what it overlaps, and all of it or nothing.
		f.lock(f.owner(80), tasklock.Shared, day(4, 6))
		if _, granted := f.try(stream, tasklock.Exclusive, day(1, 6)); granted {
			t.Error("a lock was granted over one of higher priority")
		}
		held, err := f.TaskLocks(f.ctx(), batch.TaskID)
		f.ok(err)
		if len(held) != 2 || held[0].Revoked || !held[1].Revoked {
			t.Errorf("locks of the batch task: %+v", held)
		}
		f.lock(stream, tasklock.Exclusive, day(1, 2))
		_, _, err = f.TryLock(f.ctx(), LockRequest{Request: tasklock.Request{Owner: batch, DataSource: "wiki", Interval: day(1, 2), Type: tasklock.Exclusive}})
		if !errors.Is(err, ErrLockRevoked) {
			t.Errorf("asking for a revoked lock: %v", err)
		}

		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, batch.TaskID, nil))
		if held, err := f.TaskLocks(f.ctx(), mate.TaskID); err != nil || len(held) != 1 {
			t.Errorf("the mate's lock went with the other's: %v %v", held, err)
		}
		// Other datasources are not concerned.
		if _, granted, err := f.TryLock(f.ctx(), LockRequest{Request: tasklock.Request{Owner: compact, DataSource: "other", Interval: chrono.Eternity, Type: tasklock.Exclusive}}); err != nil || !granted {
			t.Errorf("lock of another datasource: %v %v", granted, err)
		}
	})
}

func TestAdminRevokesLock(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		l := f.lock(owner, tasklock.Exclusive, day(1, 2))
		f.ok(f.RevokeLock(f.ctx(), Fence{}, l.ID))
		f.refused(f.RevokeLock(f.ctx(), Fence{}, 99), "There is no lock [99]")
		f.lock(f.owner(0), tasklock.Exclusive, day(1, 2))
	})
}

func TestLockVersions(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		next := func() string {
			owner := f.owner(50)
			l := f.lock(owner, tasklock.Exclusive, day(1, 2))
			f.ok(f.ReleaseLocks(f.ctx(), Fence{}, owner.TaskID, nil))
			return l.Version
		}
		if got := next(); got != "2026-03-05T10:00:00.000Z" {
			t.Errorf("first version %s", got)
		}
		if got := next(); got != "2026-03-05T10:00:00.001Z" {
			t.Errorf("second version in one millisecond: %s", got)
		}
		f.clock.Set(testStart.AddDate(-1, 0, 0))
		if got := next(); got != "2026-03-05T10:00:00.002Z" {
			t.Errorf("version after the clock was set back: %s", got)
		}
		// Segments of elsewhere, used or not, may have versions of the future, or ones that are no
		// instants.
		for _, version := range []string{"2030-01-01T00:00:00.000Z", "zzz"} {
			owner := f.owner(50)
			l := f.lock(owner, tasklock.Exclusive, day(1, 2))
			_, err := f.Store.Publish(f.ctx(), Publication{TaskID: owner.TaskID, DataSource: "wiki"})
			f.ok(err)
			f.ok(f.write(f.ctx(), func(ctx context.Context, tx *tx) error {
				return tx.insertSegments(ctx, "", prepared(segment(day(1, 2), version, 0, 1)), nil)
			}))
			if _, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{}, nil); err != nil {
				t.Fatal(err)
			}
			f.ok(f.ReleaseLocks(f.ctx(), Fence{}, l.GroupID, nil))
			if got := next(); got <= version {
				t.Errorf("version %s is not above %s", got, version)
			}
		}
	})
}

func TestAcquireLockWaits(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		holder, waiter := f.owner(50), f.owner(50)
		f.lock(holder, tasklock.Exclusive, day(1, 2))
		request := LockRequest{Request: tasklock.Request{Owner: waiter, DataSource: "wiki", Interval: day(1, 2), Type: tasklock.Exclusive}}
		type outcome struct {
			granted bool
			err     error
		}
		acquire := func(ctx context.Context) <-chan outcome {
			done := make(chan outcome, 1)
			go func() {
				_, granted, err := f.AcquireLock(ctx, request, time.Minute)
				done <- outcome{granted, err}
			}()
			return done
		}
		timers := 1 // the timeout, and where other processes may release locks the next look
		if f.dialect.lockWriter != "" {
			timers = 2
		}

		expired := acquire(f.ctx())
		f.ok(f.clock.BlockUntil(f.ctx(), timers))
		f.clock.Advance(time.Minute)
		if got := <-expired; got.granted || got.err != nil {
			t.Errorf("after the timeout: %+v", got)
		}
		ctx, cancel := context.WithCancel(f.ctx())
		canceled := acquire(ctx)
		f.ok(f.clock.BlockUntil(f.ctx(), timers))
		cancel()
		if got := <-canceled; got.granted || !errors.Is(got.err, context.Canceled) {
			t.Errorf("after cancel: %+v", got)
		}
		patient := acquire(f.ctx())
		f.ok(f.clock.BlockUntil(f.ctx(), timers))
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, holder.TaskID, nil))
		if got := <-patient; !got.granted || got.err != nil {
			t.Errorf("after the release: %+v", got)
		}
	})
}

func TestLockJSON(t *testing.T) {
	got, err := json.Marshal(tasklock.Lock{Type: tasklock.Exclusive, GroupID: "g", DataSource: "wiki", Interval: day(1, 2), Version: "v", Priority: 50})
	const want = `{"granularity":"timeChunk","type":"EXCLUSIVE","groupId":"g","dataSource":"wiki",` +
		`"interval":"2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z","version":"v","priority":50,"revoked":false}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestLockRequestRefused(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		for text, r := range map[string]tasklock.Request{
			"lock type [NONE]": {Owner: f.owner(0), DataSource: "wiki", Interval: day(1, 2), Type: "NONE"},
			"not empty":        {Owner: f.owner(0), DataSource: "wiki", Type: tasklock.Exclusive},
			"needs a":          {Owner: f.owner(0), Interval: day(1, 2), Type: tasklock.Exclusive},
		} {
			_, _, err := f.TryLock(f.ctx(), LockRequest{Request: r})
			f.refused(err, text)
		}
	})
}
