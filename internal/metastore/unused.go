package metastore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
)

// UnusedFilter selects a page of the unused segments of a datasource.
type UnusedFilter struct {
	// Interval, if not nil, selects the segments fully inside.
	Interval *chrono.Interval
	// Versions, if not nil, selects segments of these versions.
	Versions []string
	// UnusedBefore, if not 0, selects segments whose flag was changed at or before this instant.
	UnusedBefore int64
	// AfterID continues after an id, in the direction of the order.
	AfterID string
	// Descending orders by descending id.
	Descending bool
	// Limit limits the result if it is not 0.
	Limit int
}

// UnusedSegments returns unused segments by the text of their id.
func (s *Store) UnusedSegments(ctx context.Context, dataSource string, filter UnusedFilter) ([]SegmentRow, error) {
	condition, args := "WHERE s.datasource = ? AND s.used = 0", []any{dataSource}
	if filter.Interval != nil {
		condition += " AND s.start_ms >= ? AND s.end_ms <= ?"
		args = append(args, filter.Interval.Start, filter.Interval.End)
	}
	if filter.Versions != nil {
		if len(filter.Versions) == 0 {
			return nil, nil
		}
		condition += " AND s.version IN (" + marks(len(filter.Versions)) + ")"
		for _, v := range filter.Versions {
			args = append(args, v)
		}
	}
	if filter.UnusedBefore != 0 {
		condition += " AND s.used_updated <= ?"
		args = append(args, filter.UnusedBefore)
	}
	after, order := ">", "ASC"
	if filter.Descending {
		after, order = "<", "DESC"
	}
	if filter.AfterID != "" {
		condition += " AND s.id " + after + " ?"
		args = append(args, filter.AfterID)
	}
	condition += " ORDER BY s.id " + order
	if filter.Limit > 0 {
		condition += " LIMIT ?"
		args = append(args, filter.Limit)
	}
	return s.segmentRows(ctx, s.read(), condition, args...)
}

// UnusedIntervals returns the intervals of the segments of a datasource that have been unused since
// before an instant and end at or before another, by start; at most limit.
func (s *Store) UnusedIntervals(ctx context.Context, dataSource string, unusedBefore, endBefore int64, limit int) ([]chrono.Interval, error) {
	return list(ctx, s.read(), func(rows *sql.Rows) (iv chrono.Interval, err error) { return iv, rows.Scan(&iv.Start, &iv.End) },
		"SELECT DISTINCT start_ms, end_ms FROM segments WHERE datasource = ? AND used = 0 AND used_updated <= ? AND end_ms <= ? "+
			"ORDER BY start_ms, end_ms LIMIT ?", dataSource, unusedBefore, endBefore, limit)
}

// DeleteUnused deletes the rows of unused segments and returns their ids. Used segments and unknown
// ids are skipped. The caller deletes the bytes afterwards: see UnreferencedFiles. A crash in
// between leaves files that are still listed there, and never a row without bytes.
func (s *Store) DeleteUnused(ctx context.Context, fence Fence, dataSource string, ids []string) (deleted []string, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		rows, err := t.selected(ctx, dataSource, Selection{IDs: ids}, false)
		if err != nil || len(ids) == 0 {
			return err
		}
		deleted = make([]string, len(rows))
		refs := make(map[string]int64)
		for i, r := range rows {
			deleted[i] = r.ID.String()
			if r.File != "" {
				refs[r.File]++
			}
		}
		slices.Sort(deleted)
		if err := t.forgetChanges(ctx, deleted); err != nil {
			return err
		}
		if err := t.deleteRows(ctx, deleted); err != nil {
			return err
		}
		return t.dropReferences(ctx, refs)
	})
	return deleted, err
}

func (t *tx) deleteRows(ctx context.Context, ids []string) error {
	return forIDs(ids, func(marks string, args []any) error {
		_, err := t.exec(ctx, "DELETE FROM segments WHERE id IN ("+marks+")", args...)
		return err
	})
}

// forgetChanges raises the floor of the change stream above the entries of rows that go away:
// whoever has not read them yet starts again from a snapshot.
func (t *tx) forgetChanges(ctx context.Context, ids []string) error {
	var highest int64
	err := forIDs(ids, func(marks string, args []any) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var number sql.NullInt64
			err := rows.Scan(&number)
			highest = max(highest, number.Int64)
			return err
		}, "SELECT MAX(number) FROM changes WHERE segment_id IN ("+marks+")", args...)
	})
	if err != nil || highest == 0 {
		return err
	}
	return t.raiseFloor(ctx, highest)
}

// dropReferences counts references to files that are gone. A file at 0 waits for the deletion of
// its bytes.
func (t *tx) dropReferences(ctx context.Context, refs map[string]int64) error {
	for id, n := range refs {
		if _, err := t.exec(ctx, "UPDATE files SET refs = refs - ? WHERE id = ?", n, id); err != nil {
			return err
		}
	}
	return nil
}
