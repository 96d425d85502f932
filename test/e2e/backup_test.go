package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// What operations.md says of a cluster on PostgreSQL: a backup while it runs, from a machine that
// has no data directory, is put back into an empty database and another folder, and new processes
// answer as the old ones did. Restoring below processes that run is refused.
func TestAClusterIsBackedUpAndRestored(t *testing.T) {
	dir := t.TempDir()
	settings := func(store, deep string) []string {
		return []string{
			"--set", "service.metadata.storage.type=postgresql", "--set", "service.metadata.storage.connector.connectURI=" + store,
			"--set", "service.storage.storageDirectory=" + filepath.Join(dir, deep), "--set", "service.discovery.leaseDuration=PT2S",
			"--set", "service.memory.limit=256MiB", "--set", "service.coordinator.startDelay=PT0S", "--set", "service.server.http.unannouncePropagationDelay=PT0S",
		}
	}
	cluster := func(name string, settings []string) (all []*process) {
		for i, roles := range [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"router", "broker"}} {
			arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprint(name, i))}, roles...)
			all = append(all, launch(t, exec.Command(henge, append(append(arguments, settings...), ports()...)...)))
		}
		return all
	}
	is := func(p *process, sql, want string) {
		t.Helper()
		got := ""
		for deadline := time.Now().Add(patience); got != want; {
			if rows, err := p.Query(t.Context(), sql); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(rows)
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s, want %s", sql, got, want)
			}
			if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	from := settings(postgres.URL(t), "deep")
	old := cluster("old", from)
	router := old[2]
	if err := router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "1", "2", "3"), nil); err != nil {
		t.Fatal(err)
	}
	if status, text, err := router.Send(t.Context(), "router", "POST", "/service/coordinator/v1/rules/t", `[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`); err != nil ||
		status != 200 {
		t.Fatal(status, string(text), err)
	}
	file, nowhere := filepath.Join(dir, "all.backup"), filepath.Join(dir, "nowhere")
	if r := tool(t, "", append([]string{"backup", "--with-segments", "--data", nowhere, file}, from...)...); r.code != 0 || !strings.Contains(r.stdout, "1 segment file") {
		t.Fatalf("backup: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if err := router.Ingest(t.Context(), small("INSERT INTO t", "4"), nil); err != nil {
		t.Fatal(err)
	}
	back := func(to []string, more ...string) result {
		return tool(t, "", append(append([]string{"restore", "--data", nowhere, file}, more...), to...)...)
	}
	if r := back(from, "--replace"); r.code == 0 || !strings.Contains(r.stderr, "historical") {
		t.Errorf("a restore below a cluster that runs: %d %s%s", r.code, r.stdout, r.stderr)
	}
	is(router, "SELECT COUNT(*) FROM t", "[[4]]")
	for _, p := range old {
		p.stop(t)
	}
	if r := back(from); r.code == 0 || !strings.Contains(r.stderr, "--replace") {
		t.Errorf("a restore over a metastore that holds something: %d %s%s", r.code, r.stdout, r.stderr)
	}
	to := settings(postgres.URL(t), "other")
	if r := back(to); r.code != 0 {
		t.Fatalf("restore: %s%s", r.stdout, r.stderr)
	}
	router = cluster("new", to)[2]
	is(router, "SELECT COUNT(*), MAX(v) FROM t", "[[3 3]]")
	is(router, "SELECT MIN(num_replicas), MIN(replication_factor) FROM sys.segments", "[[1 1]]")
	if err := router.Ingest(t.Context(), small("INSERT INTO t", "5"), nil); err != nil {
		t.Fatal(err)
	}
	is(router, "SELECT COUNT(*) FROM t", "[[4]]")
}
