package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records are those of tasks that never end but by FinishTask. Runs before newest are refused.
type records struct {
	mu     sync.Mutex
	newest int64
	ends   map[string]task.Status
	failed int // so many FinishTask fail
}

// FindTask knows every task.
func (r *records) FindTask(_ context.Context, id string) (*task.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.ends[id]; ok {
		return &s, nil
	}
	return &task.Status{Task: &task.Task{ID: id, Type: "t"}, State: task.Running}, nil
}

func (r *records) FinishTask(ctx context.Context, s task.Status) error {
	if err := r.CheckFence(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > 0 {
		r.failed--
		return fault.Unavailable("The metadata store is not there")
	}
	r.ends[s.Task.ID] = s
	return nil
}

func (r *records) CheckFence(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if metastore.FenceOf(ctx).Epoch < r.newest {
		return fault.Unavailable("deposed").WithCause(metastore.ErrDeposed)
	}
	return nil
}

// kind runs tasks as the test says.
type kind struct {
	began chan string
	run   func(ctx context.Context, id string) error
}

func (k *kind) Prepare(context.Context, *task.Task) (bool, error) { return true, nil }
func (k *kind) Release(context.Context, *task.Task) error         { return nil }
func (k *kind) Run(ctx context.Context, t *task.Task) error {
	k.began <- fmt.Sprint(t.ID, " ", metastore.FenceOf(ctx).Epoch)
	return k.run(ctx, t.ID)
}

func start(t *testing.T, r *records, k *kind) (w *Worker, stop func()) {
	t.Helper()
	w = New(Options{Records: r, Kinds: map[string]task.Kind{"t": k}, Location: task.Location{Host: "h", Port: 1}, Clock: clock.System(),
		Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }() // has no error
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	for w.State(t.Context(), 1).Version < 2 {
		t.Fatal("the worker does not begin")
	}
	return w, stop
}

// idle waits until nothing runs.
func idle(t *testing.T, w *Worker) {
	t.Helper()
	for s := w.State(t.Context(), 0); len(s.Runs) > 0; {
		s = w.State(t.Context(), s.Version)
	}
}

func untilDone(ctx context.Context, _ string) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestAWorkerRecordsHowTasksEnd(t *testing.T) {
	r := &records{ends: map[string]task.Status{}, failed: 1}
	k := &kind{began: make(chan string, 10), run: func(_ context.Context, id string) error {
		switch id {
		case "fails":
			return fault.InvalidInput("No rows")
		case "panics":
			panic("boom")
		case "again":
			return errors.Join(task.ErrAgain, fault.Unavailable("It lost something"))
		}
		return nil
	}}
	w, _ := start(t, r, k)
	for _, id := range []string{"works", "fails", "panics", "again"} {
		if err := w.Begin(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		idle(t, w)
	}
	for id, want := range map[string]string{"works": "SUCCESS ", "fails": "FAILED No rows", "panics": "FAILED Task [panics] met an unexpected condition; the log says more"} {
		if s := r.ends[id]; fmt.Sprint(s.State.StatusCode(), " ", s.Error) != want || s.Location.Host != "h" {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if s, ended := r.ends["again"]; ended {
		t.Errorf("a task that is to run again has ended: %+v", s)
	}
	if err := w.Begin(t.Context(), "works", 2); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryConflict {
		t.Errorf("beginning an ended task: %v", err)
	}
}

func TestARunThatWasFollowedByAnotherEndsWithoutARecord(t *testing.T) {
	r := &records{ends: map[string]task.Status{}}
	k := &kind{began: make(chan string, 10), run: untilDone}
	w, _ := start(t, r, k)
	for _, number := range []int64{1, 1} { // the second time is no harm
		if err := w.Begin(t.Context(), "a", number); err != nil {
			t.Fatal(err)
		}
	}
	<-k.began
	r.mu.Lock()
	r.newest = 2
	r.mu.Unlock()
	if err := w.Begin(t.Context(), "a", 1); !errors.Is(err, metastore.ErrDeposed) {
		t.Errorf("beginning an old run: %v", err)
	}
	if err := w.Begin(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	if got := <-k.began; got != "a 2" {
		t.Errorf("what runs is %s", got)
	}
	if s := w.State(t.Context(), 0); s.Runs["a"] != 2 || len(r.ends) != 0 {
		t.Errorf("%+v, %v", s, r.ends)
	}
	if err := w.End(t.Context(), "a", 1, "of the first"); err != nil || len(w.Tasks()) != 1 {
		t.Errorf("ending the first run: %v, %v", err, w.Tasks())
	}
	if err := w.End(t.Context(), "a", 2, "because"); err != nil {
		t.Fatal(err)
	}
	if s := r.ends["a"]; s.State != task.Failed || s.Error != "because" {
		t.Errorf("%+v", s)
	}
}

func TestAWorkerThatStopsLeavesItsTasks(t *testing.T) {
	r := &records{ends: map[string]task.Status{}}
	k := &kind{began: make(chan string, 10), run: untilDone}
	w, stop := start(t, r, k)
	if err := w.Begin(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	<-k.began
	stop()
	if len(r.ends) != 0 || len(w.Tasks()) != 0 {
		t.Errorf("%v, %v", r.ends, w.Tasks())
	}
	if err := w.Begin(t.Context(), "b", 1); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryServiceUnavailable {
		t.Errorf("beginning on a stopped worker: %v", err)
	}
}
