package native

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// grouped is what timeseries, topN and groupBy have in common.
type grouped struct {
	common      *Common
	granularity chrono.Granularity
	dimensions  []DimensionOf
	*Grouping
	subtotals [][]string
	// isGroupBy says that the groups are those of a groupBy: the context may set the time of groups of
	// all times.
	isGroupBy bool
	// rows, if not nil, makes a further condition for rows to count.
	rows func(*scope) (expr.Expr, error)
	// once says that a row counts once for a value that it has several times.
	once bool
	// chunks are the starts of time chunks, ascending, that are the buckets in place of those of the
	// granularity; nil: there are none.
	chunks []int64
	// keeps says that sketches are given as they are.
	keeps bool
	// allNull says that all aggregates are NULL, for post-aggregators too.
	allNull bool
	// sketchless are the aggregators of hyperUnique sketches that find none in their column: not
	// finalized, they are NULL outside of a groupBy.
	sketchless []int
}

// bucketed reports whether there may be several buckets of time.
func (g *grouped) bucketed() bool { return g.chunks != nil || !g.granularity.IsAll() }

// merging is how often sketches are merged.
func (g *grouped) merging() agg.Merging {
	if g.isGroupBy {
		return agg.MergedTwice
	}
	return agg.MergedOnce
}

// bucket is that of a time.
func (g *grouped) bucket(x expr.Expr) (expr.Expr, error) {
	if g.chunks == nil {
		return floor(g.granularity, x)
	}
	var starts []byte
	for i, start := range g.chunks {
		if i > 0 {
			starts = append(starts, ',')
		}
		starts = strconv.AppendInt(starts, start, 10)
	}
	return call("$CHUNK", x, textLiteral(string(starts)))
}

// subtotalColumn is the number of the subtotal a row is of, the last column of groups that have
// subtotals.
const subtotalColumn = "$subtotal"

// group translates to a node with the columns of Plan: time, dimensions, aggregators,
// post-aggregators; and subtotalColumn if there are subtotals.
func (t *translator) group(g grouped) (plan.Node, error) {
	node, s, err := t.input(g.common, g.isGroupBy)
	if err != nil {
		return nil, err
	}
	if g.rows != nil {
		cond, err := g.rows(s)
		if err != nil {
			return nil, err
		}
		node = &plan.Filter{Input: node, Cond: cond}
	}
	s.wholeFolds = g.isGroupBy || len(g.dimensions) > 0
	in := &inputs{}
	out := &plan.Aggregate{}
	if err := t.groupKeys(&g, s, in); err != nil {
		return nil, err
	}
	for i := range in.exprs {
		out.Keys = append(out.Keys, i)
	}
	outputs := make([]aggregated, len(g.Aggregations))
	for i, a := range g.Aggregations {
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		outputs[i] = aggregated{at: -1, state: -1}
		if _, ok := a.Aggregator.(*GroupingAggregator); ok {
			continue
		}
		if outputs[i], err = g.aggregate(s, in, out, i); err != nil {
			return nil, err
		}
	}
	if err := t.unnestKeys(node, in, out); err != nil {
		return nil, err
	}
	if g.subtotals != nil {
		out.Sets = sets(g.subtotals, g.dimensions, g.bucketed())
		out.Grouping = true
	}
	return t.outputs(g, out, outputs)
}

// groupKeys adds the bucket of time, if there are several, and the dimensions to the inputs.
func (t *translator) groupKeys(g *grouped, s *scope, in *inputs) error {
	if g.bucketed() {
		x, err := s.time()
		if err != nil {
			return err
		}
		if x, err = g.bucket(x); err != nil {
			return err
		}
		in.exprs, in.names = append(in.exprs, x), append(in.names, plan.TimeColumn)
	}
	for _, d := range g.dimensions {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		x, err := s.dimension(d.Dimension)
		if err != nil {
			return err
		}
		if g.once && x.Type().Multi {
			for _, name := range []string{"MV_TO_ARRAY", "ARRAY_DISTINCT", "ARRAY_TO_MV"} {
				if x, err = call(name, x); err != nil {
					return err
				}
			}
		}
		if t.oneValue && g.isGroupBy && x.Type().Multi {
			if x, err = call("$ONE_VALUE", x, textLiteral(d.output())); err != nil {
				return err
			}
		}
		in.exprs, in.names = append(in.exprs, x), append(in.names, d.output()) // not add: equal dimensions are unnested each for itself
	}
	return nil
}

