package task

import (
	"cmp"
	"slices"
)

const (
	// riseEvery is how many milliseconds a task waits to go ahead of later ones whose priority is one
	// more. It bounds how long a steady queue of higher priority holds up what is there to make room:
	// a kill task of priority 0 goes ahead of loads of priority 50 that came 50 s later.
	riseEvery = 1000
	// mostPriority bounds what counts of a priority, so that turns don't overflow.
	mostPriority = 1 << 30
)

// turn says when it is the turn of a task among those that wait: less goes first. It does not
// change while the task waits, so two tasks never change places.
func turn(t *Task) int64 {
	return t.Created - riseEvery*int64(min(max(t.Priority, -mostPriority), mostPriority))
}

// inState returns the tasks in a state in the order in which they are started: those that ran
// before, and so have locks that others wait for, then by their turn, then by age.
func (q *Queue) inState(s State) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*entry
	for _, e := range q.mu.order {
		if e.state == s {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *entry) int {
		if a.resumed != b.resumed {
			if a.resumed {
				return -1
			}
			return 1
		}
		return cmp.Compare(turn(a.task), turn(b.task))
	})
	return out
}
