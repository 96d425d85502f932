package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// SavedQuery is a query that a user has saved. The payload is opaque.
type SavedQuery struct {
	ID, Owner, Name string
	Shared          bool
	Payload         json.RawMessage
	// Version starts with 1 and increases with each change. Created and Updated are milliseconds.
	Version          int64
	Created, Updated int64
}

const savedTable = "saved_queries"

// The bounds of saved queries: of one owner, and of all.
const maxSavedOfOwner, maxSaved = 1_000, 50_000

// CreateSavedQuery stores a query and sets its version and times. It fails if the maximum number of
// queries is reached.
func (s *Store) CreateSavedQuery(ctx context.Context, q SavedQuery) (SavedQuery, error) {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		own, all := 0, 0
		if err := t.row(ctx, []any{&own}, "SELECT COUNT(*) FROM "+savedTable+" WHERE owner = ?", q.Owner); err != nil {
			return err
		}
		if err := t.row(ctx, []any{&all}, "SELECT COUNT(*) FROM "+savedTable); err != nil {
			return err
		}
		switch {
		case own >= maxSavedOfOwner:
			return fault.Capacity("[%d] queries are saved, which are as many as one user may have; delete some first", own)
		case all >= maxSaved:
			return fault.Capacity("[%d] queries are saved, which are as many as there may be; delete some first", all)
		}
		q.Version, q.Created, q.Updated = 1, t.now, t.now
		_, err := t.exec(ctx, "INSERT INTO "+savedTable+" (id, owner, shared, name, payload, version, created, updated) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			q.ID, q.Owner, flag(q.Shared), q.Name, t.sealer.Seal(savedTable, jsonText(q.Payload)), q.Version, q.Created, q.Updated)
		return err
	})
	return q, err
}

// SavedQuery returns a saved query, and whether it exists.
func (s *Store) SavedQuery(ctx context.Context, id string) (SavedQuery, bool, error) {
	return s.read().savedQuery(ctx, id)
}

func (c conn) savedQuery(ctx context.Context, id string) (q SavedQuery, found bool, err error) {
	list, err := c.savedQueries(ctx, "WHERE id = ?", id)
	if err != nil || len(list) == 0 {
		return q, false, err
	}
	return list[0], true, nil
}

func (c conn) savedQueries(ctx context.Context, condition string, args ...any) ([]SavedQuery, error) {
	return list(ctx, c, func(rows *sql.Rows) (q SavedQuery, err error) {
		var payload string
		if err = rows.Scan(&q.ID, &q.Owner, &q.Shared, &q.Name, &payload, &q.Version, &q.Created, &q.Updated); err != nil {
			return q, err
		}
		payload, err = c.sealer.Open(savedTable, payload)
		q.Payload = storedJSON(payload)
		return q, err
	}, "SELECT id, owner, shared, name, payload, version, created, updated FROM "+savedTable+" "+condition, args...)
}

// SavedQueries returns a page of the queries of an owner and of the shared queries whose names
// contain a text, in descending order of their last change, and the total number of such queries.
func (s *Store) SavedQueries(ctx context.Context, owner, text string, limit, offset int) (page []SavedQuery, total int, err error) {
	where, args := "WHERE (owner = ? OR shared = 1)", []any{owner}
	if text != "" {
		where += ` AND LOWER(name) LIKE ? ESCAPE '\'`
		args = append(args, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(text))+"%")
	}
	c := s.read()
	if err := c.row(ctx, []any{&total}, "SELECT COUNT(*) FROM "+savedTable+" "+where, args...); err != nil && !errors.Is(err, errNoRow) {
		return nil, 0, err
	}
	page, err = c.savedQueries(ctx, where+" ORDER BY updated DESC, id LIMIT ? OFFSET ?", append(args, limit, offset)...)
	return page, total, err
}

// UpdateSavedQuery replaces a saved query, except its id, owner and times, by the result of next.
// If next returns an error, the caller gets it. next runs inside the transaction, so that no change
// is lost; it must not wait or do I/O.
func (s *Store) UpdateSavedQuery(
	ctx context.Context, id string, next func(stored *SavedQuery) error,
) (q SavedQuery, found bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if q, found, err = t.savedQuery(ctx, id); err != nil || !found {
			return err
		}
		if err := next(&q); err != nil {
			return err
		}
		q.Version, q.Updated = q.Version+1, t.now
		_, err := t.exec(ctx, "UPDATE "+savedTable+" SET shared = ?, name = ?, payload = ?, version = ?, updated = ? WHERE id = ?",
			flag(q.Shared), q.Name, t.sealer.Seal(savedTable, jsonText(q.Payload)), q.Version, q.Updated, id)
		return err
	})
	return q, found, err
}

// DeleteSavedQuery deletes a saved query if the caller permits it, and reports whether it existed.
func (s *Store) DeleteSavedQuery(ctx context.Context, id string, may func(stored *SavedQuery) error) (found bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		var q SavedQuery
		if q, found, err = t.savedQuery(ctx, id); err != nil || !found {
			return err
		}
		if err := may(&q); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM "+savedTable+" WHERE id = ?", id)
		return err
	})
	return found, err
}
