package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Kind knows one type of task. Its methods are called from several goroutines, for different tasks.
type Kind interface {
	// Prepare tries to make the task ready to run, mostly by taking its locks. It returns false when the task must wait on, and an
	// error when it never can run. It is asked again whenever another task ends, and now and then.
	Prepare(ctx context.Context, t *Task) (ready bool, err error)
	// Run does the work and returns when it is done and everything it started has ended. It stops soon after ctx is done; the cause
	// of ctx is then a *Shutdown or the end of the process.
	Run(ctx context.Context, t *Task) error
	// Release gives back what Prepare took. It is called once, after the end is recorded.
	Release(ctx context.Context, t *Task) error
}

// Shutdown is the cause of a running task's context when somebody ended the task.
type Shutdown struct{ Reason string }

// Error returns the reason.
func (s *Shutdown) Error() string { return s.Reason }

// Store keeps the records of tasks.
type Store interface {
	// InsertTask records a new task; an id that exists is a fault with code entryAlreadyExists.
	InsertTask(ctx context.Context, t *Task) error
	// FinishTask records the end of a task. A task that has ended already keeps its first end.
	FinishTask(ctx context.Context, s Status) error
	// ActiveTasks returns the tasks without an end, oldest first.
	ActiveTasks(ctx context.Context) ([]*Task, error)
	// FindTask returns the record of a task, or nil.
	FindTask(ctx context.Context, id string) (*Status, error)
	// FinishedTasks returns ended tasks created at or after since (milliseconds), newest first.
	FinishedTasks(ctx context.Context, since int64) ([]Status, error)
}

// Options are the settings of a Queue.
type Options struct {
	// Capacity is how many tasks run at once; 0: 2.
	Capacity int
	// MaxActive is how many tasks may be active; more are refused. 0: no limit.
	MaxActive int
	// Retry is how often waiting tasks are asked again; 0: a second.
	Retry time.Duration
	// Location is what running tasks show.
	Location Location
	Clock    clock.Clock
	Log      *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Capacity <= 0 {
		o.Capacity = 2
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Queue holds the active tasks of a cluster. Submit and the questions may be asked from any goroutine while Run runs.
type Queue struct {
	o     Options
	store Store
	kinds map[string]Kind
	wake  chan struct{}

	mu struct {
		sync.Mutex
		active map[string]*entry
		order  []*entry // oldest first
		closed bool
		paused bool          // the worker takes no new tasks
		ended  int64         // when the last task ended, in milliseconds; 0: none has
		ending chan struct{} // closed when the next task has ended
		ends   map[End]int64
	}
	running sync.WaitGroup
}

// entry is an active task.
type entry struct {
	task    *Task
	state   State
	queued  int64
	started int64
	cancel  context.CancelCauseFunc // nil until it runs
	ended   chan struct{}           // closed when the end is recorded
	stop    *Shutdown               // set when somebody ended it
	ending  bool                    // somebody records the end
}

// NewQueue returns a queue that runs the given kinds, by type.
func NewQueue(store Store, kinds map[string]Kind, o Options) *Queue {
	q := &Queue{o: o.withDefaults(), store: store, kinds: kinds, wake: make(chan struct{}, 1)}
	q.mu.active, q.mu.ending, q.mu.ends = map[string]*entry{}, make(chan struct{}), map[End]int64{}
	return q
}

// Validator is a Kind that refuses what can't be run when it is submitted, instead of when it runs.
type Validator interface {
	// Validate returns a fault that says what is wrong with a task.
	Validate(t *Task) error
}

// Submit records a task and queues it. When it returns nil the task survives a crash.
func (q *Queue) Submit(ctx context.Context, t *Task) error {
	kind, err := q.kind(t.Type)
	if err != nil {
		return err
	}
	if v, ok := kind.(Validator); ok {
		if err := v.Validate(t); err != nil {
			return err
		}
	}
	if err := CheckName("id", t.ID); err != nil {
		return err
	}
	if err := CheckName("dataSource", t.DataSource); err != nil {
		return err
	}
	q.mu.Lock()
	full, closed := q.o.MaxActive > 0 && len(q.mu.active) >= q.o.MaxActive, q.mu.closed
	q.mu.Unlock()
	switch {
	case closed:
		return fault.Unavailable("The task queue is stopping; submit task [%s] again when the Overlord is back", t.ID)
	case full:
		return fault.Capacity("Task queue already contains [%d] tasks. Retry later or increase service.indexer.queue.maxSize.", q.o.MaxActive)
	}
	if err := q.store.InsertTask(ctx, t); err != nil {
		return err
	}
	q.add(t)
	q.nudge()
	return nil
}

// kind returns the kind of a type; a type that is not known is a fault.
func (q *Queue) kind(name string) (Kind, error) {
	if kind := q.kinds[name]; kind != nil {
		return kind, nil
	}
	return nil, fault.InvalidInput("Task type [%s] is unknown; known types are %v", name, slices.Sorted(maps.Keys(q.kinds)))
}

func (q *Queue) add(t *Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.mu.active[t.ID]; ok {
		return
	}
	e := &entry{task: t, queued: clock.Millis(q.o.Clock), ended: make(chan struct{})}
	q.mu.active[t.ID] = e
	q.mu.order = append(q.mu.order, e)
}

// nudge makes Run look at the queue soon.
func (q *Queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run takes up the tasks that have no end and works on the queue until ctx is done; then it stops what runs, without ending it: those
// tasks go on after the next start.
func (q *Queue) Run(ctx context.Context) error {
	left, err := q.store.ActiveTasks(ctx)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("reading the active tasks: %w", err)
	}
	for _, t := range left {
		q.add(t)
	}
	ticker := q.o.Clock.NewTicker(q.o.Retry)
	defer ticker.Stop()
	for {
		q.step(ctx)
		select {
		case <-ctx.Done():
			q.mu.Lock()
			q.mu.closed = true
			q.mu.Unlock()
			q.running.Wait()
			return nil
		case <-q.wake:
		case <-ticker.C():
		}
	}
}

// step asks waiting tasks and starts pending ones while there are slots. Higher priority goes first, then age.
func (q *Queue) step(ctx context.Context) {
	for _, e := range q.inState(Waiting) {
		kind := q.kinds[e.task.Type]
		if kind == nil {
			q.finish(ctx, e, fault.Unsupported("Task type [%s] of task [%s] is not known to this release", e.task.Type, e.task.ID))
			continue
		}
		ready, err := kind.Prepare(ctx, e.task)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			q.finish(ctx, e, err)
		case ready:
			q.advance(e, Waiting, Pending)
		}
	}
	for _, e := range q.inState(Pending) {
		if !q.start(ctx, e) {
			return
		}
	}
}

func (q *Queue) inState(s State) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*entry
	for _, e := range q.mu.order {
		if e.state == s {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *entry) int { return b.task.Priority - a.task.Priority })
	return out
}

