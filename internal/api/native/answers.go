package native

import (
	"context"
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// buckets writes the form that topN and search share: an object per bucket of time with the list of its rows, at most limit of them. Of the
// buckets of empty, which are in order, those that no row is in have a list without rows.
func (x *execution) buckets(
	ctx context.Context, node plan.Node, limit int64, stamp func(int64) int64, empty iter.Seq[int64], row func(dst []byte, c *cells, row int) []byte,
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
		out.buf = append(x.appendBucket(append(out.buf, `{"timestamp":`...), stamp(t)), `,"result":[`...)
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

// sameTime is for buckets that are shown as they are.
func sameTime(t int64) int64 { return t }

func (x *execution) topN(ctx context.Context, q *lang.TopN, p *lang.Plan) error {
	x.showBuckets(q.Granularity)
	stamp, empty := sameTime, none
	ranges, known, err := x.ranges(ctx, q.Parts())
	if err != nil {
		return err
	}
	if known && len(ranges) > 0 {
		first := ranges[0].Start
		if !q.Granularity.Given || q.Granularity.IsAll() {
			stamp, empty = func(int64) int64 { return first }, slices.Values([]int64{q.When()[0].Start})
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

func (x *execution) search(ctx context.Context, q *lang.Search, p *lang.Plan) error {
	empty, stamp := none, sameTime
	segments, known, err := x.chunks(ctx, q.Parts())
	switch list := q.When(); {
	case err != nil:
		return err
	case q.Granularity.Given && !q.Granularity.IsAll():
		ranges, known, err := x.ranges(ctx, q.Parts())
		if err != nil {
			return err
		}
		if known { // a bucket for each segment, by its first row
			for i, r := range ranges {
				ranges[i].End = r.Start + 1
			}
			empty = bucketStarts(q.Granularity.Granularity, ranges, false)
		}
	case known && len(segments) > 0:
		stamp, empty = func(int64) int64 { return segments[0].Start }, slices.Values([]int64{list[0].Start})
	case !known && len(list) > 0:
		empty = slices.Values([]int64{list[0].Start})
	}
	return x.buckets(ctx, p.Node, q.ResultLimit(), stamp, empty, func(dst []byte, c *cells, row int) []byte {
		return c.member(c.member(c.member(dst, 1, row), 2, row), 3, row)
	})
}

func (x *execution) groupBy(ctx context.Context, q *lang.GroupBy, p *lang.Plan) error {
	x.showBuckets(q.Granularity)
	arrays, err := x.bool("resultAsArray")
	if err != nil {
		return err
	}
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
			for i := 1; i < len(c.columns); i++ {
				if i > 1 {
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

// scanBatch is how many rows one element of a scan's answer has when the query does not say.
const scanBatch = 20480

func (x *execution) scan(ctx context.Context, q *lang.Scan, p *lang.Plan) error {
	out := x.out
	size := int64(scanBatch)
	if q.BatchSize > 0 {
		size = int64(q.BatchSize)
	}
	head, tail := scanHead(p)
	out.buf = append(out.buf, '[')
	compact := q.ResultFormat == "compactedList"
	var n int64
	err := x.rows(ctx, p.Node, func(c *cells, row int) error {
		if n%size == 0 {
			if n > 0 {
				out.buf = append(append(append(out.buf, ']'), tail...), ',')
			}
			out.buf = append(out.buf, head...)
		} else {
			out.buf = append(out.buf, ',')
		}
		n++
		if compact {
			out.buf = append(out.buf, '[')
		} else {
			out.buf = append(out.buf, '{')
		}
		for i := range c.columns {
			if !compact {
				out.buf = c.member(out.buf, i, row)
				continue
			}
			if i > 0 {
				out.buf = append(out.buf, ',')
			}
			out.buf = c.value(out.buf, i, row)
		}
		if compact {
			out.buf = append(out.buf, ']')
		} else {
			out.buf = append(out.buf, '}')
		}
		return out.flushed()
	})
	if err != nil {
		return err
	}
	if n > 0 {
		out.buf = append(append(out.buf, ']'), tail...)
	}
	out.buf = append(out.buf, ']')
	return nil
}

// scanHead makes what stands before and behind the rows of an element. Rows of several segments come in one element, so that it names none.
func scanHead(p *lang.Plan) (head, tail []byte) {
	head = append(head, `{"segmentId":null,"columns":[`...)
	tail = append(tail, `,"rowSignature":[`...)
	for i, c := range p.Node.Columns() {
		if i > 0 {
			head, tail = append(head, ','), append(tail, ',')
		}
		head = appendQuoted(head, c.Name)
		tail = appendQuoted(append(tail, `{"name":`...), c.Name)
		if !p.Unknown[c.Name] {
			tail = appendQuoted(append(tail, `,"type":`...), signature(c))
		}
		tail = append(tail, '}')
	}
	return append(head, `],"events":[`...), append(tail, "]}"...)
}

// signature names the native type of a column.
func signature(c plan.Column) string {
	if c.Type.Multi {
		return vector.String.String()
	}
	return c.Type.Runtime().String()
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
		if q.Bound == "maxTime" {
			stamp = greatest
		}
		out.buf = append(appendTime(append(out.buf, `{"timestamp":`...), stamp), `,"result":{`...)
		if q.Bound != "minTime" {
			out.buf = appendTime(append(out.buf, `"maxTime":`...), greatest)
		}
		if q.Bound != "maxTime" {
			if q.Bound != "minTime" {
				out.buf = append(out.buf, ',')
			}
			out.buf = appendTime(append(out.buf, `"minTime":`...), least)
		}
		out.buf = append(out.buf, "}}"...)
		return nil
	})
	out.buf = append(out.buf, ']')
	return err
}

// ranges returns the times for which a query's tables have data in its intervals: per segment, sorted, overlapping ones joined. known says
// whether it reads tables only: of other datasources nothing is known beforehand.
func (x *execution) ranges(ctx context.Context, q *lang.Common) (out []chrono.Interval, known bool, err error) {
	if !lang.ReadsTables(q.DataSource.DataSource) {
		return nil, false, nil
	}
	within := q.When()
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		err := x.session.Segments(ctx, name, within, func(s Segment) error {
			if !s.Info.HasTimes || s.Info.Rows == 0 {
				return nil
			}
			data, ok := chrono.Interval{Start: s.Info.MinTime, End: s.Info.MaxTime + 1}.Intersect(s.Visible)
			if !ok {
				return nil
			}
			for _, iv := range within {
				if part, ok := data.Intersect(iv); ok && !part.IsEmpty() {
					out = append(out, part)
				}
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(out, chrono.Interval.Compare)
	return out, true, nil
}

// chunks returns the time chunks of the segments that a query reads, sorted; known as for ranges.
func (x *execution) chunks(ctx context.Context, q *lang.Common) (out []chrono.Interval, known bool, err error) {
	if !lang.ReadsTables(q.DataSource.DataSource) {
		return nil, false, nil
	}
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		if err := x.session.Segments(ctx, name, q.When(), func(s Segment) error {
			out = append(out, s.Interval)
			return nil
		}); err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(out, chrono.Interval.Compare)
	return out, true, nil
}
