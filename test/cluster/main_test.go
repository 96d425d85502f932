package cluster

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
