package metastore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/secret"
)

// sealedTables are those whose payloads may hold secrets, with their keys: they are sealed if there
// is a key for that (Options.Sealer).
var sealedTables = []struct{ name, key string }{
	{"tasks", "id"}, {"task_stages", "task_id, name"}, {settingsTable, "name"}, {"statements", "id"}, {"supervisors", "seq"},
	{savedTable, "id"},
}

// infoSealed is the key of store_info under which a word is kept, sealed as all payloads are.
const infoSealed = "sealed"

// sealedWord is that word.
const sealedWord = "henge"

// reseal has the payloads of a store sealed by the current key: all of them when the store is
// opened with another key than before, with one for the first time or without one from now on. A
// store of which no key is known that sealed it is not opened.
func (s *Store) reseal(ctx context.Context) error {
	c := conn{dialect: s.dialect, db: s.writers, sealer: s.options.Sealer}
	var word string
	err := c.row(ctx, []any{&word}, "SELECT value FROM store_info WHERE name = ?", infoSealed)
	if err != nil && !errors.Is(err, errNoRow) {
		return err
	}
	if _, err := c.sealer.Open("store_info", word); err != nil {
		return err
	}
	if secret.SealedBy(word) == s.options.Sealer.Current() {
		return nil
	}
	for _, table := range sealedTables {
		if err := s.resealTable(ctx, table.name, table.key); err != nil {
			return fmt.Errorf("sealing table [%s]: %w", table.name, err)
		}
	}
	_, err = c.exec(ctx, "INSERT INTO store_info (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		infoSealed, c.sealer.Seal("store_info", sealedWord))
	if err != nil || s.dialect.numbered {
		return err
	}
	// What a page held before may still be in the file.
	if _, err := s.writers.ExecContext(ctx, "VACUUM"); err != nil {
		return s.dialect.explain(err)
	}
	_, err = s.writers.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return s.dialect.explain(err)
}

// resealTable seals the payloads of a table anew, in one transaction.
func (s *Store) resealTable(ctx context.Context, table, key string) error {
	t, err := s.writers.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.failed(ctx, err)
	}
	defer t.Rollback() //nolint:errcheck // after Commit it does nothing
	c := conn{dialect: s.dialect, db: t, sealer: s.options.Sealer}
	first, second, both := strings.Cut(key, ", ")
	type row struct{ first, second, payload string }
	rows, err := list(ctx, c, func(rows *sql.Rows) (r row, err error) {
		if both {
			return r, rows.Scan(&r.first, &r.second, &r.payload)
		}
		return r, rows.Scan(&r.first, &r.payload)
	}, "SELECT "+key+", payload FROM "+table)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if id := secret.SealedBy(r.payload); id == c.sealer.Current() && id != "" {
			continue
		}
		plain, err := c.sealer.Open(table, r.payload)
		if err != nil {
			return err
		}
		condition, args := first+" = ?", []any{c.sealer.Seal(table, plain), r.first}
		if both {
			condition, args = condition+" AND "+second+" = ?", append(args, r.second)
		}
		if _, err := c.exec(ctx, "UPDATE "+table+" SET payload = ? WHERE "+condition, args...); err != nil {
			return err
		}
	}
	return s.dialect.failed(ctx, t.Commit())
}
