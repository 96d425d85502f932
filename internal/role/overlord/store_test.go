package overlord

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/testkit/store"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	return NewStore(store.Open(t, clock.System()), prometheus.NewRegistry(), nil)
}

func someTask(id string, created int64) *task.Task {
	return &task.Task{
		ID: id, GroupID: "group", Type: "query_controller", DataSource: "ds", Created: created, Priority: 7, Owner: "me",
		Payload: json.RawMessage(`{"id":"` + id + `","list":[1.50,"<a>"]}`),
	}
}

func TestTasksComeBackAsTheyWere(t *testing.T) {
	s := openStore(t)
	want := someTask("a", 1000)
	if err := s.InsertTask(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := s.FindTask(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&task.Status{Task: want, State: task.Waiting, Queued: 1000, Duration: -1}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := s.FindTask(t.Context(), "nosuch"); got != nil || err != nil {
		t.Errorf("an unknown task: %v, %v", got, err)
	}
	if f := fault.Find(s.InsertTask(t.Context(), want)); f == nil || f.Code != "entryAlreadyExists" {
		t.Errorf("twice: %v", f)
	}
}

func TestTheFirstEndStays(t *testing.T) {
	s := openStore(t)
	if err := s.InsertTask(t.Context(), someTask("a", 1000)); err != nil {
		t.Fatal(err)
	}
	first := task.Status{Task: someTask("a", 1000), State: task.Failed, Queued: 1000, Duration: 5, Location: task.Location{Host: "h", Port: 1}, Error: "why"}
	if err := s.FinishTask(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := first
	second.State, second.Error = task.Succeeded, ""
	if err := s.FinishTask(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	got, err := s.FindTask(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&first, got); diff != "" {
		t.Error(diff)
	}
}

func TestActiveTasksAreOldestFirstAndFinishedNewestFirst(t *testing.T) {
	s := openStore(t)
	now := clock.Millis(clock.System()) - 1000 // tasks end after they were created
	for i, id := range []string{"old", "middle", "new", "ended", "endedLater"} {
		if err := s.InsertTask(t.Context(), someTask(id, now+int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"ended", "endedLater"} {
		if err := s.FinishTask(t.Context(), task.Status{Task: &task.Task{ID: id}, State: task.Succeeded, Duration: 1}); err != nil {
			t.Fatal(err)
		}
	}
	active, err := s.ActiveTasks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, a := range active {
		ids = append(ids, a.Task.ID)
	}
	if diff := cmp.Diff([]string{"old", "middle", "new"}, ids); diff != "" {
		t.Error(diff)
	}
	for since, want := range map[int64]string{0: "endedLater ended", now + 4: "endedLater", now + 5: ""} {
		finished, err := s.FinishedTasks(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		ids = nil
		for _, f := range finished {
			ids = append(ids, f.Task.ID)
			if f.State != task.Succeeded || f.Duration != 1 || f.Task.Owner != "me" {
				t.Errorf("%+v", f)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("since %d: %q, want %q", since-now, got, want)
		}
	}
}

func openFiles(t *testing.T) (*Files, string) {
	t.Helper()
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deep.Close() })
	dir := t.TempDir()
	return NewFiles(FilesOptions{Store: deep, Dir: dir, Current: func(context.Context) error { return nil }}), dir
}

func content(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return "none"
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLogsOfRunningAndEndedTasks(t *testing.T) {
	f, dir := openFiles(t)
	const id = "query-a b/../c" // ids may hold much; names of files may not
	log := func(offset int64) string {
		r, err := f.Log(t.Context(), id, offset)
		return content(t, r, err)
	}
	if got := log(0); got != "none" {
		t.Errorf("before it began: %q", got)
	}
	if err := os.WriteFile(f.logPath(id), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	offsets := map[int64]string{0: "0123456789", 4: "456789", -3: "789", 10: "", 99: "", -99: "0123456789"}
	for offset, want := range offsets {
		if got := log(offset); got != want {
			t.Errorf("running, from %d: %q", offset, got)
		}
	}
	if err := f.keepLog(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for offset, want := range offsets {
		if got := log(offset); got != want {
			t.Errorf("ended, from %d: %q", offset, got)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the worker's folder holds %v, %v", list, err)
	}
	if err := f.keepLog(t.Context(), id); err == nil {
		t.Error("a log that is not there was kept")
	}
}

func TestReportsOfRunningAndEndedTasks(t *testing.T) {
	f, _ := openFiles(t)
	report := func(alias bool) string {
		r, err := f.Report(t.Context(), "a", alias)
		return content(t, r, err)
	}
	if got := report(false); got != "none" {
		t.Errorf("before it began: %q", got)
	}
	running := true
	f.AddLive(func(string, bool) []byte { return nil })
	f.AddLive(func(id string, alias bool) []byte {
		switch {
		case id != "a" || !running:
			return nil
		case alias:
			return []byte("live, alias")
		}
		return []byte("live")
	})
	if report(false) != "live" || report(true) != "live, alias" {
		t.Errorf("running: %q, %q", report(false), report(true))
	}
	running = false
	for _, text := range []string{"first", "second"} {
		if err := f.putReport(t.Context(), "a", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := report(false); got != "first" {
		t.Errorf("the report of the first end is now %q", got)
	}
	for range 2 { // what is gone already is no error
		if err := f.Drop(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := report(false); got != "none" {
		t.Errorf("after it was dropped: %q", got)
	}
}
