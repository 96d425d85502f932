package batch

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
)

// load is a load on its way.
//
// Where the spec leaves columns or their types open they are learnt from all records first; the
// rows are read in a second pass, as Druid does, too. See quirk Q017.
type load struct {
	kind   string
	spec   *spec.Index
	text   json.RawMessage // of the spec
	table  *ingest.Table
	access *ingest.Access
	dir    string         // of temporary copies of the input
	disk   *budget.Budget // of them
	part   *part
	parts  *subtasks
	log    *slog.Logger
	clock  func() int64
	env    *exec.Env
	host   string // host:port of this process
	// far says that another process has the task, and this one only some of its workers.
	far bool

	// Plan says what is read of the records of a split, and what is made of it.
	*rowplan.Plan

	failed atomic.Int64 // records that were no rows, or not wholly, of all readers that count
}

// load runs a task.
func (k *Index) load(ctx context.Context, t *task.Task, x *spec.Index, text json.RawMessage, s *settings, p *part, parts *subtasks) error {
	session, err := k.session(ctx)
	if err != nil {
		return err
	}
	env, done := k.env(session, t)
	defer done()
	l := newLoad(k.o.Env, k.kind, x, text, env)
	l.part, l.parts, l.log = p, parts, tasktype.TaskLog(ctx)
	s.warn(l.log)
	threads := k.o.Threads
	if threads <= 0 {
		threads = budget.Cores()
	}
	splits, err := l.table.Splits(ctx, l.options(), learnBytes)
	if err != nil {
		return err
	}
	// Subtasks are those of tasks of type index_parallel that may have several.
	several := k.kind == ParallelType && x.Tuning.Workers > 1 && len(splits) > 1
	parts.expect(len(splits), several)
	// One worker has groups whole when it has read its rows, and in their order; so only what can be
	// divided has several.
	workers := max(1, min(max(threads, x.Tuning.Workers), maxWorkers, len(splits)))
	deps := k.deps(ctx, env)
	if several && k.o.Join != nil {
		deps.Join, deps.MaxPeers = k.o.Join, x.Tuning.Workers-1
	}
	if rowplan.Learns(x.Schema) {
		p.enter("DETERMINE_PARTITIONS")
		if err := k.learn(ctx, t, l, s, deps, splits, workers, threads); err != nil {
			return err
		}
	}
	p.enter("BUILD_SEGMENTS")
	write, target, order, err := l.plan(ctx)
	if err != nil {
		return err
	}
	lock := s.replaceLock()
	if x.Append {
		lock = s.appendLock()
	}
	options, err := k.options(t, s, lock, workers, x.Tuning.Given().Rows(), order)
	if err != nil {
		return err
	}
	if x.Append {
		target.Follows = true
		if target.Existing, err = k.existing(ctx, t.DataSource, write.PartitionBy); err != nil {
			return err
		}
	}
	began := l.clock()
	if !rowplan.Learns(x.Schema) && len(x.Schema.Granularity.Intervals) == 0 {
		defer p.onePass()
	}
	out, err := run(ctx, msq.Job{ID: t.ID, Plan: plan.Optimize(write, plan.Options{Context: *env.Expr}), Options: options, Target: target, Rows: l}, deps)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	published := len(out.Segments)
	if p.mu.published = &published; x.Tuning.AwaitMillis > 0 { // a job ends when what it wrote can be queried
		p.mu.available, p.mu.waited = true, max(0, l.clock()-began)
	}
	return nil
}

// options say how records are read to learn of them.
func (l *load) options() *ingest.Options {
	return &ingest.Options{Access: l.access, TempDir: l.dir, Disk: l.disk}
}

// learnBytes is the size of the parts in which large files are looked at for their columns, each on
// one core.
const learnBytes = 8 << 20

// maxWorkers bounds the workers of a load.
const maxWorkers = 100

// plan makes the plan of a load.
func (l *load) plan(ctx context.Context) (*plan.Write, *msq.Target, []string, error) {
	x := l.spec
	g, err := rowplan.IngestionOf(x.Schema)
	if err != nil {
		return nil, nil, nil, err
	}
	intervals, err := chunks(x)
	if err != nil {
		return nil, nil, nil, err
	}
	if within := x.Schema.Granularity.Intervals; len(within) > 0 {
		if g.Filter, err = inIntervals(g.Filter, x.Schema.Filter, within); err != nil {
			return nil, nil, nil, err
		}
	}
	dimensions, err := l.Choose()
	if err != nil {
		return nil, nil, nil, err
	}
	input, err := l.Input(ctx, g, dimensions)
	if err != nil {
		return nil, nil, nil, err
	}
	w := &plan.Write{DataSource: x.Schema.DataSource, Replace: !x.Append, Intervals: intervals, Rollup: g.Rollup}
	if w.PartitionBy, err = x.Chunks(); err != nil {
		return nil, nil, nil, err
	}
	target := &msq.Target{Touched: !x.Append && (!x.DropExisting || len(intervals) == 0), MaxLocks: x.Tuning.MaxLocks,
		QueryGranularity: x.Schema.Granularity.Query.String()}
	if target.TimestampSpec, err = json.Marshal(x.Schema.Time); err != nil {
		return nil, nil, nil, err
	}
	if w.Input, err = l.Stored(ctx, g, input); err != nil {
		return nil, nil, nil, err
	}
	describe(w, target, l.Plan, dimensions)
	if err := partitioned(x.Tuning.Given(), w, target); err != nil {
		return nil, nil, nil, err
	}
	return w, target, l.Order(g.Dimensions, dimensions), nil
}

// inIntervals adds to a filter that times are in intervals.
func inIntervals(f native.FilterOf, text json.RawMessage, intervals []chrono.Interval) (native.FilterOf, error) {
	both, err := json.Marshal(map[string]any{"type": "interval", "dimension": plan.TimeColumn, "intervals": intervals})
	if err == nil && f.Filter != nil {
		both, err = json.Marshal(map[string]any{"type": "and", "fields": []json.RawMessage{text, both}})
	}
	if err != nil {
		return f, err
	}
	return rowplan.FilterOf(both)
}

// describe tells the job what the columns of its plan are.
func describe(w *plan.Write, target *msq.Target, p *rowplan.Plan, dimensions []spec.Dimension) {
	columns, folding := p.Describe(w.Input, dimensions)
	for _, c := range columns {
		target.Metrics, target.Auto = append(target.Metrics, c.Metric), append(target.Auto, c.Auto)
		target.MultiValue, target.NoIndex = append(target.MultiValue, c.MultiValue), append(target.NoIndex, c.NoIndex)
	}
	w.Rollup = w.Rollup && folding // groups are whole already; what can't be combined further isn't
}
