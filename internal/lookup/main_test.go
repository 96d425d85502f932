package lookup

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/testkit/mariadb"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		mariadb.Stop()
		os.Exit(code)
	}))
}
