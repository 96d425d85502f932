package exec

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// leapingClock says with each look that a second has passed, so that every goroutine that computes
// has had its slice.
type leapingClock struct {
	clock.Clock
	looks atomic.Int64
}

func (c *leapingClock) Now() time.Time { return time.Unix(c.looks.Add(1), 0) }

// TestPlanningASegmentYieldsToItsWaiters has two workers on one slot and one segment: the one that
// plans it gives its slot away in the midst of that, to the one that waits for the plan.
func TestPlanningASegmentYieldsToItsWaiters(t *testing.T) {
	s := &store{t: t}
	n := morselRows + segment.BlockRows
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = []any{int64(i), nil, nil, fmt.Sprintf("word%d", i), int64(i), nil}
	}
	s.addSegment(chrono.Interval{Start: 0, End: int64(n)}, eventSchema, true, rows)
	scan := scanOf(nil, "word", "k")
	scan.Filter = likeExpr(t, column(0, str), "%d6553%")
	count := &plan.Aggregate{Input: scan, Aggs: []plan.AggCall{call("COUNT", long)}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 5 {
		env := envOf(t, s)
		env.Share = scheduler.New(1, &leapingClock{Clock: clock.System()}).Join()
		op, err := Build(ctx, count, env)
		if err != nil {
			t.Fatal(err)
		}
		b, err := op.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Cols[0].LongAt(0); got != 11 { // word6553, word65530 to word65539
			t.Fatalf("%d rows, want 11", got)
		}
		op.Close()
		env.Share.Leave()
	}
}
