package metastore

import (
	"context"
	"fmt"
)

// DeleteStaleRules deletes rules that were written before an instant, of datasources without used
// or unused segments, and returns the number of deleted lists. keep is a name that is not a
// datasource.
func (s *Store) DeleteStaleRules(ctx context.Context, fence Fence, before int64, keep string) (deleted int64, err error) {
	return s.deleteRows(ctx, fence, "rules WHERE updated < ? AND datasource <> ? AND NOT EXISTS (SELECT 1 FROM segments s WHERE s.datasource = rules.datasource)",
		before, keep)
}

// DeleteStaleOffsets deletes offsets that were written before an instant, of supervisors that have
// ended or never existed, and returns their number.
func (s *Store) DeleteStaleOffsets(ctx context.Context, fence Fence, before int64) (deleted int64, err error) {
	return s.deleteRows(ctx, fence, "offsets WHERE updated < ? AND id NOT IN (SELECT id FROM supervisors WHERE tombstone = 0 "+
		"AND seq IN (SELECT MAX(seq) FROM supervisors GROUP BY id))", before)
}

// DeleteStalePending deletes the ids that were allocated before an instant, except those of some
// datasources, and returns their number. Tasks that still publish them fail, so the instant must be
// before the start of every active task.
func (s *Store) DeleteStalePending(ctx context.Context, fence Fence, before int64, keep []string) (deleted int64, err error) {
	condition, args := "pending_segments WHERE created < ?", []any{before}
	if len(keep) > 0 {
		condition += fmt.Sprintf(" AND datasource NOT IN (%s)", marks(len(keep)))
		for _, name := range keep {
			args = append(args, name)
		}
	}
	return s.deleteRows(ctx, fence, condition, args...)
}

// DeleteStaleSettings deletes settings whose names begin with a prefix, which ends with an ASCII
// character: those that were written before an instant, and all others except the keep newest. It
// returns their number. It does not notify other processes, because it is for settings of ended
// objects.
func (s *Store) DeleteStaleSettings(ctx context.Context, fence Fence, prefix string, before int64, keep int) (deleted int64, err error) {
	const those = "name >= ? AND name < ?"
	last := len(prefix) - 1
	after := prefix[:last] + string(prefix[last]+1) // the first name behind them
	return s.deleteRows(ctx, fence, "settings WHERE "+those+" AND (updated < ? OR name NOT IN (SELECT name FROM settings WHERE "+those+
		" ORDER BY updated DESC, name LIMIT ?))", prefix, after, before, prefix, after, keep)
}

func (s *Store) deleteRows(ctx context.Context, fence Fence, condition string, args ...any) (deleted int64, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		deleted, err = t.exec(ctx, "DELETE FROM "+condition, args...)
		return err
	})
	return deleted, err
}