// unnestKeys gives out its input, the inputs of a node, in which keys of several values are
// unnested.
func (t *translator) unnestKeys(node plan.Node, in *inputs, out *plan.Aggregate) error {
	out.Input = &plan.Project{Input: node, Exprs: in.exprs, Names: in.names}
	width := len(in.exprs)
	for i, k := range out.Keys {
		if !in.exprs[k].Type().Multi {
			continue
		}
		if err := t.ctx.Err(); err != nil {
			return err
		}
		out.Input = plan.UnnestOf(out.Input, k)
		out.Keys[i] = width
		width++
	}
	return nil
}

// aggregated says in which columns of groups the state of an aggregator is.
type aggregated struct {
	at int // of the aggregate; -1: it is the grouping aggregator, which has none
	// state is the column of what stands beside the aggregate: the number of rows that make a fold
	// NULL, the time of a first or last, or a mean as it is kept; -1: there is none.
	state int
	// lists are the columns of what is collected for a fold, with the aggregate; nil: nothing is.
	lists []int
}

// aggregate adds what aggregator i needs to the groups.
func (g *grouped) aggregate(s *scope, in *inputs, out *plan.Aggregate, i int) (aggregated, error) {
	a := g.Aggregations[i]
	o := aggregated{at: -1, state: -1}
	add := func(c plan.AggCall) int {
		out.Aggs = append(out.Aggs, c)
		return len(out.Keys) + len(out.Aggs) - 1
	}
	call, err := s.aggregator(in, a.Aggregator, nil)
	if err != nil {
		return o, err
	}
	if agg.Lookup(call.Agg.Name).Sketch {
		call.Agg.Merging = g.merging()
	}
	if !g.isGroupBy && call.Type.ComplexName() == hyperUniqueType.ComplexName() && !call.Agg.Keep && isNullConstant(in.exprs[call.Args[0]]) {
		g.sketchless = append(g.sketchless, i)
	}
	o.at = add(call)
	state, err := g.stateOf(in, a, call)
	if err != nil {
		return o, err
	}
	if state != nil {
		o.state = add(*state)
	}
	count, err := s.foldedNulls(in, a.Aggregator, nil)
	if err != nil {
		return o, err
	}
	if count != nil {
		o.state = add(*count)
	}
	more, err := s.collectedBeside(in, a.Aggregator, nil)
	if err != nil {
		return o, err
	}
	if more != nil {
		o.lists = []int{o.at}
	}
	for _, c := range more {
		o.lists = append(o.lists, add(c))
	}
	return o, nil
}

// sets are the subtotals as lists of key numbers. Every set has the time bucket.
func sets(subtotals [][]string, dimensions []DimensionOf, bucketed bool) [][]int {
	first := 0
	if bucketed {
		first = 1
	}
	out := make([][]int, 0, len(subtotals))
	for _, names := range subtotals {
		set := []int{}
		if bucketed {
			set = append(set, 0)
		}
		of := make(map[string]bool, len(names))
		for _, name := range names {
			of[name] = true
		}
		for i, d := range dimensions {
			if of[d.output()] {
				set = append(set, first+i)
			}
		}
		out = append(out, set)
	}
	return out
}

// outputs projects the groups to their outputs.
func (t *translator) outputs(g grouped, in *plan.Aggregate, outputs []aggregated) (plan.Node, error) {
	columns := in.Columns()
	p := &plan.Project{Input: in}
	add := func(x expr.Expr, name string) { p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name) }
	ref := func(i int) expr.Expr { return &expr.Column{Index: i, Name: columns[i].Name, T: columns[i].Type} }
	first := 0
	if !g.bucketed() {
		at, err := g.time()
		if err != nil {
			return nil, err
		}
		add(&expr.Literal{Value: at, T: timeType.NotNull()}, plan.TimeColumn)
	} else {
		add(ref(0), plan.TimeColumn)
		first = 1
	}
	for i, d := range g.dimensions {
		add(ref(first+i), d.output())
	}
	var sketches []int   // aggregators that show an estimate, or else another value than the one that they keep
	var raws []expr.Expr // what these keep
	for i, a := range g.Aggregations {
		if outputs[i].at < 0 {
			x, err := g.groupingBits(a.Aggregator.(*GroupingAggregator), in, columns)
			if err != nil {
				return nil, err
			}
			add(x, a.output())
			continue
		}
		x, raw, err := g.output(a, in, columns, outputs[i])
		if err != nil {
			return nil, err
		}
		if raw != nil {
			sketches, raws = append(sketches, i), append(raws, raw)
		}
		add(x, a.output())
	}
	shown, subtotalAt := len(p.Exprs), -1
	for n, i := range sketches {
		add(raws[n], rawColumn(g.Aggregations[i].output()))
	}
	if g.allNull {
		for i := 1 + len(g.dimensions); i < len(p.Exprs); i++ {
			p.Exprs[i] = &expr.Literal{T: p.Exprs[i].Type().OrNull(true)}
		}
	}
	if g.subtotals != nil {
		x, err := subtotalNumber(g, in)
		if err != nil {
			return nil, err
		}
		subtotalAt = len(p.Exprs)
		add(x, subtotalColumn)
	}
	p, err := t.withPosts(p, g.PostAggregations)
	if err != nil {
		return nil, err
	}
	if last := len(p.Exprs) - 1; g.subtotals != nil && len(g.PostAggregations) > 0 { // the number of the subtotal stays last
		keep := make([]int, 0, last+1)
		for i := range p.Exprs {
			if i != subtotalAt {
				keep = append(keep, i)
			}
		}
		p = plan.Select(p, append(keep, subtotalAt))
	}
	return g.shown(p, shown, sketches)
}

