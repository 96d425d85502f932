package intake

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream/chat"
)

// ErrorOptions are what a tuningConfig says of bad rows.
type ErrorOptions struct {
	// Max is the most bad rows that a task may have (maxParseExceptions), Saved how many of them are
	// kept to be shown (maxSavedParseExceptions).
	Max, Saved int64
	// Log is told of each (logParseExceptions); nil: none is.
	Log *slog.Logger
	// Letters keeps the records; nil: nothing does.
	Letters *DeadLetters
	Clock   clock.Clock
}

// maxSaved bounds what is kept to be shown, whatever a tuningConfig says.
const maxSaved = 10_000

// Errors counts the bad rows of a task, and keeps the newest. It is safe for use by many
// goroutines.
type Errors struct {
	o  ErrorOptions
	mu struct {
		sync.Mutex
		count int64
		// newest is a ring; next is where the next one goes.
		newest []chat.ParseError
		next   int
	}
}

// NewErrors returns the errors of a task that begins.
func NewErrors(o ErrorOptions) *Errors {
	o.Saved = max(0, min(o.Saved, maxSaved))
	return &Errors{o: o}
}

// Add takes note of a bad row. It is what Options.OnBad is. The error is that there are too many.
func (e *Errors) Add(b *BadRow) error {
	if e.o.Log != nil {
		e.o.Log.Error("failed to read a record", "kind", b.Type, "details", b.Details, "reason", b.Reason,
			"topic", b.Record.Topic, "partition", b.Record.Number, "position", string(b.Record.Position))
	}
	at := clock.Millis(e.o.Clock)
	if e.o.Letters != nil {
		e.o.Letters.Add(b, at)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.count++
	if e.o.Saved > 0 {
		p := chat.ParseError{At: at, Input: b.Input, Type: b.Type, Details: b.Details}
		if int64(len(e.mu.newest)) < e.o.Saved {
			e.mu.newest = append(e.mu.newest, p)
		} else {
			e.mu.newest[e.mu.next] = p
		}
		e.mu.next = (e.mu.next + 1) % int(e.o.Saved)
	}
	if e.mu.count > e.o.Max {
		return fault.InvalidInput("Max parse exceptions[%d] exceeded", e.o.Max)
	}
	return nil
}

// Newest returns the bad rows that are kept, the newest first.
func (e *Errors) Newest() []chat.ParseError {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]chat.ParseError, 0, len(e.mu.newest))
	out = append(out, e.mu.newest[:min(e.mu.next, len(e.mu.newest))]...)
	if int64(len(e.mu.newest)) == e.o.Saved {
		out = append(slices.Clone(e.mu.newest[e.mu.next:]), out...)
	}
	slices.Reverse(out)
	return out
}

// Count returns how many bad rows there were.
func (e *Errors) Count() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.count
}
