package task

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memStore keeps records in memory.
type memStore struct {
	mu    sync.Mutex
	tasks []*Task
	ends  map[string]Status
	runs  map[string]Active
}

func newMemStore() *memStore { return &memStore{ends: map[string]Status{}, runs: map[string]Active{}} }

func (s *memStore) InsertTask(_ context.Context, t *Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.tasks {
		if o.ID == t.ID {
			return fault.InvalidInput("Task [%s] already exists", t.ID).WithCode("entryAlreadyExists")
		}
	}
	s.tasks = append(s.tasks, t)
	return nil
}

func (s *memStore) FinishTask(_ context.Context, st Status) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ends[st.Task.ID]; !ok {
		s.ends[st.Task.ID] = st
	}
	return nil
}

func (s *memStore) AssignTask(_ context.Context, id string, r Runner) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Active{Run: s.runs[id].Run + 1, Runner: r}
	s.runs[id] = a
	return a.Run, nil
}

func (s *memStore) ActiveTasks(context.Context) ([]Active, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Active
	for _, t := range s.tasks {
		if _, ok := s.ends[t.ID]; !ok {
			a := s.runs[t.ID]
			a.Task = t
			out = append(out, a)
		}
	}
	return out, nil
}

func (s *memStore) FindTask(_ context.Context, id string) (*Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := s.ends[id]; ok {
		return &st, nil
	}
	return nil, nil
}

func (s *memStore) FinishedTasks(context.Context, int64) ([]Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, st := range s.ends {
		out = append(out, st)
	}
	return out, nil
}

// scripted is a kind whose tasks do what the test says.
type scripted struct {
	run      func(ctx context.Context, t *Task) error
	prepare  func(t *Task) (bool, error)
	mu       sync.Mutex
	released []string
}

func (k *scripted) Prepare(_ context.Context, t *Task) (bool, error) {
	if k.prepare == nil {
		return true, nil
	}
	return k.prepare(t)
}
func (k *scripted) Run(ctx context.Context, t *Task) error { return k.run(ctx, t) }
func (k *scripted) Release(_ context.Context, t *Task) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.released = append(k.released, t.ID)
	return nil
}

