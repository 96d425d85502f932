package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// A cluster of processes on a PostgreSQL loads, answers, and goes on while some of them are killed.
func TestAClusterOfProcesses(t *testing.T) {
	store, dir := postgres.URL(t), t.TempDir()
	started := 0
	run := func(roles ...string) *process {
		t.Helper()
		started++
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprintf("node%d", started))}, roles...)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.leader.leaseDuration=PT2S", "service.discovery.leaseDuration=PT3S",
			"service.memory.limit=256MiB",
		} {
			arguments = append(arguments, "--set", set)
		}
		return launch(t, exec.Command(henge, append(arguments, ports()...)...))
	}
	leader := run("coordinator", "overlord", "worker")
	follower := run("coordinator", "overlord", "worker")
	historicals := []*process{run("historical"), run("historical"), run("historical")}
	first := run("broker")
	run("broker")
	router := run("router")
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("it never came to this: %s\n%s", what, leader.errors)
			}
			if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(sql string) string {
		rows, err := router.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(rows)
	}
	until("all processes are seen", func() bool { return ask("SELECT COUNT(*) FROM sys.servers") == "[[12]]" })
	if err := router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "1", "2", "3"), nil); err != nil {
		t.Fatal(err)
	}
	count := "SELECT COUNT(*) FROM t"
	if got := ask(count); got != "[[3]]" {
		t.Fatalf("rows: %s", got)
	}
	until("two copies", func() bool { return ask("SELECT MIN(num_replicas) FROM sys.segments") == "[[2]]" })
	historicals[0].kill()
	for range 50 {
		if got := ask(count); got != "[[3]]" {
			t.Fatalf("after a Historical was killed: %s", got)
		}
	}
	first.stop(t)
	if got := ask(count); got != "[[3]]" {
		t.Errorf("after a Broker was stopped: %s", got)
	}
	leader.kill()
	until("another leads", func() bool {
		coordinator, _, err := follower.Send(t.Context(), "coordinator", http.MethodGet, "/service/coordinator/v1/isLeader", "")
		overlord, _, again := follower.Send(t.Context(), "overlord", http.MethodGet, "/service/indexer/v1/isLeader", "")
		return err == nil && again == nil && coordinator == http.StatusOK && overlord == http.StatusOK
	})
	if err := router.Ingest(t.Context(), small("INSERT INTO t", "4"), nil); err != nil {
		t.Fatal(err)
	}
	if got := ask(count); got != "[[4]]" {
		t.Errorf("rows loaded by the new leader: %s", got)
	}
}
