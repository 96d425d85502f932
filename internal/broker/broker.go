package broker

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/lookup"
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
	// Acquire returns a segment that the caller releases. It loads what is not loaded yet.
	Acquire(ctx context.Context, s *timeline.Segment) (segment.Reader, error)
}

// Options are the settings of a Broker.
type Options struct {
	// Threads is how many goroutines a scan uses; 0: one per core.
	Threads int
	// BatchRows is the size of batches; 0: the default.
	BatchRows int
	Memory    *budget.Budget
	Spill     *budget.SpillDir
	// MemoryWait is how long a query that may need much memory waits until there is some.
	MemoryWait time.Duration
	// Defaults are the context parameters of queries that don't set them.
	Defaults map[string]any
	Zone     *chrono.Zone
	// RequireTime refuses queries that read a datasource without a condition on its time
	// (plan.CheckTimeBounds).
	RequireTime bool
	// Lookups are those that statements may use; nil: there are none.
	Lookups *lookup.Set
	// Servers and Dispatcher spread queries over the servers of a cluster; nil: this process reads all
	// segments.
	Servers    Servers
	Dispatcher *dispatch.Dispatcher
	// Live knows the live segments, LiveSegments those of them that this process has; nil: there are
	// none.
	Live         Live
	LiveSegments LiveSegments
	// Watched, if not nil, are the datasources that queries see.
	Watched []string
	// Clones returns the servers that are clones, by name; nil: there are none.
	Clones func() map[string]string
	// Cache is that of results; Segments that of single segments which this process reads, Far of
	// those that other servers read for it.
	Cache         CacheOptions
	Segments, Far exec.SegmentCache
	// Files opens segments by their names.
	Files query.Files
	// LargeSide is plan.Options.LargeSide; 0: sentRows where there are Servers.
	LargeSide float64
	// ReducedScan is plan.Options.ReducedScan.
	ReducedScan float64
	// Meter is told the times of segments; nil: nobody wants to know.
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
	scheduler    *exec.Scheduler
	lexicons     *exec.Lexicons
	observations *agg.Observations
	results      *results
	watched      atomic.Pointer[watched]
	admission    *budget.Admission
	o            Options
}

// watched is one state with what queries see of it.
type watched struct{ of, seen *timeline.State }

// Seen returns what queries that begin now see of the published timeline.
func (b *Broker) Seen() *timeline.State {
	state := b.published.Pin()
	if b.o.Watched == nil {
		return state
	}
	w := b.watched.Load()
	if w == nil || w.of != state {
		w = &watched{state, state.Only(b.o.Watched)}
		b.watched.Store(w)
	}
	return w.seen
}

// sentRows is from how many rows on the right side of a join is not sent to other servers: about
// the rows of the bytes that are.
const sentRows = 200_000

// New returns a Broker over published, which its owner keeps up to date. system are the tables of
// the schema sys, by name.
func New(published *timeline.Published, segments Segments, system map[string]SystemTable, externals exec.Externals, o Options) *Broker {
	threads := o.Threads
	if threads <= 0 {
		threads = budget.Cores()
	}
	if o.LargeSide == 0 && o.Servers != nil {
		o.LargeSide = sentRows
	}
	return &Broker{
		published: published, segments: segments, system: system, externals: externals, scheduler: exec.NewScheduler(threads, o.Clock),
		lexicons: exec.NewLexicons(o.Memory), observations: agg.NewObservations(o.Memory), results: &results{o: o.Cache},
		admission: budget.NewAdmission(o.Memory, o.MemoryWait, o.Clock), o: o,
	}
}

