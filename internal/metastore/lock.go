package metastore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
)

// ErrLockRevoked marks the fault of a task whose lock was revoked for a task of higher priority.
var ErrLockRevoked = errors.New("lock revoked")

// LockRequest is a lock request of a leader or of a run of a task.
type LockRequest struct {
	Fence Fence
	tasklock.Request
}

// TryLock grants a lock if no other group holds a conflicting lock, or only conflicting locks of
// lower priority, which it revokes. A group that already holds a lock of the type over the interval
// gets that lock. False: the lock is not free. ErrLockRevoked: the group has lost the lock.
func (s *Store) TryLock(ctx context.Context, r LockRequest) (lock tasklock.Lock, granted bool, err error) {
	if err := r.Validate(); err != nil {
		return tasklock.Lock{}, false, err
	}
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := r.Fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		lock, granted, err = t.tryLock(ctx, r)
		return err
	})
	return lock, granted && err == nil, err
}

// AcquireLock is TryLock that waits until the lock is free, at most for timeout. False: the timeout
// expired.
func (s *Store) AcquireLock(ctx context.Context, r LockRequest, timeout time.Duration) (tasklock.Lock, bool, error) {
	deadline := s.clock.NewTimer(timeout)
	defer deadline.Stop()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	expired := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-deadline.C():
			close(expired)
			stop()
		case <-waiting.Done():
		}
	}()
	defer func() { stop(); <-watched }()
	for {
		unlocked := s.unlocked.next()
		lock, granted, err := s.TryLock(ctx, r)
		if err != nil || granted {
			return lock, granted, err
		}
		if err := s.await(waiting, unlocked, pollLocks); err != nil {
			select {
			case <-expired:
				return tasklock.Lock{}, false, nil
			default:
				return tasklock.Lock{}, false, err
			}
		}
	}
}

// tryLock is TryLock inside a transaction.
func (t *tx) tryLock(ctx context.Context, r LockRequest) (tasklock.Lock, bool, error) {
	held, err := t.overlappingLocks(ctx, r.DataSource, r.Interval)
	if err != nil {
		return tasklock.Lock{}, false, err
	}
	var losers []tasklock.Lock
	for _, l := range held {
		switch {
		case l.GroupID == r.Owner.GroupID:
			if l.Type != r.Type || !l.Interval.Contains(r.Interval) {
				continue
			}
			if l.Revoked {
				return l, false, revokedFault(r.Owner.TaskID, l)
			}
			return l, true, t.addHolder(ctx, l.ID, r.Owner.TaskID)
		case l.Revoked || tasklock.Coexist(l.Type, l.Interval, r.Type, r.Interval):
		case l.Priority >= r.Owner.Priority:
			return tasklock.Lock{}, false, nil
		default:
			losers = append(losers, l)
		}
	}
	for _, l := range losers {
		if _, err := t.exec(ctx, "UPDATE task_locks SET revoked = 1 WHERE id = ?", l.ID); err != nil {
			return tasklock.Lock{}, false, err
		}
		t.released = true
	}
	lock := tasklock.Lock{
		Type: r.Type, GroupID: r.Owner.GroupID, DataSource: r.DataSource, Interval: r.Interval, Version: firstAppendVersion, Priority: r.Owner.Priority,
	}
	if r.Type != tasklock.Append {
		if lock.Version, err = t.grantVersion(ctx, r.DataSource, r.Interval, held); err != nil {
			return tasklock.Lock{}, false, err
		}
	}
	if lock.ID, err = t.counter(ctx, "lock", 1); err != nil {
		return tasklock.Lock{}, false, err
	}
	_, err = t.exec(ctx, "INSERT INTO task_locks (id, group_id, datasource, lock_type, start_ms, end_ms, version, priority, revoked, created) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
		lock.ID, lock.GroupID, lock.DataSource, string(lock.Type), lock.Interval.Start, lock.Interval.End, lock.Version, lock.Priority, t.now)
	if err != nil {
		return tasklock.Lock{}, false, err
	}
	return lock, true, t.addHolder(ctx, lock.ID, r.Owner.TaskID)
}

func (t *tx) addHolder(ctx context.Context, lockID int64, taskID string) error {
	_, err := t.exec(ctx, "INSERT INTO task_lock_holders (task_id, lock_id) VALUES (?, ?) ON CONFLICT (task_id, lock_id) DO NOTHING", taskID, lockID)
	return err
}

