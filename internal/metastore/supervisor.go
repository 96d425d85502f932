package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
)

// SupervisorVersion is a version of the specification of a supervisor.
type SupervisorVersion struct {
	ID      string
	Payload json.RawMessage
	// Tombstone is true if this version ends the supervisor.
	Tombstone bool
	Created   int64
}

// PutSupervisor adds a version of a specification, which becomes the current one.
func (s *Store) PutSupervisor(ctx context.Context, fence Fence, version SupervisorVersion, entry *AuditEntry) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		seq, err := t.counter(ctx, "supervisor", 1)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, "INSERT INTO supervisors (seq, id, payload, tombstone, created) VALUES (?, ?, ?, ?, ?)",
			seq, version.ID, t.sealer.Seal("supervisors", jsonText(version.Payload)), flag(version.Tombstone), t.now)
		if err != nil {
			return err
		}
		return t.audit(ctx, entry)
	})
}

// Supervisors returns the current version of every supervisor that has not ended, by id.
func (s *Store) Supervisors(ctx context.Context) ([]SupervisorVersion, error) {
	return s.supervisors(ctx, "WHERE tombstone = 0 AND seq IN (SELECT MAX(seq) FROM supervisors GROUP BY id) ORDER BY id")
}

// SupervisorHistory returns the versions of a supervisor, the newest first.
func (s *Store) SupervisorHistory(ctx context.Context, id string) ([]SupervisorVersion, error) {
	return s.supervisors(ctx, "WHERE id = ? ORDER BY seq DESC", id)
}

// AllSupervisorHistory returns the versions of all supervisors, by id, the newest of each first.
func (s *Store) AllSupervisorHistory(ctx context.Context) ([]SupervisorVersion, error) {
	return s.supervisors(ctx, "ORDER BY id, seq DESC")
}

func (s *Store) supervisors(ctx context.Context, condition string, args ...any) ([]SupervisorVersion, error) {
	return list(ctx, s.read(), func(rows *sql.Rows) (v SupervisorVersion, err error) {
		var payload string
		err = rows.Scan(&v.ID, &payload, &v.Tombstone, &v.Created)
		if payload, openErr := s.options.Sealer.Open("supervisors", payload); err == nil {
			v.Payload, err = storedJSON(payload), openErr
		}
		return v, err
	}, "SELECT id, payload, tombstone, created FROM supervisors "+condition, args...)
}

// DeleteSupervisors deletes the history of supervisors that ended before an instant and returns the
// number of deleted rows.
func (s *Store) DeleteSupervisors(ctx context.Context, fence Fence, before int64) (deleted int64, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		deleted, err = t.exec(ctx, "DELETE FROM supervisors WHERE id IN (SELECT id FROM supervisors WHERE tombstone = 1 AND created < ? "+
			"AND seq IN (SELECT MAX(seq) FROM supervisors GROUP BY id))", before)
		return err
	})
	return deleted, err
}
