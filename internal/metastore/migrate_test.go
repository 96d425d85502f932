package metastore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/fault"
)

func TestNewerReleaseIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v := f.replace(day(1, 2), 1)
		newer := func(compatible string) {
			c := conn{dialect: f.dialect, db: f.writers}
			for _, statement := range []string{
				"DELETE FROM goose_db_version WHERE version_id = 99",
				"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, " + map[bool]string{true: "true", false: "1"}[f.dialect.numbered] + ")",
				"UPDATE store_info SET value = '7.5' WHERE name = 'release'",
				"UPDATE store_info SET value = '" + compatible + "' WHERE name = 'compatible'",
			} {
				if _, err := c.exec(f.ctx(), statement); err != nil {
					t.Fatal(err)
				}
			}
			f.ok(f.Close())
		}
		options := f.options
		options.Release = "1.2"

		newer("99:98")
		_, err := Open(f.ctx(), options)
		f.refused(err, "was written by a newer release: release [7.5], schema version [99]. This is release [1.2], which knows schema versions up to [6].")

		// The newer release may have expanded the schema only, and said so.
		allow := openDatabase(t, options)
		if _, err := allow.exec(f.ctx(), "UPDATE store_info SET value = '99:1' WHERE name = 'compatible'"); err != nil {
			t.Fatal(err)
		}
		f.open()
		f.sees(f.saw(day(1, 2), v, "0/1"))

		// What it said about another schema version does not count.
		newer("98:1")
		_, err = Open(f.ctx(), options)
		f.refused(err, "newer release")
		allow = openDatabase(t, options)
		if _, err := allow.exec(f.ctx(), "DELETE FROM goose_db_version WHERE version_id = 99"); err != nil {
			t.Fatal(err)
		}
		f.open()
	})
}

// openDatabase opens the database without looking at its schema.
func openDatabase(t *testing.T, options Options) conn {
	t.Helper()
	s := &Store{options: options}
	open := s.openSQLite
	if options.URL != "" {
		open = s.openPostgres
	}
	if err := open(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.closeDatabases() })
	return conn{dialect: s.dialect, db: s.writers}
}

func TestOpenRefusals(t *testing.T) {
	directory := t.TempDir()
	garbage := filepath.Join(directory, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(directory, "page.db") // the table that the versions of the schema are in is damaged
	s, err := Open(t.Context(), Options{Path: page})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[4096:], strings.Repeat("damaged ", 400))
	if err := os.WriteFile(page, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options Options
		message string
	}{
		"a damaged page": {Options{Path: page}, "is damaged: restore it from a backup (henge restore)"},
		"neither":        {Options{}, "needs either the path"},
		"both":           {Options{Path: "a", URL: "b"}, "needs either the path"},
		"no directory":   {Options{Path: filepath.Join(directory, "none", "metadata.db")}, "can't be opened for writing"},
		"a directory":    {Options{Path: directory}, "can't be opened for writing"},
		"garbage":        {Options{Path: garbage}, "is damaged"},
		"bad URL":        {Options{URL: "postgres://user:secret@[::1/db"}, "is not a PostgreSQL connection string"},
		"no server":      {Options{URL: "postgres:///x?host=" + directory}, "can't be reached"},
		"no listener":    {Options{URL: "postgres://ann@127.0.0.1:1/x"}, "can't be reached"},
	} {
		_, err := Open(t.Context(), tt.options)
		if err != nil && strings.Count(err.Error(), "connection refused") > 1 {
			t.Errorf("%s names an attempt twice: %v", name, err)
		}
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, tt.message) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "goose") {
			t.Errorf("%s shows the password, or what a library calls itself: %v", name, err)
		}
	}
}

// TestMigrationsAreSound holds migrations to what both databases understand.
func TestMigrationsAreSound(t *testing.T) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no migrations")
	}
	for _, name := range files {
		content, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"AUTOINCREMENT", "SERIAL", "BLOB", "BYTEA", "BOOLEAN", "TIMESTAMP", "JSONB"} {
			if regexp.MustCompile(`(?i)\b` + word + `\b`).Match(content) {
				t.Errorf("%s uses %s, which the databases do not share", name, word)
			}
		}
	}
}

// Processes of a cluster that start at the same time on an empty database all find it migrated.
func TestStoresOpenedTogetherMigrateOnce(t *testing.T) {
	address := postgresURL(t)
	var opening errgroup.Group
	for range 8 {
		opening.Go(func() error {
			s, err := Open(t.Context(), Options{URL: address})
			if err != nil {
				return err
			}
			return s.Close()
		})
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}
	f := openFixture(t, Options{URL: address})
	var migrated, versions int
	f.ok(conn{dialect: f.dialect, db: f.writers}.row(f.ctx(), []any{&migrated, &versions},
		"SELECT COUNT(*), COUNT(DISTINCT version_id) FROM goose_db_version"))
	if migrated != versions || versions < 2 {
		t.Errorf("%d migrations ran to %d versions", migrated, versions)
	}
}

func TestSQLiteSettings(t *testing.T) {
	f := openFixture(t, Options{Path: filepath.Join(t.TempDir(), "with space & 100%?.db")})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		f.ok(conn{dialect: f.dialect, db: f.writers}.row(f.ctx(), []any{&got}, "PRAGMA "+pragma))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	if _, err := f.read().exec(f.ctx(), "DELETE FROM counters"); err == nil {
		t.Error("a reading connection wrote")
	}
	if info, err := os.Stat(f.options.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v %v", info, err)
	}
}

func TestRebind(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                       "SELECT 1",
		"a = ? AND b IN (?, ?)":          "a = $1 AND b IN ($2, $3)",
		"a = '?' AND \"b?\" = ?":         "a = '?' AND \"b?\" = $1",
		"a = 'it''s ?' AND b = ? OR 'x'": "a = 'it''s ?' AND b = $1 OR 'x'",
	} {
		if got := postgresDialect.rebind(query); got != want {
			t.Errorf("%s became %s, want %s", query, got, want)
		}
		if got := sqliteDialect.rebind(query); got != query {
			t.Errorf("%s became %s for SQLite", query, got)
		}
	}
}