func revokedFault(taskID string, l tasklock.Lock) error {
	return fault.Conflict("The lock of task [%s] on interval [%s] of datasource [%s] was revoked by a task of higher priority",
		taskID, l.Interval, l.DataSource).WithCause(ErrLockRevoked)
}

const selectLocks = "SELECT l.id, l.lock_type, l.group_id, l.datasource, l.start_ms, l.end_ms, l.version, l.priority, l.revoked FROM task_locks l "

func (c conn) locks(ctx context.Context, condition string, args ...any) ([]tasklock.Lock, error) {
	return list(ctx, c, func(rows *sql.Rows) (l tasklock.Lock, err error) {
		return l, rows.Scan(&l.ID, &l.Type, &l.GroupID, &l.DataSource, &l.Interval.Start, &l.Interval.End, &l.Version, &l.Priority, &l.Revoked)
	}, selectLocks+condition+" ORDER BY l.id", args...)
}

// taskLocks returns the locks that a task holds on a datasource, revoked ones too.
func (c conn) taskLocks(ctx context.Context, taskID, dataSource string) ([]tasklock.Lock, error) {
	return c.locks(ctx, "JOIN task_lock_holders h ON h.lock_id = l.id WHERE h.task_id = ? AND l.datasource = ?", taskID, dataSource)
}

// TaskLocks returns the locks that a task holds, including revoked ones, in the order in which they
// were granted.
func (s *Store) TaskLocks(ctx context.Context, taskID string) ([]tasklock.Lock, error) {
	return s.read().locks(ctx, "JOIN task_lock_holders h ON h.lock_id = l.id WHERE h.task_id = ?", taskID)
}

// LockHolders returns the ids of the tasks that hold locks, except revoked ones.
func (s *Store) LockHolders(ctx context.Context) ([]string, error) {
	return list(ctx, s.read(), scanText, "SELECT DISTINCT h.task_id FROM task_lock_holders h JOIN task_locks l ON l.id = h.lock_id WHERE l.revoked = 0")
}

// Locks returns all locks of a datasource, or of all datasources if the name is empty.
func (s *Store) Locks(ctx context.Context, dataSource string) ([]tasklock.Lock, error) {
	if dataSource == "" {
		return s.read().locks(ctx, "")
	}
	return s.read().locks(ctx, "WHERE l.datasource = ?", dataSource)
}

// ReleaseLocks releases the locks of a task that overlap the interval, or all if it is nil. A lock
// without holders is deleted.
func (s *Store) ReleaseLocks(ctx context.Context, fence Fence, taskID string, interval *chrono.Interval) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		return t.releaseLocks(ctx, taskID, interval)
	})
}

func (t *tx) releaseLocks(ctx context.Context, taskID string, interval *chrono.Interval) error {
	condition, args := "h.task_id = ?", []any{taskID}
	if interval != nil {
		condition += " AND l.start_ms >= ? AND l.end_ms <= ?"
		args = append(args, interval.Start, interval.End)
	}
	held, err := t.locks(ctx, "JOIN task_lock_holders h ON h.lock_id = l.id WHERE "+condition, args...)
	if err != nil {
		return err
	}
	for _, l := range held {
		if _, err := t.exec(ctx, "DELETE FROM task_lock_holders WHERE task_id = ? AND lock_id = ?", taskID, l.ID); err != nil {
			return err
		}
		var others int64
		if err := t.row(ctx, []any{&others}, "SELECT COUNT(*) FROM task_lock_holders WHERE lock_id = ?", l.ID); err != nil {
			return err
		}
		if others > 0 {
			continue
		}
		for _, query := range []string{"DELETE FROM upgrades WHERE lock_id = ?", "DELETE FROM task_locks WHERE id = ?"} {
			if _, err := t.exec(ctx, query, l.ID); err != nil {
				return err
			}
		}
		t.released = true
	}
	return nil
}

// RevokeLock revokes a lock, as a task of higher priority would.
func (s *Store) RevokeLock(ctx context.Context, fence Fence, lockID int64) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "UPDATE task_locks SET revoked = 1 WHERE id = ?", lockID)
		if err == nil && n == 0 {
			return fault.NotFound("There is no lock [%d]", lockID)
		}
		t.released = true
		return err
	})
}
