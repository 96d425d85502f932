package scheduled

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
)

func TestSchedules(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ kind, text, after, want string }{
		{Unix, "*/5 * * * *", "2026-03-01 10:03:10", "2026-03-01 10:05:00"},
		{Unix, "*/5 * * * *", "2026-03-01 10:05:00", "2026-03-01 10:10:00"},
		{Unix, "0 0 * * *", "2026-12-31 00:00:00", "2027-01-01 00:00:00"},
		{Unix, "30 4 1,15 * *", "2026-03-01 04:30:00", "2026-03-15 04:30:00"},
		{Unix, "0 12 * * MON-FRI", "2026-03-06 12:00:00", "2026-03-09 12:00:00"},
		{Unix, "0 12 * * 7", "2026-03-06 12:00:00", "2026-03-08 12:00:00"},
		{Unix, "0 0 13 * 5", "2026-03-01 00:00:00", "2026-03-06 00:00:00"}, // either
		{Unix, "0 0 29 2 *", "2026-03-01 00:00:00", "2028-02-29 00:00:00"},
		{Unix, "10-20/5 3 * jan *", "2026-03-01 00:00:00", "2027-01-01 03:10:00"},
		{Unix, "@hourly", "2026-03-01 10:59:59", "2026-03-01 11:00:00"},
		{Quartz, "*/10 * * * * ?", "2026-03-01 10:00:55", "2026-03-01 10:01:00"},
		{Quartz, "15 30 10 ? * 2", "2026-03-01 00:00:00", "2026-03-02 10:30:15"}, // 2 is Monday
		{Quartz, "0 0 0 L * ?", "2026-02-03 00:00:00", "2026-02-28 00:00:00"},
		{Quartz, "0 0 0 ? * 6#3", "2026-03-01 00:00:00", "2026-03-20 00:00:00"},
		{Quartz, "0 0 0 ? * 6L", "2026-03-01 00:00:00", "2026-03-27 00:00:00"},
		{Quartz, "0 0 0 1 1 ? 2030/2", "2030-06-01 00:00:00", "2032-01-01 00:00:00"},
		{Quartz, "0 0 23 31 12 ? 2026", "2026-12-31 23:00:00", "0001-01-01 00:00:00"},
	} {
		s, err := ParseSchedule(c.kind, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := s.Next(at(c.after)); !got.Equal(at(c.want)) {
			t.Errorf("%s after %s is %s, want %s", c.text, c.after, got, c.want)
		}
	}
	for _, c := range [][2]string{
		{Unix, "* * * *"}, {Unix, "60 * * * *"}, {Unix, "* * * * 8"}, {Unix, "*/0 * * * *"}, {Unix, "a * * * *"}, {Unix, "5-1 * * * *"}, {Unix,
			"0 0 30 2 *"},
		{Quartz, "* * * * *"}, {Quartz, "0 0 0 ? * 0"}, {Quartz, "0 0 0 ? * 2#9"}, {Quartz, "0 0 0 1 1 ? 1900"}, {"frob", "* * * * *"}, {Unix,
			""},
	} {
		if _, err := ParseSchedule(c[0], c[1]); fault.Find(err) == nil {
			t.Errorf("%s %q: %v", c[0], c[1], err)
		}
	}
}

// fakeStatements remembers what was submitted.
type fakeStatements struct {
	mu    sync.Mutex
	tasks []*task.Status
	err   error
}

func (*fakeStatements) Target(_ context.Context, text json.RawMessage) (string, error) {
	if strings.Contains(string(text), "SELECT 1") {
		return "", fault.InvalidInput("It writes nothing")
	}
	return "target", nil
}

func (s *fakeStatements) Submit(context.Context, json.RawMessage) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return "", s.err
	}
	id := "task-" + string(rune('a'+len(s.tasks)))
	s.tasks = append(s.tasks, &task.Status{Task: &task.Task{ID: id}, State: task.Running})
	return id, nil
}

func (s *fakeStatements) Find(_ context.Context, id string) (*task.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.Task.ID == id {
			found := *t
			return &found, nil
		}
	}
	return nil, nil
}

func (s *fakeStatements) Supervisors(context.Context) ([]metastore.SupervisorVersion, error) {
	return []metastore.SupervisorVersion{{ID: "x", Payload: json.RawMessage(`{"type":"noop"}`)}}, nil
}

// TestScheduledBatch: a statement runs at its times, not while it is suspended, and the status
// tells of its tasks.
func TestScheduledBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		statements := &fakeStatements{}
		k := New(Options{Statements: statements, Store: statements, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = k.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		parse := func(text string) Spec {
			t.Helper()
			s, err := k.Parse(json.RawMessage(text))
			if err != nil {
				t.Fatal(err)
			}
			return s.(Spec)
		}
		s := parse(`{"type":"scheduled_batch","spec":{"query":"INSERT"},"schedulerConfig":{"type":"unix","schedule":"*/5 * * * *"}}`)
		if s.ID() != "scheduled_batch__target" {
			t.Errorf("id %s", s.ID())
		}
		status := func(want string) {
			t.Helper()
			r, err := k.Report(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(r)
			if !strings.Contains(string(text), want) {
				t.Errorf("%s\nlacks %s", text, want)
			}
		}
		after := func(d time.Duration) {
			_ = clock.System().Sleep(t.Context(), d)
			synctest.Wait()
		}
		k.Changed(s, false)
		status(`"lastTaskSubmittedTime":null`)
		after(11 * time.Minute)
		status(`"totalSubmittedTasks":2,"totalSuccessfulTasks":0,"totalFailedTasks":0,"activeTasks":["task-a","task-b"],"completedTasks":[]`)
		statements.mu.Lock()
		statements.tasks[0].State, statements.tasks[1].State, statements.tasks[1].Error = task.Succeeded, task.Failed, "why"
		statements.mu.Unlock()
		status(`"totalSuccessfulTasks":1,"totalFailedTasks":1,"activeTasks":[],"completedTasks":[{"id":"task-b","status":"FAILED",` +
			`"errorMsg":"why"},{"id":"task-a"`)
		statements.mu.Lock()
		statements.err = fault.Unavailable("away")
		statements.mu.Unlock()
		after(5 * time.Minute)
		status(`"recentError":"away"`)
		s = s.Suspend(true).(Spec)
		k.Changed(s, false)
		after(time.Hour)
		status(`"status":"SCHEDULER_SHUTDOWN"`)
		status(`"totalSubmittedTasks":3`)
		k.Changed(s, true)
		status(`"totalSubmittedTasks":0`)
		for text, want := range map[string]string{
			`{}`: "[query]", `{"spec":{"query":"INSERT"}}`: "[schedulerConfig]",
			`{"spec":{"query":"INSERT"},"schedulerConfig":{"type":"unix","schedule":"x"}}`:           "fields",
			`{"spec":{"query":"SELECT 1"},"schedulerConfig":{"type":"unix","schedule":"* * * * *"}}`: "It writes nothing",
		} {
			if _, err := k.Parse(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
