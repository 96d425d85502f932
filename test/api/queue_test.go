package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A thousand tasks wait while others hold all slots, are listed while they do, and all come to an
// end.
func TestAThousandQueuedTasks(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.worker.capacity=2"}})
	submit := func(id string, runTime int) {
		t.Helper()
		body := map[string]any{"type": "noop", "id": id, "runTime": runTime}
		if err := s.Call(t.Context(), "POST", "/service/indexer/v1/task", body, nil); err != nil {
			t.Fatal(err)
		}
	}
	// list returns how many tasks are in any of the states, asked for in this order; one that goes on
	// to the next meanwhile counts once.
	list := func(states ...string) int {
		t.Helper()
		ids := map[string]bool{}
		for _, state := range states {
			var tasks []struct{ ID string }
			if err := s.Call(t.Context(), "GET", "/service/indexer/v1/tasks?state="+state, nil, &tasks); err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks {
				ids[task.ID] = true
			}
		}
		return len(ids)
	}
	holders := []string{"holder_1", "holder_2"}
	for _, id := range holders {
		submit(id, int(time.Hour/time.Millisecond))
	}
	for list("running") < len(holders) {
		if err := clock.System().Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	const tasks = 1000
	var ids []string
	for i := range tasks {
		ids = append(ids, fmt.Sprintf("noop_%04d", i))
		submit(ids[i], 0)
	}
	if running, waiting := list("running"), list("waiting", "pending"); running != len(holders) || waiting != tasks {
		t.Errorf("%d tasks run and %d wait", running, waiting)
	}
	for _, id := range holders {
		if err := s.Call(t.Context(), "POST", "/service/indexer/v1/task/"+id+"/shutdown", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if end, err := s.Await(t.Context(), id); err != nil || end.StatusCode != "SUCCESS" {
			t.Fatalf("%s: %+v %v", id, end, err)
		}
	}
	if n := list("complete"); n != tasks+len(holders) {
		t.Errorf("%d complete tasks", n)
	}
	var states map[string]struct{ Status string }
	if err := s.Call(t.Context(), "POST", "/service/indexer/v1/taskStatus", ids, &states); err != nil || len(states) != tasks || states[ids[7]].Status != "SUCCESS" {
		t.Errorf("%d states, %v", len(states), err)
	}
}
