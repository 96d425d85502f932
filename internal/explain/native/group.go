package native

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// groupWriter collects the parts of a query with groups.
type groupWriter struct {
	s          *stage
	virtuals   *virtuals
	dims       []object
	dimNames   []string
	aggs       []object
	aggNames   []string // "" for one that is not shown
	aggCount   int
	byTime     bool // the groups are buckets of time
	posts      []object
	postExprs  []expr.Expr
	postNames  []string
	accesses   int // how many numbers are those of aggregates that post-aggregators read
	aggPrefix  string
	postPrefix string
	out        []column // the output columns of the stage
}

// groupQuery makes a timeseries, topN or groupBy.
func (s *stage) groupQuery() (*result, error) {
	if n := s.exactDistinct(); n != nil {
		return n.groupQuery()
	}
	s.inTableOrder()
	g := &groupWriter{s: s, virtuals: s.newVirtuals(), aggPrefix: unusedPrefix("a", s.in), postPrefix: unusedPrefix("p", s.in)}
	if g.computesLast() {
		g.postPrefix = "s"
	}
	if s.contradiction != nil {
		s.filterSpec(s.contradiction, g.virtuals)
	}
	filter := s.filterSpec(s.filter, g.virtuals)
	constants := s.group.constantKeys(&s.ordered)
	granularity, byTime := s.timeseries()
	g.byTime = byTime
	dimPrefix := unusedPrefix("d", s.in)
	for i, d := range s.group.dims {
		name := dimPrefix + strconv.Itoa(i)
		g.dimNames = append(g.dimNames, name)
		switch {
		case byTime:
			g.virtuals.skip() // of the bucket, which the granularity says
		case !slices.Contains(constants, i):
			g.dims = append(g.dims, g.dimension(d, name))
		}
	}
	for i := range s.group.node.Aggs {
		if s.group.shows(s.cols, len(s.group.dims)+i) {
			g.aggregator(i)
		} else {
			g.aggNames = append(g.aggNames, "")
		}
	}
	fixed := s.group.constantOutputs(&s.ordered)
	for _, e := range s.cols {
		e = withConstants(e, fixed)
		name := ""
		if isColumn(e) {
			name = g.output(e)
		} else {
			name = g.computed(e)
		}
		g.out = append(g.out, column{name, g.outputType(e)})
	}
	r := &result{signature: g.out, pick: s.pick, reads: s.reads}
	if len(g.out) == 0 && s.w.options.Text { // of groups that are only counted the keys are read
		r.pick = []int{}
		for i, d := range s.group.dims {
			r.signature = append(r.signature, column{g.dimNames[i], d.Type()})
		}
	}
	if s.behind || s.w.options.Text && s.readsPicked() {
		r.signature, r.pick = r.columns(), nil
	}
	switch {
	case s.w.options.Tasks:
		r.query = g.groupByQuery(filter)
	case byTime:
		r.query = g.timeseriesQuery(filter, granularity)
	case len(g.dims) == 0 && s.group.node.Sets == nil && s.group.having == nil && !s.isQuery() && s.offset == 0:
		if end := g.timeBoundary(); end != "" {
			r.query = g.timeBoundaryQuery(end, filter)
		} else {
			r.query = g.timeseriesQuery(filter, obj("type", "all"))
		}
	default:
		if metric := g.topN(); metric != nil {
			r.query = g.topNQuery(filter, metric)
		} else {
			r.query = g.groupByQuery(filter)
		}
	}
	return r, nil
}

// computesLast reports whether what is computed of aggregates is computed behind an order: of the
// rows that a limit leaves where these have no fewer columns than the groups, and without a limit
// where they have fewer.
func (g *groupWriter) computesLast() bool {
	s := g.s
	for _, k := range s.keys {
		if !isColumn(orderedBy(s.cols[k.Column])) {
			return false
		}
	}
	columns := len(s.group.dims)
	for i := range s.group.node.Aggs {
		if s.group.shows(s.cols, len(s.group.dims)+i) {
			columns++
		}
	}
	if s.limit >= 0 || s.offset > 0 {
		return len(s.cols) >= columns
	}
	return len(s.cols) < columns && len(s.keys) > 0 && !s.group.inOrder(&s.ordered)
}

// orderedBy is what an order by e is an order of: that of a number as another type is that of the
// number.
func orderedBy(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && c.T.IsNumeric() && c.X.Type().IsNumeric() {
		return c.X
	}
	return e
}

