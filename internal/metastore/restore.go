package metastore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// DumpReader reads a dump. Table returns the next table and Row its next row; both return io.EOF at
// the end. A row is valid until the next call.
type DumpReader interface {
	Source() Source
	Table() (Table, error)
	Row() ([]any, error)
}

// restoring is the suffix of the SQLite file that is being filled; it takes the place of the old
// one when it is whole.
const restoring = ".restoring"

// Restore fills the store from a dump of either database, and then migrates its schema to this
// release. It rejects a store that is not empty unless replace is true, and a store that processes
// use in any case.
//
// A SQLite file replaces the old one when it is complete. In PostgreSQL, a failed restore leaves a
// store that only another restore can fill.
func Restore(ctx context.Context, options Options, dump DumpReader, replace bool) error {
	if err := CheckRestore(ctx, options, dump.Source(), replace); err != nil {
		return err
	}
	if options.URL != "" {
		if err := clearPostgres(ctx, options); err != nil {
			return err
		}
		return fill(ctx, options, dump)
	}
	target := options.Path
	options.Path = target + restoring
	if err := removeSQLite(options.Path); err != nil { // left by a restore that was cut off
		return err
	}
	if err := fill(ctx, options, dump); err != nil {
		return errors.Join(err, removeSQLite(options.Path))
	}
	if err := removeSQLite(target); err != nil {
		return err
	}
	err := os.Rename(options.Path, target)
	if err == nil {
		err = durable.Folder(filepath.Dir(target))
	}
	if err != nil {
		return fault.Runtime("The restored metadata store can't be put in the place of [%s]", target).WithCause(err)
	}
	return nil
}

// CheckRestore makes the checks of Restore without changes.
func CheckRestore(ctx context.Context, options Options, from Source, replace bool) error {
	if err := options.Validate(); err != nil {
		return err
	}
	newest, err := newestSchema()
	if err != nil {
		return err
	}
	if from.Schema < 1 || from.Schema > newest {
		return fault.Unsupported("The backup has schema version [%d] and was made by release [%s]; this release knows versions up to [%d]. "+
			"Restore it with release [%s] or a later one", from.Schema, from.Release, newest, from.Release)
	}
	if options.URL == "" {
		if _, err := os.Stat(options.Path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	s, err := attach(ctx, options)
	if err != nil {
		return err
	}
	defer s.closeDatabases() //nolint:errcheck // it was only read
	who := ""
	if s.dialect.numbered { // SQLite belongs to one process, which has locked its directory
		if who, err = s.present(ctx); err != nil {
			return err
		}
	}
	if who != "" {
		return fault.Conflict("The metadata store %s is in use by [%s]: stop all processes before a restore", s.options, who)
	}
	what, err := s.occupant(ctx)
	if err != nil {
		return err
	}
	if what != "" && !replace {
		return fault.Conflict("The metadata store %s is not empty: it has %s. A restore replaces all of it, and only with --replace", s.options, what)
	}
	return nil
}

// removeSQLite deletes a database file and its logs.
func removeSQLite(path string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fault.Runtime("File [%s] can't be removed", path+suffix).WithCause(err)
		}
	}
	return nil
}

// clearPostgres drops all tables of a store.
func clearPostgres(ctx context.Context, options Options) error {
	s, err := attach(ctx, options)
	if err != nil {
		return err
	}
	defer s.closeDatabases() //nolint:errcheck // the transaction has its own outcome
	t, err := s.writers.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.failed(ctx, err)
	}
	defer t.Rollback() //nolint:errcheck // after a commit it does nothing
	c := conn{dialect: s.dialect, db: t}
	for _, name := range append(slices.Clone(dumped), "members", "goose_db_version") {
		if _, err := c.exec(ctx, "DROP TABLE IF EXISTS "+name+" CASCADE"); err != nil {
			return err
		}
	}
	return s.dialect.failed(ctx, t.Commit())
}

// fill makes an empty store of the dump's schema version, copies the rows, and migrates it to this
// release's.
func fill(ctx context.Context, options Options, dump DumpReader) error {
	options.idleTransaction, options.repeat = maxIdleDump, false
	s := &Store{options: options.withDefaults()}
	s.clock = s.options.Clock
	open := s.openSQLite
	if options.URL != "" {
		open = s.openPostgres
	}
	err := open(ctx)
	if err == nil {
		err = s.migrateTo(ctx, dump.Source().Schema)
	}
	if err == nil {
		err = s.copyRows(ctx, dump)
	}
	if err == nil {
		err = s.migrate(ctx)
	}
	return errors.Join(err, s.closeDatabases())
}

// copyRows inserts all rows of a dump in one transaction.
func (s *Store) copyRows(ctx context.Context, dump DumpReader) error {
	t, err := s.writers.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.failed(ctx, err)
	}
	defer t.Rollback() //nolint:errcheck // after a commit it does nothing
	c := conn{dialect: s.dialect, db: t}
	for {
		table, err := dump.Table()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := c.copyTable(ctx, table, dump); err != nil {
			return err
		}
	}
	if _, err := c.exec(ctx, "UPDATE leases SET expires = 0"); err != nil {
		return err
	}
	return s.dialect.failed(ctx, t.Commit())
}

// copyTable takes the rows of one table. Names come from a file: only those that the schema has are
// let into a statement.
func (c conn) copyTable(ctx context.Context, table Table, dump DumpReader) error {
	if !slices.Contains(dumped, table.Name) {
		return fault.InvalidInput("The backup has a table [%.80q], which is not one of a metadata store", table.Name)
	}
	known, err := c.columns(ctx, table.Name)
	if err != nil {
		return err
	}
	for _, column := range table.Columns {
		if !slices.Contains(known, column) {
			return fault.InvalidInput("The backup has a column [%.80q] in table [%s], which a metadata store of its version has not", column, table.Name)
		}
	}
	// What the migrations put there is in the dump as well.
	if _, err := c.exec(ctx, "DELETE FROM "+table.Name); err != nil {
		return err
	}
	var rows [][]any
	flush := func() error {
		err := c.insert(ctx, table.Name, strings.Join(table.Columns, ", "), "", rows)
		rows = rows[:0]
		return err
	}
	for {
		row, err := dump.Row()
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return err
		}
		if len(row) != len(table.Columns) {
			return fault.InvalidInput("The backup has a row of [%d] values in table [%s] of [%d] columns", len(row), table.Name, len(table.Columns))
		}
		if rows = append(rows, slices.Clone(row)); len(rows)*len(row) >= maxParameters {
			if err := flush(); err != nil {
				return fmt.Errorf("restoring table [%s]: %w", table.Name, err)
			}
		}
	}
}

// columns returns the column names of a table.
func (c conn) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := c.db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, c.dialect.failed(ctx, err)
	}
	defer func(rows *sql.Rows) { _ = rows.Close() }(rows) // it has no row
	return rows.Columns()
}
