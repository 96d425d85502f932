package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// PostgreSQL restarts, as at an upgrade and as after a crash, while tasks of each kind run, and
// while others are submitted, begin, publish and end. Each task that was accepted succeeds; its
// rows are there once.
func TestTasksGoOnOverARestartOfPostgreSQL(t *testing.T) {
	dir, store := t.TempDir(), postgres.URL(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := func(roles ...string) *process {
		node := t.TempDir()
		arguments := append(append([]string{"server"}, roles...), "--data", node)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.memory.limit=256MiB",
			"service.coordinator.startDelay=PT0S", "service.ingest.http.allowPrivate=true", "service.worker.capacity=4",
		} {
			arguments = append(arguments, "--set", set)
		}
		p := launch(t, exec.Command(henge, append(arguments, ports()...)...))
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the log of %v:\n%s", roles, p.errors)
			}
		})
		return p
	}
	router := run("coordinator", "overlord", "historical", "broker", "router")
	run("worker")
	run("worker")
	await := func(id string) (task server.Task) {
		t.Helper()
		server.Until(t, "task ["+id+"] has ended", func() (ended bool) {
			var err error
			task, err = router.Await(ctx, id) // it may not be known how the task is, for a while
			return err == nil
		})
		return task
	}
	for round, mode := range []string{"fast", "immediate", "immediate"} {
		var running []string // tasks that wait for the end of their input
		var gates []*server.Gate
		for _, task := range []string{"INSERT INTO inserted", "REPLACE INTO replaced OVERWRITE ALL", "native"} {
			g := server.NewGate(t, 1000)
			statement := g.Statement(task)
			if task == "native" {
				statement = g.Native()
			}
			id, err := submit(ctx, &router.Client, statement, nil)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-g.Reading:
			case <-ctx.Done():
				t.Fatalf("task [%s] was accepted, but does not run", id)
			}
			running, gates = append(running, id), append(gates, g)
		}
		// Short tasks come all the time, each with a row of its own: one at least in each round.
		var short sync.WaitGroup
		var accepted []string
		stop := make(chan struct{})
		short.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				select {
				case <-stop:
					if len(accepted) > 0 {
						return
					}
				default:
				}
				id, err := router.Submit(ctx, small("INSERT INTO small", fmt.Sprintf("%d-%d", round, n)), nil)
				if err == nil {
					accepted = append(accepted, fmt.Sprint(id, " ", round, "-", n))
				}
			}
		})
		postgres.Restart(t, mode)
		for _, g := range gates { // what they do next needs PostgreSQL, which goes away once more
			g.Release()
		}
		postgres.Restart(t, mode)
		close(stop)
		short.Wait()
		for _, id := range running {
			if task := await(id); task.StatusCode != "SUCCESS" {
				t.Errorf("%s restart: task [%s] is [%s]: %s", mode, id, task.StatusCode, task.ErrorMsg)
			}
		}
		var values []string
		for _, a := range accepted {
			id, value, _ := strings.Cut(a, " ")
			if task := await(id); task.StatusCode != "SUCCESS" {
				t.Errorf("%s restart: task [%s] is [%s]: %s", mode, id, task.StatusCode, task.ErrorMsg)
			}
			values = append(values, value)
		}
		t.Logf("%s restart: [%d] short tasks were accepted", mode, len(accepted))
		want := fmt.Sprintf("[[%d %d 1000 499500 %d]]", 1000*(round+1), 499500*(round+1), 1000*(round+1))
		server.Until(t, "all rows are there once: "+want, func() bool {
			rows, err := router.Query(ctx, "SELECT (SELECT COUNT(*) FROM inserted), (SELECT SUM(n) FROM inserted), "+
				"(SELECT COUNT(*) FROM replaced), (SELECT SUM(n) FROM replaced), (SELECT COUNT(*) FROM t)")
			return err == nil && fmt.Sprint(rows) == want
		})
		var found []string
		rows, err := router.Query(ctx, fmt.Sprintf("SELECT v FROM small WHERE v LIKE '%d-%%'", round))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			found = append(found, fmt.Sprint(r[0]))
		}
		for _, value := range values {
			if !slices.Contains(found, value) {
				t.Errorf("%s restart: row [%s] of a task that succeeded is missing", mode, value)
			}
		}
		slices.Sort(found)
		if once := len(slices.Compact(slices.Clone(found))); once != len(found) {
			t.Errorf("%s restart: of [%d] rows [%d] are there twice", mode, len(found), len(found)-once)
		}
	}
}
