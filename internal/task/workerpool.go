package task

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Runner is a process that runs a task.
type Runner struct {
	Location Location
	// Process is the name of the process, as in Worker.Process. Empty: the process of the Overlord,
	// whose tasks end with its leadership.
	Process string
	// Started is the start time of the run, in milliseconds since the epoch.
	Started int64
}

// Active is an unfinished task and its runner.
type Active struct {
	Task *Task
	// Run is the number of its last run; 0: it was never assigned to a worker.
	Run    int64
	Runner Runner
}

// Worker is a process that runs tasks for the Overlord.
type Worker struct {
	Location Location
	// Process is its name, which differs from that of another process at the same address, and changes
	// with a restart.
	Process string
	// Capacity is the number of tasks that it runs concurrently.
	Capacity int
	// Category is the category for strategies.
	Category string
	// Enabled is true if it accepts tasks.
	Enabled bool
	// LastEnded is the time when its last task ended, in milliseconds since the epoch; 0: none has
	// ended.
	LastEnded int64
}

// WorkerPool represents the workers of a cluster. It is safe for concurrent use.
type WorkerPool interface {
	// Workers returns the current workers, sorted by location.
	Workers() []Worker
	// Changed returns a channel that is closed when the result of Workers may have changed.
	Changed() <-chan struct{}
	// Begin starts a task on a worker. The call is idempotent.
	Begin(ctx context.Context, process string, t *Task, run int64) error
	// Await returns when the worker no longer runs the task, or is lost, or ctx is done. If the task
	// has ended, its record contains the end, which the worker writes first.
	Await(ctx context.Context, process, id string, run int64) error
	// End ends a task on a worker with a reason, and returns when it has ended.
	End(ctx context.Context, process, id string, run int64, reason string) error
	// Enable enables or disables a worker for tasks.
	Enable(ctx context.Context, process string, on bool) error
}

const (
	// maxLosses is how many workers a task may take with it, or be lost by, before it fails: it may be
	// what ends them.
	maxLosses = 10
	// endPatience is how long a worker may take to end a task. After that the task is ended without
	// it: it can't write any more then.
	endPatience = 15 * time.Second
)

// Workers returns the current worker processes; empty if tasks run in this process.
func (q *Queue) Workers() []Worker {
	if q.o.Workers == nil {
		return nil
	}
	return q.o.Workers.Workers()
}

// EnableWorker enables or disables the worker at an address (host:port) for tasks; false: the
// worker does not exist.
func (q *Queue) EnableWorker(ctx context.Context, address string, on bool) (bool, error) {
	for _, w := range q.Workers() {
		if w.Address() == address {
			return true, q.o.Workers.Enable(ctx, w.Process, on)
		}
	}
	return false, nil
}

// RunsAt returns the location of a task on a worker; false: no worker runs it.
func (q *Queue) RunsAt(id string) (Location, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.mu.active[id]; e != nil && e.state == Running && e.at != nil {
		return e.at.Location, true
	}
	return Location{}, false
}

// place starts pending tasks where there is room for them. One that must wait for a certain worker
// holds up no other.
func (q *Queue) place(ctx context.Context, pending []*entry) {
	workers := q.Workers()
	if len(workers) == 0 {
		for _, e := range pending {
			q.mu.Lock()
			room := q.roomForLocked(e)
			q.mu.Unlock()
			if room && q.again(ctx, e) {
				q.startHere(ctx, e)
			}
		}
		return
	}
	strategy := &Strategy{}
	if q.o.Strategy != nil {
		var err error
		if strategy, err = q.o.Strategy(ctx); err != nil {
			if ctx.Err() == nil {
				q.o.Log.ErrorContext(ctx, "failed to read the worker selection strategy; tasks wait", "error", err)
			}
			return
		}
	}
	for _, e := range pending {
		if w := strategy.choose(workers, q.load(), e.task, e.apart); w != nil && !q.restsNow(e) && q.again(ctx, e) {
			q.startThere(ctx, e, w)
		}
	}
}

// load returns what runs, by worker and by type.
func (q *Queue) load() load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := load{worker: map[string]int{}, kind: map[string]int{}, standing: map[string]int{}, apart: map[place]bool{}}
	for _, e := range q.mu.order {
		if e.state != Running || e.at == nil {
			continue
		}
		l.kind[e.task.Type]++
		if e.apart == "" {
			l.worker[e.at.Process]++
			continue
		}
		l.standing[e.at.Process]++
		l.apart[place{e.at.Process, e.apart}] = true
	}
	return l
}

