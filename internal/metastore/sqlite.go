package metastore

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// openSQLite opens one writing connection and some reading ones.
//
// The write-ahead log lets readers go on while a transaction commits. synchronous is FULL, because with NORMAL a power loss takes
// acknowledged transactions back; the group commit of the writer pays for it. Transactions of the writer take the write lock when they
// begin: an upgrade from reading to writing fails at once with BUSY instead of waiting.
func (s *Store) openSQLite(ctx context.Context) error {
	s.dialect = sqliteDialect
	path, err := filepath.Abs(s.options.Path)
	if err != nil {
		return fault.InvalidInput("The path [%s] of the metadata store is not valid", s.options.Path).WithCause(err)
	}
	// Only its owner may read the file: it holds password hashes.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fault.Runtime("The metadata store [%s] can't be opened for writing", path).WithCause(err)
	}
	if err := file.Close(); err != nil {
		return fault.Runtime("The metadata store [%s] can't be opened for writing", path).WithCause(err)
	}
	address := func(extra url.Values) string {
		values := url.Values{"_pragma": {
			"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "journal_size_limit(67108864)",
		}}
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
	if s.readers, err = sql.Open("sqlite", address(url.Values{"_pragma": {"query_only(ON)"}})); err != nil {
		return err
	}
	readers := min(maxReaders, 2*budget.Cores())
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	return nil
}
