package metastore

import (
	"context"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Check checks the invariants of the package comment and returns an error that names all violating
// rows. It reads the whole store: tests call it at their end, and operators after a restore.
func (s *Store) Check(ctx context.Context) error {
	var broken []error
	report := func(format string, args ...any) { broken = append(broken, fmt.Errorf(format, args...)) }
	err := s.view(ctx, func(c conn) error {
		broken = nil
		for _, q := range []struct{ what, query string }{
			{"file [%s] has a wrong number of references",
				"SELECT f.id FROM files f WHERE f.refs <> (SELECT COUNT(*) FROM segments s WHERE s.file_id = f.id)"},
			{"segment [%s] has no file",
				"SELECT s.id FROM segments s LEFT JOIN files f ON f.id = s.file_id WHERE s.file_id IS NOT NULL AND f.id IS NULL"},
			{"segment [%s] has a span that its datasource does not list",
				"SELECT s.id FROM segments s LEFT JOIN spans p ON p.datasource = s.datasource AND p.span = s.span WHERE p.span IS NULL"},
			{"lock [%s] has no holder",
				"SELECT CAST(l.id AS TEXT) FROM task_locks l WHERE NOT EXISTS (SELECT 1 FROM task_lock_holders h WHERE h.lock_id = l.id)"},
			{"the change stream has no entries of number [%s]", "SELECT CAST(h.number AS TEXT) FROM change_heads h " +
				"WHERE h.entries <> (SELECT COUNT(*) FROM changes c WHERE c.number = h.number)"},
		} {
			found, err := list(ctx, c, scanText, q.query)
			if err != nil {
				return err
			}
			for _, id := range found {
				report(q.what, id)
			}
		}
		if err := s.checkLocks(ctx, c, report); err != nil {
			return err
		}
		return s.checkStream(ctx, c, report)
	})
	return errors.Join(append(broken, err)...)
}

// checkLocks holds all pairs of locks to the table of coexistence.
func (s *Store) checkLocks(ctx context.Context, c conn, report func(string, ...any)) error {
	locks, err := c.locks(ctx, "WHERE l.revoked = 0")
	for i, a := range locks {
		for _, b := range locks[:i] {
			if a.DataSource == b.DataSource && a.GroupID != b.GroupID && !tasklock.Coexist(a.Type, a.Interval, b.Type, b.Interval) {
				report("locks [%d] and [%d] exclude each other", b.ID, a.ID)
			}
		}
	}
	return err
}

// checkStream compares what the change stream says last about each segment with its flag.
func (s *Store) checkStream(ctx context.Context, c conn, report func(string, ...any)) error {
	var floor, newest int64
	for name, dst := range map[string]*int64{"change_floor": &floor, "change": &newest} {
		if err := c.row(ctx, []any{dst}, "SELECT value FROM counters WHERE name = ?", name); err != nil {
			return err
		}
	}
	changes, err := s.scanChanges(ctx, c, floor, newest)
	if err != nil {
		return err
	}
	last := make(map[timeline.SegmentID]bool)
	for _, change := range changes {
		last[change.ID] = change.Segment != nil
	}
	rows, err := s.segmentRows(ctx, c, "")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if used, told := last[r.ID]; told && used != r.Used {
			report("segment [%s] is used: [%v], and the change stream ends with [%v]", r.ID, r.Used, used)
		} else if !told && floor == 0 {
			report("segment [%s] is not in the change stream", r.ID)
		}
	}
	return nil
}
