package nativequery

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// buckets writes the form that topN and search share: an object per bucket of time with the list of
// its rows, at most limit of them. Of the buckets of empty, which are in order, those that no row
// is in have a list without rows.
func (x *execution) buckets(
	ctx context.Context, node plan.Node, limit int64, stamp stamper, empty iter.Seq[int64], row func(dst []byte, c *cells, row int) []byte,
) error {
	out := x.out
	out.buf = append(out.buf, '[')
	next, stop := iter.Pull(empty)
	defer stop()
	bucket, more := next()
	var current, count, written int64
	open := false
	begin := func(t int64) {
		if open {
			out.buf = append(out.buf, "]}"...)
		}
		if written++; written > 1 {
			out.buf = append(out.buf, ',')
		}
		out.buf = append(stamp(append(out.buf, `{"timestamp":`...), t), `,"result":[`...)
		open, current, count = true, t, 0
	}
	fill := func(until int64, all bool) error {
		for ; more && (all || bucket < until); bucket, more = next() {
			begin(bucket)
			if err := out.flushed(); err != nil {
				return err
			}
			if written%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}
	err := x.rows(ctx, node, func(c *cells, i int) error {
		if t := c.time(i); !open || t != current {
			if err := fill(t, false); err != nil {
				return err
			}
			if more && bucket == t {
				bucket, more = next()
			}
			begin(t)
		}
		if count++; count > limit {
			return nil
		}
		if count > 1 {
			out.buf = append(out.buf, ',')
		}
		out.buf = append(row(append(out.buf, '{'), c, i), '}')
		return nil
	})
	if err != nil {
		return err
	}
	if err := fill(0, true); err != nil {
		return err
	}
	if open {
		out.buf = append(out.buf, "]}"...)
	}
	out.buf = append(out.buf, ']')
	return nil
}

// stamper appends the time that a bucket is shown with.
type stamper func(dst []byte, bucket int64) []byte

// stampOf shows all buckets with one time.
func (x *execution) stampOf(t int64) stamper {
	return func(dst []byte, _ int64) []byte { return x.appendMoment(dst, t) }
}

// starts are the segments of a bucket of a search: how many there are, and where the first begins.
type starts struct {
	n     int
	first int64
}

// startsOf sorts segments into the buckets that they touch.
func startsOf(g chrono.Granularity, segments []chrono.Interval) map[int64]starts {
	out := map[int64]starts{}
	for _, s := range segments {
		for t := range bucketStarts(g, []chrono.Interval{s}, false) {
			b, ok := out[t]
			if !ok {
				b.first = s.Start
			}
			b.n++
			out[t] = b
		}
	}
	return out
}

// topN shows buckets in the zone of the granularity.
func (x *execution) topN(ctx context.Context, q *lang.TopN, p *lang.Plan) error {
	x.showBuckets(q.Granularity)
	stamp, empty := stamper(x.appendBucket), none
	ranges, known, err := x.ranges(ctx, q.Parts(), q.Granularity)
	if err != nil {
		return err
	}
	if known && len(ranges) > 0 {
		first := ranges[0].Start
		if !q.Granularity.Given || q.Granularity.IsAll() {
			stamp, empty = x.stampOf(first), slices.Values([]int64{q.When()[0].Start})
		} else {
			empty = bucketStarts(q.Granularity.Granularity, ranges, false)
		}
	}
	return x.buckets(ctx, p.Node, int64(q.Threshold), stamp, empty, func(dst []byte, c *cells, row int) []byte {
		for i := 1; i < len(c.columns); i++ {
			dst = c.member(dst, i, row)
		}
		return dst
	})
}

// none are no buckets.
func none(func(int64) bool) {}

// search shows a bucket that holds several segments with its own time, and one that holds a single
// segment with the start of that. What is no table is one segment of all of time.
func (x *execution) search(ctx context.Context, q *lang.Search, p *lang.Plan) error {
	x.showBuckets(q.Granularity)
	segments := []chrono.Interval{chrono.Eternity}
	if lang.ReadsTables(q.DataSource.DataSource) {
		segments = nil
		for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
			segments = append(segments, x.session.Chunks(name, q.When())...)
		}
		slices.SortFunc(segments, chrono.Interval.Compare)
	}
	var stamp stamper
	var empty iter.Seq[int64]
	limit := q.ResultLimit()
	switch {
	case len(segments) == 0:
		stamp, empty = x.appendBucket, none
	case !q.Granularity.Given || q.Granularity.IsAll():
		stamp, empty = x.stampOf(segments[0].Start), none
		if list := q.When(); len(list) > 0 {
			empty = slices.Values([]int64{list[0].Start})
		}
	default:
		if !q.CutsBuckets() {
			limit = math.MaxInt64 // a bucket has what its chunks found
		}
		for i, s := range segments {
			segments[i].End = s.Start + 1 // a segment is in the bucket where it begins
		}
		empty = bucketStarts(q.Granularity.Granularity, segments, false)
		of := startsOf(q.Granularity.Granularity, segments)
		stamp = func(dst []byte, t int64) []byte {
			if b := of[t]; b.n == 1 {
				return x.appendMoment(dst, b.first)
			}
			return x.appendBucket(dst, t)
		}
	}
	return x.buckets(ctx, p.Node, limit, stamp, empty, func(dst []byte, c *cells, row int) []byte {
		return c.member(c.member(c.member(dst, 1, row), 2, row), 3, row)
	})
}

