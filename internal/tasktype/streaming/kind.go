package streaming

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

// Types returns the types of tasks that read streams.
func Types() []string {
	out := make([]string, len(spec.StreamTypes))
	for i, kind := range spec.StreamTypes {
		out[i] = spec.StreamTaskType(kind)
	}
	return out
}

// Options are the dependencies of the tasks.
type Options struct {
	*tasktype.Env
	// Running registers the running tasks.
	Running *Running
	// Segments stores the rows that were not published yet.
	Segments Segments
	// Source opens a stream. Several tasks that read the same stream may share one.
	Source func(ctx context.Context, config stream.Config) (stream.Source, error)
	// Maker returns the Maker that converts records to rows.
	Maker func(o MakerOptions) (Maker, error)
	// Overlord handles checkpoints; nil: tasks have no supervisor and decide by themselves.
	Overlord chat.Overlord
}

// MakerOptions are the dependencies of the Maker of a task.
type MakerOptions struct {
	Schema *spec.DataSchema
	Tuning *spec.StreamTuning
	IO     *chat.TaskIO
	// OnBad is called with each record that is not a row, or only in part.
	OnBad func(b *intake.BadRow) error
	// Name names the owner of the rows.
	Name string
}

// Kind is the kind of task that reads a stream.
type Kind struct{ o Options }

// New returns the task kind, which is the same for all types of streams.
func New(o Options) *Kind {
	o.Files.AddLive(o.Running.liveReport)
	o.Files.AddDeadLetters(o.Running.deadLetters)
	return &Kind{o}
}

// DefaultPriority implements task.Prioritizer.
func (*Kind) DefaultPriority() int { return 75 }

// Apart implements task.Standing. Replicas run on different workers.
func (*Kind) Apart(t *task.Task) string { return sequenceOf(t) }

// Allocator implements task.Allocating. Replicas share the ids of segments.
func (*Kind) Allocator(t *task.Task) string { return sequenceOf(t) }

// Complete implements task.Completer.
func (*Kind) Complete(fields map[string]json.RawMessage) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("The task is not readable: %v", err)
	}
	s, err := spec.ParseStreamTask(text)
	if err != nil {
		return err
	}
	fields["dataSource"], err = json.Marshal(s.Schema.DataSource)
	return err
}

// Prepare implements task.Kind. Locks are taken with the first rows of a time chunk.
func (*Kind) Prepare(context.Context, *task.Task) (bool, error) { return true, nil }

// Release implements task.Kind.
func (k *Kind) Release(ctx context.Context, t *task.Task) error {
	return k.o.Metastore.ReleaseLocks(ctx, metastore.Fence{}, t.ID, nil)
}

// Run implements task.Kind.
func (k *Kind) Run(ctx context.Context, t *task.Task) error {
	j, err := parse(t)
	if err != nil {
		return err
	}
	r, err := newRun(ctx, &k.o, t, j)
	if err != nil {
		return err
	}
	k.o.Running.add(t.ID, r)
	defer k.o.Running.remove(t.ID, r)
	return k.end(ctx, r, r.run(ctx))
}

// end keeps the report and the dead letters of a task, unless it goes on elsewhere.
func (k *Kind) end(ctx context.Context, r *run, failure error) error {
	defer func() { _ = r.letters.discard() }() // what is left is removed at the next start
	if errors.Is(failure, errStopped) {
		failure = fault.Conflict("Task [%s] was stopped before its rows were published", r.task.ID).WithCause(failure)
	}
	if tasktype.Interrupted(ctx) || errors.Is(failure, task.ErrAgain) || errors.Is(failure, metastore.ErrDeposed) {
		return failure
	}
	last := context.WithoutCancel(ctx)
	r.stats.tell(r, r.clock.Now())
	kept, err := r.letters.keep(last, k.o.Files, r.task.ID)
	if err != nil { // rows are published all the same
		r.log.WarnContext(last, "failed to keep unreadable records", "error", err)
	}
	report, err := r.report(failure, kept)
	if err == nil {
		err = k.o.Files.PutReport(last, r.task.ID, bytes.NewReader(report))
	}
	return errors.Join(failure, err)
}

// Running are the tasks of this process that read streams. It is safe for use by many goroutines,
// and implements chat.Tasks.
type Running struct {
	mu   sync.Mutex
	runs map[string]*run
}

// NewRunning returns Running without tasks.
func NewRunning() *Running { return &Running{runs: map[string]*run{}} }

func (t *Running) add(id string, r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[id] = r
}

func (t *Running) remove(id string, r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs[id] == r {
		delete(t.runs, id)
	}
}

func (t *Running) find(id string) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[id]
}

// Find implements chat.Tasks.
func (t *Running) Find(id string) chat.Task {
	if r := t.find(id); r != nil {
		return r
	}
	return nil
}

// Report returns the report of a running task, or false if the task does not run here.
func (t *Running) Report(id string) (json.RawMessage, bool) {
	text := t.liveReport(id, false)
	return text, text != nil
}

func (t *Running) liveReport(id string, _ bool) []byte {
	if r := t.find(id); r != nil {
		return r.live()
	}
	return nil
}

func (t *Running) deadLetters(id string) (io.ReadCloser, error) {
	if r := t.find(id); r != nil {
		return r.letters.open()
	}
	return nil, nil
}

// RowStats returns the counters of a task in the form of reports.
func (*Running) RowStats(s chat.Stats) any { return rowStats(s) }
