package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A thousand tasks wait for their turn, are listed while they do, and all come to an end.
func TestAThousandQueuedTasks(t *testing.T) {
	s := server.Start(t, server.Options{})
	const tasks = 1000
	for i := range tasks {
		body := map[string]any{"type": "noop", "id": fmt.Sprintf("noop_%04d", i), "runTime": 0}
		if err := s.Call(t.Context(), "POST", "/service/indexer/v1/task", body, nil); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for i := range tasks {
		id := fmt.Sprintf("noop_%04d", i)
		if end, err := s.Await(t.Context(), id); err != nil || end.StatusCode != "SUCCESS" {
			t.Fatalf("%s: %+v %v", id, end, err)
		}
		ids = append(ids, id)
	}
	var list []json.RawMessage
	if err := s.Call(t.Context(), "GET", "/service/indexer/v1/completeTasks", nil, &list); err != nil || len(list) != tasks {
		t.Errorf("%d complete tasks, %v", len(list), err)
	}
	var states map[string]struct{ Status string }
	if err := s.Call(t.Context(), "POST", "/service/indexer/v1/taskStatus", ids, &states); err != nil || len(states) != tasks || states[ids[7]].Status != "SUCCESS" {
		t.Errorf("%d states, %v", len(states), err)
	}
}
