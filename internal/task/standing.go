package task

// Standing is a Kind whose tasks run until they are ended, and mostly wait, such as tasks that read
// streams. They do not use slots, so that they do not block other tasks, and tasks of one group
// (replicas) run in different processes.
type Standing interface {
	// Apart returns the group of a task; "": it is an ordinary task.
	Apart(t *Task) string
}

// Allocating is a Kind whose tasks share allocated segment ids.
type Allocating interface {
	// Allocator returns Task.Allocator.
	Allocator(t *Task) string
}

// apart returns the group of a standing task; "": it is an ordinary one.
func (q *Queue) apart(t *Task) string {
	if s, ok := q.kinds[t.Type].(Standing); ok {
		return s.Apart(t)
	}
	return ""
}

// besideLocked reports whether a task of the group runs in this process.
func (q *Queue) besideLocked(group string) bool {
	for _, e := range q.mu.order {
		if e.state == Running && e.at == nil && e.apart == group {
			return true
		}
	}
	return false
}

// roomForLocked reports whether this process can run a task: it has a free slot, or a standing
// task finds none of its group.
func (q *Queue) roomForLocked(e *entry) bool {
	if e.apart != "" {
		return !q.mu.paused && !q.besideLocked(e.apart)
	}
	return q.roomLocked()
}
