package nativequery

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/querycontext"
)

// series writes the rows of a timeseries, with the empty buckets between them.
type series struct {
	x     *execution
	q     *lang.Timeseries
	field string // also the time as a member of the result; "" for none
	left  int64  // how many rows may still come
	n     int64
	last  int64  // the bucket of the last row
	empty []byte // the result of an empty bucket; nil: there was none yet
}

func (x *execution) timeseries(ctx context.Context, q *lang.Timeseries, p *lang.Plan) error {
	s := &series{x: x, q: q, left: math.MaxInt64}
	if q.Limit > 0 {
		s.left = int64(q.Limit)
	}
	if f, ok := querycontext.TimeResult.In(x.settings).(string); ok {
		s.field = f
	}
	ranges, known, err := x.ranges(ctx, q.Parts(), q.Granularity)
	if err != nil {
		return err
	}
	x.showBuckets(q.Granularity)
	x.out.buf = append(x.out.buf, '[')
	if !q.Granularity.Given || q.Granularity.IsAll() {
		err = s.one(ctx, p, ranges)
	} else {
		err = s.all(ctx, p, ranges, known)
	}
	if err != nil {
		return err
	}
	if err := s.grandTotal(ctx); err != nil {
		return err
	}
	x.out.buf = append(x.out.buf, ']')
	return nil
}

// one writes the only row of granularity all: with the time at which the segment begins that comes
// first in the order wanted. Where no row counts there is none if empty buckets are left out.
func (s *series) one(ctx context.Context, p *lang.Plan, ranges []chrono.Interval) error {
	if s.q.SkipsEmpty() {
		rows := int64(0)
		if err := s.single(ctx, lang.Counted(s.q), func(c *cells, row int) { rows = c.long(1, row) }); err != nil || rows == 0 {
			return err
		}
	}
	return s.x.rows(ctx, p.Node, func(c *cells, row int) error {
		t := c.time(row)
		switch {
		case len(ranges) == 0:
		case bool(s.q.Descending):
			t = ranges[len(ranges)-1].Start
		default:
			t = ranges[0].Start
		}
		s.write(t, resultOf(nil, c, row))
		return nil
	})
}

// all writes a row per bucket.
func (s *series) all(ctx context.Context, p *lang.Plan, ranges []chrono.Interval, known bool) error {
	next, stop := iter.Pull(func(func(int64) bool) {})
	if known && !s.q.SkipsEmpty() {
		stop()
		next, stop = iter.Pull(bucketStarts(s.q.Granularity.Granularity, ranges, bool(s.q.Descending)))
	}
	defer stop()
	bucket, more := next()
	before := func(a, b int64) bool {
		if s.q.Descending {
			a, b = b, a
		}
		return a < b
	}
	fill := func(until int64, all bool) error {
		for ; more && s.left > 0 && (all || before(bucket, until)); bucket, more = next() {
			if err := s.computeEmpty(ctx); err != nil {
				return err
			}
			s.write(bucket, s.empty)
			if err := s.x.out.flushed(); err != nil {
				return err
			}
			if s.n%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}
	var scratch []byte
	err := s.x.rows(ctx, p.Node, func(c *cells, row int) error {
		t := c.time(row)
		if err := fill(t, false); err != nil {
			return err
		}
		if more && bucket == t {
			bucket, more = next()
		}
		scratch = resultOf(scratch[:0], c, row)
		s.write(t, scratch)
		return nil
	})
	if err != nil {
		return err
	}
	return fill(0, true)
}

// bucketStarts yields the buckets that ranges touch, each once.
func bucketStarts(g chrono.Granularity, ranges []chrono.Interval, descending bool) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		var last int64
		began := false
		emit := func(t int64) bool {
			if began && (descending && t >= last || !descending && t <= last) {
				return true
			}
			began, last = true, t
			return yield(t)
		}
		if !descending {
			for _, r := range ranges {
				for t := g.Floor(r.Start); t < r.End; t = g.Next(t) {
					if !emit(t) {
						return
					}
				}
			}
			return
		}
		for _, r := range slices.Backward(ranges) {
			first := g.Floor(r.Start)
			for t := g.Floor(r.End - 1); t >= first; t = g.Floor(t - 1) {
				if !emit(t) {
					return
				}
			}
		}
	}
}

// resultOf appends the members of a row behind its time.
func resultOf(dst []byte, c *cells, row int) []byte {
	dst = append(dst, '{')
	for i := 1; i < len(c.columns); i++ {
		dst = c.member(dst, i, row)
	}
	return append(dst, '}')
}

func (s *series) write(t int64, result []byte) {
	if s.left <= 0 {
		return
	}
	s.left--
	s.last = t
	out := s.x.out
	if s.n++; s.n > 1 {
		out.buf = append(out.buf, ',')
	}
	out.buf = s.x.appendBucket(append(out.buf, `{"timestamp":`...), t)
	out.buf = append(out.buf, `,"result":`...)
	if s.field == "" {
		out.buf = append(append(out.buf, result...), '}')
		return
	}
	out.buf = append(appendQuoted(append(out.buf, '{'), s.field), ':')
	out.buf = strconv.AppendInt(out.buf, t, 10)
	if len(result) > 2 {
		out.buf = append(out.buf, ',')
	}
	out.buf = append(append(out.buf, result[1:]...), '}')
}

// computeEmpty finds the result of a bucket without rows once, when there is one: post-aggregators
// may fail over no rows.
func (s *series) computeEmpty(ctx context.Context) error {
	if s.empty != nil {
		return nil
	}
	return s.single(ctx, lang.Never(s.q), func(c *cells, row int) { s.empty = resultOf(nil, c, row) })
}

// grandTotal writes the aggregates over all buckets as a last row without a time, if the context
// asks for them.
func (s *series) grandTotal(ctx context.Context) error {
	if wanted, err := s.x.bool(querycontext.GrandTotal); err != nil || !wanted {
		return err
	}
	total := lang.Ungrouped(s.q)
	switch {
	case s.n == 0:
		total = lang.Void(s.q)
	case s.left <= 0 && s.q.Granularity.Given && !s.q.Granularity.IsAll(): // of the rows that there are
		total = lang.UpTo(total, s.q.Granularity.Granularity, s.last)
	}
	return s.single(ctx, total, func(c *cells, row int) {
		out := s.x.out
		if s.n > 0 {
			out.buf = append(out.buf, ',')
		}
		out.buf = append(resultOf(append(out.buf, `{"timestamp":null,"result":`...), c, row), '}')
	})
}

// single runs a query that has one row.
func (s *series) single(ctx context.Context, q *lang.Timeseries, f func(c *cells, row int)) error {
	p, err := lang.Translate(ctx, q, s.x.session)
	if err != nil {
		return err
	}
	return s.x.rows(ctx, p.Node, func(c *cells, row int) error {
		f(c, row)
		return nil
	})
}
