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

var (
	// tryout is what a page tells a newcomer to paste.
	tryout = regexp.MustCompile("(?s)<!-- tryout -->(.*?)<!-- /tryout -->")
	// pasted are the lines in it, and printed what the page says that they print.
	pasted  = regexp.MustCompile("(?s)```sh\\n(.*?)```")
	printed = regexp.MustCompile("(?s)```text\\n(.*?)```")
)

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

// TestReadmeLines runs the lines of the README and the tutorial as they stand, but for the ports.
// What a text block among them shows is printed, line by line.
func TestReadmeLines(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the README uses curl, which is not installed")
	}
	for page, wants := range map[string][]string{
		"README.md":        {" ready in ", "INSERT INTO", "country", `"sold":`},
		"docs/tutorial.md": {" ready in ", "INSERT INTO"},
	} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile("../../" + page)
			if err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			for _, region := range tryout.FindAllStringSubmatch(string(text), -1) {
				for _, m := range pasted.FindAllStringSubmatch(region[1], -1) {
					script.WriteString(m[1])
				}
				for _, m := range printed.FindAllStringSubmatch(region[1], -1) {
					wants = append(wants, strings.Split(strings.TrimSpace(m[1]), "\n")...)
				}
			}
			if script.Len() == 0 {
				t.Fatalf("%s has no block between <!-- tryout --> and <!-- /tryout -->", page)
			}
			paste(t, page, script.String(), wants)
		})
	}
}

// paste runs lines of a page in a shell, which starts a server, and looks for what they print.
func paste(t *testing.T, page, lines string, wants []string) {
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
	script := strings.ReplaceAll(lines, "localhost:8888", fmt.Sprintf("localhost:%d", port))

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
		t.Fatalf("the lines of %s end with %v, %v:\n%s", page, state, err, out)
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the lines of %s print no %q:\n%s", page, want, out)
		}
	}
}
