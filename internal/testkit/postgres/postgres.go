// Package postgres runs a PostgreSQL for the tests of a package, if one is installed. It is
// reachable only over a socket in its own directory, and does not outlive the tests.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cluster is a PostgreSQL of this test run, reachable over a socket in its own directory only.
type cluster struct {
	directory string
	binaries  string
	identity  *syscall.SysProcAttr
	missing   string // why there is none
	schemas   atomic.Int64
}

var start = sync.OnceValue(install)

// Stop ends the PostgreSQL if one was started. TestMain calls it after the tests.
func Stop() {
	if server := started.Load(); server != nil {
		server.stop()
	}
}

var started atomic.Pointer[cluster]

func install() *cluster {
	s := &cluster{}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		s.missing = "no PostgreSQL: initdb is neither in the PATH nor in /usr/lib/postgresql"
		return s
	}
	slices.Sort(found)
	s.binaries = filepath.Dir(found[len(found)-1])
	directory, err := os.MkdirTemp("", "henge-pg-")
	if err != nil {
		s.missing = err.Error()
		return s
	}
	s.directory = directory
	if os.Getuid() == 0 {
		// PostgreSQL refuses to run as root.
		owner, err := user.Lookup("postgres")
		if err != nil {
			s.missing = "PostgreSQL does not run as root, and there is no user postgres"
			return s
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(directory, uid, gid); err != nil {
			s.missing = err.Error()
			return s
		}
		s.identity = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	started.Store(s)
	data := filepath.Join(directory, "data")
	// A default collation that differs from byte order shows where a statement depends on it.
	if err := s.run("initdb", "-D", data, "-A", "trust", "-U", "henge", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8",
		"--locale-provider=icu", "--icu-locale=en-US"); err != nil {
		s.missing = err.Error()
		return s
	}
	if err := s.control("start"); err != nil {
		s.missing = err.Error()
	}
	return s
}

// control has the server started or stopped.
func (s *cluster) control(action ...string) error {
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s' -c fsync=off -c max_connections=400", s.directory)
	arguments := []string{"-D", filepath.Join(s.directory, "data"), "-o", options, "-l", filepath.Join(s.directory, "log"), "-w"}
	return s.run("pg_ctl", append(arguments, action...)...)
}

// Restart stops the PostgreSQL and starts it again, for all tests that use it. In mode fast it ends
// what is under way and shuts down, in mode immediate it is gone at once, as in a crash.
func Restart(t testing.TB, mode string) {
	t.Helper()
	if err := started.Load().control("-m", mode, "restart"); err != nil {
		t.Fatal(err)
	}
}

func (s *cluster) run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.binaries, name), args...)
	cmd.Dir = s.directory
	cmd.SysProcAttr = s.identity
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func (s *cluster) stop() {
	_ = s.run("pg_ctl", "-D", filepath.Join(s.directory, "data"), "-m", "immediate", "-w", "stop") // its files go all the same
	os.RemoveAll(s.directory)
}

// URL returns the URL of an empty store, or skips the test.
func URL(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no PostgreSQL")
	}
	server := start()
	if server.missing != "" {
		t.Skip(server.missing)
	}
	schema := fmt.Sprintf("t%d", server.schemas.Add(1))
	values := url.Values{"host": {server.directory}, "user": {"henge"}, "sslmode": {"disable"}}
	db, err := sql.Open("pgx", "postgres:///postgres?"+values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	values.Set("search_path", schema)
	return "postgres:///postgres?" + values.Encode()
}
