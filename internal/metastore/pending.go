package metastore

import (
	"context"
	"database/sql"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

const pendingColumns = "id, datasource, start_ms, end_ms, version, partition_num, shard_spec, sequence_name, previous_id, sequence_key, allocator, " +
	"upgraded_from, created"

func (c conn) pending(ctx context.Context, condition string, args ...any) ([]PendingSegment, error) {
	return list(ctx, c, func(rows *sql.Rows) (p PendingSegment, err error) {
		var id, shard, key string
		var upgradedFrom sql.NullString
		err = rows.Scan(&id, &p.ID.DataSource, &p.ID.Interval.Start, &p.ID.Interval.End, &p.ID.Version, &p.ID.Partition, &shard, &p.SequenceName,
			&p.PreviousID, &key, &p.Allocator, &upgradedFrom, &p.Created)
		if err != nil {
			return p, err
		}
		p.UpgradedFrom = upgradedFrom.String
		p.Shard, err = timeline.ParseShardSpec([]byte(shard))
		return p, err
	}, "SELECT "+pendingColumns+" FROM pending_segments "+condition+" ORDER BY created, id", args...)
}

func (t *tx) insertPending(ctx context.Context, p PendingSegment, key string) error {
	shard, err := timeline.MarshalShardSpec(p.Shard)
	if err != nil {
		return err
	}
	return t.insert(ctx, "pending_segments", pendingColumns, "", [][]any{{
		p.ID.String(), p.ID.DataSource, p.ID.Interval.Start, p.ID.Interval.End, p.ID.Version, p.ID.Partition, string(shard), p.SequenceName,
		p.PreviousID, key, p.Allocator, optional(p.UpgradedFrom), p.Created,
	}})
}

// PendingSegments returns the allocated, unpublished ids of a datasource, by age.
func (s *Store) PendingSegments(ctx context.Context, dataSource string) ([]PendingSegment, error) {
	return s.read().pending(ctx, "WHERE datasource = ?", dataSource)
}

// PendingFilter selects pending segments of a datasource.
type PendingFilter struct {
	// quirk Q014: Interval, if not nil, selects those created in it, as Druid does.
	Interval *chrono.Interval
	// Allocator, if not empty, selects those of one allocator.
	Allocator string
}

// DeletePending deletes allocated ids and returns their number. Tasks that still publish them fail.
func (s *Store) DeletePending(ctx context.Context, fence Fence, dataSource string, filter PendingFilter) (deleted int64, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		query, args := "DELETE FROM pending_segments WHERE datasource = ?", []any{dataSource}
		if filter.Interval != nil {
			query += " AND created >= ? AND created < ?"
			args = append(args, filter.Interval.Start, filter.Interval.End)
		}
		if filter.Allocator != "" {
			query += " AND allocator = ?"
			args = append(args, filter.Allocator)
		}
		var err error
		deleted, err = t.exec(ctx, query, args...)
		return err
	})
	return deleted, err
}
