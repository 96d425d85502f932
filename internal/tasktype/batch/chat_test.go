package batch

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestTasksAnswerAboutThemselves(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	chats := NewChats()
	r := newReport(&task.Task{ID: "load", DataSource: "wiki"}, json.RawMessage(`{"x":1}`), c)
	p := r.add()
	r.subtasks = newSubtasks(r, "worker1:8091")
	ask := func(path string) string {
		t.Helper()
		answer, err := chats.Ask("load", path)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	has := func(path string, parts ...string) {
		t.Helper()
		got := ask(path)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s answers %s, without %s", path, got, part)
			}
		}
	}
	has("rowStats", "Can't find chatHandler for handler[load]")
	chats.add("load", r)
	p.build.processed.Add(5)
	reads := loadOf(p, r.subtasks, "", 10, 10).reader(buildSegments, 0)
	if err := reads.bad("bad", "unparseable"); err != nil {
		t.Fatal(err)
	}
	has("rowStats", `"totals":{"buildSegments":{"processed":5,`, `"movingAverages":{"buildSegments":{"15m"`)
	has("unparseableEvents", `{"buildSegments":[{"timeOfExceptionMillis":5,"input":"bad","errorType":"unparseable"`)
	has("liveReports", `"ingestionStatsAndErrors":{"type":"ingestionStatsAndErrors","taskId":"load"`, `"taskContext"`)
	has("mode", `"sequential"`)
	has("phase", "task is running in the sequential mode")

	entities, err := (&ingest.Inline{Data: "x"}).List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	split := func(file int, offset int64) ingest.Split {
		return ingest.Split{Entity: entities[0], File: file, Offset: offset}
	}
	r.subtasks.expect(4, true)
	first, second := r.subtasks.begin(split(0, 0), reads), r.subtasks.begin(split(0, 100), reads)
	c.Advance(time.Second)
	first(false)
	first(true) // is closed
	second(true)
	again := r.subtasks.begin(split(0, 100), reads)
	r.subtasks.begin(split(1, 0), reads)
	has("mode", `"parallel"`)
	has("phase", `"segment generation"`)
	for path, want := range map[string]string{
		"progress":              `{"running":2,"succeeded":1,"failed":0,"complete":1,"total":3,"estimatedExpectedSucceeded":4}`,
		"subtasks/running":      `["load_1","load_2"]`,
		"subtaskspecs/complete": `[{"context":{"x":1},"groupId":"load","id":"load_0","inputSplit":{"split":""},"supervisorTaskId":"load"}]`,
		"subtaskspec/load_9":    "Task [load] has no [subtaskspec/load_9]",
		"subtaskspec/load_0/x":  "Task [load] has no [subtaskspec/load_0/x]",
		"anything":              "Task [load] has no [anything]",
	} {
		if d := cmp.Diff(want, ask(path)); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	if got := strings.Count(ask("subtaskspecs"), `"supervisorTaskId"`); got != 3 {
		t.Errorf("[%d] specs", got)
	}
	has("subtaskspec/load_1", `"id":"load_1"`)
	has("subtaskspec/load_1/state", `"currentStatus":{"createdTime":"2026-01-01T00:00:01.000Z"`, `"location":{"host":"worker1","port":8091,"tlsPort":-1}`,
		`"taskHistory":[{"createdTime":"2026-01-01T00:00:00.000Z","dataSource":"wiki","duration":1000,`, `"statusCode":"FAILED"`)
	again(false)
	has("subtaskspec/load_1/state", `"currentStatus":null`, `"statusCode":"SUCCESS"`)
	has("subtaskspec/load_1/history", `"attemptHistory":[{`, `"id":"load_1_0"`, `"id":"load_1_1"`)
	chats.remove("load")
	has("mode", "Can't find chatHandler")
}
