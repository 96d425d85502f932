package batch

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
)

// The types of tasks that load data. They differ in the specs that they show.
const (
	ParallelType = "index_parallel"
	SimpleType   = "index"
)

// Index is the kind of task that loads external data.
type Index struct {
	*engine
	kind string
}

// NewIndex returns the task kinds of both types.
func NewIndex(o Options) (parallel, simple *Index) {
	e := newEngine(o)
	return &Index{e, ParallelType}, &Index{e, SimpleType}
}

// DefaultPriority implements task.Prioritizer.
func (*Index) DefaultPriority() int { return 50 }

// Complete implements task.Completer.
func (k *Index) Complete(fields map[string]json.RawMessage) error {
	x, err := spec.ParseIndex(k.kind, fields["spec"])
	if err != nil {
		return err
	}
	if _, err := rowplan.IngestionOf(x.Schema); err != nil {
		return err
	}
	if fields["spec"], err = x.Fill(); err != nil {
		return err
	}
	fields["dataSource"], err = json.Marshal(x.Schema.DataSource)
	return err
}

// parse reads the spec of a task, its context, and the texts of both.
func (k *Index) parse(t *task.Task) (x *spec.Index, text json.RawMessage, s *settings, shown json.RawMessage, err error) {
	var fields struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(t.Payload, &fields); err != nil {
		return nil, nil, nil, nil, fault.InvalidInput("Task [%s] is not readable: %v", t.ID, err)
	}
	if x, err = spec.ParseIndex(k.kind, fields.Spec); err != nil {
		return nil, nil, nil, nil, err
	}
	read, shown, err := contextOf(t)
	return x, fields.Spec, &read, shown, err
}

// Prepare implements task.Kind. If the intervals are given, it takes the locks on them, so that
// other tasks on these intervals wait before they start.
func (k *Index) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	x, _, s, _, err := k.parse(t)
	if err != nil {
		return false, err
	}
	if x.Append {
		return true, nil
	}
	intervals, err := chunks(x)
	if err != nil {
		return false, err
	}
	for _, iv := range intervals {
		if granted, err := k.lock(ctx, t, metastore.LockRequest{Request: tasklock.Request{Interval: iv, Type: s.replaceLock()}}); !granted || err != nil {
			return false, err
		}
	}
	return true, nil
}

// chunks returns the intervals of a load as whole time chunks.
func chunks(x *spec.Index) ([]chrono.Interval, error) {
	g, err := x.Chunks()
	if err != nil {
		return nil, err
	}
	var out []chrono.Interval
	for _, iv := range x.Schema.Granularity.Intervals {
		out = append(out, aligned(iv, &g))
	}
	return chrono.Condense(out), nil
}

// Run implements task.Kind.
func (k *Index) Run(ctx context.Context, t *task.Task) error {
	x, text, s, shown, err := k.parse(t)
	if err != nil {
		return err
	}
	r := newReport(t, shown, k.o.Clock)
	r.subtasks = newSubtasks(r, k.o.Host)
	p := r.add()
	p.saves = x.Tuning.SavedParseErrors > 0
	k.begin(t.ID, r)
	err = k.load(ctx, t, x, text, s, p, r.subtasks)
	return k.end(ctx, t.ID, r, problem(err))
}
