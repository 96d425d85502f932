package metastore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// openSQLite opens one writing connection and some reading ones.
//
// The write-ahead log lets readers go on while a transaction commits. synchronous is FULL, because
// with NORMAL a power loss takes acknowledged transactions back; the group commit of the writer
// pays for it. Transactions of the writer take the write lock when they begin: an upgrade from
// reading to writing fails at once with BUSY instead of waiting.
func (s *Store) openSQLite(ctx context.Context) error {
	s.dialect = sqliteDialect
	path, err := filepath.Abs(s.options.Path)
	if err != nil {
		return fault.InvalidInput("The path [%s] of the metadata store is not valid", s.options.Path).WithCause(err)
	}
	if info, err := os.Stat(path); s.options.Fresh != nil && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		if err := s.options.Fresh(path); err != nil {
			return err
		}
	}
	if err := createSQLite(path); err != nil {
		return fault.Runtime("The metadata store [%s] can't be opened for writing", path).WithCause(err)
	}
	err = s.connectSQLite(ctx, path, false)
	if err != nil && isFull(err) {
		_ = s.closeDatabases() // nothing was written
		s.writers, s.readers = nil, nil
		err = s.connectSQLite(ctx, path, true)
	}
	return err
}

// createSQLite makes an empty file if there is none. Only its owner may read it: it holds password
// hashes. Its name is on disk before the first transaction is: the database itself only writes the
// names of its other files to disk.
func createSQLite(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return durable.Create(path, 0o600)
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// connectSQLite opens the connections. On a disk that is full there may be no room for the index of
// the write-ahead log, which connections share: without room for it there is one connection, which
// has the index in memory.
func (s *Store) connectSQLite(ctx context.Context, path string, single bool) (err error) {
	address := func(extra url.Values) string {
		mode := "journal_mode(WAL)"
		if single { // the file is in that mode, and to set it would need the index
			mode = "locking_mode(EXCLUSIVE)"
		}
		values := url.Values{"_pragma": {"busy_timeout(5000)", mode, "synchronous(FULL)", "foreign_keys(ON)", "journal_size_limit(67108864)"}}
		for key, list := range extra {
			values[key] = append(values[key], list...)
		}
		return (&url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}).String()
	}
	if s.writers, err = sql.Open("sqlite", address(url.Values{"_txlock": {"immediate"}})); err != nil {
		return err
	}
	s.writers.SetMaxOpenConns(1)
	if err := s.writers.PingContext(ctx); err != nil {
		return s.dialect.explain(err)
	}
	if single {
		s.readers = s.writers
		return nil
	}
	if s.readers, err = sql.Open("sqlite", address(url.Values{"_pragma": {"query_only(ON)"}})); err != nil {
		return err
	}
	readers := min(maxReaders, 2*budget.Cores())
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	return nil
}
