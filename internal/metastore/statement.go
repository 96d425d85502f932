package metastore

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
)

// Statement is an asynchronous SQL statement. It survives a restart, including the location of its
// results.
type Statement struct {
	ID string
	// State is ACCEPTED, RUNNING, SUCCESS or FAILED.
	State string
	// TaskID is the task that runs it, Identity the user who submitted it.
	TaskID, Identity string
	Created, Updated int64
	// Payload is the query, its schema and its pages, in JSON.
	Payload json.RawMessage
}

// PutStatement stores a statement. If it replaces a statement with the same id, Created is
// preserved.
func (s *Store) PutStatement(ctx context.Context, statement Statement) error {
	if statement.ID == "" {
		return fault.InvalidInput("A statement needs an id")
	}
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if statement.Created == 0 {
			statement.Created = t.now
		}
		_, err := t.exec(ctx, "INSERT INTO statements (id, state, task_id, identity, created, updated, payload) VALUES (?, ?, ?, ?, ?, ?, ?) "+
			"ON CONFLICT (id) DO UPDATE SET state = excluded.state, task_id = excluded.task_id, updated = excluded.updated, payload = excluded.payload",
			statement.ID, statement.State, statement.TaskID, statement.Identity, statement.Created, t.now,
			t.sealer.Seal("statements", jsonText(statement.Payload)))
		return err
	})
}

// Statement returns a statement, and whether it exists.
func (s *Store) Statement(ctx context.Context, id string) (Statement, bool, error) {
	found, err := s.statements(ctx, "WHERE id = ?", id)
	if err != nil || len(found) == 0 {
		return Statement{}, false, err
	}
	return found[0], true, nil
}

// Statements returns the statements created before an instant (0: all), the oldest first, at most
// limit (0: all).
func (s *Store) Statements(ctx context.Context, createdBefore int64, limit int) ([]Statement, error) {
	condition, args := "WHERE 1 = 1", []any(nil)
	if createdBefore != 0 {
		condition += " AND created < ?"
		args = append(args, createdBefore)
	}
	condition += " ORDER BY created, id"
	if limit > 0 {
		condition += " LIMIT ?"
		args = append(args, limit)
	}
	return s.statements(ctx, condition, args...)
}

func (s *Store) statements(ctx context.Context, condition string, args ...any) ([]Statement, error) {
	return list(ctx, s.read(), func(rows *sql.Rows) (m Statement, err error) {
		var payload string
		err = rows.Scan(&m.ID, &m.State, &m.TaskID, &m.Identity, &m.Created, &m.Updated, &payload)
		if payload, openErr := s.options.Sealer.Open("statements", payload); err == nil {
			m.Payload, err = storedJSON(payload), openErr
		}
		return m, err
	}, "SELECT id, state, task_id, identity, created, updated, payload FROM statements "+condition, args...)
}

// DeleteStatement deletes a statement and reports whether it existed.
func (s *Store) DeleteStatement(ctx context.Context, id string) (deleted bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, "DELETE FROM statements WHERE id = ?", id)
		deleted = n > 0
		return err
	})
	return deleted, err
}
