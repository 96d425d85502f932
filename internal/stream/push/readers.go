package push

import (
	"cmp"
	"slices"
	"time"
)

// readBy is a task that reads a log.
type readBy struct {
	at    int64 // behind what it has in live segments
	heard time.Time
	// caught says that it was as far as all that was acknowledged; before that nobody waits for it.
	caught bool
}

// readerLost is how long nothing is heard of a task until nobody waits for it. Tasks say where they
// are more often.
const readerLost = 2 * ReadEvery

// ReadEvery is the maximum interval between position reports of a task.
const ReadEvery = 500 * time.Millisecond

// Read records that all entries before a position are in live segments of a task. If several tasks
// read the same log, an entry counts as readable when all of them have it, so that the loss of a
// task does not remove rows from results.
func (l *Log) Read(reader string, position int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.readers[reader]
	if r == nil {
		r = &readBy{}
		l.mu.readers[reader] = r
	}
	r.at, r.heard = max(r.at, position), l.o.Clock.Now()
	r.caught = r.caught || r.at >= l.mu.read
	l.measureLocked()
}

// Forget records that a task no longer reads.
func (l *Log) Forget(reader string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.mu.readers, reader)
	l.measureLocked()
}

// Readers sets the number of tasks that read the log.
func (l *Log) Readers(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.wanted = n
	l.measureLocked()
}

// measureLocked finds out what can be queried: what as many tasks have as read the same, or what
// all of them have when there are fewer.
func (l *Log) measureLocked() {
	var at []int64
	now := l.o.Clock.Now()
	for name, r := range l.mu.readers {
		switch {
		case now.Sub(r.heard) > readerLost:
			delete(l.mu.readers, name)
		case r.caught:
			at = append(at, r.at)
		}
	}
	if len(at) == 0 {
		return
	}
	slices.SortFunc(at, func(a, b int64) int { return cmp.Compare(b, a) })
	if read := at[min(len(at), max(1, l.mu.wanted))-1]; read > l.mu.read {
		l.mu.read = read
		l.raiseLocked()
	}
}
