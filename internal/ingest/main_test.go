package ingest

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/testkit/mariadb"
)

func TestMain(m *testing.M) {
	// The clock of regular expressions with timeouts ends by itself, a while after the last match.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"), goleak.Cleanup(func(code int) {
		mariadb.Stop()
		os.Exit(code)
	}))
}
