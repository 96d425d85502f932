// Package mariadb runs a MariaDB for the tests of a package, if one is installed. It is reachable
// over loopback only and does not outlive the tests.
package mariadb

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server is a MariaDB of this test run.
type server struct {
	directory string
	port      int
	cmd       *exec.Cmd
	missing   string // why there is none
}

var (
	start   = sync.OnceValue(install)
	started atomic.Pointer[server]
)

// User and Password are of an account that may do everything.
const (
	User     = "henge"
	Password = "stones"
)

// Stop ends the MariaDB if one was started. TestMain calls it after the tests.
func Stop() {
	s := started.Load()
	if s == nil {
		return
	}
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // its files go all the same
		_ = s.cmd.Wait()
	}
	os.RemoveAll(s.directory)
}

func install() *server {
	s := &server{}
	for _, program := range []string{"mariadbd", "mariadb-install-db", "mariadb-admin", "mariadb"} {
		if _, err := exec.LookPath(program); err != nil {
			s.missing = "no MariaDB: " + err.Error()
			return s
		}
	}
	directory, err := os.MkdirTemp("", "henge-maria-")
	if err != nil {
		s.missing = err.Error()
		return s
	}
	s.directory = directory
	started.Store(s)
	if err := s.begin(); err != nil {
		s.missing = err.Error()
	}
	return s
}

func (s *server) begin() error {
	owner := []string{}
	if os.Getuid() == 0 { // MariaDB refuses to run as root
		u, err := user.Lookup("mysql")
		if err != nil {
			return fmt.Errorf("MariaDB does not run as root: %w", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(s.directory, uid, gid); err != nil {
			return err
		}
		owner = append(owner, "--user=mysql")
	}
	data, socket := filepath.Join(s.directory, "data"), filepath.Join(s.directory, "socket")
	if err := run("mariadb-install-db", append(owner, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")...); err != nil {
		return err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.port = free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return err
	}
	s.cmd = exec.Command("mariadbd", append([]string{"--no-defaults", "--datadir=" + data, "--socket=" + socket, "--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(s.port), "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"}, owner...)...)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	if err := run("mariadb-admin", "--no-defaults", "--socket="+socket, "--user=root", "--wait=30", "--connect-timeout=30", "ping"); err != nil {
		return err
	}
	return run("mariadb", "--no-defaults", "--socket="+socket, "--user=root", "-e",
		"CREATE DATABASE d; CREATE USER "+User+"@localhost IDENTIFIED BY '"+Password+"'; GRANT ALL ON *.* TO "+User+"@localhost")
}

func run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// URI returns the address of a database as connectors of the interface have it, without a user, or
// skips the test. statements are run in it first.
func URI(t testing.TB, statements string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no MariaDB")
	}
	s := start()
	if s.missing != "" {
		t.Skip(s.missing)
	}
	if err := run("mariadb", "--no-defaults", "--socket="+filepath.Join(s.directory, "socket"), "--user=root", "d", "-e", statements); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("jdbc:mysql://127.0.0.1:%d/d", s.port)
}
