package expr

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/chrono"
)

// Context is what expressions take from the query they belong to. The zero value is UTC at 1970.
type Context struct {
	// Zone is the query's time zone (sqlTimeZone); nil is UTC.
	Zone *chrono.Zone
	// Now is the query's time in milliseconds, fixed once per query.
	Now int64
	// PatternTime bounds one match of a regular expression that needs backtracking; 0: one second.
	PatternTime time.Duration
	// Lookups finds the tables of LOOKUP; nil: there are none.
	Lookups Lookups
	// Reuse lets the results of a program share memory with its next ones: whoever evaluates it is
	// done with them by then.
	Reuse bool
	// TextRoom bounds the bytes of the strings, or of the elements of arrays, that a function makes
	// for the rows of one batch; 0: 512 MiB.
	TextRoom int64
	// Stop, if not nil, returns why the query has to end, and nil while it goes on. It is asked before
	// each call of a function for a batch, and by functions that make much.
	Stop func() error
	// Constants, if not nil, remembers what Fold computes for a statement.
	Constants *Constants
	// Entries says that the rows are entries of dictionaries, each of which comes once: there is
	// nothing to remember by entry.
	Entries bool
}

// WithStop returns the context for a query that ends when ctx does.
func (c Context) WithStop(ctx context.Context) Context {
	c.Stop = func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	return c
}

// Stopped returns why the query has to end.
func (c *Context) Stopped() error {
	if c == nil || c.Stop == nil {
		return nil
	}
	return c.Stop()
}

func (c *Context) patternTime() time.Duration {
	if c.PatternTime > 0 {
		return c.PatternTime
	}
	return time.Second
}
