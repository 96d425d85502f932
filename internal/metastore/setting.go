package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Rules returns the retention rules of a datasource as they were written, and whether they exist.
func (s *Store) Rules(ctx context.Context, dataSource string) (json.RawMessage, bool, error) {
	return s.read().payload(ctx, "rules WHERE datasource", dataSource)
}

// AllRules returns all stored lists of retention rules.
func (s *Store) AllRules(ctx context.Context) (map[string]json.RawMessage, error) {
	return s.read().payloads(ctx, "SELECT datasource, payload FROM rules")
}

// SetRules replaces the retention rules of a datasource. If the rules are unchanged, it does not
// write an audit entry and returns false. The entry, if not nil, gets the payload of the rules.
func (s *Store) SetRules(ctx context.Context, fence Fence, dataSource string, rules json.RawMessage, entry *AuditEntry) (changed bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		changed, err = t.setPayload(ctx, fence, "rules", "datasource", dataSource, entry,
			func(json.RawMessage) (json.RawMessage, error) { return rules, nil })
		return err
	})
	return changed, err
}

// DeleteRules deletes the list of a datasource and reports whether it existed.
func (s *Store) DeleteRules(ctx context.Context, fence Fence, dataSource string) (bool, error) {
	return s.deletePayload(ctx, fence, "rules WHERE datasource", dataSource, nil)
}

// settingsTable is where settings are.
const settingsTable = "settings"

// Setting returns a setting, and whether it was ever set.
func (s *Store) Setting(ctx context.Context, name string) (json.RawMessage, bool, error) {
	return s.read().payload(ctx, "settings WHERE name", name)
}

// UpdateSetting replaces a setting by the result of next; stored is nil if the setting does not
// exist. If the value is unchanged, it returns false. If next returns an error, the caller gets it.
// next runs inside the transaction, so that concurrent updates do not overwrite each other; it must
// not wait or do I/O.
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

// DeleteSetting deletes a setting and reports whether it existed. The audit entry, if not nil, is
// only written then.
func (s *Store) DeleteSetting(ctx context.Context, fence Fence, name string, entry *AuditEntry) (bool, error) {
	return s.deletePayload(ctx, fence, settingsTable+" WHERE name", name, entry)
}

// SettingsChanged returns a channel that is closed when a setting is written or deleted. Changes by
// processes that cannot notify this one (listen.go) are found by polling.
func (s *Store) SettingsChanged() <-chan struct{} { return s.settled.next() }

// payload reads one JSON payload; selector is "table WHERE column".
func (c conn) payload(ctx context.Context, selector, key string) (json.RawMessage, bool, error) {
	var text string
	err := c.row(ctx, []any{&text}, "SELECT payload FROM "+selector+" = ?", key)
	if errors.Is(err, errNoRow) {
		return nil, false, nil
	}
	if table, _, _ := strings.Cut(selector, " "); err == nil {
		text, err = c.sealer.Open(table, text)
	}
	return json.RawMessage(text), err == nil, err
}

func (c conn) payloads(ctx context.Context, query string, args ...any) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	err := c.gather(ctx, func() { clear(out) }, func(rows *sql.Rows) error {
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

func (s *Store) deletePayload(ctx context.Context, fence Fence, selector, key string, entry *AuditEntry) (deleted bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "DELETE FROM "+selector+" = ?", key)
		if deleted = n > 0; err != nil || !deleted {
			return err
		}
		t.settled = t.settled || strings.HasPrefix(selector, settingsTable+" ")
		return t.audit(ctx, entry)
	})
	return deleted, err
}
