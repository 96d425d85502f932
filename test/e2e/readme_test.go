package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tryout is what the README tells a newcomer to paste.
var tryout = regexp.MustCompile("(?s)<!-- tryout -->\\s*```sh\\n(.*?)```\\s*<!-- /tryout -->")

// onFreePorts stands in for bin/henge: the same binary, on ports that are free on the machine of
// the test, and a client that waits for the server that was started a line before.
const onFreePorts = `#!/bin/sh
case "$1" in
server) exec %[1]s "$@" %[2]s ;;
sql|ingest)
  n=0
  until curl -sf http://localhost:%[3]d/status/health >/dev/null; do n=$((n+1)); [ $n -lt 600 ] || exit 1; sleep 0.1; done
  exec %[1]s "$@" --server http://localhost:%[3]d ;;
*) exec %[1]s "$@" ;;
esac
`

// TestReadmeLines runs the README's lines as they stand, but for the ports.
func TestReadmeLines(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the README uses curl, which is not installed")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := tryout.FindSubmatch(text)
	if m == nil {
		t.Fatal("README.md has no block between <!-- tryout --> and <!-- /tryout -->")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := strings.Join(append(ports(), "--set", fmt.Sprintf("service.router.plaintextPort=%d", port)), " ")
	if err := os.WriteFile(filepath.Join(dir, "bin", "henge"), fmt.Appendf(nil, onFreePorts, henge, settings, port), 0o755); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(string(m[1]), "localhost:8888", fmt.Sprintf("localhost:%d", port))

	cmd := exec.Command("sh", "-e")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the server it leaves behind is ended with it
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endGroup := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timer := time.AfterFunc(patience, endGroup)
	defer timer.Stop()
	state, err := cmd.Process.Wait() // not Cmd.Wait: the server keeps the pipes open
	endGroup()
	_ = cmd.Wait() // frees the pipes; the process itself was waited for above
	if err != nil || !state.Success() {
		t.Fatalf("the README's lines end with %v, %v:\n%s", state, err, out)
	}
	for _, want := range []string{" ready in ", "INSERT INTO", "country", `"sold":`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the README's lines print no %q:\n%s", want, out)
		}
	}
}
