package metastore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// conn runs statements on a connection, a snapshot or a transaction.
type conn struct {
	dialect *dialect
	sealer  *secret.Sealer // of payloads; nil: they are as they are
	store   *Store         // for statements that are tried again on their own; nil: they are part of a transaction
	db      interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

// errNoRow is returned by row when there is none.
var errNoRow = errors.New("no row")

// exec runs a statement and returns the number of rows it changed.
func (c conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := c.db.ExecContext(ctx, c.dialect.rebind(query), args...)
	if err != nil {
		return 0, c.dialect.failed(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, c.dialect.failed(ctx, err)
}

// row scans the first row of a query into dst, or returns errNoRow.
func (c conn) row(ctx context.Context, dst []any, query string, args ...any) error {
	found := false
	err := c.gather(ctx, func() { found = false }, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dst...)
	}, query, args...)
	if err == nil && !found {
		return errNoRow
	}
	return err
}

// gather calls fn for every row of a query. fn must not use c: a transaction has one connection. If
// the connection breaks on the way, who is patient gets all rows once more, after begin.
func (c conn) gather(ctx context.Context, begin func(), fn func(*sql.Rows) error, query string, args ...any) error {
	return c.patiently(ctx, func(ctx context.Context) (final bool, err error) {
		begin()
		_, err = c.eachOnce(ctx, fn, query, args...)
		return false, err
	})
}

// each is gather for an fn that must not see a row twice: it fails when the connection breaks after
// the first row.
func (c conn) each(ctx context.Context, fn func(*sql.Rows) error, query string, args ...any) error {
	return c.patiently(ctx, func(ctx context.Context) (final bool, err error) {
		return c.eachOnce(ctx, fn, query, args...)
	})
}

// patiently calls fn, as one span, and again if the connection broke and the error is not final. A
// conn of a transaction calls it once: the transaction as a whole is repeated, if anything is.
func (c conn) patiently(ctx context.Context, fn func(context.Context) (final bool, err error)) error {
	if c.store == nil {
		_, err := fn(ctx)
		return err
	}
	ctx, span := c.store.beginSpan(ctx)
	var last error
	err := c.store.patiently(ctx, func() error {
		final, err := fn(ctx)
		if final {
			last, err = err, nil
		}
		return err
	})
	err = errors.Join(err, last)
	endSpan(span, err)
	return err
}

// eachOnce is each without patience; begun says that fn was called.
func (c conn) eachOnce(ctx context.Context, fn func(*sql.Rows) error, query string, args ...any) (begun bool, err error) {
	rows, err := c.db.QueryContext(ctx, c.dialect.rebind(query), args...)
	if err != nil {
		return false, c.dialect.failed(ctx, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		begun = true
		if err := fn(rows); err != nil {
			if ctx.Err() != nil { // which closes rows under fn
				return begun, ctx.Err()
			}
			return begun, err
		}
	}
	return begun, c.dialect.failed(ctx, rows.Err())
}

// list collects the rows of a query.
func list[T any](ctx context.Context, c conn, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := c.gather(ctx, func() { out = nil }, func(rows *sql.Rows) error {
		v, err := scan(rows)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanText(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }

// insert writes rows of the given columns, many to a statement. suffix is an ON CONFLICT clause or
// empty.
func (c conn) insert(ctx context.Context, table, columns, suffix string, rows [][]any) error {
	width := strings.Count(columns, ",") + 1
	for part := range slices.Chunk(rows, max(1, maxParameters/width)) {
		values := strings.TrimSuffix(strings.Repeat("("+marks(width)+"), ", len(part)), ", ")
		if _, err := c.exec(ctx, "INSERT INTO "+table+" ("+columns+") VALUES "+values+" "+suffix, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

// forIDs calls fn for parts of a list of ids that fit into one statement, with the list as
// parameters and their marks.
func forIDs(ids []string, fn func(marks string, args []any) error) error {
	for part := range slices.Chunk(ids, maxParameters/2) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		if err := fn(marks(len(part)), args); err != nil {
			return err
		}
	}
	return nil
}

// failed is explain for an error of a statement: if its context is done, that is the reason,
// whatever the driver made of it.
func (d *dialect) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return d.explain(err)
}

// explain turns an error of a driver into a fault where the operator can do something about it.
func (d *dialect) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || fault.Find(err) != nil {
		return err
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		if isFull(err) {
			return fault.Runtime("The disk of the metadata store is full: make room, or drop and kill segments that are not needed").WithCause(err)
		}
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return fault.Runtime("The metadata store can't be written: check the permissions of its directory").WithCause(err)
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fault.Runtime("The metadata store is damaged: restore it from a backup (henge restore)").WithCause(err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fault.Unavailable("The metadata store is locked by another process").WithCause(err)
		}
		return err
	}
	var refused *pgconn.PgError
	if d.numbered && (!errors.As(err, &refused) || transient(refused)) {
		// Not an answer of the server: it can't be reached, or the connection broke. Or it says that it
		// will be away.
		return fault.Unavailable("The metadata store can't be reached").WithCause(said(err))
	}
	return err
}

// said returns err with each attempt to connect named once: pgx tries an address with TLS and
// without, and lists both although they failed alike.
func said(err error) error {
	failed, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return err
	}
	var attempts []string
	for line := range strings.Lines(failed.Unwrap().Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(attempts, line) {
			attempts = append(attempts, line)
		}
	}
	return &connectError{
		text: fmt.Sprintf("database [%s], user [%s]: %s", failed.Config.Database, failed.Config.User, strings.Join(attempts, "; ")), err: err,
	}
}

// connectError is a failed connection in a shorter form.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.err }

// isFull reports whether a statement failed since the disk has no room, also for the index of
// SQLite's write-ahead log.
func isFull(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch lite.Code() {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP:
		return true
	}
	return false
}

// optional maps an empty text to NULL.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
