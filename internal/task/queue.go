package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
)

// Kind implements one type of task. Its methods are called from several goroutines, for different
// tasks.
type Kind interface {
	// Prepare prepares the task to run, usually by acquiring its locks. It returns false if the task
	// must wait, and an error if it can never run. It is called again whenever another task ends, and
	// periodically.
	Prepare(ctx context.Context, t *Task) (ready bool, err error)
	// Run runs the task and returns when it and everything it started has ended. It stops soon after
	// ctx is done; the cause of ctx is then a *Shutdown or the end of the process.
	Run(ctx context.Context, t *Task) error
	// Release reverts Prepare. It is called once, after the end is recorded.
	Release(ctx context.Context, t *Task) error
}

// Shutdown is the cause of the context of a running task that was shut down.
type Shutdown struct{ Reason string }

// Error returns the reason.
func (s *Shutdown) Error() string { return s.Reason }

// Store stores the records of tasks.
type Store interface {
	// InsertTask records a new task; an existing id is a fault with code entryAlreadyExists.
	InsertTask(ctx context.Context, t *Task) error
	// FinishTask records the end of a task. It does not change a task that has already ended.
	FinishTask(ctx context.Context, s Status) error
	// AssignTask records the process that runs a task and returns the number of the run. Writes of
	// earlier runs are rejected from then on.
	AssignTask(ctx context.Context, id string, r Runner) (run int64, err error)
	// ActiveTasks returns the unfinished tasks, oldest first.
	ActiveTasks(ctx context.Context) ([]Active, error)
	// FindTask returns the record of a task, or nil.
	FindTask(ctx context.Context, id string) (*Status, error)
	// FinishedTasks returns finished tasks created at or after since (milliseconds), newest first.
	FinishedTasks(ctx context.Context, since int64) ([]Status, error)
}

// Options are the settings of a Queue.
type Options struct {
	// Admit, if not nil, may reject valid tasks on submission.
	Admit func(t *Task) error
	// Ended, if not nil, is called for each recorded end of a task.
	Ended func(s Status)
	// Capacity is the number of tasks that run concurrently; 0: 2.
	Capacity int
	// MaxActive is the maximum number of active tasks; further tasks are rejected. 0: no limit.
	MaxActive int
	// Retry is the interval at which Prepare of waiting tasks is retried; 0: a second.
	Retry time.Duration
	// Location is the location of tasks in this process.
	Location Location
	// Workers are the worker processes; if nil, or while there are none, tasks run in this process.
	Workers WorkerPool
	// Strategy chooses the worker of a task; nil: the worker with the most free slots.
	Strategy func(ctx context.Context) (*Strategy, error)
	// Meter, if not nil, records the time that tasks wait for locks and for a slot.
	Meter *obs.Meter
	Clock clock.Clock
	Log   *slog.Logger
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

// Queue contains the active tasks of a cluster. Its methods are safe for use by many goroutines
// while Run runs.
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
		life   context.Context // of Run; nil: it has not begun
		paused bool            // the worker takes no new tasks
		ended  int64           // when the last task ended, in milliseconds; 0: none has
		ending chan struct{}   // closed when the next task has ended
		ends   map[End]int64
	}
	running sync.WaitGroup
}

// entry is an active task.
type entry struct {
	task    *Task
	state   State
	queued  int64
	since   int64 // when its state began, as far as it waits
	started int64
	cancel  context.CancelCauseFunc // nil until it runs
	ended   chan struct{}           // closed when the end is recorded
	stop    *Shutdown               // set when somebody ended it
	ending  bool                    // somebody records the end
	run     int64                   // the number of its run; 0: it was never given to a worker
	at      *Runner                 // the worker that runs it; nil: this process, or none
	lost    int                     // how many workers were lost with it
	ready   bool                    // Prepare has made it ready, and it has what that took
	resumed bool                    // it had locks when this Run began: it ran before, and goes first
	rests   time.Time               // it is not given to a worker before
	apart   string                  // the group of a standing task; "": it takes a slot
	trace   obs.Trace               // of the request that submitted it, as long as this process leads
	traced  bool
}

// NewQueue returns a queue that runs the given kinds, by type.
func NewQueue(store Store, kinds map[string]Kind, o Options) *Queue {
	q := &Queue{o: o.withDefaults(), store: store, kinds: kinds, wake: make(chan struct{}, 1)}
	q.mu.active, q.mu.ending, q.mu.ends = map[string]*entry{}, make(chan struct{}), map[End]int64{}
	return q
}

// Validator is a Kind that rejects invalid tasks on submission instead of at run time.
type Validator interface {
	// Validate returns a fault if a task is invalid.
	Validate(t *Task) error
}