func (x *execution) groupBy(ctx context.Context, q *lang.GroupBy, p *lang.Plan) error {
	x.showBuckets(q.Granularity)
	arrays, err := x.bool(querycontext.ArrayRows)
	if err != nil {
		return err
	}
	bucketed := !q.Granularity.IsAll() // rows as arrays begin with the time of their bucket
	out := x.out
	out.buf = append(out.buf, '[')
	first := true
	err = x.rows(ctx, p.Node, func(c *cells, row int) error {
		if !first {
			out.buf = append(out.buf, ',')
		}
		first = false
		if arrays {
			out.buf = append(out.buf, '[')
			if bucketed {
				out.buf = strconv.AppendInt(out.buf, c.time(row), 10)
			}
			for i := 1; i < len(c.columns); i++ {
				if i > 1 || bucketed {
					out.buf = append(out.buf, ',')
				}
				out.buf = c.value(out.buf, i, row)
			}
			out.buf = append(out.buf, ']')
			return nil
		}
		out.buf = append(out.buf, `{"version":"v1","timestamp":`...)
		out.buf = append(x.appendBucket(out.buf, c.time(row)), `,"event":{`...)
		for i := 1; i < len(c.columns); i++ {
			out.buf = c.member(out.buf, i, row)
		}
		out.buf = append(out.buf, "}}"...)
		return nil
	})
	out.buf = append(out.buf, ']')
	return err
}

func (x *execution) timeBoundary(ctx context.Context, q *lang.TimeBoundary, p *lang.Plan) error {
	out := x.out
	out.buf = append(out.buf, '[')
	err := x.rows(ctx, p.Node, func(c *cells, row int) error {
		lo, hi := c.batch.Cols[0].Flat(), c.batch.Cols[1].Flat()
		if lo.Valid != nil && !lo.Valid.Get(row) {
			return nil
		}
		least, greatest := lo.Longs[row], hi.Longs[row]
		stamp := least
		if q.Latest() {
			stamp = greatest
		}
		out.buf = append(x.appendMoment(append(out.buf, `{"timestamp":`...), x.shownAt(stamp)), `,"result":{`...)
		if !q.Earliest() {
			out.buf = x.appendMoment(append(out.buf, `"maxTime":`...), greatest)
		}
		if !q.Latest() {
			if !q.Earliest() {
				out.buf = append(out.buf, ',')
			}
			out.buf = x.appendMoment(append(out.buf, `"minTime":`...), least)
		}
		out.buf = append(out.buf, "}}"...)
		return nil
	})
	out.buf = append(out.buf, ']')
	return err
}

// ranges returns the times for which a query's tables have data in its intervals: per segment,
// sorted. A segment has data until the end of the bucket of its last row. Other datasources have
// data at all times; known is false where these have no end.
func (x *execution) ranges(ctx context.Context, q *lang.Common, g lang.GranularitySet) (out []chrono.Interval, known bool, err error) {
	if !lang.ReadsTables(q.DataSource.DataSource) {
		list := q.When()
		return list, len(list) > 0 && list[0] != chrono.Eternity, nil
	}
	within := q.When()
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		all := func(chrono.Interval) bool { return true }
		err := x.times(ctx, name, within, all, func(visible, rows chrono.Interval) {
			last := rows.End - 1
			rows.End = chrono.Eternity.End
			if g.Given && !g.IsAll() {
				rows.End = g.Next(last)
			}
			for _, iv := range within {
				if part, ok := rows.Intersect(visible); ok {
					if part, ok = part.Intersect(iv); ok && !part.IsEmpty() {
						out = append(out, part)
					}
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(out, chrono.Interval.Compare)
	return out, true, nil
}
