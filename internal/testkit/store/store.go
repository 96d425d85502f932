// Package store opens metastores for tests: SQLite databases in a folder of the test.
package store

import (
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
)

// Open returns a new metastore, which is closed at the end of the test.
func Open(t testing.TB, c clock.Clock) *metastore.Store {
	t.Helper()
	s, err := metastore.Open(t.Context(), metastore.Options{Path: filepath.Join(t.TempDir(), "metadata.db"), Clock: c, Release: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