// dimension writes what is grouped by: a column, virtual if need be, or a column of text through an
// extraction function.
func (g *groupWriter) dimension(d expr.Expr, name string) object {
	if column, fn := extracted(d); fn != nil {
		return obj("type", "extraction", "dimension", column, "outputName", name, "outputType", runtimeName(d.Type()), "extractionFn", fn)
	}
	return obj("type", "default", "dimension", g.virtuals.column(withoutCast(d)), "outputName", name, "outputType", runtimeName(d.Type()))
}

// extracted returns the column and the extraction function of a part of a text; no function where e
// is anything else.
func extracted(e expr.Expr) (column string, fn object) {
	c, form := formOf(e)
	if form.part == nil || len(c.Args) < 2 {
		return "", nil
	}
	from, ok := c.Args[0].(*expr.Column)
	if !ok || !from.T.IsCharacter() {
		return "", nil
	}
	if fn = form.part(c); fn == nil {
		return "", nil
	}
	return from.Name, fn
}

// isQuery reports whether the datasource is a query, which a query shown as text does not say.
func (r *rows) isQuery() bool { return r.reads == nil && r.source[0].value == "query" }

// isOfJoin is that for joins.
func (r *rows) isOfJoin() bool { return r.reads == nil && r.source.get("type") == "join" }

// timeseries returns the granularity if the groups are buckets of __time and nothing else is asked
// that a timeseries can't do.
func (s *stage) timeseries() (any, bool) {
	g := s.group
	if s.w.options.Tasks || len(g.dims) != 1 || g.having != nil || g.node.Sets != nil || s.isQuery() || s.isOfJoin() {
		return nil, false
	}
	for _, k := range s.keys {
		if c, ok := s.cols[k.Column].(*expr.Column); !ok || c.Index != 0 {
			return nil, false
		}
	}
	if s.offset > 0 {
		return nil, false
	}
	return s.granularityOf(g.dims[0])
}

// granularityOf returns the granularity whose bucket start e is, over __time.
func (r *rows) granularityOf(e expr.Expr) (any, bool) {
	if day, ok := e.(*expr.Cast); ok && day.T.Base == expr.Date && isColumn(day.X) && r.w.native(day.X) == `"`+plan.TimeColumn+`"` {
		zone := r.w.options.Expr.Zone
		if zone == nil || zone.Name() == chrono.UTC.Name() {
			return "DAY", true
		}
		return obj("type", "period", "period", "P1D", "timeZone", zone.Name(), "origin", nil), true
	}
	c, ok := e.(*expr.Call)
	if !ok || !c.Fn.FloorsTime {
		return nil, false
	}
	if col, ok := c.Args[0].(*expr.Column); !ok || col.Name != plan.TimeColumn {
		return nil, false
	}
	gran, ok := plan.FloorGranularity(c, r.w.options.Expr.Zone)
	if !ok {
		return nil, false
	}
	if name, ok := gran.Name(); ok {
		return name, true
	}
	period, ok := gran.Period()
	if !ok {
		return nil, false
	}
	var origin any
	if ms, ok := gran.Origin(); ok {
		origin = chrono.FormatMillis(ms, chrono.UTC)
	}
	return obj("type", "period", "period", period.String(), "timeZone", gran.Zone().Name(), "origin", origin), true
}

// says reports whether the context has a Boolean parameter as b. Text that holds one does not
// count.
func (w *writer) says(p *querycontext.Param[bool], b bool) bool { return p.In(w.options.Context) == b }

// output returns the column of the query that has the value of e, which is over keys and
// aggregates.
func (g *groupWriter) output(e expr.Expr) string {
	if c, ok := e.(*expr.Column); ok {
		if c.Index < len(g.dimNames) {
			return g.dimNames[c.Index]
		}
		if i := c.Index - len(g.dimNames); i < len(g.aggNames) {
			return g.aggNames[i]
		}
		return c.Name
	}
	for i, x := range g.postExprs {
		if expr.Equal(x, e) {
			return g.postNames[i]
		}
	}
	return g.computed(e)
}

// computed returns a new column of the query for e, which is over keys and aggregates.
func (g *groupWriter) computed(e expr.Expr) string {
	if name := g.ofSketch(e); name != "" {
		return name
	}
	named := g.named(e)
	return g.post(e, func(name string) object {
		return obj("type", "expression", "name", name, "expression", g.s.w.native(named))
	})
}

