package metastore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"modernc.org/sqlite"

	"github.com/hengedb/henge/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The keys of store_info.
const (
	// infoRelease is the release that wrote the store last.
	infoRelease = "release"
	// infoCompatible is "version:oldest": at this schema version, releases that know at least the
	// oldest one may open the store. A migration that only expands the schema keeps oldest, one that
	// contracts raises it.
	infoCompatible = "compatible"
)

// oldestCompatible is the lowest schema version whose releases can work on the schema that this
// release's migrations end in.
const oldestCompatible = 1

// migrate brings the schema to the newest version this release knows.
func (s *Store) migrate(ctx context.Context) error {
	provider, err := s.migrations()
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return s.migrationFault(ctx, "The schema version of the metadata store can't be read", err)
	}
	if current > newest {
		return s.checkNewer(ctx, current, newest)
	}
	if current < newest {
		if _, err := provider.Up(ctx); err != nil {
			return s.migrationFault(ctx, fmt.Sprintf("The metadata store can't be brought from schema version [%d] to [%d]", current, newest), err)
		}
	}
	return s.sign(ctx, newest)
}

// migrationFault says why a migration failed, without the words of the library that runs it. Errors
// in an SQLite file that name no reason are looked into: pages that are damaged may read as tables
// that do not exist.
func (s *Store) migrationFault(ctx context.Context, message string, err error) error {
	if explained := s.dialect.explain(err); explained != err || ctx.Err() != nil { //nolint:errorlint // is it the same one?
		return explained
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fault.Runtime("%s", message).WithCause(err)
	}
	var found string
	if bad := s.writers.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); bad != nil || found != "ok" {
		return fault.Runtime("The metadata store %s is damaged: restore it from a backup (henge restore)", s.options).WithCause(
			errors.Join(bad, errors.New(found)))
	}
	return fault.Runtime("%s", message).WithCause(lite)
}

// migrateTo brings the schema of an empty store to an older version.
func (s *Store) migrateTo(ctx context.Context, version int64) error {
	provider, err := s.migrations()
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("creating the metadata store in schema version [%d]: %w", version, s.dialect.explain(err))
	}
	return nil
}

// migrations returns what runs them on the store.
func (s *Store) migrations() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if s.dialect.numbered {
		options = append(options, goose.WithSessionLocker(migrationLock{}))
	}
	provider, err := goose.NewProvider(s.dialect.goose, s.writers, files, options...)
	if err != nil {
		return nil, fmt.Errorf("reading the migrations of the metadata store: %w", err)
	}
	return provider, nil
}

// migrationLock lets processes that start together migrate one after the other. The library's own
// lock asks again every five seconds, which all but the first of them would wait for; this one
// waits in the database until it is free. Both use the same number, so that releases with either
// exclude each other.
type migrationLock struct{}

func (migrationLock) SessionLock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lock.DefaultLockID)
	return err
}

func (migrationLock) SessionUnlock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lock.DefaultLockID)
	return err
}

// newestSchema returns the highest schema version that this release knows.
func newestSchema() (newest int64, err error) {
	entries, err := migrations.ReadDir("migrations")
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		n, bad := strconv.ParseInt(number, 10, 64)
		if bad != nil {
			return 0, fault.Defensive("The migration [%s] has no number", e.Name())
		}
		newest = max(newest, n)
	}
	return newest, err
}

// sign notes this release in the store, if another one was noted.
func (s *Store) sign(ctx context.Context, version int64) error {
	c := conn{dialect: s.dialect, db: s.writers}
	for name, value := range map[string]string{infoRelease: s.options.Release, infoCompatible: fmt.Sprintf("%d:%d", version, oldestCompatible)} {
		_, err := c.exec(ctx, "INSERT INTO store_info (name, value) VALUES (?, ?) "+
			"ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE store_info.value <> excluded.value", name, value)
		if err != nil && !isFull(err) { // it is noted at the next start that has room for it
			return err
		}
	}
	return nil
}

// checkNewer refuses a store whose schema is newer than this release, unless its writer said that
// this release can work on it.
func (s *Store) checkNewer(ctx context.Context, current, known int64) error {
	c := conn{dialect: s.dialect, db: s.writers}
	var release, compatible string
	err := c.row(ctx, []any{&release}, "SELECT value FROM store_info WHERE name = ?", infoRelease)
	if err != nil && !errors.Is(err, errNoRow) {
		return err
	}
	err = c.row(ctx, []any{&compatible}, "SELECT value FROM store_info WHERE name = ?", infoCompatible)
	if err != nil && !errors.Is(err, errNoRow) {
		return err
	}
	if at, oldest, ok := strings.Cut(compatible, ":"); ok && at == strconv.FormatInt(current, 10) {
		if n, err := strconv.ParseInt(oldest, 10, 64); err == nil && n <= known {
			return nil
		}
	}
	if release == "" {
		release = "unknown"
	}
	return fault.Runtime("The metadata store %s was written by a newer release: release [%s], schema version [%d]. This is release [%s], "+
		"which knows schema versions up to [%d]. Start release [%s] or a later one, or restore a backup made by this release",
		s.options, release, current, s.options.Release, known, release)
}
