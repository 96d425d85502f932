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
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// The controller of a task is killed between its stages, and at every step of publishing, with the worker that it runs in. The next run of the task takes up what is done: of stages whose outputs are in deep storage
// nothing is read again, else only what the killed process itself had. No row is lost, none is there twice.
func TestAControllerIsKilled(t *testing.T) {
	dir := t.TempDir()
	started := 0
	armed := filepath.Join(dir, "armed")
	settings := []string{
		"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + postgres.URL(t),
		"service.leader.leaseDuration=PT1S", "service.discovery.leaseDuration=PT2S", "service.memory.limit=256MiB", "service.ingest.http.allowPrivate=true",
		"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.msq.intermediate.storage.enable=true",
	}
	run := func(roles ...string) *process {
		t.Helper()
		started++
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+filepath.Join(dir, fmt.Sprintf("node%d", started)), crashArmed+"="+armed,
			crashRoles+"="+strings.Join(roles, " "), crashSettings+"="+strings.Join(settings, "\n"))
		return launch(t, cmd)
	}
	router := run("coordinator", "overlord", "historical", "broker", "router")
	workers := []*process{run("worker"), run("worker"), run("worker")}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("it never came to this: %s\n%s", what, router.errors)
			}
			if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := func() bool {
		var list []struct{ Worker struct{ Host string } }
		if err := router.Call(t.Context(), http.MethodGet, "/service/indexer/v1/workers", nil, &list); err != nil {
			return false
		}
		found := 0
		for _, w := range workers {
			for _, l := range list {
				if w.Addresses["indexer"] == "http://"+l.Worker.Host {
					found++
				}
			}
		}
		return found == 3 && len(list) == 3
	}
	for _, durable := range []bool{true, false} {
		steps := []string{"stage-0", "stage-1", "segments"}
		if durable { // publishing is the same without
			for _, step := range metastore.PublishSteps() {
				if strings.Contains("1467", strings.Split(step, "-")[1]) { // those of an INSERT
					steps = append(steps, step)
				}
			}
		}
		for _, step := range steps {
			name := fmt.Sprintf("%s, durable %t", step, durable)
			until("three workers are seen", seen)
			g := server.NewGate(t, 1000)
			g.Files = 3
			g.Release()
			write(t, armed, step)
			table := strings.ReplaceAll(step, "-", "") + fmt.Sprint(durable)
			statement := strings.Replace(g.Statement("INSERT INTO "+table), "TIME_PARSE(t) AS __time, n FROM", "TIME_PARSE(t) AS __time, n, COUNT(*) AS c FROM", 1)
			statement = strings.Replace(statement, "PARTITIONED", "GROUP BY 1, 2 PARTITIONED", 1)
			id, err := router.Submit(t.Context(), statement, map[string]any{"maxNumTasks": 4, "durableShuffleStorage": durable})
			if err != nil {
				t.Fatal(err)
			}
			killed := -1
			until("a worker is gone", func() bool {
				for i, w := range workers {
					select {
					case <-w.ended:
						killed = i
					default:
					}
				}
				return killed >= 0
			})
			read := len(g.Reading)
			workers[killed] = run("worker")
			if task, err := router.Await(t.Context(), id); err != nil || task.StatusCode != "SUCCESS" {
				t.Fatalf("%s: %+v %v", name, task, err)
			}
			again := len(g.Reading) - read
			// Of three files the controller has read one itself, or two if it has not seen the newest worker.
			if durable && again != 0 || !durable && again != 1 && again != 2 || read != 3 {
				t.Errorf("%s: [%d] files were read, and [%d] again", name, read, again)
			}
			rows, err := router.Query(t.Context(), "SELECT COUNT(*), SUM(c), MIN(c), MAX(c) FROM "+table)
			if err != nil || fmt.Sprint(rows) != "[[1000 3000 3 3]]" {
				t.Errorf("%s: %v %v", name, rows, err)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "deep", "s[th]*", "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
