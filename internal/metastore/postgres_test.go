package metastore

import (
	"os"
	"testing"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// postgresURL returns the URL of an empty store, or skips the test.
func postgresURL(t *testing.T) string { return postgres.URL(t) }
