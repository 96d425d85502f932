package expr

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/chrono"
)

// Context contains the properties of a query that expressions depend on. The zero value is UTC at
// 1970.
type Context struct {
	// Zone is the query's time zone (sqlTimeZone); nil is UTC.
	Zone *chrono.Zone
	// Now is the query's time in milliseconds, fixed once per query.
	Now int64
	// PatternTime is the time limit of one match of a backtracking regular expression; 0: one second.
	PatternTime time.Duration
	// Lookups supplies the tables of LOOKUP; nil: there are none.
	Lookups Lookups
	// Reuse allows a program to reuse the memory of its results for the next ones: the caller no
	// longer uses the earlier results.
	Reuse bool
	// TextRoom limits the bytes of the strings or array elements that a function creates for the rows
	// of one batch; 0: 512 MiB.
	TextRoom int64
	// Stop, if not nil, returns an error if the query must end. It is called before each call of a
	// function for a batch, and by functions with large results.
	Stop func() error
	// Constants, if not nil, caches the results of Fold for a statement.
	Constants *Constants
	// Entries: the rows are entries of dictionaries, each of which occurs once, so caching by entry is
	// useless.
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

// Stopped returns an error if the query must end.
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
