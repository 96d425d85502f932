package cluster

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

// together is how many of the tests that mostly wait for a timeout run at a time, whatever the
// cores.
const together = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", together); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}
