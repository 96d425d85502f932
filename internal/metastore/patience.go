package metastore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hengedb/henge/internal/fault"
)

// A PostgreSQL that restarts refuses connections for a while and breaks those that there are.
// Whoever has time, as tasks have, waits for it: an operation under a patient context is tried
// again until the context is done. That is only done while nothing has come of the operation: what
// became of a commit whose connection broke is asked first (settle).

const (
	// firstPatience is how long after a failure an operation is tried again; each further failure
	// doubles it, up to longestPatience.
	firstPatience   = 100 * time.Millisecond
	longestPatience = 2 * time.Second
)

type patientKey struct{}

// Patient returns a context under which operations wait while the database is unreachable, until
// the context is done.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

// transient reports whether an error of PostgreSQL says that the database is away for a while, or
// that the same may be tried again: the one place that knows. Everything that is no answer of the
// server is one, too (explain).
func transient(e *pgconn.PgError) bool {
	switch e.Code {
	case "57P01", "57P02", "57P03", // it shuts down, has crashed, or is starting
		"57P05", "25P03", // the session was idle for too long
		"53300", // too many connections
		"55P03", // a lock that was not to be waited for
		"25006": // it is a standby now, or still
		return true
	}
	return strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "40") // connections; transactions that were rolled back by the server
}

// away reports whether an operation failed since the database could not be reached. A writer that
// was followed by another is refused as unavailable, too, but no patience helps it.
func away(err error) bool {
	f := fault.Find(err)
	return f != nil && f.Category == fault.CategoryServiceUnavailable && !errors.Is(err, errClosed) && !errors.Is(err, ErrDeposed)
}

// patiently runs an operation that has done nothing when it fails, until it fails otherwise than
// for want of the database. Without patience it runs once.
func (s *Store) patiently(ctx context.Context, operation func() error) error {
	rest := firstPatience
	for {
		err := operation()
		if err == nil || !away(err) || ctx.Value(patientKey{}) == nil {
			return err
		}
		if s.clock.Sleep(ctx, rest) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		rest = min(2*rest, longestPatience)
	}
}
