package metastore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// dumped are the tables of a dump, each after those that it refers to. Left out is who is there and
// who leads: the members announce themselves again. Leases are kept with their epochs, so that no
// command of a leader of before the restore counts after it, and have run out.
var dumped = []string{
	"store_info", "counters", "schemas", "files", "segments", "spans", "pending_segments", "task_locks", "task_lock_holders", "upgrades",
	"tasks", "task_stages", "task_files", "rules", "settings", "audit", "leases", "statements", "offsets", "supervisors", "change_heads", "changes",
	"saved_queries",
}

// Table describes a table of a dump.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Source describes the origin of a dump.
type Source struct {
	// Database is SQLite or PostgreSQL, Release the last release that wrote the store, Schema the
	// version of its tables.
	Database string `json:"database"`
	Release  string `json:"release"`
	Schema   int64  `json:"schema"`
}

// Dumper receives a dump: Begin once, then for each table Table and its rows. A row is valid during
// the call; its values are int64, string or nil.
type Dumper interface {
	Begin(Source) error
	Table(Table) error
	Row([]any) error
}

// Dump writes a consistent snapshot of a store to d, while other processes read and write the
// store. It does not change the store: a store of an older schema version is dumped in that
// version, and a store of a newer release is rejected.
func Dump(ctx context.Context, options Options, d Dumper) error {
	s, err := attach(ctx, options)
	if err != nil {
		return err
	}
	defer s.closeDatabases() //nolint:errcheck // it was only read
	newest, err := newestSchema()
	if err != nil {
		return err
	}
	return s.view(ctx, func(c conn) error { // once: nobody is patient here
		version, err := c.schemaVersion(ctx)
		if err != nil {
			return err
		}
		if version == 0 {
			return fault.NotFound("The metadata store %s has no tables yet", s.options)
		}
		if version > newest {
			return s.checkNewer(ctx, version, newest)
		}
		from := Source{Database: s.dialect.name, Schema: version}
		if err := c.row(ctx, []any{&from.Release}, "SELECT value FROM store_info WHERE name = ?", infoRelease); err != nil && !errors.Is(err, errNoRow) {
			return err
		}
		if err := d.Begin(from); err != nil {
			return err
		}
		for _, name := range dumped {
			if err := c.dumpTable(ctx, name, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// attach opens the databases of a store and leaves its schema alone. Only the databases must be
// closed.
func attach(ctx context.Context, options Options) (*Store, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options.idleTransaction, options.repeat = maxIdleDump, false
	s := &Store{options: options.withDefaults()}
	s.clock = s.options.Clock
	open := s.openPostgres
	if options.URL == "" {
		if _, err := os.Stat(options.Path); err != nil {
			return nil, fault.NotFound("There is no metadata store [%s]", options.Path).WithCause(err)
		}
		open = s.openSQLite
	}
	if err := open(ctx); err != nil {
		_ = s.closeDatabases() // the reason for not opening is the better error
		return nil, err
	}
	return s, nil
}

// schemaVersion reads what goose notes; 0: nothing yet.
func (c conn) schemaVersion(ctx context.Context) (version int64, err error) {
	there, err := c.hasTable(ctx, "goose_db_version")
	if err != nil || !there {
		return 0, err
	}
	err = c.row(ctx, []any{&version}, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version")
	return version, err
}

func (c conn) hasTable(ctx context.Context, name string) (bool, error) {
	query := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if c.dialect.numbered {
		query = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?"
	}
	n := 0
	err := c.row(ctx, []any{&n}, query, name)
	return n > 0, err
}

// dumpTable gives one table to d, unless its schema version has none of that name.
func (c conn) dumpTable(ctx context.Context, name string, d Dumper) error {
	there, err := c.hasTable(ctx, name)
	if err != nil || !there {
		return err
	}
	rows, err := c.db.QueryContext(ctx, "SELECT * FROM "+name)
	if err != nil {
		return c.dialect.failed(ctx, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	columns, err := rows.Columns()
	if err != nil {
		return c.dialect.failed(ctx, err)
	}
	if err := d.Table(Table{Name: name, Columns: columns}); err != nil {
		return err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return c.dialect.failed(ctx, err)
		}
		for i, v := range values {
			if values[i], err = plainValue(v); err != nil {
				return fmt.Errorf("column [%s] of table [%s]: %w", columns[i], name, err)
			}
		}
		if err := d.Row(values); err != nil {
			return err
		}
	}
	return c.dialect.failed(ctx, rows.Err())
}

// plainValue maps what the drivers give to int64, string or nil.
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64, string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return nil, fault.Defensive("The metadata store returned a value of type [%T]", v)
}

// occupant says what a store holds that a restore would destroy; empty: nothing.
func (s *Store) occupant(ctx context.Context) (what string, err error) {
	c := conn{dialect: s.dialect, db: s.writers}
	for _, table := range []string{"segments", "tasks", "rules", "supervisors", "settings", "offsets", "statements", savedTable} {
		there, err := c.hasTable(ctx, table)
		if err != nil {
			return "", err
		}
		if !there {
			continue
		}
		n := 0
		if err := c.row(ctx, []any{&n}, "SELECT COUNT(*) FROM "+table); err != nil {
			return "", err
		}
		if n > 0 {
			return fmt.Sprintf("[%d] rows in table [%s]", n, table), nil
		}
	}
	return "", nil
}

// present returns the processes that have announced themselves in a store and not withdrawn, by the
// database's clock.
func (s *Store) present(ctx context.Context) (string, error) {
	c := conn{dialect: s.dialect, db: s.writers}
	there, err := c.hasTable(ctx, "members")
	if err != nil || !there {
		return "", err
	}
	who, err := list(ctx, c, func(rows *sql.Rows) (string, error) {
		var role, address string
		err := rows.Scan(&role, &address)
		return role + " " + address, err
	}, "SELECT role, address FROM members WHERE expires > "+s.dialect.now+" ORDER BY role, address LIMIT 5")
	return strings.Join(who, ", "), err
}
