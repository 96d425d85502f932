package metastore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
)

// Finding the segments that overlap an interval. An index on the start alone would visit every
// segment that starts before the interval ends. So each row has its span: the exponent of the
// smallest power of two that is at least the length of its interval. Among segments of one span p,
// those that overlap [a, b) start in (a - 2^p, b), a short range of the index (datasource, span,
// start). A datasource has few spans.

//
// Locks and promised ids have no span, because releases that do not know of it write them, too.
// Their indexes have the exact length of the interval in its place. A datasource has few lengths:
// they are those of time chunks.

// spanOf returns the span of an interval.
func spanOf(iv chrono.Interval) int64 {
	length := uint64(iv.End) - uint64(iv.Start)
	if length <= 1 {
		return 0
	}
	return int64(bits.Len64(length - 1))
}

// earliestStart returns the instant before which no segment of a span starts that overlaps an
// interval from start on; exclusive.
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

// eachOverlapping runs a query once for every span of a datasource. The query ends in a WHERE
// clause to which the condition on the segments "s" is added; args are its own parameters.
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

// eachLength runs fn once for every length of the intervals that a table has of a datasource. It
// gets the condition, with its parameters, that the rows of this length meet that overlap iv; the
// names of columns have the prefix.
func (c conn) eachLength(ctx context.Context, table, prefix, dataSource string, iv chrono.Interval, fn func(condition string, args []any) error) error {
	const next = "SELECT end_ms - start_ms FROM %s WHERE datasource = ? AND end_ms - start_ms > %s ORDER BY end_ms - start_ms LIMIT 1"
	lengths, err := list(ctx, c, func(rows *sql.Rows) (length int64, err error) { return length, rows.Scan(&length) },
		"WITH RECURSIVE lengths (length) AS (SELECT * FROM ("+fmt.Sprintf(next, table, "-1")+") AS first UNION ALL SELECT ("+
			fmt.Sprintf(next, table, "length")+") FROM lengths WHERE length IS NOT NULL) SELECT length FROM lengths WHERE length IS NOT NULL",
		dataSource, dataSource)
	if err != nil {
		return err
	}
	condition := "WHERE " + prefix + "datasource = ? AND " + prefix + "end_ms - " + prefix + "start_ms = ? AND " + prefix + "start_ms > ? AND " +
		prefix + "start_ms < ?"
	for _, length := range lengths {
		after := int64(math.MinInt64)
		if iv.Start >= math.MinInt64+length {
			after = iv.Start - length
		}
		if err := fn(condition, []any{dataSource, length, after, iv.End}); err != nil {
			return err
		}
	}
	return nil
}

// overlappingLocks returns the locks of a datasource that overlap an interval, in the order in
// which they were granted.
func (c conn) overlappingLocks(ctx context.Context, dataSource string, iv chrono.Interval) (out []tasklock.Lock, err error) {
	err = c.eachLength(ctx, "task_locks", "l.", dataSource, iv, func(condition string, args []any) error {
		found, err := c.locks(ctx, condition, args...)
		out = append(out, found...)
		return err
	})
	slices.SortFunc(out, func(a, b tasklock.Lock) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

// overlappingPending returns the ids promised for a datasource that overlap an interval, by age.
func (c conn) overlappingPending(ctx context.Context, dataSource string, iv chrono.Interval) (out []PendingSegment, err error) {
	err = c.eachLength(ctx, "pending_segments", "", dataSource, iv, func(condition string, args []any) error {
		found, err := c.pending(ctx, condition, args...)
		out = append(out, found...)
		return err
	})
	slices.SortFunc(out, func(a, b PendingSegment) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out, err
}
