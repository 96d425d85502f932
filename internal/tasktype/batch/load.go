package batch

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
)

// load is a load on its way.
//
// Where the spec leaves columns or their types open they are learnt from all records first; the rows are read in a second pass, as the reference
// does, too.
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

	columns *spec.Columns
	fields  []field
	// numbers and singles are native.Ingestion.Numbers and Singles of the fields.
	numbers map[string]map[expr.Base]string
	singles map[string]expr.Type
	// rows computes what is read of the records of a split; nil: the fields are it. calls are the metrics of single rows over its columns.
	rows  plan.Node
	leaf  *plan.External // of rows
	calls []plan.AggCall
	// kept is how many columns of rows go into segments as they are.
	kept int
	out  []plan.Column // of the rows of a split

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
	// One worker has groups whole when it has read its rows, and in their order; so only what can be divided has several.
	workers := max(1, min(max(threads, x.Tuning.Workers), maxWorkers, len(splits)))
	deps := k.deps(ctx, env)
	if several && k.o.Join != nil {
		deps.Join, deps.Helpers = k.o.Join, x.Tuning.Workers-1
	}
	if learns(x.Schema) {
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
	if !learns(x.Schema) && len(x.Schema.Granularity.Intervals) == 0 {
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

// learnBytes is the size of the parts in which large files are looked at for their columns, each on one core.
const learnBytes = 8 << 20

// maxWorkers bounds the workers of a load.
const maxWorkers = 100

// plan makes the plan of a load.
func (l *load) plan(ctx context.Context) (*plan.Write, *msq.Target, []string, error) {
	x := l.spec
	g, err := ingestionOf(x.Schema)
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
	dimensions, err := l.chooseFields()
	if err != nil {
		return nil, nil, nil, err
	}
	input, err := l.input(ctx, g, dimensions)
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
	if w.Input, err = l.stored(ctx, g, input); err != nil {
		return nil, nil, nil, err
	}
	l.describe(w, target, dimensions)
	if err := partitioned(x.Tuning.Given(), w, target); err != nil {
		return nil, nil, nil, err
	}
	return w, target, l.order(g.Dimensions, dimensions), nil
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
	return filterOf(both)
}

// input decides what a split is read as: the fields of its records, or what transforms and filters make of them.
func (l *load) input(ctx context.Context, g *native.Ingestion, dimensions []spec.Dimension) (*plan.External, error) {
	out := []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}}
	for _, f := range l.fields {
		out = append(out, plan.Column{Name: f.column, Type: f.typ})
	}
	l.leaf = &plan.External{Source: l.spec.SourceText, Format: l.spec.FormatText, Out: out}
	columns := out
	if len(g.Transforms) > 0 || g.Filter.Filter != nil {
		rows, err := (&native.Ingestion{Transforms: g.Transforms, Filter: g.Filter, Numbers: l.numbers, Singles: l.singles}).Rows(ctx, l.leaf)
		if err != nil {
			return nil, err
		}
		l.rows, columns = rows, rows.Columns()
	}
	for _, d := range dimensions {
		if d.Name != plan.TimeColumn {
			g.Dimensions = append(g.Dimensions, plan.Column{Name: d.Name, Type: l.typeOf(d, columns)})
		}
	}
	g.Transforms, g.Filter, g.Numbers, g.Singles = nil, native.FilterOf{}, l.numbers, maps.Clone(l.singles)
	maps.DeleteFunc(g.Singles, func(name string, _ expr.Type) bool { return l.spec.Schema.Made()[name] })
	if g.Rollup || len(g.Metrics) == 0 {
		return l.external(columns), nil
	}
	rows := l.rows
	if rows == nil {
		rows = l.leaf
	}
	single, calls, err := g.Single(ctx, rows)
	if err != nil {
		return nil, err
	}
	l.rows, l.calls, l.kept = single, calls, 1+len(g.Dimensions)
	columns = slices.Clone(single.Columns()[:1+len(g.Dimensions)])
	for _, c := range calls {
		columns = append(columns, plan.Column{Name: c.Name, Type: c.Type})
	}
	return l.external(columns), nil
}

// external is the leaf of the job's plan.
func (l *load) external(columns []plan.Column) *plan.External {
	l.out = columns
	return &plan.External{Source: l.leaf.Source, Format: l.leaf.Format, Out: columns}
}

// stored makes the plan of the rows that segments hold.
func (l *load) stored(ctx context.Context, g *native.Ingestion, input *plan.External) (plan.Node, error) {
	if l.calls != nil {
		p := &plan.Project{Input: input}
		for i, c := range input.Out {
			p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
		}
		return p, nil
	}
	return g.Translate(ctx, input)
}

// describe tells the job what the columns of its plan are.
func (l *load) describe(w *plan.Write, target *msq.Target, dimensions []spec.Dimension) {
	calls := l.calls
	if a, ok := w.Input.(*plan.Aggregate); ok {
		calls = a.Aggs
	}
	folding := true
	for _, c := range w.Input.Columns() {
		metric := ""
		if i := slices.IndexFunc(calls, func(a plan.AggCall) bool { return a.Name == c.Name }); i >= 0 {
			metric = calls[i].Agg.Metric()
			folding = folding && folds(column{name: c.Name, typ: c.Type, metric: metric})
		}
		target.Metrics = append(target.Metrics, metric)
		handling, index, auto := msq.SortedArray, true, false
		if i := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == c.Name }); i >= 0 {
			handling, index = handlingOf(dimensions[i]), dimensions[i].Bitmap
			auto = dimensions[i].Type == "auto" && dimensions[i].CastTo == ""
		}
		target.Auto = append(target.Auto, auto)
		target.MultiValue, target.NoIndex = append(target.MultiValue, handling), append(target.NoIndex, !index)
	}
	w.Rollup = w.Rollup && folding // groups are whole already; what can't be combined further isn't
}

// order returns the columns that rows are sorted by.
func (l *load) order(columns []plan.Column, dimensions []spec.Dimension) []string {
	order := sortedBy(columns)
	if l.spec.Schema.Dimensions.SortByTime {
		return order
	}
	order = order[1:]
	at := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == plan.TimeColumn })
	if at < 0 {
		return append([]string{plan.TimeColumn}, order...)
	}
	before := 0
	for _, d := range dimensions[:at] {
		if slices.Contains(order, d.Name) {
			before++
		}
	}
	return slices.Insert(order, before, plan.TimeColumn)
}
