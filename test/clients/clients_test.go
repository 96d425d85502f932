// Package clients runs unmodified clients of Apache Druid against the real binary, which serves
// their paths under an alias. All share one server. Each client is a small program in its own
// language in a folder beside this file; it prints a line per step, `ok NAME` or `FAIL NAME: why`.
// docs/clients.md lists the clients.
package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// henge is the path of the binary under test, shared the server of all clients.
var (
	henge  string
	shared *process
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "henge-clients-")
	if err != nil {
		return fails(err)
	}
	defer os.RemoveAll(dir)
	henge = filepath.Join(dir, "henge")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", henge, "./cmd/henge")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fails(fmt.Errorf("building the binary: %w\n%s", err, out))
	}
	defer postgres.Stop()
	if shared, err = start(filepath.Join(dir, "data")); err != nil {
		return fails(err)
	}
	defer func() {
		if err := shared.stop(); err != nil {
			code = fails(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := shared.load(ctx); err != nil {
		return fails(err)
	}
	return m.Run()
}

func fails(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

var (
	readyLine = regexp.MustCompile(`^henge \S+ ready in \S+: (.*)$`)
	roleURL   = regexp.MustCompile(`(\w+) (http://\S+?)(?:,|$)`)
)

// process is a running server.
type process struct {
	server.Client
	cmd *exec.Cmd
	log *bytes.Buffer
}

// start starts a server with all roles, which knows Druid's name.
func start(data string, more ...string) (*process, error) {
	args := []string{"server", "--data", data, "--set", `service.api.aliases=["druid"]`}
	for _, setting := range append(server.FreePorts(), more...) {
		args = append(args, "--set", setting)
	}
	return startWith(args...)
}

func startWith(args ...string) (*process, error) {
	p := &process{cmd: exec.Command(henge, args...), log: &bytes.Buffer{}, Client: server.Client{Addresses: map[string]string{}}}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		ready := readyLine.FindStringSubmatch(lines.Text())
		if ready == nil {
			continue
		}
		for _, match := range roleURL.FindAllStringSubmatch(ready[1], -1) {
			p.Addresses[match[1]] = match[2]
		}
		go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with the process
		return p, nil
	}
	_ = p.cmd.Wait() // the log says why
	return nil, errors.New("the server did not start: " + p.log.String())
}

func (p *process) stop() error {
	p.CloseIdle()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ends with %w: %s", err, p.log)
	}
	return nil
}

// load loads 48 hours of visits: added counts from 0, channels come in turn.
func (p *process) load(ctx context.Context) error {
	var rows bytes.Buffer
	for i := range 48 {
		line, err := json.Marshal(map[string]any{
			"t": time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC).UnixMilli(), "channel": []string{"#en", "#de", "#fr"}[i%3],
			"page":  fmt.Sprint("page ", i%7),
			"added": i, "delta": float64(i) / 2, "tags": []string{"a", "b", "c"}[:i%4],
		})
		if err != nil {
			return err
		}
		rows.Write(append(line, '\n'))
	}
	quoted, err := json.Marshal(map[string]string{"type": "inline", "data": rows.String()})
	if err != nil {
		return err
	}
	return p.Ingest(ctx, `REPLACE INTO visits OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(t) AS __time, channel, page, added, delta, `+
		`ARRAY_TO_MV(tags) AS tags FROM TABLE(EXTERN('`+
		strings.ReplaceAll(string(quoted), "'", "''")+`', '{"type":"json"}')) EXTEND (t BIGINT, channel VARCHAR, page VARCHAR, added BIGINT, `+
		`delta DOUBLE, tags VARCHAR ARRAY) `+
		`PARTITIONED BY DAY CLUSTERED BY channel`, map[string]any{"waitUntilSegmentsLoad": true, "arrayIngestMode": "array"})
}

// steps runs the program of a client and reports its steps as subtests.
func steps(t *testing.T, cmd *exec.Cmd, least int) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	passed := 0
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "FAIL ") {
			t.Error(line)
		} else if strings.HasPrefix(line, "ok ") {
			passed++
		}
	}
	if err != nil || passed < least {
		t.Errorf("the client ends with %v after [%d] steps, want [%d]\n%s\n%s", err, passed, least, out, &stderr)
	}
}

// python returns a program that runs with a client that CI installs.
func python(t *testing.T, module, script string, args ...string) *exec.Cmd {
	t.Helper()
	interpreter := os.Getenv("HENGE_CLIENTS_PYTHON")
	if interpreter == "" {
		t.Skip("HENGE_CLIENTS_PYTHON names no Python with the clients; test/setup installs them")
	}
	environ := append(os.Environ(), "PYTHONPATH="+filepath.Join("python", "kerberos"), "PYTHONWARNINGS=ignore", "PYTHONDONTWRITEBYTECODE=1")
	loads := exec.CommandContext(t.Context(), interpreter, "-c", "import "+module)
	loads.Env = environ
	if out, err := loads.CombinedOutput(); err != nil {
		t.Skipf("%s can't be loaded: %v\n%s", module, err, out)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, append([]string{filepath.Join("python", script)}, args...)...)
	cmd.Env = environ
	return cmd
}

// node returns a program that runs with the packages that CI installs.
func node(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := os.Getenv("HENGE_CLIENTS_NODE")
	if modules == "" {
		t.Skip("HENGE_CLIENTS_NODE names no folder with the clients' packages; test/setup installs them")
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join("node", script)}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd
}

func TestPydruid(t *testing.T) {
	t.Parallel()
	steps(t, python(t, "pydruid", "pydruid_client.py", shared.Addresses["router"]), 26)
}

func TestSuperset(t *testing.T) {
	t.Parallel()
	steps(t, python(t, "pydruid", "superset_client.py", shared.Addresses["router"]), 37)
}

func TestPhoenixdb(t *testing.T) {
	t.Parallel()
	steps(t, python(t, "phoenixdb", "phoenixdb_client.py", shared.Addresses["broker"]), 9)
}

func TestCube(t *testing.T) {
	t.Parallel()
	steps(t, node(t, "cube.js", shared.Addresses["router"]), 9)
}

func TestPlywood(t *testing.T) {
	t.Parallel()
	steps(t, node(t, "plywood.js", shared.Addresses["broker"]), 12)
}

func TestQueryToolkit(t *testing.T) {
	t.Parallel()
	steps(t, node(t, "toolkit.js", shared.Addresses["router"]), 15)
}

// get asks the server for what a client would.
func get(t *testing.T, method, address, body string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it was only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, text
}

// golang returns the program with the clients in Go, which are a module of their own.
func golang(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	golangOnce.Do(func() {
		golangProgram = filepath.Join(filepath.Dir(henge), "golang")
		build := exec.Command("go", "build", "-trimpath", "-o", golangProgram, ".")
		build.Dir = "golang"
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out []byte
		if out, golangFailed = build.CombinedOutput(); golangFailed != nil {
			golangFailed = fmt.Errorf("%w\n%s", golangFailed, out)
		}
	})
	if golangFailed != nil {
		t.Skipf("the clients in Go can't be built; test/setup fetches them: %v", golangFailed)
	}
	return exec.CommandContext(t.Context(), golangProgram, args...)
}

var (
	golangOnce    sync.Once
	golangProgram string
	golangFailed  error
)

func TestGoDruid(t *testing.T) {
	t.Parallel()
	steps(t, golang(t, "druid", shared.Addresses["router"]), 18)
}

func TestAvaticaGo(t *testing.T) {
	t.Parallel()
	steps(t, golang(t, "avatica", shared.Addresses["router"]), 9)
}
