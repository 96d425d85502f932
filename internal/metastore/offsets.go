package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hengedb/henge/internal/fault"
)

// Offsets are the published offsets of the stream of a supervisor.
type Offsets struct {
	// ID is the id of the supervisor.
	ID         string
	DataSource string
	Payload    json.RawMessage
	Updated    int64
}

// Offsets returns the stored offsets of a supervisor, and whether they exist.
func (s *Store) Offsets(ctx context.Context, id string) (Offsets, bool, error) {
	return s.read().offsets(ctx, id)
}

func (c conn) offsets(ctx context.Context, id string) (Offsets, bool, error) {
	o := Offsets{ID: id}
	var payload string
	err := c.row(ctx, []any{&o.DataSource, &payload, &o.Updated}, "SELECT datasource, payload, updated FROM offsets WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return o, false, nil
	}
	o.Payload = json.RawMessage(payload)
	return o, err == nil, err
}

// AllOffsets returns the offsets of all supervisors, by id.
func (s *Store) AllOffsets(ctx context.Context) ([]Offsets, error) {
	return list(ctx, s.read(), func(rows *sql.Rows) (o Offsets, err error) {
		var payload string
		err = rows.Scan(&o.ID, &o.DataSource, &payload, &o.Updated)
		o.Payload = json.RawMessage(payload)
		return o, err
	}, "SELECT id, datasource, payload, updated FROM offsets ORDER BY id")
}

// SwapOffsets changes offsets outside of a publication, for example for a reset by a user.
func (s *Store) SwapOffsets(ctx context.Context, fence Fence, dataSource string, swap OffsetSwap) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		return t.swapOffsets(ctx, dataSource, &swap)
	})
}

func (t *tx) swapOffsets(ctx context.Context, dataSource string, swap *OffsetSwap) error {
	stored, found, err := t.offsets(ctx, swap.ID)
	if err != nil {
		return err
	}
	if !found {
		stored.Payload = nil
	}
	next, err := swap.Next(stored.Payload)
	if err != nil {
		return err
	}
	if !json.Valid(next) {
		return fault.Defensive("The offsets of supervisor [%s] are not JSON", swap.ID)
	}
	_, err = t.exec(ctx, "INSERT INTO offsets (id, datasource, payload, created, updated) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (id) DO UPDATE SET datasource = excluded.datasource, payload = excluded.payload, updated = excluded.updated",
		swap.ID, dataSource, string(next), t.now, t.now)
	return err
}

// DeleteOffsets deletes the offsets of a supervisor and reports whether they existed.
func (s *Store) DeleteOffsets(ctx context.Context, fence Fence, id string) (deleted bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "DELETE FROM offsets WHERE id = ?", id)
		deleted = n > 0
		return err
	})
	return deleted, err
}
