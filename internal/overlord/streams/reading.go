package streams

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/stream"
)

// rest says how long no task of a group is made: since some have failed one right after the other.
type rest struct {
	failures int
	until    time.Time
}

// lostTask reports whether a task of the supervisor has ended.
func (k *keeper) lostTask(ctx context.Context) bool {
	active := map[string]bool{}
	for _, s := range k.mine() {
		active[s.Task.ID] = true
	}
	for _, g := range k.reading {
		for id := range g.tasks {
			if !active[id] {
				return true
			}
		}
	}
	for _, g := range k.pending {
		for id := range g.tasks {
			if !active[id] {
				return true
			}
		}
	}
	for id := range k.strange {
		if !active[id] {
			return true
		}
	}
	return false
}

// checkReading drops the tasks of reading groups that have ended. A task that succeeded, though its
// group reads, was told to by somebody else: its group begins anew where it has ended.
func (k *keeper) checkReading(ctx context.Context) {
	for id, g := range k.reading {
		before := len(g.tasks)
		done, _ := k.outcome(ctx, g)
		switch {
		case done:
			k.stopAll(ctx, g, "another task of its group has published")
			delete(k.reading, id)
			for p := range g.starts {
				delete(k.next, p)
			}
		case len(g.tasks) < before:
			k.restAfter(g)
		case len(g.tasks) > 0 && k.now()-g.newest() > restForgotten:
			delete(k.rests, id)
		}
	}
}

// newest is when the last of the group's tasks was made.
func (g *group) newest() (at int64) {
	for _, m := range g.tasks {
		at = max(at, m.made)
	}
	return at
}

// restForgotten is how long a task has read well whose predecessors failed, in milliseconds.
const restForgotten = 60_000

// restAfter has a group wait before it gets another task, but for its first failure: tasks that
// fail at once would else follow each other without end.
func (k *keeper) restAfter(g *group) {
	r := k.rests[g.id]
	if r == nil {
		k.rests[g.id] = &rest{failures: 1}
		return
	}
	r.failures++
	r.until = k.o.Clock.Now().Add(millis(k.spec().IO.Period))
}

// resting reports whether a group gets no task now.
func (k *keeper) resting(id int) bool {
	r := k.rests[id]
	return r != nil && k.o.Clock.Now().Before(r.until)
}

// restsUntil is when the first group that waits gets a task again.
func (k *keeper) restsUntil() (first time.Time) {
	for _, r := range k.rests {
		if r.until.After(k.o.Clock.Now()) && (first.IsZero() || r.until.Before(first)) {
			first = r.until
		}
	}
	return first
}

// unpublished drops the checkpoints of a group whose sequences are published: stored is how far
// that is.
func (k *keeper) unpublished(g *group, stored stream.Positions) {
	for {
		first, ok := lowest(g.checkpoints)
		if !ok {
			return
		}
		next, ok := g.checkpoints[first+1]
		if !ok {
			return
		}
		for p, at := range next {
			have, known := stored[p]
			if !known || k.compare(have, at) < 0 {
				return
			}
		}
		delete(g.checkpoints, first)
	}
}

func lowest(checkpoints map[int]stream.Positions) (first int, ok bool) {
	for n := range checkpoints {
		if !ok || n < first {
			first, ok = n, true
		}
	}
	return first, ok
}
