package cluster

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// LogPath is the path of the log of a Historical.
const LogPath = "/service-internal/v1/segments"

// maxLog is how many changes a Log remembers. Who is further behind reads everything again.
const maxLog = 20_000

// Delta contains the changes on a Historical since a moment.
type Delta struct {
	// Reset: the requested moment is unknown, and the client must restart from the beginning.
	Reset   bool     `json:"resetCounter"`
	Cause   *string  `json:"resetCause"`
	Counter Counter  `json:"counter"`
	Changes []Change `json:"requests"`
	// Used is the current size of its segments in bytes.
	Used int64 `json:"usedSize"`
}

// Counter is a moment in the life of a Historical. The zero hash with the number -1 is before its
// beginning.
type Counter struct {
	Number int64 `json:"counter"`
	// Hash identifies the start of the process: numbers of an earlier process are invalid.
	Hash int64 `json:"hash"`
}

// Beginning is the moment before everything.
var Beginning = Counter{Number: -1}

// The actions of changes.
const (
	actionLoad = "load"
	actionDrop = "drop"
)

// Change is a loaded or dropped segment.
type Change struct {
	// Action is load or drop.
	Action string `json:"action"`
	ID     string `json:"identifier"`
	// Segment is the descriptor, if requested; its members are inlined in the JSON.
	Segment json.RawMessage `json:"-"`
	// Live describes a live segment of a worker that was loaded, or has changed.
	Live *SentLive `json:"live,omitempty"`
	// Number is the number of the change stream in which a dropped live segment is used; 0: it was not
	// published.
	Number int64 `json:"number,omitempty"`
}

// Log numbers the loads and drops of a Historical. All methods are safe for use by many goroutines.
type Log struct {
	hash int64
	all  func() (held []Change, used int64)

	mu struct {
		sync.Mutex
		number  int64
		entries []Change // the last ones; the newest has the number
		changed chan struct{}
		// waiting are those that have asked and know all, telling those that are being told of
		// changes, and have not asked again.
		waiting, telling map[*asked]bool
		acknowledged     chan struct{} // closed when somebody of telling has asked again
	}
}

// asked is a follower that has asked for changes.
type asked struct {
	number int64     // of the newest change that it was told of; -1: it is not known yet
	since  time.Time // when there was something to tell, or soon after it
}

// forgetAsked is how long a follower is counted on that does not ask again.
const forgetAsked = 2 * time.Second

// NewLog returns the log of a process that started at an instant (milliseconds). all returns what
// is held at the time of the call.
func NewLog(started int64, all func() (ids []string, used int64)) *Log {
	return newLog(started, func() ([]Change, int64) {
		ids, used := all()
		held := make([]Change, len(ids))
		for i, id := range ids {
			held[i] = Change{Action: actionLoad, ID: id}
		}
		return held, used
	})
}

func newLog(started int64, all func() (held []Change, used int64)) *Log {
	l := &Log{hash: started, all: all}
	l.mu.changed, l.mu.acknowledged = make(chan struct{}), make(chan struct{})
	l.mu.waiting, l.mu.telling = map[*asked]bool{}, map[*asked]bool{}
	return l
}

// Loaded records that a segment is available, Dropped that it is not. Each is called after the
// fact.
func (l *Log) Loaded(id string) { l.add(Change{Action: actionLoad, ID: id}) }

// Dropped records that a segment is no longer available.
func (l *Log) Dropped(id string) { l.add(Change{Action: actionDrop, ID: id}) }

func (l *Log) add(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.number++
	l.mu.entries = append(l.mu.entries, c)
	if len(l.mu.entries) > 2*maxLog {
		l.mu.entries = append([]Change(nil), l.mu.entries[len(l.mu.entries)-maxLog:]...)
	}
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
	for a := range l.mu.waiting {
		l.mu.telling[a] = true
	}
	clear(l.mu.waiting)
}

// AwaitFollowers waits until all followers of the log have read its current contents, but no longer
// than the given time.
func (l *Log) AwaitFollowers(ctx context.Context, patience time.Duration, c clock.Clock) {
	timer := c.NewTimer(patience)
	defer timer.Stop()
	for {
		l.mu.Lock()
		l.forgetLocked(c.Now())
		left, acknowledged := len(l.mu.telling), l.mu.acknowledged
		l.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-acknowledged:
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// forgetLocked forgets those that do not ask again.
func (l *Log) forgetLocked(now time.Time) {
	for a := range l.mu.telling {
		if a.since.IsZero() {
			a.since = now
		}
		if now.Sub(a.since) > forgetAsked {
			delete(l.mu.telling, a)
		}
	}
}

// came notes that somebody has asked who knows all up to a moment.
func (l *Log) came(at Counter, now time.Time) *asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(now)
	for a := range l.mu.telling {
		if a.number == at.Number && at.Hash == l.hash {
			delete(l.mu.telling, a)
			close(l.mu.acknowledged)
			l.mu.acknowledged = make(chan struct{})
			break
		}
	}
	a := &asked{number: -1}
	if at.Hash == l.hash && at.Number == l.mu.number {
		l.mu.waiting[a] = true
	} else {
		l.mu.telling[a] = true
	}
	return a
}

// answered notes what somebody was told; nil: nothing.
func (l *Log) answered(a *asked, d *Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d != nil && !d.Reset {
		delete(l.mu.waiting, a)
		a.number, l.mu.telling[a] = d.Counter.Number, true
		return
	}
	delete(l.mu.waiting, a)
	if l.mu.telling[a] {
		delete(l.mu.telling, a)
		close(l.mu.acknowledged)
		l.mu.acknowledged = make(chan struct{})
	}
}

// Since returns the changes after a moment. It waits for changes for at most timeout; nil: there
// were none.
func (l *Log) Since(ctx context.Context, at Counter, timeout time.Duration, c clock.Clock) (*Delta, error) {
	timer := c.NewTimer(timeout)
	defer timer.Stop()
	var out *Delta
	asked := l.came(at, c.Now())
	defer func() { l.answered(asked, out) }()
	for {
		d, changed := l.since(at)
		if d != nil {
			out = d
			return d, nil
		}
		select {
		case <-changed:
		case <-timer.C():
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *Log) since(at Counter) (d *Delta, changed <-chan struct{}) {
	l.mu.Lock()
	now := Counter{l.mu.number, l.hash}
	d = &Delta{Counter: now, Changes: []Change{}}
	if at != Beginning {
		defer l.mu.Unlock()
		behind := now.Number - at.Number
		cause := ""
		switch {
		case at.Hash != l.hash:
			cause = "The counter is of another process"
		case behind < 0 || behind > int64(len(l.mu.entries)):
			cause = "The counter is too far behind"
		case behind == 0:
			return nil, l.mu.changed
		}
		if cause != "" {
			d.Reset, d.Cause = true, &cause
			return d, nil
		}
		d.Changes = append(d.Changes, l.mu.entries[int64(len(l.mu.entries))-behind:]...)
		_, d.Used = l.all()
		return d, nil
	}
	l.mu.Unlock()
	// What changes from here on has a later number and comes again: twice is as good as once.
	held, used := l.all()
	d.Changes, d.Used = append(d.Changes, held...), used
	return d, nil
}
