package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

// The environment of a copy of this test program that runs a server which kills itself at a step of
// publishing.
const (
	crashDir  = "HENGE_E2E_CRASH_DIR"
	crashStep = "HENGE_E2E_CRASH_STEP"
	// crashArmed is a file: the process kills itself at the step once it is there, or another one
	// whose id the file has behind the step.
	crashArmed = "HENGE_E2E_CRASH_ARMED"
	// crashRoles are the roles of the process, all without it, and crashSettings its properties, one a
	// line. With them the file says at which step.
	crashRoles    = "HENGE_E2E_CRASH_ROLES"
	crashSettings = "HENGE_E2E_CRASH_SETTINGS"
	// crashProtocol is the protocol that the process speaks, as another release would; none: that of
	// this one.
	crashProtocol = "HENGE_E2E_CRASH_PROTOCOL"
)

// crashingServer is the main program of that copy. It prints the same ready line as the binary.
func crashingServer() {
	flags := append(server.FreePorts(), "service.data.dir="+os.Getenv(crashDir))
	if more := os.Getenv(crashSettings); more != "" {
		flags = append(flags, strings.Split(more, "\n")...)
	}
	settings, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	roles, err := role.ParseRoles(strings.Fields(os.Getenv(crashRoles)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	protocol, _ := strconv.Atoi(os.Getenv(crashProtocol)) // none is 0
	n, err := role.Start(context.Background(), role.Options{
		Settings: settings, Roles: roles, Protocol: protocol, Version: "test", Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
		FaultPoint: func(step string) error {
			text, err := os.ReadFile(os.Getenv(crashArmed))
			named, id, other := strings.Cut(string(text), " ")
			wanted := os.Getenv(crashStep)
			if wanted == "" {
				wanted = named
			}
			victim := os.Getpid()
			if other {
				if victim, err = strconv.Atoi(id); err != nil {
					return err
				}
			}
			if err == nil && step == wanted && (len(text) == 0 || os.Remove(os.Getenv(crashArmed)) == nil) { // one process of several
				return syscall.Kill(victim, syscall.SIGKILL)
			}
			return nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var addresses []string
	for _, a := range n.Addresses() {
		addresses = append(addresses, a.Role+" http://"+a.HostPort)
	}
	fmt.Printf("henge test ready in %s: %s\n", n.StartTook(), strings.Join(addresses, ", "))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := n.Wait(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// small is a statement that replaces all of table t by rows of one day, one value each.
func small(verb string, values ...string) string {
	var rows []string
	for _, v := range values {
		rows = append(rows, fmt.Sprintf(`{"t":"2024-01-01","v":"%s"}`, v))
	}
	return verb + ` SELECT TIME_PARSE(t) AS __time, v FROM TABLE(EXTERN('{"type":"inline","data":"` +
		strings.ReplaceAll(strings.Join(rows, `\n`), `"`, `\"`) + `"}', '{"type":"json"}')) EXTEND (t VARCHAR, v VARCHAR) PARTITIONED BY DAY`
}

// values are those in t, in order. A datasource without rows may be unknown.
func values(t *testing.T, c *server.Client) string {
	t.Helper()
	rows, err := c.Query(t.Context(), `SELECT v FROM t ORDER BY v`)
	var refusal *server.Refusal
	if errors.As(err, &refusal) && strings.Contains(string(refusal.Body), "Object 't' not found") {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r[0]))
	}
	return strings.Join(out, " ")
}

// native is a task that loads rows of one day into t, one value each.
func native(io string, values ...string) string {
	var rows []string
	for _, v := range values {
		rows = append(rows, fmt.Sprintf(`{\"t\":\"2024-01-01\",\"v\":\"%s\"}`, v))
	}
	return `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":{"type":"inline","data":"` + strings.Join(rows, `\n`) +
		`"},"inputFormat":{"type":"json"}` + io + `},"dataSchema":{"dataSource":"t","timestampSpec":{"column":"t","format":"auto"},` +
		`"dimensionsSpec":{"dimensions":["v"]},"granularitySpec":{"segmentGranularity":"DAY","rollup":false}}}}`
}

// submit hands a statement, or the JSON of a native task, to the server and returns the id of the
// task.
func submit(ctx context.Context, c *server.Client, statement string, settings map[string]any) (string, error) {
	if !strings.HasPrefix(statement, "{") {
		return c.Submit(ctx, statement, settings)
	}
	var submitted struct{ Task string }
	err := c.Call(ctx, http.MethodPost, "/service/indexer/v1/task", json.RawMessage(statement), &submitted)
	return submitted.Task, err
}

// publishKinds are statements and tasks that publish, with the steps they pass (by their numbers)
// and what is in t before and after.
var publishKinds = []struct {
	name, statement string
	context         map[string]any
	steps           string
	after, twice    string
}{
	{"replace", small("REPLACE INTO t OVERWRITE ALL", "new1", "new2"), nil, "1467", "new1 new2", "new1 new2"},
	{"insert", small("INSERT INTO t", "new1", "new2"), nil, "1467", "new1 new2 old1 old2", "new1 new1 new2 new2 old1 old2"},
	{"empty replace", strings.Replace(small("REPLACE INTO t OVERWRITE ALL", "x"), "PARTITIONED", "WHERE v = '' PARTITIONED", 1), nil, "1467", "", ""},
	{"concurrent replace", small("REPLACE INTO t OVERWRITE ALL", "new1"), map[string]any{"useConcurrentLocks": true}, "14567", "new1", "new1"},
	{"concurrent insert", small("INSERT INTO t", "new1"), map[string]any{"useConcurrentLocks": true}, "14567", "new1 old1 old2", "new1 new1 old1 old2"},
	{"native replace", native("", "new1", "new2"), nil, "1467", "new1 new2", "new1 new2"},
	{"native append", native(`,"appendToExisting":true`, "new1", "new2"), nil, "1467", "new1 new2 old1 old2", "new1 new1 new2 new2 old1 old2"},
	{"compact", `{"type":"compact","dataSource":"t","interval":"2024-01-01/2024-01-02"}`, nil, "1467", "old1 old2", "old1 old2"},
}

// TestKilledWhilePublishing kills the server at every step of publishing: what was there stands,
// whole, and trying again works. After the commit the new data stands, although nobody was told.
func TestKilledWhilePublishing(t *testing.T) {
	steps := metastore.PublishSteps()
	committed := steps[len(steps)-1]
	for _, kind := range publishKinds {
		for _, step := range steps {
			number := strings.Split(step, "-")[1]
			if !strings.Contains(kind.steps, number) {
				continue
			}
			t.Run(kind.name+"/"+step, func(t *testing.T) {
				data := filepath.Join(t.TempDir(), "data")
				id := crashAt(t, data, step, kind.statement, kind.context)

				q := serve(t, data)
				want, retried := "old1 old2", kind.after
				if step == committed {
					want, retried = kind.after, kind.twice
				}
				// A server that comes back may finish what it finds begun, but never shows half of it.
				if first := values(t, &q.Client); first != want && first != kind.after {
					t.Fatalf("after the crash the values are %q, want %q", first, want)
				}
				task, err := q.Await(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if task.StatusCode == "SUCCESS" {
					want, retried = kind.after, kind.twice
				}
				if got := values(t, &q.Client); got != want {
					t.Errorf("after the crash the values are %q with the task %s, want %q", got, task.StatusCode, want)
				}
				again, err := submit(t.Context(), &q.Client, kind.statement, kind.context)
				if err != nil {
					t.Fatalf("trying again: %v", err)
				}
				if task, err := q.Await(t.Context(), again); err != nil || task.StatusCode != "SUCCESS" {
					t.Fatalf("trying again: %+v, %v", task, err)
				}
				if got := values(t, &q.Client); got != retried {
					t.Errorf("after trying again the values are %q, want %q", got, retried)
				}
				q.stop(t)
			})
		}
	}
}

// crashAt loads old data, submits a statement and returns its task when the server has died at the
// step.
func crashAt(t *testing.T, data, step, statement string, context map[string]any) (id string) {
	t.Helper()
	armed := data + ".armed"
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+data, crashStep+"="+step, crashArmed+"="+armed)
	p := launch(t, cmd)
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "old1", "old2"), nil); err != nil {
		t.Fatal(err)
	}
	write(t, armed, "")
	// The process may be gone before it has answered, so that the id is chosen here.
	id = "killed"
	if strings.HasPrefix(statement, "{") {
		statement = `{"id":"killed",` + statement[1:]
	} else {
		context, id = maps.Clone(context), "query-killed"
		if context == nil {
			context = map[string]any{}
		}
		context["sqlQueryId"] = "killed"
	}
	if _, err := submit(t.Context(), &p.Client, statement, context); err != nil {
		t.Logf("submitting: %v", err)
	} else if task, err := p.Await(t.Context(), id); err == nil {
		t.Fatalf("the task ended as %s (%s) without passing step [%s]", task.StatusCode, task.ErrorMsg, step)
	}
	<-p.ended // the connection broke because the process is gone
	p.CloseIdle()
	return id
}

// TestKilledWhileIngesting kills the server in the middle of reading.
func TestKilledWhileIngesting(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(dir, "events.json")
	r := tool(t, "", "sample", "--rows", "150000", "--seed", "3")
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	write(t, events, r.stdout)
	data := filepath.Join(dir, "data")
	p := serve(t, data)
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "old"), nil); err != nil {
		t.Fatal(err)
	}
	load := `REPLACE INTO t OVERWRITE ALL SELECT TIME_PARSE("time") AS __time, page AS v
FROM TABLE(EXTERN('{"type":"local","files":["` + events + `"]}', '{"type":"json"}')) EXTEND ("time" VARCHAR, page VARCHAR) PARTITIONED BY DAY`
	id, err := p.Submit(t.Context(), load, nil)
	if err != nil {
		t.Fatal(err)
	}
	awaitReading(t, p, id)
	p.kill()

	p = serve(t, data)
	task, err := p.Await(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, whole := count(t, p), task.StatusCode == "SUCCESS"; whole && got != 150000 || !whole && got != 1 {
		t.Errorf("after the kill the task is %s and %d rows are there", task.StatusCode, got)
	}
	if err := p.Ingest(t.Context(), load, nil); err != nil {
		t.Fatalf("trying again: %v", err)
	}
	if got := count(t, p); got != 150000 {
		t.Errorf("after trying again %d rows are there, want 150000", got)
	}
	p.stop(t)
}

func count(t *testing.T, p *process) int64 {
	t.Helper()
	rows, err := p.Query(t.Context(), `SELECT COUNT(*) FROM t`)
	if err != nil {
		t.Fatal(err)
	}
	n, err := rows[0][0].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitReading waits until a task has read some of its input.
func awaitReading(t *testing.T, p *process, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		var report struct {
			MultiStageQuery struct {
				Payload struct {
					Status   struct{ Status string }
					Counters map[string]map[string]struct {
						Input0 struct{ Rows, Bytes []int64 }
					}
				}
			}
		}
		err := p.Call(ctx, http.MethodGet, "/service/indexer/v1/task/"+id+"/reports", nil, &report)
		payload := report.MultiStageQuery.Payload
		if err == nil && payload.Status.Status != "RUNNING" {
			t.Fatalf("the task was %s before it could be interrupted", payload.Status.Status)
		}
		for _, worker := range payload.Counters["0"] {
			if len(worker.Input0.Rows) > 0 && worker.Input0.Rows[0] > 0 {
				return
			}
		}
	}
	t.Fatal("the task has not begun to read")
}