// output returns what an aggregator shows; raw is what it keeps, where that is another value.
func (g *grouped) output(a AggregatorOf, in *plan.Aggregate, columns []plan.Column, o aggregated) (x, raw expr.Expr, err error) {
	ref := func(i int) expr.Expr { return &expr.Column{Index: i, Name: columns[i].Name, T: columns[i].Type} }
	if x, err = finished(a.Aggregator, ref(o.at)); err != nil {
		return nil, nil, err
	}
	if addsFloats(a.Aggregator) {
		if !g.isGroupBy {
			x = operand(x)
		}
		return x, nil, nil
	}
	if x == nil {
		var count expr.Expr
		if o.state >= 0 {
			count = ref(o.state)
		}
		var lists []expr.Expr
		for _, c := range o.lists {
			lists = append(lists, ref(c))
		}
		if x, err = foldedResult(a.Aggregator, ref(o.at), count, lists); err != nil || x != nil {
			return x, nil, err
		}
	}
	raw = ref(o.at)
	if o.state >= 0 {
		if x, raw, err = withState(a.Aggregator, in.Aggs[o.at-len(in.Keys)], ref(o.state), x, raw); err != nil {
			return nil, nil, err
		}
	}
	if x == nil {
		return raw, nil, nil
	}
	return x, raw, nil
}

// withPosts returns p with the values of post-aggregators behind its columns. One that reads the
// value of another stands in a projection above it; those that do not are side by side.
func (t *translator) withPosts(p *plan.Project, posts []PostAggregatorOf) (*plan.Project, error) {
	if len(posts) == 0 {
		return p, nil
	}
	s, err := t.newScope(p.Columns(), nil)
	if err != nil {
		return nil, err
	}
	below, above := len(p.Exprs), &plan.Project{}
	flush := func() {
		all := &plan.Project{Input: p}
		for i, c := range s.columns[:below] {
			all.Exprs, all.Names = append(all.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(all.Names, c.Name)
		}
		all.Exprs, all.Names = append(all.Exprs, above.Exprs...), append(all.Names, above.Names...)
		p, below, above = all, len(all.Exprs), &plan.Project{}
	}
	for _, post := range posts {
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		x, err := s.post(post.PostAggregator)
		if err != nil {
			return nil, err
		}
		x = plain(x)
		if readsFrom(x, below) {
			flush()
		}
		above.Exprs, above.Names = append(above.Exprs, x), append(above.Names, post.output())
		s.add(plan.Column{Name: post.output(), Type: x.Type()})
	}
	flush()
	return p, nil
}

// readsFrom reports whether x reads a column from the given one on.
func readsFrom(x expr.Expr, column int) bool {
	found := false
	expr.Walk(x, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok && c.Index >= column {
			found = true
		}
		return !found
	})
	return found
}

