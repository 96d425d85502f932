package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

const (
	// maxQueue and maxBytes bound what waits to be written.
	maxQueue = 20_000
	maxBytes = 32 << 20
	// batchBytes is how much is written at once, a little more.
	batchBytes = 1 << 20
	// linger is how long entries are gathered that nobody waits for.
	linger = 100 * time.Millisecond
	// requiredWait is how long a request waits for its entry where the log is required.
	requiredWait = 10 * time.Second
	// firstPause and maxPause are those between attempts to write.
	firstPause, maxPause = 100 * time.Millisecond, 10 * time.Second
	// lastWait is how long a process that stops tries to write what is left.
	lastWait = 2 * time.Second
)

// Options are what a log works with.
type Options struct {
	// Write stores rows, lines of JSON objects. It returns when they are safe.
	Write func(ctx context.Context, lines []byte) error
	// Required says that nothing is done of which no entry can be written.
	Required bool
	// Server names this process in the entries.
	Server string
	Clock  clock.Clock
	Log    *slog.Logger
}

// Log takes entries. It is safe for concurrent use; a nil Log takes none.
type Log struct {
	o       Options
	queue   chan waiting
	bytes   atomic.Int64
	dropped atomic.Int64
}

// waiting is an entry on its way.
type waiting struct {
	line    []byte
	written chan struct{} // closed when it is safe; nil: nobody waits
}

// NewLog returns a log that writes while Run runs.
func NewLog(o Options) *Log { return &Log{o: o, queue: make(chan waiting, maxQueue)} }

// Dropped returns how many entries were dropped because there was no room for them.
func (l *Log) Dropped() int64 {
	if l == nil {
		return 0
	}
	return l.dropped.Load()
}

// Required tells whether Begin has to be called before something is done.
func (l *Log) Required() bool { return l != nil && l.o.Required }

// Add takes an entry and does not wait for it to be written.
func (l *Log) Add(e *Entry) {
	if l != nil && !l.put(e, nil) && l.dropped.Add(1) == 1 {
		l.o.Log.Warn("audit queue is full: entries are dropped (henge_audit_dropped_total counts them)")
	}
}

// Begin notes what is about to be done, where the log is required, and returns when that is
// written. What it refuses must not be done.
func (l *Log) Begin(ctx context.Context, e Entry) error {
	if !l.Required() {
		return nil
	}
	e.Outcome = "begun"
	written := make(chan struct{})
	if !l.put(&e, written) {
		return errUnwritten
	}
	timer := l.o.Clock.NewTimer(requiredWait)
	defer timer.Stop()
	select {
	case <-written:
		return nil
	case <-timer.C():
		return errUnwritten
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errUnwritten = fault.Unavailable("The audit can't be written, and service.audit.required says that nothing is done without it")

// put takes an entry if there is room for it.
func (l *Log) put(e *Entry, written chan struct{}) bool {
	e.bound()
	e.Server = l.o.Server
	if e.Time == 0 {
		e.Time = clock.Millis(l.o.Clock)
	}
	line, err := json.Marshal(e)
	if err != nil {
		l.o.Log.Error("failed to encode an audit entry", "error", err)
		return false
	}
	size := int64(len(line))
	if l.bytes.Add(size) > maxBytes {
		l.bytes.Add(-size)
		return false
	}
	select {
	case l.queue <- waiting{line, written}:
		return true
	default:
		l.bytes.Add(-size)
		return false
	}
}

// Run writes entries until ctx is done, and then those that are left, for a while.
func (l *Log) Run(ctx context.Context) error {
	for {
		select {
		case first := <-l.queue:
			batch := l.gather(ctx, first)
			if !l.write(ctx, batch) {
				return l.rest(ctx, batch)
			}
		case <-ctx.Done():
			return l.rest(ctx, nil)
		}
	}
}

// gather returns an entry with those that wait behind it. Where nobody waits for them it lets more
// of them come, so that a busy process writes seldom.
func (l *Log) gather(ctx context.Context, first waiting) []waiting {
	if !l.o.Required {
		_ = l.o.Clock.Sleep(ctx, linger) // at the end of the process what is there is written
	}
	batch, size := []waiting{first}, len(first.line)
	for size < batchBytes {
		select {
		case next := <-l.queue:
			batch, size = append(batch, next), size+len(next.line)
		default:
			return batch
		}
	}
	return batch
}

// write tries to write entries until that succeeds or ctx is done.
func (l *Log) write(ctx context.Context, batch []waiting) bool {
	if len(batch) == 0 {
		return true
	}
	var lines bytes.Buffer
	for _, w := range batch {
		lines.Write(w.line)
		lines.WriteByte('\n')
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := l.o.Write(ctx, lines.Bytes())
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		l.o.Log.WarnContext(ctx, "failed to write audit entries; retrying", "entries", len(batch), "after", pause, "error", err)
		if l.o.Clock.Sleep(ctx, pause) != nil {
			return false
		}
	}
	for _, w := range batch {
		l.bytes.Add(-int64(len(w.line)))
		if w.written != nil {
			close(w.written)
		}
	}
	return true
}

// rest writes what is left when the process stops.
func (l *Log) rest(ctx context.Context, batch []waiting) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
	defer cancel()
	for {
		select {
		case next := <-l.queue:
			batch = append(batch, next)
			continue
		default:
		}
		if !l.write(ctx, batch) {
			l.o.Log.WarnContext(ctx, "process stops with unwritten audit entries", "entries", len(batch))
		}
		return nil
	}
}