func (q *Queue) advance(e *entry, from, to State) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.state != from || e.stop != nil {
		return false
	}
	e.state = to
	return true
}

// start runs a pending task if a slot is free.
func (q *Queue) start(ctx context.Context, e *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	busy := 0
	for _, other := range q.mu.order {
		if other.state == Running {
			busy++
		}
	}
	if busy >= q.o.Capacity || q.mu.paused {
		return false
	}
	if e.state != Pending || e.stop != nil {
		return true
	}
	taskCtx, cancel := context.WithCancelCause(ctx)
	e.state, e.cancel, e.started = Running, cancel, clock.Millis(q.o.Clock)
	q.running.Go(func() {
		err := q.run(taskCtx, e.task)
		cancel(nil)
		if ctx.Err() != nil && q.stopOf(e) == nil {
			return // the process ends, not the task
		}
		q.finish(context.WithoutCancel(ctx), e, err)
		q.nudge()
	})
	return true
}

// run calls the kind; a panic becomes the task's failure.
func (q *Queue) run(ctx context.Context, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Task [%s] met an unexpected condition; the log says more", t.ID).WithCause(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return q.kinds[t.Type].Run(ctx, t)
}

func (q *Queue) stopOf(e *entry) *Shutdown {
	q.mu.Lock()
	defer q.mu.Unlock()
	return e.stop
}

// finish records the end of a task and takes it out of the queue. If recording fails the task stays, and is tried again at the next
// start of the Overlord.
func (q *Queue) finish(ctx context.Context, e *entry, err error) {
	q.mu.Lock()
	if e.ending {
		q.mu.Unlock()
		return
	}
	e.ending = true
	stop, started := e.stop, e.started
	q.mu.Unlock()
	s := Status{Task: e.task, State: Succeeded, Queued: e.queued, Location: q.o.Location}
	if started > 0 {
		s.Duration = clock.Millis(q.o.Clock) - started
	} else {
		s.Duration, s.Location = -1, Location{}
	}
	switch {
	case stop != nil && err != nil:
		s.State, s.Error = Failed, stop.Reason
	case err != nil:
		s.State, s.Error = Failed, cutError(Message(err))
	}
	if recordErr := q.store.FinishTask(ctx, s); recordErr != nil {
		q.o.Log.ErrorContext(ctx, "the end of a task could not be recorded", "task", e.task.ID, "error", recordErr)
		return
	}
	if kind := q.kinds[e.task.Type]; kind != nil {
		if releaseErr := kind.Release(ctx, e.task); releaseErr != nil {
			q.o.Log.ErrorContext(ctx, "the locks of a task could not be released", "task", e.task.ID, "error", releaseErr)
		}
	}
	level := slog.LevelInfo
	if s.State == Failed {
		level = slog.LevelWarn
	}
	q.o.Log.Log(ctx, level, "task ended", "task", e.task.ID, "status", s.State.StatusCode(), "ms", s.Duration, "error", err)
	q.mu.Lock()
	e.state = s.State
	q.mu.ended = clock.Millis(q.o.Clock)
	delete(q.mu.active, e.task.ID)
	q.mu.order = slices.DeleteFunc(q.mu.order, func(o *entry) bool { return o == e })
	q.mu.ends[End{e.task.DataSource, e.task.Type, s.State}]++
	close(q.mu.ending)
	q.mu.ending = make(chan struct{})
	q.mu.Unlock()
	close(e.ended)
}

