package exec

import (
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// maxBuckets bounds the buckets that are made where there may be no rows: those of a minute over
// almost four years.
const maxBuckets = 2_000_000

// buckets lists the starts of the buckets between the first and the last row that the segments of a
// scan have, within the intervals asked for. It does not depend on how they are spread over
// segments.
func buckets(ctx context.Context, n *plan.Buckets, env *Env, w wants) (Operator, error) {
	scan := n.Scan()
	if scan == nil { // nothing can be in the intervals
		return operator.None{}, nil
	}
	first, last, known, err := timeSpan(ctx, scan, env, w)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return operator.None{}, nil
	}
	spans := []chrono.Interval{{Start: first, End: n.Granularity.Next(last)}}
	if scan.Intervals != nil {
		spans = chrono.IntersectAll(spans, scan.Intervals)
	}
	account := budget.NewAccount(env.Budget)
	defer account.Close()
	var starts []int64
	for _, s := range spans {
		for at := n.Granularity.Floor(s.Start); at < s.End; at = n.Granularity.Next(at) {
			if len(starts) > 0 && at <= starts[len(starts)-1] {
				continue // of the interval before
			}
			if len(starts) == maxBuckets {
				return nil, fault.ResourceLimit("With skipEmptyBuckets=false the query has more than [%d] buckets; ask for longer buckets or less time", maxBuckets)
			}
			if starts = append(starts, at); len(starts)%vector.BatchRows == 0 {
				if err := stop(ctx); err != nil {
					return nil, err
				}
				if err := account.Set(int64(8 * cap(starts))); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(starts) == 0 {
		return operator.None{}, nil
	}
	return operator.Batches(&vector.Batch{N: len(starts), Cols: []*vector.Vector{vector.FromLongs(starts)}}, env.BatchRows), nil
}

// timeSpan returns the times of the first and the last row that the segments of a scan have, known:
// there are rows. The segments know, and where other servers hold some, all rows of the datasource
// are asked.
func timeSpan(ctx context.Context, scan *plan.Scan, env *Env, w wants) (first, last int64, known bool, err error) {
	time := plan.Column{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}
	if len(scan.Out) == 0 { // a scan without columns need not open segments, and does not know their times then
		timed := *scan
		timed.Out = []plan.Column{time}
		scan = &timed
	}
	leaves, remote, err := env.leaves(ctx, scan.OnlyBounds(), nil)
	if err != nil {
		return 0, 0, false, err
	}
	for _, l := range leaves {
		info := l.Reader.Info()
		if lo, hi := max(info.MinTime, l.Visible.Start), min(info.MaxTime, l.Visible.End-1); info.HasTimes && lo <= hi {
			if !known {
				first, last, known = lo, hi, true
			}
			first, last = min(first, lo), max(last, hi)
		}
		l.Reader.Release()
	}
	if remote == nil {
		return first, last, known, nil
	}
	ends := &plan.Aggregate{Input: &plan.Scan{DataSource: scan.DataSource, Out: []plan.Column{time}, Limit: -1}}
	for _, name := range []string{"MIN", "MAX"} {
		ends.Aggs = append(ends.Aggs, plan.AggCall{Agg: agg.Spec{Name: name, Args: []vector.Type{vector.Long}}, Args: []int{0}, Filter: -1, Name: name,
			Type: time.Type.OrNull(true)})
	}
	op, err := build(ctx, ends, env, w)
	if err != nil {
		return 0, 0, false, err
	}
	defer op.Close()
	known = false
	err = Drain(ctx, op, func(b *vector.Batch) error {
		if b = b.Compact(); !b.Cols[0].IsNull(0) {
			first, last, known = b.Cols[0].LongAt(0), b.Cols[1].LongAt(0), true
		}
		return nil
	})
	return first, last, known, err
}
