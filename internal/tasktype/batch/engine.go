package batch

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/tasktype"
)

// Options are the dependencies of the tasks.
type Options struct {
	*tasktype.Env
	// Chats is notified of running tasks.
	Chats *Chats
}

// engine is what the kinds of tasks share.
type engine struct {
	o    Options
	meta msq.Metastore
}

func newEngine(o Options) *engine {
	e := &engine{o: o, meta: tasktype.NewKeeping(o.Metastore, o.Meter)}
	o.Files.AddLive(e.liveReport)
	return e
}

// warn names in the log of a task what its context has in vain.
func (s *settings) warn(log *slog.Logger) {
	if len(s.ignored) > 0 && log != nil {
		log.Warn("context contains parameters of statements, which native tasks ignore", "parameters", s.ignored)
	}
}

// begin notes the report of a running task; end takes it away and keeps it, unless the task goes on
// after a restart.
func (e *engine) begin(id string, r *report) { e.o.Chats.add(id, r) }

func (e *engine) end(ctx context.Context, id string, r *report, failure error) error {
	defer e.o.Chats.remove(id)
	var stop *task.Shutdown
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &stop) {
		return failure // the process ends, not the task
	}
	if errors.Is(failure, task.ErrAgain) {
		return failure
	}
	r.finish(failure)
	r.measure(e.o.Meter)
	text, err := r.final()
	if err == nil {
		err = e.o.Files.PutReport(context.WithoutCancel(ctx), id, text)
	}
	return errors.Join(failure, err)
}

func (e *engine) liveReport(id string, _ bool) []byte {
	r := e.o.Chats.find(id)
	if r == nil {
		return nil
	}
	return r.live()
}

// settings are the entries of a task's context that count here.
type settings struct {
	Concurrent bool
	LockType   string
	// Durable stores intermediate results in deep storage, as for statements.
	Durable bool
	// engine are the parameters of the multi-stage engine that are given, ignored the names of those
	// that have no effect on a native task.
	engine  map[string]any
	ignored []string
}

// contextOf returns the context of a task, also as the report shows it.
func contextOf(t *task.Task) (s settings, shown json.RawMessage, err error) {
	var fields struct {
		Context json.RawMessage `json:"context"`
	}
	if err := json.Unmarshal(t.Payload, &fields); err != nil {
		return s, nil, fault.InvalidInput("Task [%s] is not readable: %v", t.ID, err)
	}
	if len(fields.Context) > 0 {
		var given map[string]any
		if err := json.Unmarshal(fields.Context, &given); err != nil {
			return s, nil, fault.InvalidInput("Context of task [%s] is not readable: %v", t.ID, err)
		}
		c := &querycontext.Reader{Values: given}
		s.Concurrent, s.LockType, s.Durable = querycontext.ConcurrentLocks.From(c), querycontext.TaskLockType.From(c), querycontext.DurableShuffle.From(c)
		if err := c.Err(); err != nil {
			return s, nil, err
		}
		s.engine = map[string]any{}
		for _, name := range msq.NativeParameters {
			if value := given[name]; value != nil {
				s.engine[name] = value
			}
		}
		for _, name := range msq.StatementParameters {
			if given[name] != nil {
				s.ignored = append(s.ignored, name)
			}
		}
	}
	return s, fields.Context, nil
}

// replaceLock is the lock of a task that replaces what is there.
func (s *settings) replaceLock() tasklock.Type {
	switch {
	case s.LockType != "":
		return tasklock.Type(s.LockType)
	case s.Concurrent:
		return tasklock.Replace
	}
	return tasklock.Exclusive
}

// appendLock is the lock of a task that adds to what is there.
func (s *settings) appendLock() tasklock.Type {
	switch {
	case s.LockType != "":
		return tasklock.Type(s.LockType)
	case s.Concurrent:
		return tasklock.Append
	}
	return tasklock.Shared
}

// lock tries to take a lock for a task.
func (e *engine) lock(ctx context.Context, t *task.Task, r metastore.LockRequest) (bool, error) {
	r.Owner, r.DataSource = tasklock.Owner{TaskID: t.ID, GroupID: t.GroupID, Priority: t.Priority}, t.DataSource
	_, granted, err := e.o.Metastore.TryLock(ctx, r)
	return granted, err
}

// Release implements task.Kind.
func (e *engine) Release(ctx context.Context, t *task.Task) error {
	err := e.o.Metastore.ReleaseLocks(ctx, metastore.Fence{}, t.ID, nil)
	if e.o.Join == nil && !e.o.Durable {
		return err
	}
	return errors.Join(err, tasktype.ClearTask(ctx, e.o.Metastore, e.o.Deep, t.ID))
}

// run runs a job of a task. What it has lost with another process the next run of the task makes
// again.
func run(ctx context.Context, job msq.Job, deps msq.Deps) (*msq.Outcome, error) {
	ctx, cancel := tasktype.WithEngineCause(ctx)
	defer cancel()
	out, err := msq.Run(ctx, job, deps)
	if errors.Is(err, msq.ErrPartLost) {
		return nil, errors.Join(task.ErrAgain, err)
	}
	return out, err
}

// env returns what the plans of a task run in. Their time is that at which the task was submitted:
// all runs of it compute the same.
func (e *engine) env(session *broker.Session, t *task.Task) (env *exec.Env, done func()) {
	env, done = session.Env("task " + t.ID)
	own := *env.Expr
	own.Now, env.Expr = t.Created, &own
	return env, done
}

// session pins a state of the timeline that has everything that was published up to now: with its
// locks held a task reads all that it replaces.
func (e *engine) session(ctx context.Context) (*broker.Session, error) {
	if err := tasktype.CatchUp(ctx, e.o.Metastore, e.o.Published); err != nil {
		return nil, err
	}
	return e.o.Broker.Session(), nil
}

// options makes the parameters of a job.
func (e *engine) options(t *task.Task, s *settings, lock tasklock.Type, workers, rows int, order []string) (*msq.Options, error) {
	sortedByTime := len(order) == 0 || order[0] == "__time"
	list := make([]any, len(order))
	for i, name := range order {
		list[i] = name
	}
	given := map[string]any{
		querycontext.MaxNumTasks.Key(): int64(workers + 1), querycontext.Priority.Key(): int64(t.Priority), querycontext.TaskLockType.Key(): string(lock),
		querycontext.SegmentSortOrder.Key(): list, querycontext.SortByTime.Key(): sortedByTime, querycontext.Mode.Key(): "nonStrict", querycontext.DurableShuffle.Key(): s.Durable,
	}
	if rows > 0 {
		given[querycontext.RowsPerSegment.Key()] = int64(rows)
	}
	maps.Copy(given, s.engine)
	return msq.ParseNativeOptions(given)
}

// deps is what a job needs; tables are those of env.
func (e *engine) deps(ctx context.Context, env *exec.Env) msq.Deps {
	return e.o.Deps(ctx, e.meta, env)
}

// problem gives a fault of the engine as one that task statuses show.
func problem(err error) error {
	if errors.Is(err, task.ErrAgain) {
		return err
	}
	if f, ok := errors.AsType[*msq.Fault](err); ok {
		if f.Code == "UnknownError" { // the engine has no word for it, its message says all
			shown := *f.Structured()
			shown.Code = "general"
			return shown.WithCause(err)
		}
		return f.Structured().WithCause(err)
	}
	return err
}
