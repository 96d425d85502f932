package workers_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// steered is a task that keeps what it was told.
type steered struct {
	status chat.Status
	ends   stream.Positions
	finish bool
	said   []string
}

func (s *steered) Status(context.Context) (chat.Status, error) { return s.status, nil }

func (s *steered) Pause(ctx context.Context) (stream.Positions, error) {
	if s.status.State == chat.Publishing {
		return nil, fault.Conflict("Cannot pause task as it is currently in state[%s]. Pausable states are [READING, PAUSED].", s.status.State)
	}
	return s.status.Current, nil
}

func (s *steered) Resume(context.Context) error {
	s.said = append(s.said, "resume")
	return nil
}

func (s *steered) SetEnds(_ context.Context, ends stream.Positions, finish bool) error {
	if s.status.State != chat.Paused {
		return fault.InvalidInput("Task must be paused before changing the end sequences")
	}
	s.ends, s.finish = ends, finish
	return nil
}

func (s *steered) Stop(_ context.Context, publish bool) error {
	s.said = append(s.said, map[bool]string{true: "publish", false: "stop"}[publish])
	return nil
}

func (*steered) Stats(context.Context) (chat.Stats, error) {
	return chat.Stats{Totals: chat.Counters{Processed: 3}, Averages: map[string]chat.Counters{"1m": {Processed: 0.5}}}, nil
}

func (*steered) ParseErrors(context.Context) ([]chat.ParseError, error) {
	return []chat.ParseError{{At: 7, Input: "x", Type: "unparseable", Details: []string{"why"}}}, nil
}

// one is a process with one task.
type one struct{ task *steered }

func (o one) Find(id string) chat.Task {
	if id == "t" {
		return o.task
	}
	return nil
}

func (one) Report(string) (json.RawMessage, bool) { return json.RawMessage(`{"r":1}`), true }

func (one) RowStats(chat.Stats) any { return map[string]int{"shown": 1} }

func serve(t *testing.T, s *steered) (url string, remote *chat.Remote) {
	t.Helper()
	mux := edge.NewMux(&edge.Errors{})
	workers.ChatRoutes(mux, workers.ChatOptions{Streams: one{s}, Ask: func(id, path string) (any, error) {
		if id == "batch" {
			return "sequential", nil
		}
		return nil, fault.Unavailable("Can't find chatHandler for handler[%s]", id)
	}})
	server := httptest.NewServer(mux.Handler(nil, clock.System(), nil))
	t.Cleanup(server.Close)
	return server.URL, &chat.Remote{
		Where: func(string) (string, bool) { return server.URL, true }, Client: server.Client(), Clock: clock.System(),
	}
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func TestATaskAnswersAsTheInterfaceSays(t *testing.T) {
	s := &steered{status: chat.Status{
		State: chat.Paused, Started: 1_000, Current: stream.Positions{"0": "305", "1": "200"},
		Ends:        stream.Positions{"0": stream.Unbounded, "1": stream.Unbounded},
		Checkpoints: map[int]stream.Positions{0: {"0": "0", "1": "0"}},
	}}
	url, _ := serve(t, s)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "t/status", "", 200, `"PAUSED"`},
		{"GET", "t/offsets/current", "", 200, `{"0":305,"1":200}`},
		{"GET", "t/offsets/end", "", 200, `{"0":9223372036854775807,"1":9223372036854775807}`},
		{"GET", "t/checkpoints", "", 200, `{"0":{"0":0,"1":0}}`},
		{"GET", "t/time/start", "", 200, `"1970-01-01T00:00:01.000Z"`},
		{"GET", "t/rowStats", "", 200, `{"shown":1}`},
		{"GET", "t/liveReports", "", 200, `{"r":1}`},
		{"GET", "t/unparseableEvents", "", 200, `[{"timeOfExceptionMillis":7,"input":"x","errorType":"unparseable","details":["why"]}]`},
		{"POST", "t/pause", "", 200, `{"0":305,"1":200}`},
		{"POST", "t/resume", "", 200, ``},
		{"POST", "t/stop", "", 200, ``},
		{"POST", "t/offsets/end?finish=true", `{"0":310,"1":"200"}`, 200, `{"0":310,"1":200}`},
		{"POST", "t/offsets/end", `{}`, 400, `Request body must contain a map of { partition:endOffset }`},
		{"POST", "t/pendingSegmentVersion", `{}`, 200, ``},
		{"GET", "batch/mode", "", 200, `sequential`},
	} {
		status, body := ask(t, c.method, url+chat.Base+c.path, c.body)
		if status != c.status || body != c.want {
			t.Errorf("%s %s: [%d] %s, want [%d] %s", c.method, c.path, status, body, c.status, c.want)
		}
	}
	if diff := cmp.Diff(stream.Positions{"0": "310", "1": "200"}, s.ends); diff != "" || !s.finish {
		t.Error(diff)
	}
	if status, _ := ask(t, "GET", url+chat.Base+"nosuch/status", ""); status != 503 {
		t.Errorf("a task that does not run: [%d]", status)
	}
	s.status.State = chat.Publishing
	status, body := ask(t, "POST", url+chat.Base+"t/pause", "")
	want := "Cannot pause task as it is currently in state[PUBLISHING]. Pausable states are [READING, PAUSED]."
	if status != 409 || body != want {
		t.Errorf("[%d] %s, want [409] %s", status, body, want)
	}
}

func TestASupervisorSteersATaskOfAnotherProcess(t *testing.T) {
	s := &steered{status: chat.Status{
		State: chat.Paused, Started: 5, Current: stream.Positions{"a:0": "7"}, Ends: stream.Positions{"a:0": stream.Unbounded},
		Checkpoints: map[int]stream.Positions{3: {"a:0": "1"}},
		Problem:     &chat.Problem{Class: "c", Message: "m", Stream: true, Since: 9},
	}}
	_, remote := serve(t, s)
	task := remote.Find("t")
	got, err := task.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.status, got); diff != "" {
		t.Error(diff)
	}
	if at, err := task.Pause(t.Context()); err != nil || at["a:0"] != "7" {
		t.Errorf("%v, %v", at, err)
	}
	if err := task.SetEnds(t.Context(), stream.Positions{"a:0": "9"}, true); err != nil || s.ends["a:0"] != "9" || !s.finish {
		t.Errorf("%v, %v", s.ends, err)
	}
	if stats, err := task.Stats(t.Context()); err != nil || stats.Totals.Processed != 3 || stats.Averages["1m"].Processed != 0.5 {
		t.Errorf("%v, %v", stats, err)
	}
	if list, err := task.ParseErrors(t.Context()); err != nil || len(list) != 1 || list[0].Input != "x" {
		t.Errorf("%v, %v", list, err)
	}
	for _, do := range []func() error{
		func() error { return task.Resume(t.Context()) },
		func() error { return task.Stop(t.Context(), true) },
		func() error { return task.Stop(t.Context(), false) },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"resume", "publish", "stop"}, s.said); diff != "" {
		t.Error(diff)
	}
	s.status.State = chat.Reading
	err = task.SetEnds(t.Context(), stream.Positions{"a:0": "9"}, true)
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryInvalidInput || f.Message != "Task must be paused before changing the end sequences" {
		t.Errorf("ends of a task that reads: %v", err)
	}
}
