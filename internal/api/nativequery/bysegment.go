package nativequery

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
)

// bySegment answers a query of each segment by itself: an element has what the query over that
// segment alone gives, with the segment's name and the part of its time that counts. What only
// makes sense of all rows (the limit and the having of groups) does not apply.
func (x *execution) bySegment(ctx context.Context, q lang.Query) error {
	if _, scan := q.(*lang.Scan); scan {
		return fault.InvalidInput("Query context [bySegment] can't be set for a scan, whose rows come by segment anyway")
	}
	if !lang.ReadsTables(q.Parts().DataSource.DataSource) {
		return fault.InvalidInput("Query context [bySegment] can't be set for constants and the results of queries, which have no segments")
	}
	type share struct {
		table  string
		listed query.Listed
	}
	var shares []share
	for _, name := range lang.ScannedTables(q.Parts().DataSource.DataSource) {
		list := x.session.List(name, x.segmentsOf(q, name))
		for i, l := range list {
			if i > 0 && list[i-1].Visible.Overlaps(l.Visible) {
				return fault.Unsupported("Query context [bySegment] is not supported where several segments share a time, as here [%s]", l.ID)
			}
			shares = append(shares, share{name, l})
		}
	}
	slices.SortStableFunc(shares, func(a, b share) int { return a.listed.Visible.Compare(b.listed.Visible) })
	shares = ends(q, shares)
	out := x.out
	out.buf = append(out.buf, '[')
	for i, s := range shares {
		if i > 0 {
			out.buf = append(out.buf, ',')
		}
		of := lang.OfSegment(q, s.table, s.listed.Visible)
		// A pretty answer is gathered whole, as this one is to be.
		part := &execution{session: x.session, id: x.id, settings: x.settings, out: &answer{pretty: &bytes.Buffer{}}, longTimes: x.longTimes, stamp: &s.listed.Interval.Start}
		if err := part.answer(ctx, of); err != nil {
			return err
		}
		out.buf = x.appendMoment(append(out.buf, `{"timestamp":`...), s.listed.Interval.Start)
		out.buf = append(append(out.buf, `,"result":{"results":`...), part.out.buf...)
		out.buf = appendQuoted(append(out.buf, `,"segment":`...), s.listed.ID)
		out.buf = appendQuoted(append(out.buf, `,"interval":`...), of.Parts().When()[0].String())
		out.buf = append(out.buf, "}}"...)
		if err := out.flushed(); err != nil {
			return err
		}
	}
	out.buf = append(out.buf, ']')
	return nil
}

// segmentsOf returns the intervals in which the segments of a query are looked for.
func (x *execution) segmentsOf(q lang.Query, table string) []chrono.Interval {
	if m, ok := q.(*lang.SegmentMetadata); ok {
		return x.recent(m, table)
	}
	return q.Parts().When()
}

// ends keeps, of segments in the order of time, those that can have the ends a query asks for; all
// of them for other queries.
func ends[T any](q lang.Query, segments []T) []T {
	if len(segments) < 2 {
		return segments
	}
	first, last := segments[0], segments[len(segments)-1]
	switch q := q.(type) {
	case *lang.DataSourceMetadata:
		return []T{last}
	case *lang.TimeBoundary:
		switch {
		case q.Filter.Filter != nil:
		case q.Earliest():
			return []T{first}
		case q.Latest():
			return []T{last}
		default:
			return []T{first, last}
		}
	}
	return segments
}

// shownAt returns the time that an answer about an end shows beside it: that end, or where the
// segment begins that the answer is of.
func (x *execution) shownAt(end int64) int64 {
	if x.stamp != nil {
		return *x.stamp
	}
	return end
}

// appendMoment writes a time: as a number if the context wants that.
func (x *execution) appendMoment(dst []byte, t int64) []byte {
	if x.longTimes {
		return strconv.AppendInt(dst, t, 10)
	}
	return appendTime(dst, t)
}
