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

// Kind knows one type of task. Its methods are called from several goroutines, for different tasks.
type Kind interface {
	// Prepare tries to make the task ready to run, mostly by taking its locks. It returns false when
	// the task must wait on, and an error when it never can run. It is asked again whenever another
	// task ends, and now and then.
	Prepare(ctx context.Context, t *Task) (ready bool, err error)
	// Run does the work and returns when it is done and everything it started has ended. It stops soon
	// after ctx is done; the cause of ctx is then a *Shutdown or the end of the process.
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
	// AssignTask notes who runs a task and returns the number of that run. From then on, what earlier
	// runs write is refused.
	AssignTask(ctx context.Context, id string, r Runner) (run int64, err error)
	// ActiveTasks returns the tasks without an end, oldest first.
	ActiveTasks(ctx context.Context) ([]Active, error)
	// FindTask returns the record of a task, or nil.
	FindTask(ctx context.Context, id string) (*Status, error)
	// FinishedTasks returns ended tasks created at or after since (milliseconds), newest first.
	FinishedTasks(ctx context.Context, since int64) ([]Status, error)
}

// Options are the settings of a Queue.
type Options struct {
	// Admit, if not nil, refuses tasks for what is no fault of theirs when they are submitted.
	Admit func(t *Task) error
	// Capacity is how many tasks run at once; 0: 2.
	Capacity int
	// MaxActive is how many tasks may be active; more are refused. 0: no limit.
	MaxActive int
	// Retry is how often waiting tasks are asked again; 0: a second.
	Retry time.Duration
	// Location is what tasks show that run in this process.
	Location Location
	// Fleet is the worker processes; nil, or while it has none: tasks run in this process.
	Fleet Fleet
	// Strategy says how tasks choose their worker; nil: those with the most room come first.
	Strategy func(ctx context.Context) (*Strategy, error)
	// Meter is told how long tasks wait for locks, and for a slot; nil: nobody wants to know.
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

// Queue holds the active tasks of a cluster. Submit and the questions may be asked from any
// goroutine while Run runs.
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
	q.add(Active{Task: t})
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

// add queues a task, or returns nil if it is there already.
func (q *Queue) add(a Active) *entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.mu.active[a.Task.ID]; ok {
		return nil
	}
	e := &entry{task: a.Task, queued: clock.Millis(q.o.Clock), ended: make(chan struct{}), run: a.Run}
	e.since, e.apart = e.queued, q.apart(a.Task)
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
		q.o.Log.WarnContext(ctx, "the active tasks can't be read; they are asked for again", "error", err)
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

// Run takes up the tasks that have no end and works on the queue until ctx is done; then it stops
// what runs in this process, without ending it: those tasks go on after the next start. What
// workers run goes on.
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
		e := q.add(a)
		if e == nil {
			continue
		}
		e.resumed = holders[a.Task.ID]
		q.o.Log.InfoContext(ctx, "task resumed", "task", a.Task.ID, "datasource", a.Task.DataSource)
		if a.Runner.Process != "" && q.o.Fleet != nil {
			q.adopt(ctx, e, a.Runner)
		}
	}
	ticker := q.o.Clock.NewTicker(q.o.Retry)
	defer ticker.Stop()
	for {
		var workers <-chan struct{}
		if q.o.Fleet != nil {
			workers = q.o.Fleet.Changed()
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
		q.o.Log.WarnContext(ctx, "a task could not be made ready; retrying", "task", e.task.ID, "error", err)
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
	taskCtx, cancel := context.WithCancelCause(metastore.Patient(ctx))
	q.waitedLocked(e)
	e.state, e.cancel, e.started = Running, cancel, clock.Millis(q.o.Clock)
	q.running.Go(func() {
		defer q.nudge()
		err := q.claim(taskCtx, e)
		if err == nil {
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
	q.o.Log.ErrorContext(ctx, "the end of a task could not be recorded; retrying", "task", e.task.ID, "error", recordErr)
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

// Message returns what a task's status says of its failure: the message a user may see, behind the
// code of the fault.
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

// Stop ends a task: it is recorded as failed with the reason. It waits until the end is recorded or
// ctx is done. Tasks that have ended already, or are unknown, are left alone; found tells whether
// the task is known at all.
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

// Known returns both, a task that ends meanwhile among those that have ended: a task is in one of
// them all the time.
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

// Capacity returns how many tasks run at once, and Used how many do now.
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

// Enable lets this process take tasks, or not: those that run go on, others wait. It holds until
// the process ends.
func (q *Queue) Enable(on bool) {
	q.mu.Lock()
	q.mu.paused = !on
	q.mu.Unlock()
	q.nudge()
}

// Enabled reports whether anybody takes tasks.
func (q *Queue) Enabled() bool {
	if workers := q.Workers(); len(workers) > 0 {
		return slices.ContainsFunc(workers, func(w Worker) bool { return w.Enabled })
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.mu.paused
}

// Ended returns a channel that is closed when the next task has ended: a slot is free then, and
// perhaps locks are.
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

// LastEnded returns when the last task ended, in milliseconds since the epoch; 0: none has since
// the start.
func (q *Queue) LastEnded() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.ended
}

// Used returns how many slots are taken now.
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
