package streams

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/task"
)

// checkPending looks after the groups that publish.
func (k *keeper) checkPending(ctx context.Context) {
	for _, g := range slices.Clone(k.pending) {
		if !slices.Contains(k.pending, g) {
			continue // it was ended with the one before it
		}
		done, failed := k.outcome(ctx, g)
		switch {
		case done:
			k.stopAll(ctx, g, "another task of its group has published")
			k.forgetPending(g, true)
		case failed:
			k.o.Log.WarnContext(ctx, "task group did not publish", "supervisor", k.spec().ID(), "group", g.id, "sequence", g.sequence)
			k.giveUp(ctx, g)
		case k.now() >= g.deadline:
			k.meet(ctx, &groupError{g.sequence})
			k.giveUp(ctx, g)
		}
	}
}

// outcome counts the tasks of a group that have ended. done: one has published all; failed: all
// have failed.
func (k *keeper) outcome(ctx context.Context, g *group) (done, failed bool) {
	for _, id := range ids(g) {
		s, err := k.o.Queue.Find(ctx, id)
		if err != nil {
			return false, false // it is asked again at the next run
		}
		if s != nil && !s.State.Done() {
			continue
		}
		delete(g.tasks, id)
		good := s != nil && s.State == task.Succeeded
		k.countTask(good)
		done = done || good
	}
	return done, len(g.tasks) == 0
}

// countTask counts a task that has ended.
func (k *keeper) countTask(good bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.states.endTask(good)
	if !good {
		k.mu.states.propose(k.mu.states.current)
	}
}

func (k *keeper) stopAll(ctx context.Context, g *group, why string) {
	for _, id := range ids(g) {
		k.kill(ctx, id, why)
	}
	clear(g.tasks)
}

// forgetPending drops a pending group. Where its successors begin is stored once it has published.
func (k *keeper) forgetPending(g *group, published bool) {
	k.pending = slices.DeleteFunc(k.pending, func(o *group) bool { return o == g })
	for p, end := range g.ends {
		if !published || k.next[p] == end {
			delete(k.next, p)
		}
	}
}

// giveUp ends a group that has not published, with all that read on behind it: they could never
// publish.
func (k *keeper) giveUp(ctx context.Context, g *group) {
	k.stopAll(ctx, g, "its group has not published in time, or has failed")
	k.forgetPending(g, false)
	for _, o := range slices.Clone(k.pending) {
		if o.overlaps(g.starts) {
			k.stopAll(ctx, o, "a group before it has not published")
			k.forgetPending(o, false)
		}
	}
	k.endReading(ctx, g.starts, "the group before it has not published")
}

// endReading ends the reading groups that have some of these partitions.
func (k *keeper) endReading(ctx context.Context, of stream.Positions, why string) {
	for id, g := range k.reading {
		if g.overlaps(of) {
			k.stopAll(ctx, g, why)
			delete(k.reading, id)
		}
	}
}

// groupError says that a group has not published in time.
type groupError struct {
	sequence string
}

func (e *groupError) Error() string {
	return "Group [" + e.sequence + "] has not published within completionTimeout; its records are read again"
}