// Prepared is a statement bound against one state of the timeline.
type Prepared struct {
	*sql.Statement
	State *timeline.State
	// Lookups are those of the moment at which the statement was prepared.
	Lookups *lookup.View
	// Dialect is the product name of the request.
	Dialect string
	// access is what the user of the statement may do; nil: it is one of the process itself.
	access *auth.Access
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
	share, planner *exec.Share
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
	s, err := sql.Prepare(ctx, sql.Request{
		Text: req.SQL, Script: script, Params: params, Context: context, Catalog: b.catalog(pinned, lookups),
		Now: clock.Millis(b.o.Clock), Zone: b.o.Zone, Engine: engine, Dialect: req.Dialect, Lookups: mappings(lookups),
		Reader: sql.ReaderOf(req.Access), ReaderFor: readerFor(req.Access),
	})
	if err != nil {
		return nil, err
	}
	if err := b.permit(ctx, req, s); err != nil {
		return nil, err
	}
	if s.AccessOf != "" && engine != sql.Native {
		return nil, fault.Unsupported("EXPLAIN ACCESS is answered at once; tasks and kept statements don't take it")
	}
	p := &Prepared{
		Statement: s, State: pinned.state, live: pinned.live, Lookups: lookups, Dialect: req.Dialect, access: req.Access, began: began,
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

// Describe returns what a statement gives and wants, without running it. Its parameters have no
// values.
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
		Text: req.SQL, Context: context, Catalog: b.catalog(pinned, lookups), Now: clock.Millis(b.o.Clock), Zone: b.o.Zone,
		Engine: sql.Native, Dialect: req.Dialect, Lookups: mappings(lookups), Describe: true, Reader: sql.ReaderOf(req.Access),
		ReaderFor: readerFor(req.Access),
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
		columns = sql.ExplainColumns
	}
	for _, c := range columns {
		out.Columns = append(out.Columns, result.Column{Name: c.Name, Type: c.Type})
	}
	return out, nil
}

func (b *Broker) catalog(p pin, lookups *lookup.View) catalog {
	return catalog{p, &b.schemas, lookups}
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
				return nil, fault.Malformed("Value of parameter [%d] is no JSON: %v", i+1, err)
			}
		}
		out[i] = sql.Param{Type: p.Type, Value: v}
	}
	return out, nil
}

// Optimize returns the plan that is to be run. Once ctx is done it is no better than it is then:
// the query ends before it is run.
func (b *Broker) Optimize(ctx context.Context, p *Prepared) plan.Node {
	return b.OptimizeWithout(ctx, p, nil)
}

// OptimizeWithout is Optimize without some rules, by name. Limits of subqueries are of right sides
// as the statement has them: then sides are not exchanged, nor reduced by joins of our own.
func (b *Broker) OptimizeWithout(ctx context.Context, p *Prepared, off []string) plan.Node {
	if p.MaxSubqueryRows > 0 || p.MaxSubqueryBytes > 0 {
		off = append(slices.Clone(off), "join_side", "reduce_sides")
	}
	return plan.Optimize(p.Plan, plan.Options{
		Off: off, Context: p.Statement.Env().WithStop(ctx), Rows: b.catalog(pin{p.State, p.live}, p.Lookups).scanRows, LargeSide: b.o.LargeSide,
		ReducedScan: b.o.ReducedScan,
	})
}

// Env returns what the operators of a statement need: a part of the memory and a share of the
// cores. Done gives them back.
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

