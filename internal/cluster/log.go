package cluster

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// LogPath is where a Historical tells what it holds.
const LogPath = "/service-internal/v1/segments"

// maxLog is how many changes a Log remembers. Who is further behind reads everything again.
const maxLog = 20_000

// Delta is what changed on a Historical since some moment (spec/cluster.md, section 3).
type Delta struct {
	// Reset says that the moment asked for is not known here: the asker starts again from the
	// beginning.
	Reset   bool     `json:"resetCounter"`
	Cause   *string  `json:"resetCause"`
	Counter Counter  `json:"counter"`
	Changes []Change `json:"requests"`
	// Used is the bytes held now.
	Used int64 `json:"usedSize"`
}

// Counter is a moment in the life of a Historical. The zero hash with the number -1 is before its
// beginning.
type Counter struct {
	Number int64 `json:"counter"`
	// Hash is of the process's start: numbers of an earlier process mean nothing.
	Hash int64 `json:"hash"`
}

// Beginning is the moment before everything.
var Beginning = Counter{Number: -1}

// The actions of changes.
const (
	actionLoad = "load"
	actionDrop = "drop"
)

// Change is a segment that came or went.
type Change struct {
	// Action is load or drop.
	Action string `json:"action"`
	ID     string `json:"identifier"`
	// Segment is the descriptor where it is asked for; its members stand beside the others.
	Segment json.RawMessage `json:"-"`
	// Live describes a live segment of a worker that was loaded, or has changed.
	Live *SentLive `json:"live,omitempty"`
	// Number is, of a live segment that was dropped, the number of the change stream from which on it
	// is used; 0: it was not published.
	Number int64 `json:"number,omitempty"`
}

// Log numbers what comes to a Historical and what goes. All methods are safe for use by many
// goroutines.
type Log struct {
	hash int64
	all  func() (held []Change, used int64)

	mu struct {
		sync.Mutex
		number  int64
		entries []Change // the last ones; the newest has the number
		changed chan struct{}
	}
}

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
	l.mu.changed = make(chan struct{})
	return l
}

// Loaded notes that a segment can be asked for, Dropped that it can't. Each is called after it has
// happened.
func (l *Log) Loaded(id string) { l.add(Change{Action: actionLoad, ID: id}) }

// Dropped notes that a segment is gone.
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
}

// Since returns what came after a moment. It waits for something for as long as timeout; nil:
// nothing came.
func (l *Log) Since(ctx context.Context, at Counter, timeout time.Duration, c clock.Clock) (*Delta, error) {
	timer := c.NewTimer(timeout)
	defer timer.Stop()
	for {
		d, changed := l.since(at)
		if d != nil {
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