// Message returns what a task's status says of its failure: the message a user may see, behind the code of the fault.
func Message(err error) string {
	f := fault.Find(err)
	if f == nil {
		if errors.Is(err, context.Canceled) {
			return "Shutdown request from user"
		}
		return err.Error()
	}
	switch f.Code {
	case "invalidInput", "general", "internalServerError", "unsupported", "legacyQueryException", "notFound", "conflict", "":
		return f.Message
	}
	return f.Code + ": " + f.Message
}

// Stop ends a task: it is recorded as failed with the reason. It waits until the end is recorded or ctx is done. Tasks that have ended
// already, or are unknown, are left alone; found tells whether the task is known at all.
func (q *Queue) Stop(ctx context.Context, id, reason string) (found bool, err error) {
	q.mu.Lock()
	e := q.mu.active[id]
	if e == nil {
		q.mu.Unlock()
		s, err := q.store.FindTask(ctx, id)
		return s != nil, err
	}
	if e.stop == nil {
		e.stop = &Shutdown{Reason: reason}
	}
	cancel := e.cancel
	q.mu.Unlock()
	if cancel == nil { // it never ran
		q.finish(context.WithoutCancel(ctx), e, e.stop)
		return true, nil
	}
	cancel(e.stop)
	select {
	case <-e.ended:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// StopAll ends all active tasks of a datasource and returns how many there were.
func (q *Queue) StopAll(ctx context.Context, dataSource, reason string) (int, error) {
	n := 0
	for _, s := range q.Active() {
		if s.Task.DataSource != dataSource {
			continue
		}
		n++
		if _, err := q.Stop(ctx, s.Task.ID, reason); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Find returns the status of a task, or nil when it is unknown.
func (q *Queue) Find(ctx context.Context, id string) (*Status, error) {
	q.mu.Lock()
	if e := q.mu.active[id]; e != nil {
		s := q.statusLocked(e)
		q.mu.Unlock()
		return &s, nil
	}
	q.mu.Unlock()
	return q.store.FindTask(ctx, id)
}

// Active returns the tasks without an end, oldest first.
func (q *Queue) Active() []Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Status, 0, len(q.mu.order))
	for _, e := range q.mu.order {
		if !e.state.Done() {
			out = append(out, q.statusLocked(e))
		}
	}
	return out
}

// Finished returns ended tasks created at or after since, newest first.
func (q *Queue) Finished(ctx context.Context, since int64) ([]Status, error) {
	return q.store.FinishedTasks(ctx, since)
}

// Capacity returns how many tasks run at once, and Used how many do now.
func (q *Queue) Capacity() int { return q.o.Capacity }

// Enable lets the worker take tasks, or not: those that run go on, others wait. It holds until the process ends.
func (q *Queue) Enable(on bool) {
	q.mu.Lock()
	q.mu.paused = !on
	q.mu.Unlock()
	q.nudge()
}

// Enabled reports whether the worker takes tasks.
func (q *Queue) Enabled() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.mu.paused
}

// Ended returns a channel that is closed when the next task has ended: a slot is free then, and perhaps locks are.
func (q *Queue) Ended() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.ending
}

// End is a way in which tasks end.
type End struct {
	DataSource, Type string
	State            State
}

// Ends returns how many tasks ended since the start, by how they did.
func (q *Queue) Ends() map[End]int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.mu.ends)
}

// LastEnded returns when the last task ended, in milliseconds since the epoch; 0: none has since the start.
func (q *Queue) LastEnded() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.ended
}

// Used returns how many tasks run now.
func (q *Queue) Used() int { return len(q.inState(Running)) }

func (q *Queue) statusLocked(e *entry) Status {
	s := Status{Task: e.task, State: e.state, Queued: e.queued, Duration: -1}
	if e.state == Running {
		s.Location = q.o.Location
	}
	return s
}

// Wait returns when the task has ended or ctx is done.
func (q *Queue) Wait(ctx context.Context, id string) (*Status, error) {
	q.mu.Lock()
	e := q.mu.active[id]
	q.mu.Unlock()
	if e != nil {
		select {
		case <-e.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return q.Find(ctx, id)
}