// post adds a post-aggregator for e.
func (g *groupWriter) post(e expr.Expr, of func(name string) object) string {
	name := g.postPrefix + strconv.Itoa(len(g.postExprs)+g.accesses)
	g.posts = append(g.posts, of(name))
	g.postExprs, g.postNames = append(g.postExprs, e), append(g.postNames, name)
	return name
}

// outputType is the type of a column of the query.
func (g *groupWriter) outputType(e expr.Expr) expr.Type {
	if c, ok := e.(*expr.Column); ok {
		if i := c.Index - len(g.dimNames); i >= 0 && i < len(g.aggNames) && isUnsizedText(&g.s.group.node.Aggs[i]) {
			return expr.Of(expr.Double)
		}
		if i := c.Index - len(g.dimNames); i >= 0 && i < len(g.s.group.node.Aggs) && isHLL(&g.s.group.node.Aggs[i]) && !g.s.w.stepwise {
			return expr.ComplexOf("") // quirk Q015: which sketch it is Druid does not say
		}
		if c.Index >= len(g.dimNames) {
			return c.T.OrNull(plan.ColumnAt(g.s.group.node, c.Index).Type.Nullable)
		}
	}
	return e.Type()
}

// named returns e with the columns under the names they have in the query's result.
func (g *groupWriter) named(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return &expr.Column{Index: c.Index, Name: g.output(c), T: c.T}
		}
		if name := g.ofSketch(e); name != "" {
			return &expr.Column{Name: name, T: e.Type()}
		}
		return e
	})
}

func (g *groupWriter) timeseriesQuery(filter, granularity any) object {
	s := g.s
	q := s.head("timeseries")
	q.set("intervals", s.intervalSpec())
	if g.byTime && len(s.keys) == 1 && s.keys[0].Desc {
		q.set("descending", true)
	}
	g.common(&q, filter)
	q.set("granularity", granularity)
	g.aggregations(&q)
	if s.limit >= 0 && g.byTime {
		q.set("limit", s.limit)
	}
	var extra map[string]any
	if len(s.group.dims) > 0 {
		extra = map[string]any{}
		if _, given := s.w.options.Context[querycontext.SkipEmptyBuckets.Key()]; !given {
			extra[querycontext.SkipEmptyBuckets.Key()] = true
		}
		if g.byTime {
			extra[querycontext.TimeResult.Key()] = g.dimNames[0]
		}
	}
	q.set("context", s.context(extra))
	return q
}

// timeBoundary returns which end of the rows' times is all that is asked for, where the context
// wants such queries; "": it is not.
func (g *groupWriter) timeBoundary() string {
	if !g.s.w.says(querycontext.TimeBoundary, true) || len(g.aggs) != 1 || len(g.posts) > 0 || g.aggs[0].get("fieldName") != plan.TimeColumn {
		return ""
	}
	switch g.aggs[0].get("type") {
	case "longMin":
		return "minTime"
	case "longMax":
		return "maxTime"
	}
	return ""
}

func (g *groupWriter) timeBoundaryQuery(end string, filter any) object {
	q := g.s.head("timeBoundary")
	q.set("intervals", g.s.intervalSpec())
	q.set("bound", end)
	if filter != nil {
		q.set("filter", filter)
	}
	q.set("context", g.s.context(map[string]any{end + "ArrayOutputName": g.aggNames[0]}))
	q.set("granularity", obj("type", "all"))
	return q
}

// common sets virtual columns and filter.
func (g *groupWriter) common(q *object, filter any) {
	if list := g.virtuals.columns(); len(list) > 0 {
		q.set("virtualColumns", list)
	}
	if filter != nil {
		q.set("filter", filter)
	}
}

func (g *groupWriter) aggregations(q *object) {
	if g.aggs != nil {
		q.set("aggregations", g.aggs)
	}
	if len(g.posts) > 0 {
		q.set("postAggregations", g.posts)
	}
}