func (b *Broker) env(context expr.Context, name string, share *exec.Share) (env *exec.Env, done func()) {
	env = &exec.Env{
		Expr: &context, Budget: b.o.Memory.Query(name, b.o.Memory.Limit()/memoryShare), Spill: b.o.Spill,
		Threads: b.o.Threads, Share: share, Lexicons: b.lexicons, Observations: b.observations, BatchRows: b.o.BatchRows,
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

// Load returns how many goroutines compute for queries now, and how many wait for their turn.
func (b *Broker) Load() (active, pending int) { return b.scheduler.Load() }

// ResultHits returns how many queries were answered from the cache of results.
func (b *Broker) ResultHits() int64 { return b.results.hits.Load() }

// Start implements query.Engine. A statement is parsed and planned with its share of the cores,
// too: of many at once those that came first are answered first.
func (b *Broker) Start(ctx context.Context, q *query.Query, req *query.Request) (query.Rows, error) {
	share := b.scheduler.Join()
	planner := share
	if len(req.SQL) >= longStatement {
		planner = nil
	}
	var p *Prepared
	err := planner.Compute(ctx, func(ctx context.Context) (err error) {
		p, err = b.Prepare(ctx, req, sql.Native)
		return err
	})
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
	if err := q.Describe(query.SQLKind, p.dataSources(), func() []string { return p.nativeTypes(ctx) }); err != nil {
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
	types, err := p.NativeTypes(ctx)
	if err != nil {
		return nil // no native query reads what the statement reads
	}
	return types
}

// Rows begins a prepared SELECT or EXPLAIN.
func (b *Broker) Rows(ctx context.Context, p *Prepared, id string) (query.Rows, error) {
	r := &rows{zone: p.Zone, stringify: true, facts: "{}"}
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
	if err := p.planner.Compute(ctx, func(context.Context) error { node = b.Optimize(ctx, p); return nil }); err != nil {
		return nil, err
	}
	b.o.Meter.Time(b.measured("sqlQuery/planningTimeMs", id), b.o.Clock.Now().Sub(p.began))
	if b.o.RequireTime {
		if err := plan.CheckTimeBounds(node); err != nil {
			return nil, err
		}
	}
	if r.facts, err = b.uncovered(p, node); err != nil {
		return nil, err
	}
	wanted, err := b.results.ask(ctx, p, node)
	if err != nil {
		return nil, err
	}
	if r.op = b.results.get(wanted); r.op != nil {
		return p.query.Counted(r, func() int64 { return 0 }), nil
	}
	wishes, err := b.wishesOf(p)
	if err != nil {
		return nil, err
	}
	if err := p.query.Weigh(func() query.Footprint { return b.footprint(p, node) }); err != nil {
		return nil, err
	}
	leave, err := b.admit(ctx, p, node, id)
	if err != nil {
		return nil, err
	}
	env, done := b.Env(p, "query "+id)
	env.Note = r.warnings.add
	env.Share.Prefer(p.query.Priority())
	env.Segments, env.Times = b.SegmentCache(wishes.use, wishes.populate), b.SegmentTimes(id)
	count := func(n int) { b.o.Meter.Note(b.measured("query/segments/count", id), float64(n)) }
	env.Tables.(*tables).count = count
	if s := b.spread(p, id, env, wishes); s != nil {
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
	columns   []result.Column
	zone      *chrono.Zone
	stringify bool
	facts     string
	warnings  warnings
	op        exec.Operator
	done      func() // gives memory and cores back; nil: nothing was taken
}

func (r *rows) Columns() []result.Column { return r.columns }
func (r *rows) Zone() *chrono.Zone       { return r.zone }
func (r *rows) StringifyArrays() bool    { return r.stringify }

// Facts returns the response context as far as it is known: warnings come while rows are read.
func (r *rows) Facts() string { return r.warnings.join(r.facts) }

func (r *rows) Next(ctx context.Context) (b *vector.Batch, err error) {
	if panicked := exec.Protect(func() error {
		b, err = r.op.Next(ctx)
		return nil
	}); panicked != nil {
		return nil, panicked
	}
	return b, err
}

func (r *rows) Close() {
	r.op.Close()
	if r.done != nil {
		r.done()
	}
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
	// named says that leaves have ids, which take time to make.
	named bool
	// count is told how many segments each scan reads; nil: nobody wants to know.
	count func(segments int)
}

// Leaves implements exec.Tables.
func (t *tables) Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, error) {
	var segments []*timeline.Segment
	var leaves []exec.Leaf
	for visible, s := range t.wanted(scan) {
		segments, leaves = append(segments, s), append(leaves, exec.Leaf{Visible: visible})
	}
	growing := t.growing(scan)
	t.counted(len(segments) + len(growing))
	if t.named {
		for i, s := range segments {
			leaves[i].ID = s.ID.String()
		}
	}
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
	intervals := intervalsOf(scan)
	return func(yield func(chrono.Interval, *timeline.Segment) bool) {
		for _, holder := range t.state.Timeline(scan.DataSource).Lookup(intervals...) {
			for _, s := range holder.Segments() {
				if !s.IsTombstone() && !yield(holder.Interval, s) {
					return
				}
			}
		}
	}
}

// Visible yields the segments of a scan that may have rows which count, in the state that p pins,
// each with the part of time in which they do.
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

// Reads yields the segments of a datasource that a plan of p reads, a segment once for each scan of
// it.
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
		if isCounted(scan, segments[i], leaves[i].Visible) {
			iv := segments[i].ID.Interval
			return segment.NewTable(segment.Info{Rows: int(segments[i].Rows), HasTimes: true, MinTime: iv.Start, MaxTime: iv.End - 1}, nil), nil
		}
		return t.segments.Acquire(ctx, segments[i])
	})
}

// isCounted reports whether all that a scan wants of a segment is how many rows it has, which the
// timeline knows: the scan reads no column, and all rows count. The segment is not opened then,
// wherever it is.
func isCounted(scan *plan.Scan, s *timeline.Segment, visible chrono.Interval) bool {
	if len(scan.Out) > 0 || scan.Filter != nil || s.Rows < 0 || !visible.Contains(s.ID.Interval) {
		return false
	}
	return slices.ContainsFunc(intervalsOf(scan), func(iv chrono.Interval) bool { return iv.Contains(s.ID.Interval) })
}
