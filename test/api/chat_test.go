package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestRunningTasksAnswer asks a load for its progress while it waits for the second half of its
// files.
func TestRunningTasksAnswer(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.ingest.http.allowPrivate=true"}})
	g := server.NewGate(t, 10)
	g.Files = 2
	spec := strings.Replace(g.Native(), `"spec":{`, `"spec":{"tuningConfig":{"type":"index_parallel","maxNumConcurrentSubTasks":2},`, 1)
	var submitted struct{ Task string }
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", json.RawMessage(spec), &submitted); err != nil {
		t.Fatal(err)
	}
	for range g.Files {
		<-g.Reading
	}
	ask := func(path string) string {
		t.Helper()
		_, body, err := s.Send(t.Context(), "indexer", "GET", "/service/worker/v1/chat/"+submitted.Task+"/"+path, "")
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for path, want := range map[string]string{
		"mode": "parallel", "progress": `"running":2,"succeeded":0,"failed":0,"complete":0,"total":2`, "phase": "segment generation",
		"subtasks/running": submitted.Task + "_1", "subtaskspecs": `"supervisorTaskId":"` + submitted.Task + `"`, "liveReports": `"ingestionState":"BUILD_SEGMENTS"`,
		"rowStats": `"buildSegments"`, "unparseableEvents": "{}",
	} {
		if got := ask(path); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	g.Release()
	if task, err := s.Await(t.Context(), submitted.Task); err != nil || task.ErrorMsg != "" {
		t.Fatalf("%+v, %v", task, err)
	}
	if got := ask("mode"); !strings.Contains(got, "Can't find chatHandler for handler["+submitted.Task+"]") {
		t.Errorf("an ended task answers %s", got)
	}
}
