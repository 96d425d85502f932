// Package e2e tests the real binary, built from this checkout: loading and querying, restarts,
// kills at any moment, refused starts, the command-line tools, and the code blocks of the docs.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/testkit/kafkaserver"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// henge is the path of the binary under test.
var henge string

func TestMain(m *testing.M) {
	if os.Getenv(crashDir) != "" {
		crashingServer()
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "henge-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	henge = filepath.Join(dir, "henge")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", henge, "./cmd/henge")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	defer postgres.Stop()
	defer kafkaserver.StopAll()
	return m.Run()
}