// Submit records a task and queues it. When it returns nil, the task survives a crash.
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
	if q.o.Admit != nil {
		if err := q.o.Admit(t); err != nil {
			return err
		}
	}
	// The datasource first: an id that was not given is made of it.
	if err := CheckName("dataSource", t.DataSource); err != nil {
		return err
	}
	if err := CheckName("id", t.ID); err != nil {
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
	if a, ok := kind.(Allocating); ok && t.Allocator == "" {
		own := *t
		own.Allocator = a.Allocator(t)
		t = &own
	}
	if err := q.store.InsertTask(ctx, t); err != nil {
		return err
	}
	q.o.Log.InfoContext(ctx, "task accepted", "task", t.ID, "type", t.Type, "datasource", t.DataSource)
	q.add(ctx, Active{Task: t})
	q.nudge()
	return nil
}

// kind returns the kind of a type; a type that is not known is a fault.
func (q *Queue) kind(name string) (Kind, error) {
	if kind := q.kinds[name]; kind != nil {
		return kind, nil
	}
	known := slices.Sorted(maps.Keys(q.kinds))
	return nil, fault.InvalidInput("Task type [%s] is unknown; known types are %v%s", name, known, fault.DidYouMean(name, known))
}

// add queues a task, or returns nil if it is there already.
func (q *Queue) add(ctx context.Context, a Active) *entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.mu.active[a.Task.ID]; ok {
		return nil
	}
	e := &entry{task: a.Task, queued: clock.Millis(q.o.Clock), ended: make(chan struct{}), run: a.Run}
	e.since, e.apart = e.queued, q.apart(a.Task)
	e.trace, e.traced = obs.TraceOf(ctx)
	q.mu.active[a.Task.ID] = e
	q.mu.order = append(q.mu.order, e)
	return e
}

// nudge makes Run look at the queue soon.
func (q *Queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// left returns the tasks that have no end. While the store can't be reached it goes on asking: who
// takes over when the store comes back may be the first to notice that its connections broke.
func (q *Queue) left(ctx context.Context) ([]Active, error) {
	for {
		left, err := q.store.ActiveTasks(ctx)
		if err == nil {
			return left, nil
		}
		if !isAway(err) {
			return nil, fmt.Errorf("reading the active tasks: %w", err)
		}
		q.o.Log.WarnContext(ctx, "failed to read the active tasks; retrying", "error", err)
		if err := q.o.Clock.Sleep(ctx, q.o.Retry); err != nil {
			return nil, err
		}
	}
}

// isAway reports whether err says that the store can't be reached.
func isAway(err error) bool {
	f := fault.Find(err)
	return f != nil && f.Category == fault.CategoryServiceUnavailable
}

// Run resumes the unfinished tasks and processes the queue until ctx is done. It then stops the
// tasks of this process without ending them: they continue after the next start. Tasks on workers
// continue.
func (q *Queue) Run(ctx context.Context) error {
	q.mu.Lock()
	q.mu.closed, q.mu.life = false, ctx
	q.mu.Unlock()
	defer q.leave()
	left, err := q.left(ctx)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return err
	}
	holders := q.holders(ctx)
	for _, a := range left {
		e := q.add(ctx, a)
		if e == nil {
			continue
		}
		e.resumed = holders[a.Task.ID]
		q.o.Log.InfoContext(ctx, "task resumed", "task", a.Task.ID, "datasource", a.Task.DataSource)
		if a.Runner.Process != "" && q.o.Workers != nil {
			q.adopt(ctx, e, a.Runner)
		}
	}
	ticker := q.o.Clock.NewTicker(q.o.Retry)
	defer ticker.Stop()
	for {
		var workers <-chan struct{}
		if q.o.Workers != nil {
			workers = q.o.Workers.Changed()
		}
		q.step(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		case <-workers:
		case <-ticker.C():
		}
	}
}

// leave forgets all tasks when what runs here has stopped: another process, or a later Run, takes
// them up.
func (q *Queue) leave() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.running.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.mu.order {
		if !e.ending {
			e.ending = true
			close(e.ended)
		}
	}
	clear(q.mu.active)
	q.mu.order = nil
}

// step asks waiting tasks and starts pending ones while there are slots. Those that ran before, and
// so have locks that others wait for, go first, then what it is the turn of (turn.go). What is
// ready and finds no slot gives its locks back: tasks that have all the slots may be waiting for
// them.
func (q *Queue) step(ctx context.Context) {
	for _, e := range q.inState(Waiting) {
		if q.prepare(ctx, e) {
			q.advance(e, Waiting, Pending)
		}
		if ctx.Err() != nil {
			return
		}
	}
	if pending := q.inState(Pending); len(pending) > 0 {
		q.place(ctx, pending)
		q.yield(ctx)
	}
}

