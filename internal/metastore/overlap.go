package metastore

import (
	"context"
	"database/sql"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
)

// Finding the segments that overlap an interval. An index on the start alone would visit every segment that starts before the interval ends.
// So each row has its span: the exponent of the smallest power of two that is at least the length of its interval. Among segments of one
// span p, those that overlap [a, b) start in (a - 2^p, b), a short range of the index (datasource, span, start). A datasource has few spans.

// spanOf returns the span of an interval.
func spanOf(iv chrono.Interval) int64 {
	length := uint64(iv.End) - uint64(iv.Start)
	if length <= 1 {
		return 0
	}
	return int64(bits.Len64(length - 1))
}

// earliestStart returns the instant before which no segment of a span starts that overlaps an interval from start on; exclusive.
func earliestStart(start, span int64) int64 {
	if span >= 63 {
		return math.MinInt64
	}
	width := int64(1) << span
	if start < math.MinInt64+width {
		return math.MinInt64
	}
	return start - width
}

// eachOverlapping runs a query once for every span of a datasource. The query ends in a WHERE clause to which the condition on the segments
// "s" is added; args are its own parameters.
func (c conn) eachOverlapping(ctx context.Context, dataSource string, iv chrono.Interval, fn func(*sql.Rows) error, query string, args ...any) error {
	spans, err := list(ctx, c, func(rows *sql.Rows) (span int64, err error) { return span, rows.Scan(&span) },
		"SELECT span FROM spans WHERE datasource = ? ORDER BY span", dataSource)
	if err != nil {
		return err
	}
	for _, span := range spans {
		all := append(slices.Clip(args), dataSource, span, earliestStart(iv.Start, span), iv.End, iv.Start)
		err := c.each(ctx, fn, query+" AND s.datasource = ? AND s.span = ? AND s.start_ms > ? AND s.start_ms < ? AND s.end_ms > ?", all...)
		if err != nil {
			return err
		}
	}
	return nil
}
