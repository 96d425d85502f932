package native

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// buckets writes the form that topN and search share: an object per bucket of time with the list of its rows, at most limit of them.
func (x *execution) buckets(ctx context.Context, node plan.Node, limit int64, stamp func(int64) int64, row func(dst []byte, c *cells, row int) []byte) (found bool, err error) {
	out := x.out
	out.buf = append(out.buf, '[')
	var current, count int64
	err = x.rows(ctx, node, func(c *cells, i int) error {
		t := c.time(i)
		if !found || t != current {
			if found {
				out.buf = append(out.buf, "]},"...)
			}
			out.buf = append(out.buf, `{"timestamp":`...)
			out.buf = append(appendTime(out.buf, stamp(t)), `,"result":[`...)
			found, current, count = true, t, 0
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
		return found, err
	}
	if found {
		out.buf = append(out.buf, "]}"...)
	}
	return found, nil
}

// sameTime is for buckets that are shown as they are.
func sameTime(t int64) int64 { return t }

func (x *execution) topN(ctx context.Context, q *lang.TopN, p *lang.Plan) error {
	stamp := sameTime
	if !q.Granularity.Given || q.Granularity.IsAll() {
		first, known, err := x.firstTime(ctx, q.Parts())
		if err != nil {
			return err
		}
		if known {
			stamp = func(int64) int64 { return first }
		}
	}
	_, err := x.buckets(ctx, p.Node, int64(q.Threshold), stamp, func(dst []byte, c *cells, row int) []byte {
		for i := 1; i < len(c.columns); i++ {
			dst = c.member(dst, i, row)
		}
		return dst
	})
	x.out.buf = append(x.out.buf, ']')
	return err
}

func (x *execution) search(ctx context.Context, q *lang.Search, p *lang.Plan) error {
	found, err := x.buckets(ctx, p.Node, q.ResultLimit(), sameTime, func(dst []byte, c *cells, row int) []byte {
		return c.member(c.member(c.member(dst, 1, row), 2, row), 3, row)
	})
	if err == nil && !found && (!q.Granularity.Given || q.Granularity.IsAll()) {
		if list := q.When(); len(list) > 0 {
			x.out.buf = append(appendTime(append(x.out.buf, `{"timestamp":`...), list[0].Start), `,"result":[]}`...)
		}
	}
	x.out.buf = append(x.out.buf, ']')
	return err
}

func (x *execution) groupBy(ctx context.Context, _ *lang.GroupBy, p *lang.Plan) error {
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
		out.buf = append(appendTime(out.buf, c.time(row)), `,"event":{`...)
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

// firstTime returns the time that the groups of granularity all carry: that of the first row of the segments, whatever the filter.
func (x *execution) firstTime(ctx context.Context, q *lang.Common) (int64, bool, error) {
	list, known, err := x.ranges(ctx, q)
	if err != nil || !known || len(list) == 0 {
		return 0, false, err
	}
	return list[0].Start, true, nil
}
