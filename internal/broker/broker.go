package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/explain"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Segments makes segments readable.
type Segments interface {
	// Acquire returns a segment that the caller releases. It loads the segment if necessary.
	Acquire(ctx context.Context, s *timeline.Segment) (segment.Reader, error)
}

// Options are the settings of a Broker.
type Options struct {
	// Threads is the number of goroutines of a scan; 0: one per core.
	Threads int
	// BatchRows is the size of batches; 0: the default.
	BatchRows int
	Memory    *budget.Budget
	Spill     *budget.SpillDir
	// MemoryWait is the maximum time for which a query that may need much memory waits for it.
	MemoryWait time.Duration
	// Defaults are the default context parameters of queries.
	Defaults map[string]any
	Zone     *chrono.Zone
	// RequireTime rejects queries that read a datasource without a condition on its time
	// (plan.CheckTimeBounds).
	RequireTime bool
	// Lookups are the lookups for statements; nil: there are none.
	Lookups *lookup.Set
	// Servers and Dispatcher distribute queries over the servers of a cluster; nil: this process reads
	// all segments.
	Servers    Servers
	Dispatcher *dispatch.Dispatcher
	// Live lists the live segments, LiveSegments supplies those of this process; nil: there are none.
	Live         Live
	LiveSegments LiveSegments
	// Fresh, if not nil, returns when the published timeline contains everything that a query that
	// starts now must see.
	Fresh func(ctx context.Context) error
	// VisibleDataSources, if not nil, are the only datasources that queries see.
	VisibleDataSources []string
	// Clones returns the servers that are clones, by name; nil: there are none.
	Clones func() map[string]string
	// Cache caches results; Segments caches the results of single local segments, Remote those of
	// segments that other servers read.
	Cache            CacheOptions
	Segments, Remote exec.SegmentCache
	// Local are the tables of a local run, which does not have datasources; nil otherwise.
	Local LocalTables
	// Files opens segments by their names.
	Files query.Files
	// Uploads are uploaded files; nil: not supported.
	Uploads ingest.Uploads
	// BroadcastRowLimit is plan.Options.BroadcastRowLimit; 0: broadcastRowLimit where there are
	// Servers.
	BroadcastRowLimit float64
	// SemiJoinMinRows is plan.Options.SemiJoinMinRows.
	SemiJoinMinRows float64
	// Meter, if not nil, records the times of segments.
	Meter *obs.Meter
	Clock clock.Clock
	Log   *slog.Logger
}

// Broker runs statements over the published timeline.
type Broker struct {
	published    *timeline.Published
	segments     Segments
	system       map[string]SystemTable
	externals    exec.Externals
	schemas      schemaCache
	scheduler    *scheduler.Scheduler
	globalDicts  *keys.GlobalDicts
	observations *agg.Observations
	results      *results
	watched      atomic.Pointer[watched]
	admission    *budget.Admission
	parts        progress.Parts // of queries of other processes
	o            Options
}

// watched is one state with what queries see of it.
type watched struct{ of, seen *timeline.State }

// Seen returns the part of the published timeline that new queries see.
func (b *Broker) Seen() *timeline.State {
	state := b.published.Pin()
	if b.o.VisibleDataSources == nil {
		return state
	}
	w := b.watched.Load()
	if w == nil || w.of != state {
		w = &watched{state, state.Only(b.o.VisibleDataSources)}
		b.watched.Store(w)
	}
	return w.seen
}

// broadcastRowLimit is the number of rows from which the right side of a join is not broadcast:
// about the rows of the bytes that are.
const broadcastRowLimit = 200_000

// New returns a Broker over published, which its owner advances. system are the tables of the
// schema sys, by name.
func New(published *timeline.Published, segments Segments, system map[string]SystemTable, externals exec.Externals, o Options) *Broker {
	threads := o.Threads
	if threads <= 0 {
		threads = budget.Cores()
	}
	if o.BroadcastRowLimit == 0 && o.Servers != nil {
		o.BroadcastRowLimit = broadcastRowLimit
	}
	return &Broker{
		published: published, segments: segments, system: system, externals: externals, scheduler: scheduler.New(threads, o.Clock),
		globalDicts: keys.NewGlobalDicts(o.Memory), observations: agg.NewObservations(o.Memory), results: &results{o: o.Cache},
		admission: budget.NewAdmission(o.Memory, o.MemoryWait, o.Clock), o: o,
	}
}

