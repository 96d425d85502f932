package overlord

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/clock"
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
