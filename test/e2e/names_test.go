package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// testCluster are processes of the binary on one PostgreSQL and one deep storage.
type testCluster struct {
	t        *testing.T
	dir      string
	settings []string
	router   *process
}

func newTestCluster(t *testing.T, settings ...string) *testCluster {
	dir := t.TempDir()
	return &testCluster{t: t, dir: dir, settings: append([]string{
		"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + postgres.URL(t),
		"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.leader.leaseDuration=PT1S", "service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S",
	}, settings...)}
}

// of returns the data directory of a process.
func (f *testCluster) of(name string) string { return filepath.Join(f.dir, name) }

// arguments are those of a server; more stands for further ones.
func (f *testCluster) arguments(name string, roles []string, more ...string) []string {
	out := append([]string{"--data", f.of(name)}, roles...)
	for _, set := range f.settings {
		out = append(out, "--set", set)
	}
	return append(append(out, ports()...), more...)
}

func (f *testCluster) run(name string, roles []string, more ...string) *process {
	f.t.Helper()
	p := launch(f.t, exec.Command(henge, append([]string{"server"}, f.arguments(name, roles, more...)...)...))
	if p.Addresses["router"] != "" {
		f.router = p
	}
	return p
}

func (f *testCluster) ask(sql string) string {
	rows, err := f.router.Query(f.t.Context(), sql)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(rows)
}

func (f *testCluster) until(what string, ok func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			f.t.Fatalf("it never came to this: %s", what)
		}
		if err := clock.System().Sleep(f.t.Context(), 20*time.Millisecond); err != nil {
			f.t.Fatal(err)
		}
	}
}

// copyName gives the data directory of one process the name of another, as if its machine had been
// copied from that one's.
func (f *testCluster) copyName(from, to string) {
	f.t.Helper()
	name, err := os.ReadFile(filepath.Join(f.of(from), "process"))
	if err == nil {
		err = os.MkdirAll(f.of(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(f.of(to), "process"), name, 0o644)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// Two processes of one name that lead take the lead from each other, and each write is of one of
// them: what was acknowledged is there when one of the two is gone, and every answer was whole. A
// second process on the same data directory does not start.
func TestTwoProcessesOfOneName(t *testing.T) {
	f := newTestCluster(t, "service.discovery.leaseDuration=PT2S")
	control := []string{"coordinator", "overlord"}
	f.run("control", control)
	refused(t, f.arguments("control", control), "Data directory ["+f.of("control")+"] is in use by process")
	f.run("historical", []string{"historical"})
	f.run("worker", []string{"worker"})
	f.run("front", []string{"router", "broker"})
	f.until("all processes are seen", func() bool { return f.ask("SELECT COUNT(*) FROM sys.servers") == "[[6]]" })
	if err := f.router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "1", "2", "3"), nil); err != nil {
		t.Fatal(err)
	}
	f.copyName("control", "twin")
	twin := f.run("twin", control)

	acknowledged, leaders := map[string]bool{}, map[string]bool{}
	f.until("each of the two has led", func() bool {
		name := fmt.Sprint("d", len(acknowledged))
		rules := fmt.Sprintf(`[{"type":"loadForever","tieredReplicants":{"_default_tier":%d}}]`, 1+len(acknowledged)%5)
		status, text, err := f.router.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/rules/"+name, rules)
		switch {
		case err != nil:
			t.Fatal(err)
		case status == http.StatusOK:
			acknowledged[name] = true
		case status < 500:
			t.Fatalf("%d %s", status, text)
		}
		if got := f.ask("SELECT COUNT(*) FROM t"); got != "[[3]]" {
			t.Fatalf("rows: %s", got)
		}
		status, text, err = f.router.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/leader", "")
		if err == nil && status == http.StatusOK && len(text) > 0 {
			leaders[string(text)] = true
		}
		return len(leaders) == 2 && len(acknowledged) >= 5
	})
	twin.kill()
	f.until("one leads for good, and knows all that was acknowledged", func() bool {
		var all map[string]any
		if f.router.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/rules", nil, &all) != nil {
			return false
		}
		for name := range acknowledged {
			if all[name] == nil {
				return false
			}
		}
		return true
	})
	f.until("rows can be added", func() bool { return f.router.Ingest(t.Context(), small("INSERT INTO t", "4"), nil) == nil })
	if got := f.ask("SELECT COUNT(DISTINCT v) FROM t"); got != "[[4]]" {
		t.Errorf("values: %s", got)
	}
}

// While a killed process is announced at an address nobody else is: another process that comes
// there is refused and told what to do. The process itself, which its data directory names, comes
// back at once.
func TestAnAddressBelongsToOneName(t *testing.T) {
	f := newTestCluster(t, "service.discovery.leaseDuration=PT1H") // of what is killed nothing runs out
	f.run("control", []string{"coordinator", "overlord", "worker"})
	f.run("front", []string{"router", "broker"})
	historical := []string{"historical"}
	killed := f.run("historical", historical)
	address := strings.TrimPrefix(killed.Addresses["historical"], "http://")
	if err := f.router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "1", "2"), nil); err != nil {
		t.Fatal(err)
	}
	f.until("it holds the segment", func() bool { return f.ask("SELECT MIN(num_replicas) FROM sys.segments") == "[[1]]" })
	killed.kill()
	there := []string{"--set", "service.historical.plaintextPort=" + address[strings.LastIndexByte(address, ':')+1:]}
	refused(t, f.arguments("another", historical, there...), "Another process is already the "+
		"[historical] at ["+address+"]", "service.host or port")
	f.run("historical", historical, there...)
	f.until("it holds the segment again", func() bool {
		return f.ask("SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+address+"'") == "[[1]]"
	})
	if got := f.ask("SELECT COUNT(*) FROM t"); got != "[[2]]" {
		t.Errorf("rows: %s", got)
	}
}
