package metastore

import (
	"context"
	"fmt"
)

// DeleteStaleRules forgets the rules, written before an instant, of datasources that have no
// segments, used or not, and returns how many lists went. keep is a name that is no datasource.
func (s *Store) DeleteStaleRules(ctx context.Context, fence Fence, before int64, keep string) (deleted int64, err error) {
	return s.deleteRows(ctx, fence, "rules WHERE updated < ? AND datasource <> ? AND NOT EXISTS (SELECT 1 FROM segments s WHERE s.datasource = rules.datasource)",
		before, keep)
}

// DeleteStaleOffsets forgets offsets, written before an instant, of supervisors that have ended or
// never were, and returns how many went.
func (s *Store) DeleteStaleOffsets(ctx context.Context, fence Fence, before int64) (deleted int64, err error) {
	return s.deleteRows(ctx, fence, "offsets WHERE updated < ? AND id NOT IN (SELECT id FROM supervisors WHERE tombstone = 0 "+
		"AND seq IN (SELECT MAX(seq) FROM supervisors GROUP BY id))", before)
}

// DeleteStalePending forgets the ids promised before an instant, save those of some datasources,
// and returns how many went. Tasks that still want to publish them fail: the instant must be before
// the start of every active task.
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
