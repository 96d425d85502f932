package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
)

// Records are the records of tasks in the metastore.
type Records interface {
	FindTask(ctx context.Context, id string) (*task.Status, error)
	// FinishTask records the end of a task, under the fence of ctx.
	FinishTask(ctx context.Context, s task.Status) error
	// CheckFence returns a fault that matches metastore.ErrDeposed if the fence of ctx no longer
	// holds.
	CheckFence(ctx context.Context) error
}

// Options configure a Worker.
type Options struct {
	Records Records
	// Kinds run tasks, by their type.
	Kinds map[string]task.Kind
	// Location is the address of this process.
	Location task.Location
	Clock    clock.Clock
	Log      *slog.Logger
}

// Worker runs tasks that an Overlord assigns. All methods are safe for use by many goroutines.
type Worker struct {
	o      Options
	starts chan func(ctx context.Context) // what Run is to run

	mu struct {
		sync.Mutex
		open    bool            // Run runs
		runs    map[string]*run // by task id
		paused  bool
		ended   int64 // when the last run ended, in milliseconds
		version int64 // counts the changes
		changed chan struct{}
	}
}

// run is one run of a task.
type run struct {
	number int64
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// State is the state of a worker.
type State struct {
	// Version increases with each change of the other fields.
	Version int64 `json:"version"`
	Enabled bool  `json:"enabled"`
	// LastEnded is the time when its last task ended, in milliseconds since the epoch; 0: none has
	// ended.
	LastEnded int64 `json:"lastEnded"`
	// Runs are its running tasks, by id, with the numbers of their runs.
	Runs map[string]int64 `json:"runs"`
}

// New returns a Worker. It accepts tasks while Run is running.
func New(o Options) *Worker {
	w := &Worker{o: o, starts: make(chan func(context.Context), 1)}
	w.mu.runs, w.mu.changed, w.mu.version = map[string]*run{}, make(chan struct{}), 1
	return w
}

// Run accepts tasks until ctx is done, and returns when all of them have stopped. Stopped tasks
// have not ended: another worker continues them.
func (w *Worker) Run(ctx context.Context) error {
	w.open(true)
	var running sync.WaitGroup
	for ctx.Err() == nil {
		select {
		case start := <-w.starts:
			running.Go(func() { start(ctx) })
		case <-ctx.Done():
		}
	}
	w.open(false)
	running.Wait()
	return nil
}

func (w *Worker) open(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.open = yes
	w.changeLocked()
}

func (w *Worker) changeLocked() {
	w.mu.version++
	close(w.mu.changed)
	w.mu.changed = make(chan struct{})
}

// Begin starts a run of a task. If the run is already running, it continues; an earlier run is
// ended first.
func (w *Worker) Begin(ctx context.Context, id string, number int64) error {
	s, err := w.o.Records.FindTask(ctx, id)
	switch {
	case err != nil:
		return err
	case s == nil || s.State.Done():
		return fault.Conflict("Task [%s] is not there to be run", id)
	}
	kind := w.o.Kinds[s.Task.Type]
	if kind == nil {
		return fault.Unsupported("Task type [%s] of task [%s] is not known to this release", s.Task.Type, id)
	}
	if err := w.o.Records.CheckFence(fence(ctx, id, number)); err != nil {
		return err
	}
	start, err := w.register(ctx, s.Task, kind, number)
	if start == nil || err != nil {
		return err
	}
	if trace, ok := obs.TraceOf(ctx); ok {
		run := start
		start = func(ctx context.Context) { run(obs.WithTrace(ctx, trace)) }
	}
	select {
	case w.starts <- start:
		return nil
	case <-ctx.Done():
		start(canceled()) // ends at once: nobody knows of it
		return context.Cause(ctx)
	}
}

// canceled returns a context that is done.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// register notes a run and returns what does it; nil: it is under way.
func (w *Worker) register(ctx context.Context, t *task.Task, kind task.Kind, number int64) (func(ctx context.Context), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.mu.runs[t.ID]
	switch {
	case !w.mu.open:
		return nil, fault.Unavailable("This worker is stopping and takes no tasks")
	case before != nil && before.number == number:
		return nil, nil
	case before != nil && before.number > number:
		return nil, fault.Conflict("Run [%d] of task [%s] was followed by another", number, t.ID)
	}
	own, cancel := context.WithCancelCause(metastore.Patient(fence(context.WithoutCancel(ctx), t.ID, number)))
	r := &run{number: number, cancel: cancel, done: make(chan struct{})}
	w.mu.runs[t.ID] = r
	w.changeLocked()
	return func(ctx context.Context) {
		defer close(r.done)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		if before != nil {
			before.cancel(metastore.ErrDeposed)
			<-before.done
		}
		if ctx.Err() == nil {
			w.execute(own, r, kind, t)
		}
		cancel(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mu.runs[t.ID] == r {
			delete(w.mu.runs, t.ID)
		}
		w.mu.ended = clock.Millis(w.o.Clock)
		w.changeLocked()
	}, nil
}

// fence returns ctx for what a run of a task writes.
func fence(ctx context.Context, id string, number int64) context.Context {
	return metastore.WithFence(ctx, metastore.Fence{Task: id, Epoch: number})
}

// execute runs a task and records its end, unless it stops for another reason than its own.
func (w *Worker) execute(ctx context.Context, r *run, kind task.Kind, t *task.Task) {
	started := clock.Millis(w.o.Clock)
	w.o.Log.InfoContext(ctx, "task started", "task", t.ID, "run", r.number)
	err := task.Execute(ctx, kind, t)
	var stop *task.Shutdown
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &stop) || errors.Is(err, metastore.ErrDeposed) || stop == nil && errors.Is(err, task.ErrAgain) {
		w.o.Log.InfoContext(ctx, "another run continues the task", "task", t.ID, "run", r.number, "error", err)
		return
	}
	s := task.EndOf(t, err, stop)
	s.Duration, s.Location = clock.Millis(w.o.Clock)-started, w.o.Location
	if err := w.record(context.WithoutCancel(ctx), s); err != nil {
		w.o.Log.WarnContext(ctx, "failed to record the end of a task", "task", t.ID, "run", r.number, "error", err)
		return
	}
	s.Log(ctx, w.o.Log, err, "run", r.number)
}

// recordAgain is how long after the end of a task could not be recorded it is tried again.
const recordAgain = time.Second

// record records the end of a task. It tries until that is done, or the run was followed by
// another, or the worker stops.
func (w *Worker) record(ctx context.Context, s task.Status) error {
	for {
		err := w.o.Records.FinishTask(ctx, s)
		if err == nil || errors.Is(err, metastore.ErrDeposed) {
			return err
		}
		w.mu.Lock()
		stopping := !w.mu.open
		w.mu.Unlock()
		if stopping {
			return err
		}
		if slept := w.o.Clock.Sleep(ctx, recordAgain); slept != nil {
			return err
		}
	}
}

// End ends a run of a task with a reason, and returns when it has ended. A run that is not running
// is not an error.
func (w *Worker) End(ctx context.Context, id string, number int64, reason string) error {
	w.mu.Lock()
	r := w.mu.runs[id]
	w.mu.Unlock()
	if r == nil || number != 0 && r.number != number {
		return nil
	}
	r.cancel(&task.Shutdown{Reason: reason})
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// State returns the state of the worker as soon as its version is higher than after, or ctx is
// done.
func (w *Worker) State(ctx context.Context, after int64) State {
	for {
		w.mu.Lock()
		changed := w.mu.changed
		s := State{Version: w.mu.version, Enabled: !w.mu.paused && w.mu.open, LastEnded: w.mu.ended, Runs: map[string]int64{}}
		for id, r := range w.mu.runs {
			s.Runs[id] = r.number
		}
		w.mu.Unlock()
		if s.Version > after || ctx.Err() != nil {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Enable enables or disables the worker for tasks; running tasks continue. The setting lasts until
// the process ends.
func (w *Worker) Enable(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.paused = !on
	w.changeLocked()
}

// Enabled reports whether the worker accepts tasks.
func (w *Worker) Enabled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.mu.paused
}

// Tasks returns the ids of the running tasks.
func (w *Worker) Tasks() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]string, 0, len(w.mu.runs))
	for id := range w.mu.runs {
		out = append(out, id)
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// Stop ends any run of a task on this worker; the task is recorded as failed with the reason.
func (w *Worker) Stop(ctx context.Context, id, reason string) error { return w.End(ctx, id, 0, reason) }