// startThere has a worker run a pending task.
func (q *Queue) startThere(ctx context.Context, e *entry, w *Worker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.state != Pending || e.stop != nil || q.o.Clock.Now().Before(e.rests) {
		return
	}
	q.waitedLocked(e)
	q.attendLocked(ctx, e, Runner{w.Location, w.Process, clock.Millis(q.o.Clock)}, true)
}

// adopt goes on with a task that a worker runs, or ran when it was last heard of.
func (q *Queue) adopt(ctx context.Context, e *entry, r Runner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attendLocked(ctx, e, r, false)
}

func (q *Queue) attendLocked(ctx context.Context, e *entry, r Runner, begin bool) {
	taskCtx, cancel := context.WithCancelCause(e.within(ctx))
	e.state, e.cancel, e.started, e.at = Running, cancel, r.Started, &r
	q.running.Go(func() {
		defer q.nudge()
		defer cancel(nil)
		q.attend(ctx, taskCtx, e, begin)
	})
}

// attend follows a task that a worker runs until it has an end, or the worker is lost: then it
// begins anew.
func (q *Queue) attend(ctx, taskCtx context.Context, e *entry, begin bool) {
	var err error
	if begin {
		err = q.begin(taskCtx, e)
	}
	refused := err != nil
	if !refused {
		err = q.o.Workers.Await(taskCtx, e.at.Process, e.task.ID, e.run)
	}
	stop := q.stopOf(e)
	if stop == nil && ctx.Err() != nil {
		return // the leadership ends, not the task
	}
	last := context.WithoutCancel(ctx)
	if stop != nil && e.run > 0 {
		patience, cancel := context.WithTimeout(last, endPatience)
		if endErr := q.o.Workers.End(patience, e.at.Process, e.task.ID, e.run, stop.Reason); endErr != nil {
			q.o.Log.WarnContext(ctx, "worker did not end a task; recording its end without "+
				"the worker", "task", e.task.ID, "worker", e.at.Location.Host,
				"error", endErr)
		}
		cancel()
	}
	s, findErr := q.recorded(ctx, e)
	switch {
	case findErr != nil: // the leadership ends
	case s != nil:
		q.noteEnd(last, e, *s)
	case stop != nil:
		q.finish(last, e, stop)
	default:
		q.lose(last, e, refused, err)
	}
}

// begin gives a task to its worker.
func (q *Queue) begin(ctx context.Context, e *entry) error {
	run, err := q.store.AssignTask(ctx, e.task.ID, *e.at)
	if err != nil {
		e.lost-- // lose will count it, but nobody has had the task
		return err
	}
	e.run = run
	return q.o.Workers.Begin(ctx, e.at.Process, e.task, run)
}

// recorded returns the end of a task that its worker has recorded, or nil. It asks until it is
// told, or ctx is done.
func (q *Queue) recorded(ctx context.Context, e *entry) (*Status, error) {
	for {
		s, err := q.store.FindTask(ctx, e.task.ID)
		if err == nil {
			if s != nil && s.State.Done() {
				return s, nil
			}
			return nil, nil
		}
		q.o.Log.WarnContext(ctx, "failed to read the record of a task; retrying", "task", e.task.ID, "error", err)
		if err := q.o.Clock.Sleep(ctx, q.o.Retry); err != nil {
			return nil, err
		}
	}
}

// noteEnd takes a task out of the queue that its worker has ended.
func (q *Queue) noteEnd(ctx context.Context, e *entry, s Status) {
	q.mu.Lock()
	again := e.ending
	e.ending = true
	q.mu.Unlock()
	if again {
		return
	}
	var err error
	if s.Error != "" {
		err = fault.Runtime("%s", s.Error)
	}
	q.remove(ctx, e, s, err)
}

// lose makes a task whose worker is gone, or did not take it, wait again, or fails it when that has
// happened too often.
func (q *Queue) lose(ctx context.Context, e *entry, refused bool, err error) {
	q.mu.Lock()
	at := q.locationLocked(e)
	q.o.Log.WarnContext(ctx, "worker lost or rejected a task; restarting the task", "task", e.task.ID, "worker", at.Address(), "error", err)
	e.lost++
	failed := e.lost >= maxLosses
	if !failed {
		e.state, e.cancel, e.at, e.started, e.ready = Waiting, nil, nil, 0, false // it may have given its locks back
		e.since = clock.Millis(q.o.Clock)
		if refused { // the worker may be on its way out
			e.rests = q.o.Clock.Now().Add(q.o.Retry)
		}
	}
	stop := e.stop // it came after attend had looked
	q.mu.Unlock()
	switch {
	case failed:
		q.finish(ctx, e, fault.Unavailable("Task [%s] was lost with its worker [%d] times", e.task.ID, maxLosses).WithCause(err))
	case stop != nil:
		q.finish(ctx, e, stop)
	}
}
