package task

import "context"

// LockStore is a Store that records which tasks hold locks.
type LockStore interface {
	// LockHolders returns the ids of the tasks that hold locks.
	LockHolders(ctx context.Context) ([]string, error)
	// ReleaseLocks releases all locks of a task.
	ReleaseLocks(ctx context.Context, id string) error
}

// holders returns the tasks that hold locks; none if that is not known.
func (q *Queue) holders(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	locks, ok := q.store.(LockStore)
	if !ok {
		return out
	}
	ids, err := locks.LockHolders(ctx)
	if err != nil {
		q.o.Log.WarnContext(ctx, "failed to read the holders of locks", "error", err)
	}
	for _, id := range ids {
		out[id] = true
	}
	return out
}

// yield has the tasks that are ready and have no slot give their locks back, but for those that ran
// before: what those did holds only under the locks that they have. When a slot is free they are
// made ready again.
func (q *Queue) yield(ctx context.Context) {
	var ready []*entry
	for _, e := range q.inState(Pending) {
		q.mu.Lock()
		if e.ready && !e.resumed {
			ready = append(ready, e)
		}
		q.mu.Unlock()
	}
	if len(ready) == 0 {
		return
	}
	if _, ok := q.store.(LockStore); !ok {
		return
	}
	holders := q.holders(ctx)
	for _, e := range ready {
		if holders[e.task.ID] {
			q.release(ctx, e)
		}
	}
}

// release gives the locks of a task back that does not run.
func (q *Queue) release(ctx context.Context, e *entry) {
	locks, ok := q.store.(LockStore)
	if !ok {
		return
	}
	if err := locks.ReleaseLocks(ctx, e.task.ID); err != nil {
		q.o.Log.WarnContext(ctx, "failed to release the locks of a waiting task", "task", e.task.ID, "error", err)
		return
	}
	q.mu.Lock()
	e.ready = false
	q.mu.Unlock()
}

// roomLocked reports whether this process has a free slot.
func (q *Queue) roomLocked() bool {
	busy := 0
	for _, e := range q.mu.order {
		if e.state == Running && e.apart == "" {
			busy++
		}
	}
	return busy < q.o.Capacity && !q.mu.paused
}

// restsNow reports whether a task is not given to a worker yet.
func (q *Queue) restsNow(e *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.o.Clock.Now().Before(e.rests)
}