// Prepared is a statement bound against one state of the timeline.
type Prepared struct {
	*sql.Statement
	State *timeline.State
	// Lookups are the lookups at the time of preparation.
	Lookups *lookup.View
	// Dialect is the product name of the request.
	Dialect string
	// access is what the user of the statement may do; nil: it is one of the process itself.
	access *auth.Access
	// explained is whose access EXPLAIN ACCESS tells; nil: the statement is another one.
	explained *auth.Access
	// query is the registered query that the statement belongs to; nil: that of a task.
	query *query.Query
	// live are the live segments that were pinned with State, and reading says which rows are wanted.
	live    *cluster.LiveView
	reading reading
	// fixed says that nothing else is pinned when live rows have moved: the query fails.
	fixed bool
	// began is when preparing began.
	began time.Time
	// share is the part of the cores that it was prepared with, which Env takes over; nil: it gets a
	// new one. Planner is what it is planned with; nil: it is long, and planned beside the others.
	share, planner *scheduler.Share
}

// longStatement is the length in bytes from which a statement may take longer to plan than a turn
// on a core: planning can't give way to others.
const longStatement = 8 << 10

// Prepare parses and binds a request against the newest state.
func (b *Broker) Prepare(ctx context.Context, req *query.Request, engine sql.Engine) (*Prepared, error) {
	began, lookups := b.o.Clock.Now(), b.o.Lookups.View()
	pinned, err := b.pinOf(ctx, req)
	if err != nil {
		return nil, err
	}
	context := map[string]any{}
	maps.Copy(context, b.o.Defaults)
	maps.Copy(context, req.Context) // a null takes a default back
	params, err := decodeParams(req.Parameters)
	if err != nil {
		return nil, err
	}
	script := req.Script
	req.Script = nil
	about := explained{by: req.Access}
	s, err := sql.Prepare(ctx, sql.Request{
		Text: req.SQL, Script: script, Params: params, Context: context, Catalog: b.catalog(pinned, lookups).named(),
		Now: clock.Millis(b.o.Clock), Zone: b.o.Zone, Engine: engine, Dialect: req.Dialect, Lookups: mappings(lookups),
		Reader: readerOf(req), ReaderFor: about.readerFor(),
	})
	if err != nil {
		return nil, err
	}
	if err := b.permit(ctx, req, s); err != nil {
		return nil, err
	}
	if err := b.keepsHidden(ctx, req, s); err != nil {
		return nil, err
	}
	if s.AccessOf != "" && engine != sql.Native {
		return nil, fault.Unsupported("EXPLAIN ACCESS is not supported in tasks and asynchronous statements")
	}
	p := &Prepared{
		Statement: s, State: pinned.state, live: pinned.live, Lookups: lookups, Dialect: req.Dialect, access: req.Access, explained: about.of,
		began: began,
	}
	if p.reading, err = readingOf(s.Context); err != nil {
		return nil, err
	}
	if engine != sql.Native {
		if p.reading, err = readingOfTask(s.Context); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Describe returns the columns and parameters of a statement, without running it. Its parameters
// have no values.
func (b *Broker) Describe(ctx context.Context, req *query.Request) (*query.Description, error) {
	lookups := b.o.Lookups.View()
	pinned, err := b.pinOf(ctx, req)
	if err != nil {
		return nil, err
	}
	context := map[string]any{}
	maps.Copy(context, b.o.Defaults)
	maps.Copy(context, req.Context)
	s, err := sql.Prepare(ctx, sql.Request{
		Text: req.SQL, Context: context, Catalog: b.catalog(pinned, lookups).named(), Now: clock.Millis(b.o.Clock), Zone: b.o.Zone,
		Engine: sql.Native, Dialect: req.Dialect, Lookups: mappings(lookups), Describe: true, Reader: sql.ReaderOf(req.Access),
		ReaderFor: (&explained{by: req.Access}).readerFor(),
	})
	if err != nil {
		return nil, err
	}
	if err := b.permit(ctx, req, s); err != nil {
		return nil, err
	}
	out := &query.Description{Parameters: s.Params}
	columns := s.Columns
	switch {
	case s.AccessOf != "":
		columns = accessColumns
	case s.Explain:
		columns = explain.Columns
	}
	for _, c := range columns {
		out.Columns = append(out.Columns, result.Column{Name: c.Name, Type: c.Type})
	}
	return out, nil
}

func (b *Broker) catalog(p pin, lookups *lookup.View) catalog {
	return catalog{p, &b.schemas, lookups, b.o.Local}
}

// mappings gives expressions the tables of lookups.
func mappings(lookups *lookup.View) expr.Lookups {
	return func(name string) (expr.Mapping, error) {
		t, err := lookups.Table(name)
		if err != nil { // not a Mapping that holds no table
			return nil, err
		}
		return t, nil
	}
}

func decodeParams(in []query.Parameter) ([]sql.Param, error) {
	out := make([]sql.Param, len(in))
	for i, p := range in {
		if p.Unbound {
			return nil, fault.InvalidSQL(fault.Span{}, "No value bound for parameter (position [%d])", i+1)
		}
		var v any
		if len(p.Value) > 0 {
			dec := json.NewDecoder(bytes.NewReader(p.Value))
			dec.UseNumber()
			if err := dec.Decode(&v); err != nil {
				return nil, fault.Malformed("Value of parameter [%d] is not JSON: %v", i+1, err)
			}
		}
		out[i] = sql.Param{Type: p.Type, Value: v}
	}
	return out, nil
}

// Optimize returns the plan to run. When ctx is done, it stops optimizing, because the query ends
// before the plan is run.
func (b *Broker) Optimize(ctx context.Context, p *Prepared) plan.Node {
	return b.OptimizeWithout(ctx, p, nil)
}

// OptimizeWithout is Optimize without some rules, by name. If subqueries have limits, which apply
// to the right sides of joins in the statement, it neither swaps sides nor adds semi-joins.
func (b *Broker) OptimizeWithout(ctx context.Context, p *Prepared, off []string) plan.Node {
	if p.MaxSubqueryRows > 0 || p.MaxSubqueryBytes > 0 {
		off = append(slices.Clone(off), "build_side", "semi_join_reduction")
	}
	return plan.Optimize(p.Plan, plan.Options{
		Off: off, Context: p.Statement.Env().WithStop(ctx), Rows: b.catalog(pin{p.State, p.live}, p.Lookups).scanRows,
		BroadcastRowLimit: b.o.BroadcastRowLimit,
		SemiJoinMinRows:   b.o.SemiJoinMinRows,
	})
}

// Env returns the resources for the operators of a statement: a part of the memory and a share of
// the cores. done releases them.
func (b *Broker) Env(p *Prepared, name string) (env *exec.Env, done func()) {
	if p.share == nil {
		p.share = b.scheduler.Join()
	}
	env, done = b.env(p.Statement.Env(), name, p.share)
	p.share = nil
	t := b.tablesOf(p)
	t.named = b.o.Segments.Use || b.o.Segments.Populate || b.o.Meter.Events()
	env.Tables = t
	env.MaxSubqueryRows, env.MaxSubqueryBytes = p.MaxSubqueryRows, p.MaxSubqueryBytes
	env.System, env.Externals = &systemRows{b, pin{p.State, p.live}, p.Lookups, p.Dialect, p.access}, b.externals
	return env, done
}

func (b *Broker) env(context expr.Context, name string, share *scheduler.Share) (env *exec.Env, done func()) {
	env = &exec.Env{
		Expr: &context, Budget: b.o.Memory.Query(name, b.o.Memory.Limit()/memoryShare), Spill: b.o.Spill,
		Threads: b.o.Threads, Share: share, GlobalDicts: b.globalDicts, Observations: b.observations, BatchRows: b.o.BatchRows,
	}
	if b.o.Meter != nil {
		env.GroupSpill = &atomic.Int64{}
	}
	return env, func() {
		env.Share.Leave()
		env.Budget.Close()
		if env.GroupSpill == nil || env.GroupSpill.Load() == 0 {
			return
		}
		b.o.Meter.Count(obs.Occurrence{Service: "broker", Metric: "groupBy/spilledQueries"}, 1)
		b.o.Meter.Count(obs.Occurrence{Service: "broker", Metric: "groupBy/spilledBytes"}, float64(env.GroupSpill.Load()))
	}
}

// memoryShare is the part of the process's memory that one statement may take: a second one must
// find some, or spill early.
const memoryShare = 2

// Load returns the number of goroutines that compute for queries, and of those that wait for their
// turn.
func (b *Broker) Load() (active, pending int) { return b.scheduler.Load() }

// ResultHits returns the number of queries that were answered from the result cache.
func (b *Broker) ResultHits() int64 { return b.results.hits.Load() }

// Start implements query.Engine. Parsing and planning also use the share of the statement: of many
// concurrent statements, the first are completed first.
func (b *Broker) Start(ctx context.Context, q *query.Query, req *query.Request) (query.Rows, error) {
	share := b.scheduler.Join()
	planner := share
	if len(req.SQL) >= longStatement {
		planner = nil
	}
	obs.SpanOf(ctx).Text("henge.query.id", req.ID)
	obs.SpanOf(ctx).Statement(req.SQL)
	var p *Prepared
	planning, span := obs.BeginSpan(ctx, "plan", obs.InternalSpan)
	err := exec.Compute(planning, planner, func(ctx context.Context) (err error) {
		p, err = b.Prepare(ctx, req, sql.Native)
		return err
	})
	span.Fail(err)
	span.End()
	if err != nil {
		share.Leave()
		return nil, err
	}
	p.share, p.planner, p.query = share, planner, q
	defer func() {
		if p.share != nil { // nothing has to be computed
			p.share.Leave()
		}
	}()
	if err := q.Describe(ctx, query.SQLKind, p.dataSources(), func() []string { return p.nativeTypes(ctx) }); err != nil {
		return nil, err
	}
	return b.Rows(ctx, p, req.ID)
}

// dataSources are those that the statement reads.
func (p *Prepared) dataSources() []string {
	var out []string
	for _, r := range p.Resources {
		if r.Type == "DATASOURCE" {
			out = append(out, r.Name)
		}
	}
	return out
}

// nativeTypes are the types of the native queries that the statement would be.
func (p *Prepared) nativeTypes(ctx context.Context) []string {
	types, err := explain.NativeTypes(ctx, p.Statement)
	if err != nil {
		return nil // no native query reads what the statement reads
	}
	return types
}

// Rows starts a prepared SELECT or EXPLAIN.
func (b *Broker) Rows(ctx context.Context, p *Prepared, id string) (query.Rows, error) {
	r := &rows{zone: p.Zone, stringify: true, responseContext: "{}"}
	if r.zone == nil {
		r.zone = chrono.UTC
	}
	stringify, err := querycontext.StringifyArrays.Read(p.Context)
	if err != nil {
		return nil, err
	}
	r.stringify = stringify
	if p.AccessOf != "" {
		return b.explainAccess(ctx, p, r)
	}
	if p.Explain {
		return b.explain(p, id, r)
	}
	if p.Analyze {
		return b.analyze(ctx, p, id, r)
	}
	for _, c := range p.Columns {
		r.columns = append(r.columns, result.Column{Name: c.Name, Type: c.Type})
	}
	var node plan.Node
	if err := exec.Compute(ctx, p.planner, func(context.Context) error { node = b.Optimize(ctx, p); return nil }); err != nil {
		return nil, err
	}
	if !p.began.IsZero() { // the plan of a native query was not made here
		b.o.Meter.Time(b.measured("sqlQuery/planningTimeMs", id), b.o.Clock.Now().Sub(p.began))
	}
	if b.o.RequireTime {
		if err := plan.CheckTimeBounds(node); err != nil {
			return nil, err
		}
	}
	if r.responseContext, err = b.uncovered(p, node); err != nil {
		return nil, err
	}
	wanted, err := b.results.ask(ctx, p, node)
	if err != nil {
		return nil, err
	}
	if r.op = b.results.get(wanted); r.op != nil {
		return p.query.Counted(r, func() int64 { return 0 }), nil
	}
	caching, err := b.cacheOptionsOf(p)
	if err != nil {
		return nil, err
	}
	if err := p.query.Weigh(func() query.Footprint { return b.footprint(p, node) }); err != nil {
		return nil, err
	}
	if err := p.query.Reads(func() int64 { return b.bytesOf(p, node) }); err != nil {
		return nil, err
	}
	leave, err := b.admit(ctx, p, node, id)
	if err != nil {
		return nil, err
	}
	ctx, r.span = obs.BeginSpan(ctx, "run", obs.InternalSpan)
	env, done := b.Env(p, "query "+id)
	env.Note = r.warnings.add
	env.Progress = p.query.Progress()
	env.Share.Prefer(p.query.Priority())
	env.Share.Bound(p.query.CPU())
	env.Segments, env.Times = b.SegmentCache(caching.use, caching.populate), b.SegmentTimes(id)
	count := func(n int) { b.o.Meter.Note(b.measured("query/segments/count", id), float64(n)) }
	env.Tables.(*tables).count = count
	if r.span != nil {
		r.span.Text("henge.query.id", id)
		env.Tables.(*tables).named, env.Times = true, env.Times.In(r.span, b.o.Clock)
	}
	if s := b.clusterScan(p, id, env, caching); s != nil {
		s.count = count
		env.Cluster = s
	}
	b.anew(p, env)
	r.done = func() {
		b.o.Meter.Micros(b.measured("query/cpu/time", id), env.Share.Computed())
		done()
		leave()
	}
	err = exec.Protect(func() (err error) {
		r.op, err = exec.Build(ctx, node, env)
		return err
	})
	if err != nil {
		r.done()
		r.span.Fail(err)
		r.span.End()
		return nil, err
	}
	r.op = b.results.record(wanted, r.op)
	return p.query.Counted(r, env.Budget.Peak), nil
}

// measured is what a metric of a query is told as.
func (b *Broker) measured(metric, id string) obs.Occurrence {
	return obs.Occurrence{Service: "broker", Metric: metric, More: []string{"id", id}}
}

// rows are the rows of a running statement.
type rows struct {
	columns         []result.Column
	zone            *chrono.Zone
	stringify       bool
	responseContext string
	warnings        warnings
	op              exec.Operator
	done            func()    // gives memory and cores back; nil: nothing was taken
	span            *obs.Span // nil: nothing is recorded
}

func (r *rows) Columns() []result.Column { return r.columns }
func (r *rows) Zone() *chrono.Zone       { return r.zone }
func (r *rows) StringifyArrays() bool    { return r.stringify }

// ResponseContext returns the response context as far as it is known: warnings come while rows are
// read.
func (r *rows) ResponseContext() string { return r.warnings.join(r.responseContext) }

func (r *rows) Next(ctx context.Context) (b *vector.Batch, err error) {
	ctx = r.span.Into(ctx)
	if panicked := exec.Protect(func() error {
		b, err = r.op.Next(ctx)
		return nil
	}); panicked != nil {
		err, b = panicked, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.span.Fail(err)
	}
	return b, err
}

func (r *rows) Close() {
	r.op.Close()
	if r.done != nil {
		r.done()
	}
	r.span.End()
}

// oneBatch yields one batch.
type oneBatch struct{ b *vector.Batch }

// Next returns the batch, then io.EOF.
func (o *oneBatch) Next(context.Context) (*vector.Batch, error) {
	b := o.b
	if o.b = nil; b == nil {
		return nil, io.EOF
	}
	return b, nil
}

// Close does nothing.
func (o *oneBatch) Close() {}

// tables hands out the segments of one state.
type tables struct {
	segments Segments
	own      LiveSegments
	// pinned is what was pinned, state what is read of it: all or nothing.
	pinned, state *timeline.State
	live          *cluster.LiveView
	// only are the segments that a query names, by datasource.
	only map[string][]native.Descriptor
	// held, if not nil, are the segments of this process that alone count; alone says that there is
	// no other process.
	held  *own
	alone bool
	// named says that leaves have ids, which take time to make.
	named bool
	// count is told how many segments each scan reads; nil: nobody wants to know.
	count func(segments int)
}

// Leaves implements exec.Tables.
func (t *tables) Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, error) {
	var segments []*timeline.Segment
	var leaves []exec.Leaf
	var all bounds
	for visible, s := range t.wanted(scan) {
		if all.take(scan, s, visible) {
			continue
		}
		leaf := exec.Leaf{Visible: visible, Reader: knownRows(scan, s, visible)}
		if t.named {
			leaf.ID = s.ID.String()
		}
		segments, leaves = append(segments, s), append(leaves, leaf)
	}
	growing := t.growing(scan)
	t.counted(all.segments + len(segments) + len(growing))
	segments, leaves = all.put(segments, leaves)
	leaves, err := t.acquireLive(ctx, growing, leaves)
	if err != nil {
		return nil, err
	}
	return leaves, t.acquire(ctx, scan, columns, segments, leaves)
}

func (t *tables) counted(segments int) {
	if t.count != nil {
		t.count(segments)
	}
}

// visible yields the segments of a scan that hold rows, each with the part of time in which they
// count.
func (t *tables) visible(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	intervals, whole := intervalsOf(scan), t.readsWhole()
	return func(yield func(chrono.Interval, *timeline.Segment) bool) {
		for _, holder := range t.state.Timeline(scan.DataSource).Lookup(intervals...) {
			for _, s := range holder.Segments() {
				if s.IsTombstone() {
					continue
				}
				if whole {
					if !yield(holder.Interval, s) {
						return
					}
					continue
				}
				for _, part := range t.parts(s.ID, holder.Interval) {
					if !yield(part, s) {
						return
					}
				}
			}
		}
	}
}

// Visible yields the segments of a scan that may contain matching rows, in the state that p pins,
// each with its visible interval.
func (b *Broker) Visible(p *Prepared, scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	return b.tablesOf(p).wanted(scan)
}

// wanted yields the visible segments of a scan that its filter may keep rows of, as far as shard
// specs tell.
func (t *tables) wanted(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	domain := exec.DomainOf(scan)
	return func(yield func(chrono.Interval, *timeline.Segment) bool) {
		for visible, s := range t.visible(scan) {
			if s.MayHave(domain) && !yield(visible, s) {
				return
			}
		}
	}
}

// Reads yields the segments of a datasource that a plan of p reads, once for each scan.
func (b *Broker) Reads(p *Prepared, node plan.Node, dataSource string) iter.Seq[timeline.SegmentID] {
	t := b.tablesOf(p)
	return func(yield func(timeline.SegmentID) bool) {
		plan.Walk(node, func(n plan.Node) bool {
			more := true
			if scan, ok := n.(*plan.Scan); ok && scan.DataSource == dataSource {
				for _, s := range t.visible(scan) {
					if more = yield(s.ID); !more {
						break
					}
				}
			}
			return more
		})
	}
}

// footprint is what a plan of p reads.
func (b *Broker) footprint(p *Prepared, node plan.Node) (f query.Footprint) {
	t := b.tablesOf(p)
	plan.Walk(node, func(n plan.Node) bool {
		if scan, ok := n.(*plan.Scan); ok {
			f.Intervals = append(f.Intervals, intervalsOf(scan)...)
			for _, s := range t.visible(scan) {
				f.Segments = append(f.Segments, s.ID.Interval)
			}
			for _, s := range t.growing(scan) {
				f.Segments = append(f.Segments, s.Of.ID.Interval)
			}
		}
		return true
	})
	return f
}

// bytesOf returns the bytes of the segments that a plan reads, those of live ones left out: they
// are in memory.
func (b *Broker) bytesOf(p *Prepared, node plan.Node) (bytes int64) {
	t := b.tablesOf(p)
	plan.Walk(node, func(n plan.Node) bool {
		if scan, ok := n.(*plan.Scan); ok {
			for _, s := range t.wanted(scan) {
				bytes += s.Size
			}
		}
		return true
	})
	return bytes
}

// intervalsOf are those that a scan asks for.
func intervalsOf(scan *plan.Scan) []chrono.Interval {
	if scan.Intervals == nil {
		return []chrono.Interval{chrono.Eternity}
	}
	return scan.Intervals
}

// acquire sets the reader of every leaf of a scan that has none: those of segments, in their order.
// When it fails none is left acquired.
func (t *tables) acquire(ctx context.Context, scan *plan.Scan, columns []string, segments []*timeline.Segment, leaves []exec.Leaf) error {
	return exec.AcquireLeaves(ctx, scan, columns, leaves, func(ctx context.Context, i int) (segment.Reader, error) {
		return t.segments.Acquire(ctx, segments[i])
	})
}
