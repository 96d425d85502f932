package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// patience is how long a process may take to start or to end on this machine, however loaded.
const patience = 60 * time.Second

// process is a running server.
type process struct {
	server.Client
	cmd    *exec.Cmd
	out    *output
	errors *output
	ended  chan struct{} // closed when the process is gone
	failed error         // how it ended, once it has
}

// output collects what a process prints, and tells of the line that says it is ready.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	told  bool
}

func newOutput() *output { return &output{ready: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if !o.told && readyLine.Match(o.text.Bytes()) {
		o.told = true
		close(o.ready)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var (
	readyLine = regexp.MustCompile(`(?m)^henge \S+ ready in \S+: (.*)\n`)
	roleURL   = regexp.MustCompile(`(\w+) (https?://\S+?)(?:,|$)`)
)

// serve starts the server on dir and returns when it says that it is ready. It is killed when the
// test ends, if it still runs.
func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	arguments := append([]string{"server", "--data", dir}, ports()...)
	return launch(t, exec.Command(henge, append(arguments, args...)...))
}

// launch starts a command that runs a server, and waits until it is ready.
func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, out: newOutput(), errors: newOutput(), ended: make(chan struct{}), Client: server.Client{Addresses: map[string]string{}}}
	cmd.Stdout, cmd.Stderr = p.out, p.errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.failed = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	select {
	case <-p.out.ready:
	case <-p.ended:
		t.Fatalf("the server did not start: %v\n%s%s", p.failed, p.out, p.errors)
	case <-time.After(patience):
		t.Fatalf("the server is not ready after %s\n%s%s", patience, p.out, p.errors)
	}
	for _, m := range roleURL.FindAllStringSubmatch(readyLine.FindStringSubmatch(p.out.String())[1], -1) {
		p.Addresses[m[1]] = m[2]
	}
	if len(p.Addresses) == 0 {
		t.Fatalf("the ready line names no role: %s", p.out)
	}
	return p
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.ended
	p.CloseIdle()
}

// stop asks the process to end and expects it to do so well.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.CloseIdle()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the server has not stopped after %s", patience)
	}
	if p.failed != nil {
		t.Errorf("the server stopped with %v\n%s", p.failed, p.errors)
	}
}

// result is what a finished command left behind.
type result struct {
	stdout, stderr string
	code           int
}

// tool runs the binary to its end.
func tool(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.Command(henge, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = patience
	err := cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// refused expects a server not to start, with a message that has all of the given parts.
func refused(t *testing.T, args []string, parts ...string) {
	t.Helper()
	r := tool(t, "", append([]string{"server"}, args...)...)
	if r.code == 0 {
		t.Errorf("henge server %q ended with status 0", args)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("henge server %q says %q, which has no %q", args, r.stderr, part)
		}
	}
	if strings.Contains(r.stderr, "panic") || strings.Contains(r.stderr, "goroutine ") {
		t.Errorf("henge server %q panics: %s", args, r.stderr)
	}
}

// ports are the arguments that give every role a free port.
func ports() []string {
	var out []string
	for _, s := range server.FreePorts() {
		out = append(out, "--set", s)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
