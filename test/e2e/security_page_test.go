package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

// asWritten stands in for bin/henge: the same binary, with its Router on a port that is free on the
// machine of the test.
const asWritten = `#!/bin/sh
case "$1" in
server) exec %[1]s "$@" %[2]s ;;
sql|ingest|user|role) exec %[1]s "$@" --server http://localhost:%[3]s ;;
*) exec %[1]s "$@" ;;
esac
`

// pageBlock returns the lines of docs/security.md between two marks.
func pageBlock(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- " + name + " -->\\s*```sh\\n(.*?)```\\s*<!-- /" + name + " -->").FindSubmatch(text)
	if block == nil {
		t.Fatalf("docs/security.md has no block [%s]", name)
	}
	return string(block[1])
}

// freePort returns a port that is free now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// runPage runs lines of the page as they stand, but for ports and stores, and returns what they
// print.
func runPage(t *testing.T, script string, replaced ...string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the page uses curl, which is not installed")
	}
	port := freePort(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := strings.Join(append(ports(), "--set", "service.router.plaintextPort="+port), " ")
	if err := os.WriteFile(filepath.Join(dir, "bin", "henge"), fmt.Appendf(nil, asWritten, henge, settings, port), 0o755); err != nil {
		t.Fatal(err)
	}
	script = strings.NewReplacer(append(replaced, "localhost:8888", "localhost:"+port)...).Replace(script)
	cmd := exec.Command("sh", "-e")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the servers it leaves behind are ended with it
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endGroup := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timer := time.AfterFunc(patience, endGroup)
	defer timer.Stop()
	state, err := cmd.Process.Wait() // not Cmd.Wait: the servers keep the pipes open
	endGroup()
	_ = cmd.Wait() // frees the pipes; the process itself was waited for above
	if err != nil || !state.Success() {
		t.Fatalf("the lines of docs/security.md end with %v, %v:\n%s", state, err, out)
	}
	return out.String()
}

func TestSecurityPage(t *testing.T) {
	got := runPage(t, pageBlock(t, "secured"))
	for _, want := range []string{
		" ready in ", "added user bob with role reader", "bob             yes       reader", "1000", "bob may not see servers", `["events"]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the lines print no %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{"choose-a-password", "choose-another", "bobs-password"} {
		if strings.Contains(got, secret) {
			t.Errorf("the lines print the password [%s]:\n%s", secret, got)
		}
	}
}

func TestSecurityPageOfACluster(t *testing.T) {
	files, _, _ := strings.Cut(pageBlock(t, "secured"), "ADMIN_PASSWORD=\"$(cat admin.pw)\" INTERNAL")
	got := runPage(t, files+pageBlock(t, "cluster"), "postgresql://postgres@localhost:5432/henge", postgres.URL(t))
	for _, want := range []string{"added user bob with role reader", "localhost", "401"} {
		if !strings.Contains(got, want) {
			t.Errorf("the lines print no %q:\n%s", want, got)
		}
	}
}

func TestSecurityPageOfADirectory(t *testing.T) {
	for _, program := range []string{"/usr/sbin/slapd", "ldapadd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("the page uses " + program + ", which is not installed")
		}
	}
	got := runPage(t, pageBlock(t, "directory")+"echo and now the directory only\n"+pageBlock(t, "directory-only"), "localhost:3890",
		"localhost:"+freePort(t))
	mixed, only, _ := strings.Cut(got, "and now the directory only")
	for _, want := range []string{"added role analyst", "1000", "bob may not see servers"} {
		if !strings.Contains(mixed, want) {
			t.Errorf("the lines print no %q:\n%s", want, mixed)
		}
	}
	for _, want := range []string{"1000", "401"} {
		if !strings.Contains(only, want) {
			t.Errorf("the lines about the directory only print no %q:\n%s", want, only)
		}
	}
}