// shown leaves out the sketches that stand behind the first shown columns, or puts them in the
// place of their estimates if the context wants that. What Druid reads from the answers of its data
// servers is read here too, before it is shown. See quirk Q008.
func (g grouped) shown(p *plan.Project, shown int, sketches []int) (plan.Node, error) {
	columns := p.Columns()
	out, same := &plan.Project{Input: p}, len(sketches) == 0
	travels := ReadsTables(g.common.DataSource.DataSource)
	for i, c := range columns {
		if i >= shown && i < shown+len(sketches) {
			continue
		}
		from, aggregated := i, i < shown
		if k := i - 1 - len(g.dimensions); i < shown && g.keeps && slices.Contains(sketches, k) {
			from = shown + slices.Index(sketches, k)
		}
		if k := i - shown - len(sketches); k >= 0 && k < len(g.PostAggregations) {
			_, aggregated = g.PostAggregations[k].PostAggregator.(*FieldPost)
		}
		x := expr.Expr(&expr.Column{Index: from, Name: c.Name, T: columns[from].Type})
		if from != i && slices.Contains(g.sketchless, sketches[from-shown]) {
			x = &expr.Literal{T: columns[from].Type.OrNull(true)}
		}
		if travels && aggregated && columns[from].Type.ComplexName() == hllName {
			var err error
			if x, err = call("$HLL_READ", x); err != nil {
				return nil, err
			}
			same = false
		}
		out.Exprs, out.Names = append(out.Exprs, x), append(out.Names, c.Name)
	}
	if same {
		return p, nil
	}
	return out, nil
}

// subtotalNumber finds, from the grouping id, which of the subtotals a row is of.
func subtotalNumber(g grouped, in *plan.Aggregate) (expr.Expr, error) {
	columns := in.Columns()
	id := &expr.Column{Index: len(columns) - 1, Name: columns[len(columns)-1].Name, T: columns[len(columns)-1].Type}
	var whens []expr.When
	for n, set := range in.Sets {
		bits := int64(0)
		for k := range in.Keys {
			if !slices.Contains(set, k) {
				bits |= 1 << (len(in.Keys) - 1 - k)
			}
		}
		c, err := compare("=", id, longLiteral(bits))
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: c, Then: longLiteral(int64(n))})
	}
	return expr.NewCase(whens, longLiteral(int64(len(in.Sets))), fault.Span{})
}

// start is the time of groups under granularity all: the begin of the intervals.
func start(c *Common) int64 {
	if list := c.When(); len(list) > 0 {
		return list[0].Start
	}
	return 0
}

// fudgeTimestamp is the parameter of the query context with the time of groups of all times.
var fudgeTimestamp = querycontext.Fudge.Key()

// time is that of groups of all times.
func (g *grouped) time() (int64, error) {
	at, _ := g.common.Context[fudgeTimestamp].V.(string)
	if at == "" || !g.isGroupBy {
		return start(g.common), nil
	}
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return 0, invalid("Query context [fudgeTimestamp] is [%.100s], which is not a number of milliseconds", at)
	}
	return ms, nil
}