// prepare asks a task that does not run whether it is ready. One that never will be is ended.
func (q *Queue) prepare(ctx context.Context, e *entry) bool {
	kind := q.kinds[e.task.Type]
	if kind == nil {
		q.finish(ctx, e, fault.Unsupported("Task type [%s] of task [%s] is not known to this release", e.task.Type, e.task.ID))
		return false
	}
	ready, err := kind.Prepare(ctx, e.task)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil && isAway(err): // the metastore will be back
		q.o.Log.WarnContext(ctx, "failed to make a task ready; retrying", "task", e.task.ID, "error", err)
		return false
	case err != nil:
		q.finish(ctx, e, err)
		return false
	}
	q.mu.Lock()
	e.ready = ready
	ended := e.ending
	q.mu.Unlock()
	if ended { // meanwhile: its locks were released before it took these
		q.release(ctx, e)
		return false
	}
	return ready
}

// again makes a pending task ready again that gave its locks back; false: it waits again, or has
// ended.
func (q *Queue) again(ctx context.Context, e *entry) bool {
	q.mu.Lock()
	ready := e.ready
	q.mu.Unlock()
	if ready {
		return true
	}
	if q.prepare(ctx, e) {
		return true
	}
	q.advance(e, Pending, Waiting)
	return false
}

func (q *Queue) advance(e *entry, from, to State) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.state != from || e.stop != nil {
		return false
	}
	q.waitedLocked(e)
	e.state = to
	return true
}

// waitedLocked tells the meter how long a task was in the state that it leaves: waiting for locks,
// or pending for want of a slot.
func (q *Queue) waitedLocked(e *entry) {
	now := clock.Millis(q.o.Clock)
	if metric := map[State]string{Waiting: "task/waiting/time", Pending: "task/pending/time"}[e.state]; metric != "" {
		q.o.Meter.Time(obs.Occurrence{
			Service: "overlord", Metric: metric, Dims: []string{"dataSource", e.task.DataSource, "taskType", e.task.Type}, More: []string{"taskId", e.task.ID},
		}, time.Duration(max(0, now-e.since))*time.Millisecond)
	}
	e.since = now
}

// startHere runs a pending task in this process if a slot is free; false: none is.
func (q *Queue) startHere(ctx context.Context, e *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.roomForLocked(e) {
		return false
	}
	if e.state != Pending || e.stop != nil {
		return true
	}
	taskCtx, cancel := context.WithCancelCause(metastore.Patient(e.within(ctx)))
	q.waitedLocked(e)
	e.state, e.cancel, e.started = Running, cancel, clock.Millis(q.o.Clock)
	q.running.Go(func() {
		defer q.nudge()
		err := q.claim(taskCtx, e)
		if err == nil {
			q.o.Log.InfoContext(taskCtx, "task started", "task", e.task.ID, "datasource", e.task.DataSource)
			err = Execute(taskCtx, q.kinds[e.task.Type], e.task)
		}
		cancel(nil)
		if ctx.Err() != nil && q.stopOf(e) == nil {
			return // the process ends, not the task
		}
		if errors.Is(err, ErrAgain) && q.stopOf(e) == nil {
			q.lose(context.WithoutCancel(ctx), e, false, err)
			return
		}
		q.finish(context.WithoutCancel(ctx), e, err)
	})
	return true
}

// within returns ctx in the trace of the request that submitted the task.
func (e *entry) within(ctx context.Context) context.Context {
	if !e.traced {
		return ctx
	}
	return obs.WithTrace(ctx, e.trace)
}

// claim makes what a worker still writes that had the task before worthless.
func (q *Queue) claim(ctx context.Context, e *entry) error {
	if e.run == 0 {
		return nil
	}
	_, err := q.store.AssignTask(ctx, e.task.ID, Runner{Location: q.o.Location, Started: e.started})
	return err
}

func (q *Queue) stopOf(e *entry) *Shutdown {
	q.mu.Lock()
	defer q.mu.Unlock()
	return e.stop
}

// finish records the end of a task and takes it out of the queue. If recording fails it is tried
// again for as long as the queue runs.
func (q *Queue) finish(ctx context.Context, e *entry, err error) {
	q.mu.Lock()
	if e.ending {
		q.mu.Unlock()
		return
	}
	e.ending = true
	s := EndOf(e.task, err, e.stop)
	s.Queued = e.queued
	if e.started > 0 {
		s.Duration, s.Location = clock.Millis(q.o.Clock)-e.started, q.locationLocked(e)
	}
	q.mu.Unlock()
	recordErr := q.store.FinishTask(ctx, s)
	if recordErr == nil {
		q.remove(ctx, e, s, err)
		return
	}
	q.o.Log.ErrorContext(ctx, "failed to record the end of a task; retrying", "task", e.task.ID, "error", recordErr)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return // the next start finds it without an end
	}
	life := q.mu.life
	q.running.Go(func() {
		for life != nil && q.o.Clock.Sleep(life, q.o.Retry) == nil {
			if q.store.FinishTask(ctx, s) == nil {
				q.remove(ctx, e, s, err)
				q.nudge()
				return
			}
		}
	})
}

