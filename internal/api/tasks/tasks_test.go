package tasks_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/server"
)

const base = "/service/indexer/v1"

type object = map[string]any

// tester talks to the tasks of a whole server, which runs one at a time, and holds the first until
// it is let go.
type tester struct {
	*testing.T
	*server.Server
	asked chan struct{}
	let   func()
	held  string
}

func start(t *testing.T) *tester {
	s := &tester{T: t, asked: make(chan struct{}, 10)}
	free := make(chan struct{})
	s.let = sync.OnceFunc(func() { close(free) })
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- struct{}{}
		select {
		case <-free:
			_, _ = io.WriteString(w, `{"n":1}`+"\n") // the task may be gone
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { s.let(); source.Close() })
	s.held = fmt.Sprintf(`TABLE(EXTERN('{"type":"http","uris":["%s"],"httpAuthenticationUsername":"u","httpAuthenticationPassword":"pw1"}', '{"type":"json"}')) EXTEND (n BIGINT)`, source.URL)
	s.Server = server.Start(t, server.Options{Settings: []string{"service.worker.capacity=1"}})
	return s
}

func (t *tester) send(method, path, body string) (int, string) {
	t.Helper()
	status, text, err := t.Send(t.Context(), "overlord", method, base+path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, string(text)
}

func (t *tester) submit(id, sql string) string {
	t.Helper()
	got, err := t.Submit(t.Context(), sql, object{"sqlQueryId": id})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// get decodes an answer with status 200.
func (t *tester) get(path string, into any) {
	t.Helper()
	status, body := t.send(http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(body), into); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
}

// ids are the tasks of a list.
func (t *tester) ids(path string) string {
	t.Helper()
	var list []struct{ ID string }
	t.get(path, &list)
	out := make([]string, len(list))
	for i, o := range list {
		out[i] = strings.TrimPrefix(o.ID, "query-")
	}
	return strings.Join(out, " ")
}

func (t *tester) wantText(method, path, body string, wantStatus int, want string) {
	t.Helper()
	if status, text := t.send(method, path, body); status != wantStatus || text != want {
		t.Errorf("%s %s: %d %q, want %d %q", method, path, status, text, wantStatus, want)
	}
}

func replace(dataSource, from string) string {
	return `REPLACE INTO ` + dataSource + ` OVERWRITE ALL SELECT TIMESTAMP '2020-01-01 00:00:00' AS __time, n FROM ` + from + ` PARTITIONED BY DAY`
}

const inline = `TABLE(EXTERN('{"type":"inline","data":"{\"n\":1}"}', '{"type":"json"}')) EXTEND (n BIGINT)`

func TestLifeOfTasks(t *testing.T) {
	s := start(t)
	done := s.submit("done", replace("a", inline))
	if _, err := s.Await(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	running := s.submit("runs", replace("b", s.held))
	<-s.asked
	waiting := s.submit("waits", replace("c", inline))
	for s.ids("/pendingTasks") != "waits" { // it takes its locks
		if t.Context().Err() != nil {
			t.Fatal("the task never had its locks")
		}
	}

	worker := strings.TrimPrefix(s.Addresses["indexer"], "http://")
	host, portText, _ := strings.Cut(worker, ":")
	var port float64
	if _, err := fmt.Sscan(portText, &port); err != nil {
		t.Fatal(err)
	}
	here, nowhere := object{"host": host, "port": port, "tlsPort": -1.0}, object{"host": nil, "port": -1.0, "tlsPort": -1.0}
	for id, want := range map[string]object{
		done:    {"dataSource": "a", "statusCode": "SUCCESS", "runnerStatusCode": "NONE", "duration": "known", "location": here},
		running: {"dataSource": "b", "statusCode": "RUNNING", "runnerStatusCode": "RUNNING", "duration": -1.0, "location": here},
		waiting: {"dataSource": "c", "statusCode": "RUNNING", "runnerStatusCode": "PENDING", "duration": -1.0, "location": nowhere},
	} {
		var got struct {
			Task   string
			Status object
		}
		s.get("/task/"+id+"/status", &got)
		if d, ok := got.Status["duration"].(float64); ok && d >= 0 {
			got.Status["duration"] = "known"
		}
		if at, _ := got.Status["createdTime"].(string); len(at) != len("2026-01-01T00:00:00.000Z") || got.Task != id {
			t.Errorf("%s was created at %q", got.Task, at)
		}
		delete(got.Status, "createdTime")
		want["id"], want["groupId"], want["type"], want["errorMsg"], want["status"] = id, id, "query_controller", nil, want["statusCode"]
		want["queueInsertionTime"] = "1970-01-01T00:00:00.000Z"
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}

	for path, want := range map[string]string{
		"/tasks": "done runs waits", "/tasks?state=running": "runs", "/tasks?state=PENDING": "waits", "/tasks?state=waiting": "", "/tasks?state=complete": "done",
		"/runningTasks": "runs", "/pendingTasks": "waits", "/waitingTasks": "", "/completeTasks": "done", "/completeTasks?n=0": "",
		"/tasks?datasource=b": "runs", "/tasks?type=query_controller&max=0": "runs waits", "/tasks?type=compact": "",
		"/tasks?state=complete&createdTimeInterval=2000-01-01_2001-01-01": "", "/tasks?state=complete&createdTimeInterval=2000-01-01_3000-01-01": "done",
	} {
		if got := s.ids(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var active []struct{ QueueInsertionTime string }
	s.get("/runningTasks", &active)
	if len(active) != 1 || strings.HasPrefix(active[0].QueueInsertionTime, "1970") {
		t.Errorf("queueing time of an active task in a list: %+v", active)
	}
	s.wantText(http.MethodGet, "/tasks?state=gone", "", 400, "Invalid task state[gone]. Must be one of [pending, waiting, running, complete].")
	s.wantText(http.MethodGet, "/completeTasks?n=x", "", 404, "")

	var capacity, statuses object
	s.get("/totalWorkerCapacity", &capacity)
	if diff := cmp.Diff(object{"currentClusterCapacity": 1.0, "maximumCapacityWithAutoScale": -1.0, "usedClusterCapacity": 1.0}, capacity); diff != "" {
		t.Error(diff)
	}
	var workers []object
	s.get("/workers", &workers)
	if len(workers) != 1 || workers[0]["worker"].(object)["host"] != worker || fmt.Sprint(workers[0]["runningTasks"]) != "["+running+"]" {
		t.Errorf("workers %v", workers)
	}
	_, body := s.send(http.MethodPost, "/taskStatus", `["`+running+`","nosuch"]`)
	if err := json.Unmarshal([]byte(body), &statuses); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object{running: object{"id": running, "status": "RUNNING", "duration": -1.0, "errorMsg": nil, "location": here}}, statuses); diff != "" {
		t.Error(diff)
	}

	s.wantText(http.MethodPost, "/task/"+running+"/shutdown", "", 200, `{"task":"`+running+`"}`)
	var ended struct {
		Status struct{ StatusCode, ErrorMsg string }
	}
	s.get("/task/"+running+"/status", &ended)
	if ended.Status.StatusCode != "FAILED" || ended.Status.ErrorMsg != "Shutdown request from user" {
		t.Errorf("after the shutdown: %+v", ended)
	}
	if end, err := s.Await(t.Context(), waiting); err != nil || end.StatusCode != "SUCCESS" {
		t.Errorf("the task that waited: %+v, %v", end, err)
	}
	s.wantText(http.MethodPost, "/task/"+done+"/shutdown", "", 200, `{"task":"`+done+`"}`)
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*) FROM a"); err != nil || fmt.Sprint(rows) != "[[1]]" {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := s.Query(t.Context(), "SELECT COUNT(*) FROM b"); err == nil {
		t.Error("a task that was shut down published something")
	}
}

func TestShutdownOfADataSource(t *testing.T) {
	s := start(t)
	first := s.submit("first", replace("a", s.held))
	<-s.asked
	second, other := s.submit("second", replace("a", inline)), s.submit("other", replace("b", inline))
	s.wantText(http.MethodPost, "/datasources/nosuch/shutdownAllTasks", "", 404, "")
	s.wantText(http.MethodPost, "/datasources/a/shutdownAllTasks", "", 200, `{"dataSource":"a"}`)
	for id, want := range map[string]string{first: "FAILED", second: "FAILED", other: "SUCCESS"} {
		if end, err := s.Await(t.Context(), id); err != nil || end.StatusCode != want {
			t.Errorf("%s: %+v, %v", id, end, err)
		}
	}
}

func TestWhatTasksLeave(t *testing.T) {
	s := start(t)
	id := s.submit("a b", replace("a", s.held))
	path := "/task/" + url.PathEscape(id)
	<-s.asked
	var live struct {
		MultiStageQuery struct {
			Payload struct{ Status struct{ Status string } }
		}
	}
	s.get(path+"/reports", &live)
	if got := live.MultiStageQuery.Payload.Status.Status; got != "RUNNING" {
		t.Errorf("report of a running task: %q", got)
	}
	if status, log := s.send(http.MethodGet, path+"/log", ""); status != 200 || !strings.Contains(log, "task started") {
		t.Errorf("log of a running task: %d %q", status, log)
	}
	s.let()
	if _, err := s.Await(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.get(path+"/reports", &live)
	if got := live.MultiStageQuery.Payload.Status.Status; got != "SUCCESS" {
		t.Errorf("report of an ended task: %q", got)
	}
	_, log := s.send(http.MethodGet, path+"/log", "")
	if !strings.Contains(log, "task succeeded") {
		t.Errorf("log: %q", log)
	}
	for offset, want := range map[string]string{"10": log[10:], "-5": log[len(log)-5:], "100000": "", "-100000": log} {
		s.wantText(http.MethodGet, path+"/log?offset="+offset, "", 200, want)
	}
	s.wantText(http.MethodGet, path+"/log?offset=x", "", 404, "")
	var payload struct {
		Task    string
		Payload object
	}
	s.get(path, &payload)
	sql, _ := payload.Payload["sqlQuery"].(string)
	if payload.Task != id || payload.Payload["type"] != "query_controller" || !strings.Contains(sql, `"httpAuthenticationUsername":"u","httpAuthenticationPassword":"********"`) {
		t.Errorf("payload %v", payload)
	}
	for _, part := range []string{"", "/reports", "/log", "/status"} {
		if _, body := s.send(http.MethodGet, path+part, ""); strings.Contains(body, "pw1") {
			t.Errorf("%s shows the password: %s", part, body)
		}
	}
	s.wantText(http.MethodGet, path+"/segments", "", 404,
		`{"error":"Segment IDs committed by a task action are not persisted anymore. Use the metric 'segment/added/bytes' to identify the segments created by a task."}`)
}

func TestUnknownTasks(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/task/nosuch", "/task/nosuch/status", "/task/nosuch/reports", "/task/nosuch/log", "/task/nosuch/segments"} {
		s.wantText(http.MethodGet, path, "", 404, "Cannot find any task with id: [nosuch]")
	}
	s.wantText(http.MethodPost, "/task/nosuch/shutdown", "", 404, "Cannot find any task with id: [nosuch]")
	if status, body := s.send(http.MethodGet, "/task", ""); status != http.StatusMethodNotAllowed || !strings.Contains(body, "Allowed are [") {
		t.Errorf("GET /task: %d %s", status, body)
	}
	s.wantText(http.MethodPost, "/taskStatus", "[]", 400, "No Task IDs provided.")
	s.wantText(http.MethodPost, "/taskStatus", "null", 400, "No Task IDs provided.")
	s.wantText(http.MethodPost, "/taskStatus", `["nosuch"]`, 200, "{}")
	s.wantText(http.MethodGet, "/tasks?state=", "", 400, "Invalid task state[]. Must be one of [pending, waiting, running, complete].")
	s.wantText(http.MethodGet, "/runningTasks?max=x&n=y", "", 200, "[]")
	s.wantText(http.MethodGet, "/completeTasks?n=y", "", 404, "")
	s.wantText(http.MethodGet, "/completeTasks?createdTimeInterval=y", "", 200, "[]")
	for _, body := range []string{"null", "{}"} {
		s.wantText(http.MethodPost, "/lockedIntervals", body, 400, "No Datasource provided")
	}
	s.wantText(http.MethodPost, "/lockedIntervals", `{"a":"1"}{}`, 200, "{}") // what stands behind the body is not read
	for _, path := range []string{"/task", "/taskStatus", "/lockedIntervals", "/lockedIntervals/v2", "/activeLocks"} {
		s.wantText(http.MethodPost, path, "", 415, "") // without a body the test's client says no media type
	}
}

func TestTasksThatAreRefused(t *testing.T) {
	s := start(t)
	first := s.submit("mine", replace("a", inline))
	for body, want := range map[string]string{
		`{`:             "Task is not a JSON object: it ends too early, at byte [1]",
		`[]`:            "Task is not a JSON object but a JSON array",
		`null`:          "Task has no [type]",
		`{"type":7}`:    "Member [type] of the task is not text",
		`{"type":"no"}`: "Task type [no] is unknown; known types are [query_controller]",
		`{"type":"query_controller","id":"` + first + `","dataSource":"a"}`: "Task[" + first + "] already exists",
		`{"type":"query_controller","id":"a/b","dataSource":"a"}`:           "Invalid value for field [id]: Value [a/b] cannot contain '/'.",
		`{"type":"query_controller","dataSource":".a"}`:                     "Invalid value for field [dataSource]: Value [.a] cannot start with '.'.",
	} {
		status, answer := s.send(http.MethodPost, "/task", body)
		var f struct{ ErrorMessage string }
		if err := json.Unmarshal([]byte(answer), &f); err != nil || status != http.StatusBadRequest || f.ErrorMessage != want && !strings.HasPrefix(f.ErrorMessage, "Task type [no] is unknown; known types are [") {
			t.Errorf("%s: %d %s, want %s", body, status, answer, want)
		}
	}
	_, near := s.send(http.MethodPost, "/task", `{"type":"index_paralle"}`)
	if want := "noop query_controller restore]. Did you mean [index_parallel]?"; !strings.Contains(near, want) {
		t.Errorf("a misspelt type: %s, want %s", near, want)
	}
	// A task of a known kind whose payload can't run fails with a sentence.
	status, answer := s.send(http.MethodPost, "/task", `{"type":"query_controller","id":"bare","dataSource":"a"}`)
	if status != 200 || answer != `{"task":"bare"}` {
		t.Fatalf("%d %s", status, answer)
	}
	if end, err := s.Await(t.Context(), "bare"); err != nil || end.StatusCode != "FAILED" || end.ErrorMsg != "Task [bare] of type [query_controller] has no [sqlQuery]; submit statements to /service/v2/sql/task" {
		t.Errorf("%+v, %v", end, err)
	}
}
