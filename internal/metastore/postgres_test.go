package metastore

import (
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// postgresURL returns the URL of an empty store, or skips the test.
func postgresURL(t *testing.T) string { return postgres.URL(t) }

// TestTheUserOfTheSettings takes the place of the one that the URL names.
func TestTheUserOfTheSettings(t *testing.T) {
	url := strings.Replace(postgresURL(t), "user=henge", "user=nobody", 1)
	if _, err := Open(t.Context(), Options{URL: url}); err == nil {
		t.Error("a user that is not there was taken")
	}
	s, err := Open(t.Context(), Options{URL: url, User: "henge", Password: secret.NewText("any")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