// remove takes a task out of the queue whose end is recorded.
func (q *Queue) remove(ctx context.Context, e *entry, s Status, err error) {
	if kind := q.kinds[e.task.Type]; kind != nil {
		if releaseErr := kind.Release(ctx, e.task); releaseErr != nil {
			q.o.Log.ErrorContext(ctx, "failed to release the locks of a task", "task", e.task.ID, "error", releaseErr)
		}
	}
	if q.o.Ended != nil {
		q.o.Ended(s)
	}
	s.Log(ctx, q.o.Log, err, "datasource", e.task.DataSource)
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

// Message returns the message of a failure in the status of a task: the code of the fault, followed
// by its public message.
func Message(err error) string {
	f := fault.Find(err)
	if f == nil {
		if errors.Is(err, context.Canceled) {
			return "Shutdown request from user"
		}
		return fault.Words(err)
	}
	switch f.Code {
	case "invalidInput", "general", "internalServerError", "unsupported", "legacyQueryException", "notFound", "conflict", "":
		return f.Message
	}
	return f.Code + ": " + f.Message
}

// Stop ends a task: it is recorded as failed with the reason. It waits until the end is recorded or
// ctx is done. It ignores finished and unknown tasks; found reports whether the task is known.
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
	if cancel == nil { // it does not run
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

// StopAll ends all active tasks of a datasource and returns their number.
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

// Active returns the unfinished tasks, oldest first.
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

// Finished returns finished tasks created at or after since, newest first.
func (q *Queue) Finished(ctx context.Context, since int64) ([]Status, error) {
	return q.store.FinishedTasks(ctx, since)
}

// Known returns both lists consistently: a task that ends meanwhile is in the list of finished
// tasks.
func (q *Queue) Known(ctx context.Context, since int64) (finished, active []Status, err error) {
	active = q.Active() // first: what is not active any more is in the store
	if finished, err = q.Finished(ctx, since); err != nil {
		return nil, nil, err
	}
	return finished, Unfinished(active, finished), nil
}

// Unfinished returns those of active that are not among finished.
func Unfinished(active, finished []Status) []Status {
	ended := make(map[string]bool, len(finished))
	for i := range finished {
		ended[finished[i].Task.ID] = true
	}
	return slices.DeleteFunc(active, func(s Status) bool { return ended[s.Task.ID] })
}

// Capacity returns the number of slots, and Used the number of used slots.
func (q *Queue) Capacity() int {
	workers := q.Workers()
	if len(workers) == 0 {
		return q.o.Capacity
	}
	total := 0
	for _, w := range workers {
		total += w.Capacity
	}
	return total
}

// Enable enables or disables this process for tasks: running tasks continue, others wait. The
// setting lasts until the process ends.
func (q *Queue) Enable(on bool) {
	q.mu.Lock()
	q.mu.paused = !on
	q.mu.Unlock()
	q.nudge()
}

// Enabled reports whether any process accepts tasks.
func (q *Queue) Enabled() bool {
	if workers := q.Workers(); len(workers) > 0 {
		return slices.ContainsFunc(workers, func(w Worker) bool { return w.Enabled })
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.mu.paused
}

// Ended returns a channel that is closed when the next task has ended, so that a slot and possibly
// locks are free.
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

// Ends returns the number of tasks that ended since the start, by kind of end.
func (q *Queue) Ends() map[End]int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.mu.ends)
}

// LastEnded returns the time when the last task ended, in milliseconds since the epoch; 0: none has
// ended since the start.
func (q *Queue) LastEnded() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.ended
}

// Used returns the number of used slots.
func (q *Queue) Used() int {
	used := 0
	for _, e := range q.inState(Running) {
		if e.apart == "" {
			used++
		}
	}
	return used
}

func (q *Queue) statusLocked(e *entry) Status {
	s := Status{Task: e.task, State: e.state, Queued: e.queued, Duration: -1}
	if e.state == Running {
		s.Location = q.locationLocked(e)
	}
	return s
}

// locationLocked returns where a running task runs.
func (q *Queue) locationLocked(e *entry) Location {
	if e.at != nil {
		return e.at.Location
	}
	return q.o.Location
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