func start(t *testing.T, s Store, k Kind, o Options) *Queue {
	t.Helper()
	o.Retry = 5 * time.Millisecond
	q := NewQueue(s, map[string]Kind{"t": k}, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- q.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return q
}

func submit(t *testing.T, q *Queue, id string) {
	t.Helper()
	if err := q.Submit(t.Context(), &Task{ID: id, Type: "t", DataSource: "ds"}); err != nil {
		t.Fatal(err)
	}
}

func wait(t *testing.T, q *Queue, id string) *Status {
	t.Helper()
	s, err := q.Wait(t.Context(), id)
	if err != nil || s == nil {
		t.Fatalf("Wait(%s) = %v, %v", id, s, err)
	}
	return s
}

// returning is a store that can't be reached at first.
type returning struct {
	*memStore
	away int
}

func (s *returning) ActiveTasks(ctx context.Context) ([]Active, error) {
	if s.away--; s.away >= 0 {
		return nil, fault.Unavailable("The store can't be reached")
	}
	return s.memStore.ActiveTasks(ctx)
}

func TestAQueueWaitsForItsStore(t *testing.T) {
	s := &returning{memStore: newMemStore(), away: 3}
	if err := s.InsertTask(t.Context(), &Task{ID: "left", Type: "t", DataSource: "ds"}); err != nil {
		t.Fatal(err)
	}
	q := start(t, s, &scripted{run: func(context.Context, *Task) error { return nil }}, Options{})
	for { // it is known to the queue when the store has been read
		got, err := q.Wait(t.Context(), "left")
		if err != nil || got != nil && got.State != Succeeded {
			t.Fatalf("the task that was left: %+v, %v", got, err)
		}
		if got != nil {
			return
		}
		runtime.Gosched()
	}
}

func TestTasksEndAsTheirKindSays(t *testing.T) {
	k := &scripted{run: func(_ context.Context, task *Task) error {
		switch task.ID {
		case "fails":
			return fault.InvalidInput("No rows").WithCode("InsertCannotBeEmpty")
		case "panics":
			panic("boom")
		}
		return nil
	}}
	q := start(t, newMemStore(), k, Options{})
	for _, tc := range []struct {
		id    string
		state State
		text  string
	}{
		{"works", Succeeded, ""},
		{"fails", Failed, "InsertCannotBeEmpty: No rows"},
		{"panics", Failed, "Task [panics] met an unexpected condition; the log says more"},
	} {
		submit(t, q, tc.id)
		s := wait(t, q, tc.id)
		if s.State != tc.state || s.Error != tc.text {
			t.Errorf("%s: %v %q, want %v %q", tc.id, s.State, s.Error, tc.state, tc.text)
		}
	}
	if !slices.Equal(k.released, []string{"works", "fails", "panics"}) {
		t.Errorf("released %v", k.released)
	}
}

func TestStopEndsARunningAWaitingAndNoUnknownTask(t *testing.T) {
	began := make(chan struct{}, 1)
	k := &scripted{
		run: func(ctx context.Context, _ *Task) error {
			began <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		},
		prepare: func(task *Task) (bool, error) { return task.ID != "waits", nil },
	}
	q := start(t, newMemStore(), k, Options{})
	submit(t, q, "runs")
	submit(t, q, "waits")
	<-began
	for _, id := range []string{"runs", "waits"} {
		if found, err := q.Stop(t.Context(), id, "Shutdown request from user"); !found || err != nil {
			t.Fatalf("Stop(%s) = %v, %v", id, found, err)
		}
		if s := wait(t, q, id); s.State != Failed || s.Error != "Shutdown request from user" {
			t.Errorf("%s: %v %q", id, s.State, s.Error)
		}
	}
	if found, err := q.Stop(t.Context(), "nobody", ""); found || err != nil {
		t.Errorf("Stop of an unknown task = %v, %v", found, err)
	}
}

func TestSlotsLimitWhatRuns(t *testing.T) {
	release, began := make(chan struct{}), make(chan string, 4)
	k := &scripted{run: func(_ context.Context, task *Task) error {
		began <- task.ID
		<-release
		return nil
	}}
	q := start(t, newMemStore(), k, Options{Capacity: 1, MaxActive: 2})
	submit(t, q, "a")
	<-began
	submit(t, q, "b")
	if err := q.Submit(t.Context(), &Task{ID: "c", Type: "t", DataSource: "ds"}); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryCapacityExceeded {
		t.Errorf("a third active task: %v", err)
	}
	if q.Used() != 1 {
		t.Errorf("Used = %d", q.Used())
	}
	close(release)
	wait(t, q, "b")
}

func TestRestartTakesUpTasksWithoutAnEnd(t *testing.T) {
	store := newMemStore()
	began := make(chan struct{})
	stuck := &scripted{run: func(ctx context.Context, _ *Task) error {
		close(began)
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	first := NewQueue(store, map[string]Kind{"t": stuck}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- first.Run(ctx) }()
	submit(t, first, "a")
	<-began
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(store.ends) != 0 {
		t.Fatal("the end of the process ended the task")
	}
	second := start(t, store, &scripted{run: func(context.Context, *Task) error { return nil }}, Options{})
	for len(second.Active()) == 0 {
		if s, _ := second.Find(t.Context(), "a"); s != nil {
			break
		}
	}
	if s := wait(t, second, "a"); s.State != Succeeded {
		t.Errorf("after the restart: %v", s.State)
	}
}

func TestSubmitRefuses(t *testing.T) {
	q := start(t, newMemStore(), &scripted{run: func(context.Context, *Task) error { return nil }}, Options{})
	submit(t, q, "a")
	for name, task := range map[string]*Task{
		"twice":        {ID: "a", Type: "t", DataSource: "ds"},
		"unknown type": {ID: "b", Type: "nope", DataSource: "ds"},
		"slash":        {ID: "a/b", Type: "t", DataSource: "ds"},
		"dot":          {ID: "c", Type: "t", DataSource: ".ds"},
		"tab":          {ID: "d", Type: "t", DataSource: "d\ts"},
		"empty":        {ID: "e", Type: "t", DataSource: " "},
	} {
		var f *fault.Error
		if err := q.Submit(t.Context(), task); !errors.As(err, &f) || f.Category != fault.CategoryInvalidInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endingStore has a task end each time somebody asks what has ended.
type endingStore struct {
	*memStore
	before, after func()
}

func (s endingStore) FinishedTasks(ctx context.Context, since int64) ([]Status, error) {
	s.before()
	defer s.after()
	return s.memStore.FinishedTasks(ctx, since)
}

// A task that ends right before or after it was asked what has ended is known, and once.
func TestKnownTasksThatEnd(t *testing.T) {
	for _, early := range []bool{true, false} {
		release := make(chan struct{})
		store := endingStore{memStore: newMemStore(), before: func() {}, after: func() {}}
		var q *Queue
		end := func() {
			close(release)
			wait(t, q, "a")
		}
		if early {
			store.before = end
		} else {
			store.after = end
		}
		q = start(t, store, &scripted{run: func(context.Context, *Task) error { <-release; return nil }}, Options{Capacity: 1})
		submit(t, q, "a")
		finished, active, err := q.Known(t.Context(), 0)
		if err != nil || len(finished)+len(active) != 1 {
			t.Errorf("ends before %v: finished %v, active %v, %v", early, finished, active, err)
		}
	}
}
