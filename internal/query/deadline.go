package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// Deadline ends ctx after the timeout in the context of a query, in milliseconds since its arrival
// by the clock of the machine. usual is the default timeout; 0 means no timeout. If most is
// positive, a greater timeout is rejected.
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
	ctx, cancel := context.WithDeadlineCause(ctx, arrived.Add(time.Duration(ms)*time.Millisecond), late(ms, settings))
	return ctx, cancel, nil
}

// late says which limit ended a query and where it is set, behind the sentence that clients match.
func late(ms int64, settings map[string]any) *fault.Error {
	source := "the default of [service.server.http.defaultQueryTimeout]; the context parameter [timeout] overrides it"
	if settings[querycontext.Timeout.Key()] != nil {
		source = "set by the context parameter [timeout]"
	}
	out := fault.QueryTimeout()
	out.Message += fmt.Sprintf(" The limit was [%d] ms, %s.", ms, source)
	return out
}

// Cause returns the reason why the context ended rather than the resulting error of an operator.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}
