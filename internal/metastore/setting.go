package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Rules returns the retention rules of a datasource as they were written, and whether any were.
func (s *Store) Rules(ctx context.Context, dataSource string) (json.RawMessage, bool, error) {
	return s.read().payload(ctx, "rules WHERE datasource", dataSource)
}

// AllRules returns the retention rules of every datasource that has a list.
func (s *Store) AllRules(ctx context.Context) (map[string]json.RawMessage, error) {
	return s.read().payloads(ctx, "SELECT datasource, payload FROM rules")
}

// SetRules replaces the retention rules of a datasource. Equal rules change nothing: no audit
// entry, false. The entry, if not nil, gets the payload of the rules.
func (s *Store) SetRules(ctx context.Context, fence Fence, dataSource string, rules json.RawMessage, entry *AuditEntry) (changed bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		changed, err = t.setPayload(ctx, fence, "rules", "datasource", dataSource, entry,
			func(json.RawMessage) (json.RawMessage, error) { return rules, nil })
		return err
	})
	return changed, err
}

// DeleteRules forgets the list of a datasource and reports whether there was one.
func (s *Store) DeleteRules(ctx context.Context, fence Fence, dataSource string) (bool, error) {
	return s.deletePayload(ctx, fence, "rules WHERE datasource", dataSource, nil)
}

// settingsTable is where settings are.
const settingsTable = "settings"

// Setting returns a setting, and whether it was ever set.
func (s *Store) Setting(ctx context.Context, name string) (json.RawMessage, bool, error) {
	return s.read().payload(ctx, "settings WHERE name", name)
}

// UpdateSetting replaces a setting by what next makes of it; stored is nil if there is none. An
// equal one changes nothing: false. If next returns an error, the caller gets it. It runs inside
// the transaction, so that two updates never undo each other: no waiting, no I/O.
func (s *Store) UpdateSetting(
	ctx context.Context, fence Fence, name string, entry *AuditEntry, next func(stored json.RawMessage) (json.RawMessage, error),
) (changed bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		changed, err = t.setPayload(ctx, fence, settingsTable, "name", name, entry, next)
		return err
	})
	return changed, err
}

// SetSetting replaces a setting.
func (s *Store) SetSetting(ctx context.Context, fence Fence, name string, value json.RawMessage, entry *AuditEntry) (changed bool, err error) {
	return s.UpdateSetting(ctx, fence, name, entry, func(json.RawMessage) (json.RawMessage, error) { return value, nil })
}

// DeleteSetting forgets a setting and reports whether there was one. The audit entry, if not nil,
// is only written then.
func (s *Store) DeleteSetting(ctx context.Context, fence Fence, name string, entry *AuditEntry) (bool, error) {
	return s.deletePayload(ctx, fence, settingsTable+" WHERE name", name, entry)
}

// SettingsChanged returns a channel that is closed when a setting is written or forgotten. What is
// written by a process that shares the database only and can't tell (listen.go) is found by
// looking.
func (s *Store) SettingsChanged() <-chan struct{} { return s.settled.next() }

// payload reads one JSON payload; place is "table WHERE column".
func (c conn) payload(ctx context.Context, place, key string) (json.RawMessage, bool, error) {
	var text string
	err := c.row(ctx, []any{&text}, "SELECT payload FROM "+place+" = ?", key)
	if errors.Is(err, errNoRow) {
		return nil, false, nil
	}
	if table, _, _ := strings.Cut(place, " "); err == nil {
		text, err = c.sealer.Open(table, text)
	}
	return json.RawMessage(text), err == nil, err
}

func (c conn) payloads(ctx context.Context, query string, args ...any) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	err := c.each(ctx, func(rows *sql.Rows) error {
		var key, text string
		err := rows.Scan(&key, &text)
		if err == nil { // rules are not sealed
			text, err = c.sealer.Open(settingsTable, text)
		}
		out[key] = json.RawMessage(text)
		return err
	}, query, args...)
	return out, err
}

func (t *tx) setPayload(
	ctx context.Context, fence Fence, table, column, key string, entry *AuditEntry, next func(json.RawMessage) (json.RawMessage, error),
) (bool, error) {
	if err := fence.check(ctx, t); err != nil {
		return false, err
	}
	stored, found, err := t.payload(ctx, table+" WHERE "+column, key)
	if err != nil {
		return false, err
	}
	value, err := next(stored)
	if err != nil {
		return false, err
	}
	if !json.Valid(value) {
		return false, fault.Defensive("The value of [%s] is not JSON", key)
	}
	if found && string(stored) == string(value) {
		return false, nil
	}
	kept := string(value)
	if table == settingsTable {
		kept = t.sealer.Seal(table, kept)
	}
	_, err = t.exec(ctx, "INSERT INTO "+table+" ("+column+", payload, updated) VALUES (?, ?, ?) "+
		"ON CONFLICT ("+column+") DO UPDATE SET payload = excluded.payload, updated = excluded.updated", key, kept, t.now)
	if err != nil {
		return false, err
	}
	if entry != nil {
		e := *entry
		if e.Payload == "" {
			e.Payload = string(value)
		}
		entry = &e
	}
	t.settled = t.settled || table == settingsTable
	return true, t.audit(ctx, entry)
}

func (s *Store) deletePayload(ctx context.Context, fence Fence, place, key string, entry *AuditEntry) (deleted bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "DELETE FROM "+place+" = ?", key)
		if deleted = n > 0; err != nil || !deleted {
			return err
		}
		t.settled = t.settled || strings.HasPrefix(place, settingsTable+" ")
		return t.audit(ctx, entry)
	})
	return deleted, err
}
