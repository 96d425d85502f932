package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to start or to stop on a machine with much else to do.
const patience = 2 * time.Minute

// service is what systemd would have started: the command of the installed unit, as its user, with
// its environment and a socket on which it says that it is ready.
type service struct {
	cmd  *exec.Cmd
	out  *bytes.Buffer
	url  string
	told *net.UnixConn
}

func startService(t *testing.T) *service {
	t.Helper()
	unit, err := os.ReadFile(unitPath)
	if err != nil {
		t.Fatal(err)
	}
	args := unitCommand(string(unit), func(string) string { return "" }) // no roles: all of them
	if len(args) < 2 {
		t.Fatalf("the unit has no command: %s", unit)
	}
	who, err := user.Lookup("henge")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "henge-notify-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // only a temporary folder
	socket := filepath.Join(dir, "notify")
	s := &service{cmd: exec.Command(args[0], args[1:]...), out: &bytes.Buffer{}}
	if s.told, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	s.cmd.Dir, s.cmd.Env = "/", append(anyPorts(), "PATH=/usr/bin:/bin", "NOTIFY_SOCKET="+socket)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = s.cmd.Process.Kill() // it may be gone already
		_ = s.cmd.Wait()         // likewise
		s.told.Close()
	})
	t.Cleanup(end)
	said := s.hear(t)
	url := regexp.MustCompile(`router (http://\S+?)(,|$)`).FindStringSubmatch(said)
	if !strings.HasPrefix(said, "READY=1\n") || url == nil {
		end()
		t.Fatalf("the service says %q\n%s", said, s.out)
	}
	s.url = url[1]
	return s
}

// hear returns what the service tells the manager next.
func (s *service) hear(t *testing.T) string {
	t.Helper()
	if err := s.told.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 8192)
	n, err := s.told.Read(message)
	if err != nil {
		t.Fatalf("the service says nothing: %v\n%s", err, s.out)
	}
	return string(message[:n])
}

func (s *service) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if said := s.hear(t); !strings.HasPrefix(said, "STOPPING=1\n") {
		t.Errorf("the service that stops says %q", said)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the service ended with %v\n%s", err, s.out)
	}
}

func (s *service) ask(t *testing.T, sql string) string {
	t.Helper()
	body := fmt.Sprintf(`{"query":%q,"resultFormat":"csv"}`, sql)
	res, err := http.Post(s.url+"/service/v2/sql", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %s", sql, res.Status, err, text)
	}
	return strings.TrimSpace(string(text))
}

func dpkg(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("dpkg", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dpkg %q: %v\n%s", args, err, out)
	}
}

// From the package to a running service, its upgrade, its removal, and the purge.
func TestPackageIsInstalledUpgradedAndRemoved(t *testing.T) {
	r := theRelease(t)
	_, noDpkg := exec.LookPath("dpkg")
	switch {
	case os.Getuid() != 0 || noDpkg != nil:
		t.Skip("installing a package needs dpkg and root")
	case os.Getenv("CI") == "" && os.Getenv("HENGE_DPKG") == "":
		t.Skip("this installs the package on this machine and purges it: set HENGE_DPKG=1 to allow that")
	}
	for _, path := range []string{"/usr/bin/henge", "/etc/henge", "/var/lib/henge"} {
		if _, err := os.Lstat(path); err == nil {
			t.Skipf("[%s] is there: henge is installed on this machine", path)
		}
	}
	texts, err := r.texts()
	if err != nil {
		t.Fatal(err)
	}
	older := *r
	older.version = "0.1.0"
	for _, which := range []*release{&older, r} {
		if err := which.pack("deb", runtime.GOARCH, texts); err != nil {
			t.Fatal(err)
		}
	}
	deb := func(version string) string { return filepath.Join(r.out, "henge_"+version+"_"+runtime.GOARCH+".deb") }
	t.Cleanup(func() { _ = exec.Command("dpkg", "--purge", "henge").Run() }) // where the test ended early
	dpkg(t, "--install", deb("0.1.0"))
	for path, want := range map[string]os.FileMode{
		"/var/lib/henge": 0o700, "/etc/henge": 0o750, settingsPath: 0o640, defaultsPath: 0o640, "/usr/bin/henge": 0o755,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("[%s]: %v, %v, want %o", path, err, info.Mode().Perm(), want)
		}
	}
	settings, err := os.ReadFile(settingsPath)
	if err != nil {
		t.Fatal(err)
	}
	const mine = "\nservice.labels={\"kept\":\"yes\"}\n"
	if err := os.WriteFile(settingsPath, append(settings, mine...), 0o640); err != nil {
		t.Fatal(err)
	}
	s := startService(t)
	load := exec.Command("/usr/bin/henge", "sql", "--server", s.url, "-q",
		"REPLACE INTO kept OVERWRITE ALL SELECT TIMESTAMP '2026-01-01' AS __time, 7 AS n PARTITIONED BY ALL")
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("loading: %v\n%s", err, out)
	}
	const query = "SELECT SUM(n) FROM kept"
	if got := s.ask(t, query); got != "7" {
		t.Errorf("%s is [%s] of the first release", query, got)
	}
	s.stop(t)

	dpkg(t, "--install", deb("0.2.0"))
	if text, err := os.ReadFile(settingsPath); err != nil || !strings.HasSuffix(string(text), mine) {
		t.Errorf("the upgrade changed the settings (%v):\n%s", err, text)
	}
	s = startService(t)
	if got := s.ask(t, query); got != "7" {
		t.Errorf("%s is [%s] after the upgrade", query, got)
	}
	if got := s.ask(t, "SELECT DISTINCT version, build_revision, labels FROM sys.servers"); got != `0.2.0,`+r.commit+`,"{""kept"":""yes""}"` {
		t.Errorf("sys.servers says [%s]", got)
	}
	s.stop(t)

	dpkg(t, "--remove", "henge")
	there(t, true, settingsPath, "/var/lib/henge/version")
	there(t, false, "/usr/bin/henge", unitPath)
	dpkg(t, "--install", deb("0.2.0"))
	s = startService(t)
	if got := s.ask(t, query); got != "7" {
		t.Errorf("%s is [%s] when it is installed again", query, got)
	}
	s.stop(t)
	dpkg(t, "--purge", "henge")
	there(t, false, "/etc/henge", defaultsPath, "/var/lib/henge", "/usr/bin/henge")
	if _, err := user.Lookup("henge"); err == nil {
		t.Error("the user is left behind")
	}
}

func there(t *testing.T, want bool, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Lstat(p); want != !errors.Is(err, os.ErrNotExist) {
			t.Errorf("[%s] is there: %v, want %v (%v)", p, !want, want, err)
		}
	}
}
