package stream

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Await implements the waiting of a Poll: it calls take until take returns something or an error,
// or wait has expired. It calls take again after each notification, and a last time with over when
// the wait ends.
func Await(
	ctx context.Context, c clock.Clock, wait time.Duration, came <-chan struct{}, take func(over bool) ([]Batch, error),
) ([]Batch, error) {
	timer := c.NewTimer(max(wait, 0))
	defer timer.Stop()
	for over := false; ; {
		batches, err := take(over)
		if len(batches) > 0 || err != nil || over {
			return batches, err
		}
		select {
		case <-came:
		case <-timer.C():
			over = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
