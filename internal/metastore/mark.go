package metastore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Selection selects segments of a datasource: those of IDs, else those fully inside Interval, else
// all.
type Selection struct {
	// IDs are texts of segment ids.
	IDs []string
	// Interval, if not nil, selects the segments whose interval it contains.
	Interval *chrono.Interval
	// Versions, if not nil, restricts Interval to these versions. An empty list selects nothing.
	Versions []string
}

// Marked is the result of marking segments.
type Marked struct {
	// Changed is the number of segments whose flag was changed.
	Changed int
	// Number is the number of the change in the change stream; 0 if nothing changed.
	Number int64
}

// MarkUnused makes segments unused: queries no longer see them, and kill may delete them. Unknown
// ids are ignored. The audit entry, if not nil, is written in the same transaction.
func (s *Store) MarkUnused(ctx context.Context, fence Fence, dataSource string, selection Selection, entry *AuditEntry) (Marked, error) {
	return s.mark(ctx, fence, entry, func(ctx context.Context, t *tx) ([]timeline.SegmentID, bool, error) {
		rows, err := t.selected(ctx, dataSource, selection, true)
		return rowIDs(rows), false, err
	})
}

// MarkUsed makes unused segments used, except those that used segments, or others of the selection,
// overshadow. An unknown id is a fault, and nothing changes.
func (s *Store) MarkUsed(ctx context.Context, fence Fence, dataSource string, selection Selection) (Marked, error) {
	return s.mark(ctx, fence, nil, func(ctx context.Context, t *tx) ([]timeline.SegmentID, bool, error) {
		if err := t.checkKnown(ctx, dataSource, selection.IDs); err != nil {
			return nil, true, err
		}
		candidates, err := t.selected(ctx, dataSource, selection, false)
		if err != nil || len(candidates) == 0 {
			return nil, true, err
		}
		all := candidates
		for _, iv := range chrono.Condense(rowIntervals(candidates)) {
			used, err := t.store.overlappingRows(ctx, t.conn, dataSource, iv, "s.used = 1")
			if err != nil {
				return nil, true, err
			}
			all = append(slices.Clip(all), used...)
		}
		tl := timelineOf(all)
		visible := slices.DeleteFunc(candidates, func(r SegmentRow) bool { return tl.SegmentIsOvershadowed(r.Segment) })
		return rowIDs(visible), true, nil
	})
}

// MarkSegmentUsed makes one segment used, even if it is overshadowed.
func (s *Store) MarkSegmentUsed(ctx context.Context, fence Fence, dataSource, id string) (Marked, error) {
	return s.mark(ctx, fence, nil, func(ctx context.Context, t *tx) ([]timeline.SegmentID, bool, error) {
		rows, err := t.selected(ctx, dataSource, Selection{IDs: []string{id}}, false)
		return rowIDs(rows), true, err
	})
}

func (s *Store) mark(
	ctx context.Context, fence Fence, entry *AuditEntry, choose func(context.Context, *tx) (ids []timeline.SegmentID, used bool, err error),
) (Marked, error) {
	var out Marked
	var done *tx
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		done = t
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		ids, used, err := choose(ctx, t)
		if err != nil {
			return err
		}
		out.Changed = len(ids)
		if err := t.setUsed(ctx, ids, used); err != nil {
			return err
		}
		return t.audit(ctx, entry)
	})
	if err != nil {
		return Marked{}, err
	}
	out.Number = done.number
	return out, nil
}

// selected returns the rows of a selection whose flag is used.
func (t *tx) selected(ctx context.Context, dataSource string, selection Selection, used bool) ([]SegmentRow, error) {
	switch {
	case len(selection.IDs) > 0:
		rows, err := t.store.rowsByID(ctx, t.conn, selection.IDs)
		seen := make(map[timeline.SegmentID]bool)
		return slices.DeleteFunc(rows, func(r SegmentRow) bool {
			twice := seen[r.ID]
			seen[r.ID] = true
			return twice || r.ID.DataSource != dataSource || r.Used != used
		}), err
	case selection.Interval != nil:
		rows, err := t.store.overlappingRows(ctx, t.conn, dataSource, *selection.Interval, "s.used = ?", flag(used))
		return slices.DeleteFunc(rows, func(r SegmentRow) bool {
			return !selection.Interval.Contains(r.ID.Interval) || selection.Versions != nil && !slices.Contains(selection.Versions, r.ID.Version)
		}), err
	default:
		return t.store.segmentRows(ctx, t.conn, "WHERE s.datasource = ? AND s.used = ?", dataSource, flag(used))
	}
}

// checkKnown refuses ids that no row of the datasource has.
func (t *tx) checkKnown(ctx context.Context, dataSource string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	known := make(map[string]bool, len(ids))
	err := forIDs(ids, func(marks string, args []any) error {
		found, err := list(ctx, t.conn, scanText, "SELECT id FROM segments WHERE id IN ("+marks+") AND datasource = ?", append(args, dataSource)...)
		for _, id := range found {
			known[id] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return known[id] })
	if len(missing) > 0 {
		return fault.InvalidInput("Could not find segment IDs[[%s]] for datasource[%s]", strings.Join(missing, ", "), dataSource)
	}
	return nil
}

// setUsed flips the flag of rows that have the other one.
func (t *tx) setUsed(ctx context.Context, ids []timeline.SegmentID, used bool) error {
	texts := make([]string, len(ids))
	slices.SortFunc(ids, func(a, b timeline.SegmentID) int { return a.Compare(b) })
	for i, id := range ids {
		texts[i] = id.String()
		if used {
			t.added(id)
		} else {
			t.removed(id)
		}
	}
	return forIDs(texts, func(marks string, args []any) error {
		_, err := t.exec(ctx, "UPDATE segments SET used = ?, used_updated = ? WHERE id IN ("+marks+")", append([]any{flag(used), t.now}, args...)...)
		return err
	})
}

func rowIDs(rows []SegmentRow) []timeline.SegmentID {
	ids := make([]timeline.SegmentID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

func rowIntervals(rows []SegmentRow) []chrono.Interval {
	out := make([]chrono.Interval, 0, len(rows))
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1] != r.ID.Interval {
			out = append(out, r.ID.Interval)
		}
	}
	slices.SortFunc(out, func(a, b chrono.Interval) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	return out
}