// groupingBits picks the bits of a's dimensions from the grouping id.
func (g grouped) groupingBits(a *GroupingAggregator, in *plan.Aggregate, columns []plan.Column) (expr.Expr, error) {
	if len(a.Groupings) > 62 {
		return nil, invalid("Aggregator [%s] of type [grouping] can't have more than [62] dimensions", a.Name)
	}
	out := longLiteral(0)
	if in.Sets == nil {
		return out, nil
	}
	id := &expr.Column{Index: len(columns) - 1, Name: columns[len(columns)-1].Name, T: columns[len(columns)-1].Type}
	for i, name := range a.Groupings { // names of columns, not of outputs
		d := slices.IndexFunc(g.dimensions, func(d DimensionOf) bool { return columnOf(d.Dimension) == name })
		if d < 0 { // no subtotal has a column that is no dimension
			var err error
			if out, err = call("+", out, longLiteral(int64(1)<<(len(a.Groupings)-1-i))); err != nil {
				return nil, err
			}
			continue
		}
		bit, err := call("BITWISE_SHIFT_RIGHT", id, longLiteral(int64(len(g.dimensions)-1-d)))
		if err != nil {
			return nil, err
		}
		if bit, err = call("BITWISE_AND", bit, longLiteral(1)); err != nil {
			return nil, err
		}
		if bit, err = call("*", bit, longLiteral(int64(1)<<(len(a.Groupings)-1-i))); err != nil {
			return nil, err
		}
		if out, err = call("+", out, bit); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// floor rounds a time down to its bucket.
func floor(g chrono.Granularity, x expr.Expr) (expr.Expr, error) {
	switch {
	case g.IsAll():
		return &expr.Literal{Value: int64(0), T: timeType.NotNull()}, nil
	case g.IsNone():
		return x, nil
	}
	text := ""
	if p, ok := g.Period(); ok {
		text = p.String()
	} else { // a duration: as long everywhere as at its origin
		origin, _ := g.Origin()
		ms := g.Bucket(origin).Millis()
		text = fmt.Sprintf("PT%d.%03dS", ms/1000, ms%1000)
	}
	zone := "UTC"
	if z := g.Zone(); z != nil {
		zone = z.Name()
	}
	args := []expr.Expr{x, textLiteral(text), &expr.Literal{T: timeType}, textLiteral(zone)}
	if origin, ok := g.Origin(); ok {
		args[2] = &expr.Literal{Value: origin, T: timeType.NotNull()}
	}
	return call("TIME_FLOOR", args...)
}

func (t *translator) timeseries(q *Timeseries) (plan.Node, error) {
	n, err := t.group(grouped{common: &q.Common, granularity: q.Granularity.orAll(), Grouping: &q.Grouping, allNull: q.allNull,
		keeps: keepsSketches(&q.Common)})
	if err != nil || q.Granularity.orAll().IsAll() {
		return n, err
	}
	limit := int64(-1)
	if q.Limit > 0 && q.Limit < math.MaxInt32 && skipsEmpty(&q.Common) {
		limit = int64(q.Limit)
	}
	return &plan.Sort{Input: n, Keys: []plan.SortKey{{Column: 0, Desc: bool(q.Descending), NullsFirst: true}}, Limit: limit}, nil
}

// skipsEmpty reports whether a timeseries leaves empty buckets out.
func skipsEmpty(c *Common) bool {
	return c.flag(querycontext.SkipEmptyBuckets, false)
}

// SkipsEmpty reports whether a timeseries omits buckets without rows.
func (q *Timeseries) SkipsEmpty() bool { return skipsEmpty(&q.Common) }

// groups are the groups of q. Without dimensions there is none if no rows are in it.
func (t *translator) groups(q *GroupBy) (plan.Node, error) {
	g := grouped{common: &q.Common, granularity: q.Granularity.Granularity, dimensions: q.Dimensions, Grouping: &q.Grouping,
		subtotals: q.SubtotalsSpec, isGroupBy: true,
		keeps: q.keepsSketches()}
	if len(q.Dimensions) > 0 || q.SubtotalsSpec != nil || g.bucketed() {
		return t.group(g)
	}
	counted := q.Grouping
	counted.Aggregations = append(slices.Clone(q.Aggregations), AggregatorOf{&SimpleAggregator{Type: "count", Name: "$rows"}})
	g.Grouping = &counted
	n, err := t.group(g)
	if err != nil {
		return nil, err
	}
	rows := len(counted.Aggregations) // behind the time and the other aggregators
	some, err := compare(">", reference(n, rows), longLiteral(0))
	if err != nil {
		return nil, err
	}
	var keep []int
	for i := range n.Columns() {
		if i != rows {
			keep = append(keep, i)
		}
	}
	return plan.Select(&plan.Filter{Input: n, Cond: some}, keep), nil
}

func (t *translator) groupBy(q *GroupBy) (plan.Node, error) {
	n, err := t.groups(q)
	if err != nil {
		return nil, err
	}
	width := len(n.Columns())
	if n, err = ranked(n, &q.Grouping, 1+len(q.Dimensions), !q.keepsSketches()); err != nil {
		return nil, err
	}
	if q.Having.Having != nil {
		columns := n.Columns()
		if q.keepsSketches() {
			columns = withEstimates(columns, q.Aggregations)
		}
		s, err := t.newScope(columns, nil)
		if err != nil {
			return nil, err
		}
		c, err := s.having(q.Having.Having)
		if err != nil {
			return nil, err
		}
		n = &plan.Filter{Input: n, Cond: c}
	}
	var keys []plan.SortKey
	l := q.LimitSpec
	together := q.SubtotalsSpec != nil && q.resorts()
	if q.SubtotalsSpec != nil {
		width--
		if !together {
			keys = []plan.SortKey{{Column: width}}
		}
	}
	last := q.flag(querycontext.SortByDims, false) && (l == nil || l.Type != "default" || len(l.Columns) > 0)
	if !last {
		keys = append(keys, plan.SortKey{Column: 0})
	}
	limit, offset := int64(-1), int64(0)
	if l != nil {
		if l.Limit != nil && *l.Limit < math.MaxInt32 {
			limit = int64(*l.Limit)
		}
		offset = int64(l.Offset)
		columns := n.Columns() // those that orders add come behind
		named, what := firstNamed(columns), map[string]string{}
		for _, p := range q.PostAggregations {
			if kind := incomparable(p.PostAggregator); kind != "" && what[p.PostAggregator.output()] == "" {
				what[p.PostAggregator.output()] = kind
			}
		}
		for _, o := range l.Columns {
			if err := t.ctx.Err(); err != nil {
				return nil, err
			}
			i, ok := named[o.Dimension]
			if !ok || i >= width {
				return nil, invalid("Unknown column in order clause[%s]", o.Dimension)
			}
			if kind := what[o.Dimension]; kind != "" {
				return nil, invalid("Comparing %s is not supported", kind)
			}
			if by, ok := named[rankColumn(o.Dimension)]; ok {
				keys = append(keys, plan.SortKey{Column: by, Desc: o.Descending(), NullsFirst: !o.Descending()})
				continue
			}
			ordering := o.DimensionOrder
			if i > len(q.Dimensions) {
				ordering = "" // aggregates have their own order
			} else if ordering == "" && i > 0 {
				ordering = "lexicographic" // of numbers, too
			}
			var key plan.SortKey
			if n, key, err = orderKey(n, i, ordering, o.Descending()); err != nil {
				return nil, err
			}
			keys = append(append(keys, key), ties(i, ordering, o.Descending())...)
		}
	}
	if together {
		keys = append(keys, plan.SortKey{Column: width})
	}
	ordered := map[int]bool{}
	for _, k := range keys {
		ordered[k.Column] = true
	}
	columns := n.Columns()
	for i := range q.Dimensions {
		if c := columns[i+1]; c.Type.Base != expr.Other && !ordered[i+1] {
			keys = append(keys, plan.SortKey{Column: i + 1, NullsFirst: true})
		}
	}
	if last {
		keys = append(keys, plan.SortKey{Column: 0})
	}
	n = &plan.Sort{Input: n, Keys: keys, Offset: offset, Limit: limit}
	if q.regrouped {
		return withSketches(n, width, q.Aggregations), nil
	}
	return narrow(n, width), nil
}

// firstNamed has the first column of each name.
func firstNamed(columns []plan.Column) map[string]int {
	out := make(map[string]int, len(columns))
	for i, c := range columns {
		if _, ok := out[c.Name]; !ok {
			out[c.Name] = i
		}
	}
	return out
}

// resorts reports whether the limit spec wants another order than that in which groups come anyway,
// by their dimensions. Subtotals are then ordered all together, and else come one after the other.
func (q *GroupBy) resorts() bool {
	l := q.LimitSpec
	if l == nil {
		return false
	}
	if len(l.Columns) > len(q.Dimensions) {
		return true
	}
	for i, c := range l.Columns {
		order, d := c.DimensionOrder, q.Dimensions[i]
		if order == "" {
			order = "lexicographic"
		}
		if c.Descending() || c.Dimension != d.name() || order != d.naturalOrder() {
			return true
		}
	}
	return q.flag(querycontext.SortByDims, false) && !q.Granularity.IsAll()
}

// Ungrouped returns the timeseries over all buckets of q together.
func Ungrouped(q *Timeseries) *Timeseries {
	out := *q
	out.Granularity, out.Limit = GranularitySet{Granularity: chrono.All, Given: true}, 0
	return &out
}

// UpTo returns q over the buckets up to the bucket that begins at last, in the order of q.
func UpTo(q *Timeseries, g chrono.Granularity, last int64) *Timeseries {
	out, part := *q, chrono.Interval{Start: chrono.Eternity.Start, End: g.Next(last)}
	if q.Descending {
		part = chrono.Interval{Start: last, End: chrono.Eternity.End}
	}
	within := Intervals{}
	for _, iv := range q.When() {
		if both, ok := iv.Intersect(part); ok {
			within = append(within, both)
		}
	}
	out.Intervals = &When{Intervals: within}
	return &out
}

// Never returns a timeseries with the outputs of q over no rows: the result of a bucket without
// rows.
func Never(q *Timeseries) *Timeseries {
	out := Ungrouped(q)
	out.Filter = FilterOf{&FalseFilter{}}
	return out
}

// Void returns a timeseries with the outputs of q over no buckets: the result of a total over no
// buckets.
func Void(q *Timeseries) *Timeseries {
	out := Never(q)
	out.allNull = true
	return out
}

// Counted returns the timeseries that counts the rows of q.
func Counted(q *Timeseries) *Timeseries {
	out := Ungrouped(q)
	out.Grouping = Grouping{Aggregations: []AggregatorOf{{&SimpleAggregator{Type: "count", Name: "rows"}}}}
	return out
}