// topN returns the metric if the query is one of the first few groups of one key by one number.
func (g *groupWriter) topN() object {
	s := g.s
	const most = 100_000
	if len(g.dims) != 1 || s.group.having != nil || s.group.node.Sets != nil || s.limit < 1 || s.limit > most || s.offset > 0 ||
		len(s.keys) > 1 || s.isQuery() {
		return nil
	}
	if t := s.group.dims[0].Type(); t.Base == expr.Array || t.Base == expr.Other {
		return nil
	}
	ordering := "lexicographic"
	if s.group.dims[0].Type().Runtime().IsNumeric() {
		ordering = "numeric"
	}
	byKey := obj("type", "dimension", "ordering", obj("type", ordering))
	if len(s.keys) == 0 {
		return byKey
	}
	k := s.keys[0]
	name := g.out[k.Column].name
	if name == g.dimNames[0] {
		if k.Desc {
			return obj("type", "inverted", "metric", byKey)
		}
		return byKey
	}
	if s.w.says(querycontext.ApproximateTopN, false) {
		return nil
	}
	if c, ok := orderedBy(s.cols[k.Column]).(*expr.Column); ok {
		name = g.output(c)
	}
	metric := obj("type", "numeric", "metric", name)
	if !k.Desc {
		return obj("type", "inverted", "metric", metric)
	}
	return metric
}

func (g *groupWriter) topNQuery(filter any, metric object) object {
	s := g.s
	q := s.head("topN")
	if list := g.virtuals.columns(); len(list) > 0 {
		q.set("virtualColumns", list)
	}
	q.set("dimension", g.dims[0])
	q.set("metric", metric)
	q.set("threshold", s.limit)
	q.set("intervals", s.intervalSpec())
	if filter != nil {
		q.set("filter", filter)
	}
	q.set("granularity", obj("type", "all"))
	if g.aggs == nil {
		g.aggs = []object{}
	}
	g.aggregations(&q)
	q.set("context", s.context(nil))
	return q
}

func (g *groupWriter) groupByQuery(filter any) object {
	s := g.s
	q := s.head("groupBy")
	q.set("intervals", s.intervalSpec())
	g.common(&q, filter)
	q.set("granularity", obj("type", "all"))
	dims := g.dims
	if dims == nil {
		dims = []object{}
	}
	q.set("dimensions", dims)
	g.aggregations(&q)
	if h := s.group.having; h != nil {
		q.set("having", obj("type", "filter", "filter", s.filterSpec(g.named(h), nil), "finalize", true))
	}
	limit := obj("type", "NoopLimitSpec")
	if s.sorted && !s.group.inOrder(&s.ordered) {
		columns := []object{}
		for _, k := range s.keys {
			c := g.out[k.Column]
			order := "lexicographic"
			if c.typ.Runtime().IsNumeric() {
				order = "numeric"
			}
			if a, ok := orderedBy(s.cols[k.Column]).(*expr.Column); ok && g.postPrefix == "s" {
				c.name = g.output(a)
			}
			columns = append(columns, obj("dimension", c.name, "direction", direction(k.Desc), "dimensionOrder", obj("type", order)))
		}
		limit = obj("type", "default", "columns", columns)
		if s.offset > 0 {
			limit.set("offset", s.offset)
		}
		if s.limit >= 0 {
			limit.set("limit", s.limit)
		}
	}
	q.set("limitSpec", limit)
	if sets := s.group.node.Sets; sets != nil {
		names := make([][]string, len(sets))
		for i, set := range sets {
			names[i] = []string{}
			for _, k := range slices.Sorted(slices.Values(set)) {
				names[i] = append(names[i], g.dimNames[k])
			}
		}
		q.set("subtotalsSpec", names)
	}
	q.set("context", s.context(g.timeField()))
	return q
}

// timeField is what the context says of a key that is a bucket of __time, in a query whose limit is
// not by keys alone: such a limit holds on data servers already.
func (g *groupWriter) timeField() map[string]any {
	if g.s.isOfJoin() {
		return nil
	}
	var found map[string]any
	byKeys := !slices.ContainsFunc(g.s.keys, func(k plan.SortKey) bool { return !slices.Contains(g.dimNames, g.out[k.Column].name) })
	if g.s.limit >= 0 && g.s.group.having == nil && g.s.group.node.Sets == nil && byKeys {
		return nil
	}
	for i, d := range g.s.group.dims {
		granularity, ok := g.s.granularityOf(d)
		if !ok {
			continue
		}
		text, err := marshal(granularity)
		if err != nil {
			continue
		}
		if found != nil {
			return nil // which of several is the rows' time can't be said
		}
		found = map[string]any{querycontext.TimeResult.Key(): g.dimNames[i], querycontext.ResultGrain.Key(): string(text),
			querycontext.ResultIndex.Key(): i}
	}
	return found
}
