package expr

import (
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
	// Reuse lets the results of a program share memory with its next ones: whoever evaluates it is done with them by then.
	Reuse bool
	// TextRoom bounds the bytes of the strings, or of the elements of arrays, that a function makes for the rows of one batch; 0: 512 MiB.
	TextRoom int64
	// Entries says that the rows are entries of dictionaries, each of which comes once: there is nothing to remember by entry.
	Entries bool
}

func (c *Context) patternTime() time.Duration {
	if c.PatternTime > 0 {
		return c.PatternTime
	}
	return time.Second
}
