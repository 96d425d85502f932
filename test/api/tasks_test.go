package api

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestTaskExchanges replays the exchanges about tasks that TestManagementExchanges does not.
func TestTaskExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{Settings: []string{"service.worker.capacity=4"}})
	player := s.LoadGolden(t.Context(), t, shared)
	list := pending.Read(t, "testdata/tasks_pending.txt")
	differs := pending.Read(t, "testdata/tasks_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "tasks"))
	if err != nil {
		t.Fatal(err)
	}
	player.Remember("hoursTask", loadOf(t, s, "g_hours"))
	// The recorded task is a native load; any will do that is no SQL task.
	var other struct{ Task string }
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", map[string]any{"type": "noop", "runTime": 0}, &other); err != nil {
		t.Fatal(err)
	}
	player.Remember("typesTask", other.Task)
	passed, played := 0, 0
	for _, e := range exchanges {
		if managed(e) {
			continue
		}
		if strings.HasSuffix(e.Request.Path, "/log") {
			e.SetMask("$text", "any") // what a log says is the engine's own affair
		}
		switch e.Name {
		case "worker-tasks", "kill-nothing-reports", "kill-unknown-reports", "kill-mark-unused-reports":
			awaitIdle(t, s) // reports are there when the task has ended, which nothing else waits for
		case "long-noop-log":
			awaitLog(t, s)
		}
		r := player.Play(t.Context(), e)
		if r.Skipped != "" {
			t.Logf("%s is not replayed: %s", e.Name, r.Skipped)
			continue
		}
		if r.Missing != "" {
			r.Difference = "no exchange gives " + r.Missing
		}
		played++
		if r.Difference == "" {
			passed++
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = r.Difference
			if differs.Reason(e.Name) == "" {
				t.Errorf("tasks_differs.txt gives no reason for [%s]", e.Name)
			}
			continue
		}
		outcome[e.Name] = r.Difference
		if r.Difference != "" {
			t.Logf("%s: %s", e.Name, r.Difference)
		}
	}
	t.Logf("%d of %d exchanges answered like the recording", passed, played)
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// loadOf returns the id of the task that loaded a datasource.
func loadOf(t *testing.T, s *server.Server, dataSource string) string {
	t.Helper()
	var list []struct{ ID string }
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/tasks?datasource="+dataSource, nil, &list); err != nil || len(list) == 0 {
		t.Fatalf("the tasks of [%s]: %v, %v", dataSource, list, err)
	}
	return list[0].ID
}

// awaitIdle waits until no task runs or waits to run.
func awaitIdle(t *testing.T, s *server.Server) {
	t.Helper()
	var list []struct{ ID, StatusCode string }
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/tasks", nil, &list); err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		if task.StatusCode != "RUNNING" {
			continue
		}
		if _, err := s.Await(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitLog waits until a task runs that has a log: the recording asked some seconds after the task
// was submitted.
func awaitLog(t *testing.T, s *server.Server) {
	t.Helper()
	for t.Context().Err() == nil {
		var list []struct{ ID string }
		if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/runningTasks", nil, &list); err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 && s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+list[0].ID+"/log", nil, nil) == nil {
			return
		}
	}
}

// managed reports whether TestManagementExchanges replays the exchange.
func managed(e *golden.Exchange) bool {
	for _, m := range management {
		if m.family == e.Family && selected(e, m.paths) {
			return true
		}
	}
	return false
}
