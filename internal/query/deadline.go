package query

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// Deadline ends ctx after the time that the settings of a query allow, in milliseconds from when it
// arrived by the clock of the machine, which is usual where they say nothing; 0 means no end. More
// than most is refused, if that is above 0.
func Deadline(ctx context.Context, arrived time.Time, settings map[string]any, usual, most int64) (context.Context, context.CancelFunc, error) {
	ms, err := querycontext.Timeout.Or(settings, usual)
	if err != nil {
		return nil, nil, err
	}
	if ms < 0 {
		return nil, nil, fault.BadContext("Timeout must be a non negative value, but was [%d]", ms)
	}
	if most > 0 && ms > most {
		return nil, nil, fault.BadContext("Configured timeout = %d is more than enforced limit of %d.", ms, most)
	}
	if ms == 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return ctx, func() {}, nil
	}
	late := fault.Timeout("Query did not complete within configured timeout period. You can increase query timeout or tune the performance of query.")
	ctx, cancel := context.WithDeadlineCause(ctx, arrived.Add(time.Duration(ms)*time.Millisecond), late)
	return ctx, cancel, nil
}

// Cause prefers why the context ended to what its end did to an operator.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}
