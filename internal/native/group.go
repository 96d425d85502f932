package native

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// grouped is what timeseries, topN and groupBy have in common.
type grouped struct {
	common      *Common
	granularity chrono.Granularity
	dimensions  []DimensionOf
	*Grouping
	subtotals [][]string
}

// group translates to a node with the columns of Plan: time, dimensions, aggregators, post-aggregators.
func (t *translator) group(g grouped) (plan.Node, error) {
	node, s, err := t.input(g.common)
	if err != nil {
		return nil, err
	}
	in := &inputs{}
	out := &plan.Aggregate{}
	bucketed := !g.granularity.IsAll()
	if bucketed {
		x, err := s.column(plan.TimeColumn)
		if err != nil {
			return nil, err
		}
		if x.Type().Base != expr.Timestamp {
			if x, err = cast(x, longType); err != nil {
				return nil, err
			}
			x = asTime(x)
		}
		if x, err = floor(g.granularity, x); err != nil {
			return nil, err
		}
		in.exprs, in.names = append(in.exprs, x), append(in.names, plan.TimeColumn)
	}
	for _, d := range g.dimensions {
		x, err := s.dimension(d.Dimension)
		if err != nil {
			return nil, err
		}
		in.exprs, in.names = append(in.exprs, x), append(in.names, d.output()) // not add: equal dimensions are unnested each for itself
	}
	for i := range in.exprs {
		out.Keys = append(out.Keys, i)
	}
	var groupings []*GroupingAggregator
	at := make([]int, len(g.Aggregations)) // column of out, or -1 for groupings
	for i, a := range g.Aggregations {
		if ga, ok := a.Aggregator.(*GroupingAggregator); ok {
			groupings, at[i] = append(groupings, ga), -1
			continue
		}
		call, err := s.aggregator(in, a.Aggregator, nil)
		if err != nil {
			return nil, err
		}
		at[i] = len(out.Keys) + len(out.Aggs)
		out.Aggs = append(out.Aggs, call)
	}
	out.Input = &plan.Project{Input: node, Exprs: in.exprs, Names: in.names}
	for i, k := range out.Keys {
		if c := out.Input.Columns()[k]; c.Type.Multi {
			out.Input = &plan.Unnest{Input: out.Input, Column: k, Name: c.Name, Elem: c.Type.Elem(), Outer: true}
			out.Keys[i] = len(out.Input.Columns()) - 1
		}
	}
	if g.subtotals != nil {
		out.Sets = sets(g.subtotals, g.dimensions, bucketed)
		out.Grouping = len(groupings) > 0
	}
	return t.outputs(g, out, at)
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
		for i, d := range dimensions {
			if slices.Contains(names, d.output()) {
				set = append(set, first+i)
			}
		}
		out = append(out, set)
	}
	return out
}

// outputs projects the groups to their outputs. at gives the columns of the aggregators.
func (t *translator) outputs(g grouped, in *plan.Aggregate, at []int) (plan.Node, error) {
	columns := in.Columns()
	p := &plan.Project{Input: in}
	add := func(x expr.Expr, name string) { p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name) }
	ref := func(i int) expr.Expr { return &expr.Column{Index: i, Name: columns[i].Name, T: columns[i].Type} }
	first := 0
	if g.granularity.IsAll() {
		add(&expr.Literal{Value: start(g.common), T: timeType.NotNull()}, plan.TimeColumn)
	} else {
		add(ref(0), plan.TimeColumn)
		first = 1
	}
	for i, d := range g.dimensions {
		add(ref(first+i), d.output())
	}
	for i, a := range g.Aggregations {
		if at[i] >= 0 {
			add(ref(at[i]), a.output())
			continue
		}
		x, err := g.groupingBits(a.Aggregator.(*GroupingAggregator), in, columns)
		if err != nil {
			return nil, err
		}
		add(x, a.output())
	}
	if len(g.PostAggregations) == 0 {
		return p, nil
	}
	// A post-aggregator sees the ones before it by name: their expressions are put in place.
	for _, post := range g.PostAggregations {
		var q plan.Node = p
		s, err := t.newScope(q.Columns(), nil)
		if err != nil {
			return nil, err
		}
		x, err := s.post(post.PostAggregator)
		if err != nil {
			return nil, err
		}
		next := &plan.Project{Input: p}
		for i, c := range p.Columns() {
			next.Exprs, next.Names = append(next.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(next.Names, c.Name)
		}
		next.Exprs, next.Names = append(next.Exprs, plain(x)), append(next.Names, post.output())
		p = next
	}
	return p, nil
}

// start is the time of groups under granularity all: the begin of the intervals.
func start(c *Common) int64 {
	if list := c.When(); len(list) > 0 {
		return list[0].Start
	}
	return 0
}

// groupingBits picks the bits of a's dimensions from the grouping id.
func (g grouped) groupingBits(a *GroupingAggregator, in *plan.Aggregate, columns []plan.Column) (expr.Expr, error) {
	if len(a.Groupings) > 62 {
		return nil, invalid("Aggregator [%s] of type [grouping] can't have more than [62] dimensions", a.Name)
	}
	var out expr.Expr = longLiteral(0)
	if in.Sets == nil {
		return out, nil
	}
	id := &expr.Column{Index: len(columns) - 1, Name: columns[len(columns)-1].Name, T: columns[len(columns)-1].Type}
	for i, name := range a.Groupings {
		d := slices.IndexFunc(g.dimensions, func(d DimensionOf) bool {
			c, ok := d.Dimension.(*ColumnDimension)
			return d.output() == name || ok && c.Dimension == name
		})
		if d < 0 {
			continue // a column that is no dimension is in no subtotal's way
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
	p, ok := g.Period()
	if !ok {
		return nil, fault.Unsupported("Granularity [%s] is not supported", g)
	}
	zone := "UTC"
	if z := g.Zone(); z != nil {
		zone = z.Name()
	}
	args := []expr.Expr{x, textLiteral(p.String()), &expr.Literal{T: timeType}, textLiteral(zone)}
	if origin, ok := g.Origin(); ok {
		args[2] = &expr.Literal{Value: origin, T: timeType.NotNull()}
	}
	return call("TIME_FLOOR", args...)
}

func (t *translator) timeseries(q *Timeseries) (plan.Node, error) {
	n, err := t.group(grouped{common: &q.Common, granularity: q.Granularity.orAll(), Grouping: &q.Grouping})
	if err != nil || q.Granularity.orAll().IsAll() {
		return n, err
	}
	limit := int64(-1)
	if q.Limit > 0 && q.Limit < math.MaxInt32 && skipsEmpty(&q.Common) {
		limit = int64(q.Limit)
	}
	return &plan.Sort{Input: n, Keys: []plan.SortKey{{Column: 0, Desc: q.Descending, NullsFirst: true}}, Limit: limit}, nil
}

// skipsEmpty reports whether a timeseries leaves empty buckets out.
func skipsEmpty(c *Common) bool {
	switch v := c.Context["skipEmptyBuckets"].V.(type) {
	case bool:
		return v
	case string:
		return lower(v) == "true"
	}
	return false
}

// SkipsEmpty reports whether buckets without rows are to be left out of a timeseries.
func (q *Timeseries) SkipsEmpty() bool { return skipsEmpty(&q.Common) }

// topN sorts each bucket's groups. Under granularity all the limit is part of the plan; otherwise the reader counts per bucket.
func (t *translator) topN(q *TopN) (plan.Node, error) {
	g := q.Granularity.orAll()
	n, err := t.group(grouped{common: &q.Common, granularity: g, dimensions: []DimensionOf{q.Dimension}, Grouping: &q.Grouping})
	if err != nil {
		return nil, err
	}
	keys := []plan.SortKey{{Column: 0}}
	inverted := false
	metric := q.Metric.TopNMetric
	for {
		m, ok := metric.(*InvertedMetric)
		if !ok {
			break
		}
		inverted, metric = !inverted, m.Metric.TopNMetric
	}
	width := len(n.Columns())
	switch m := metric.(type) {
	case *NumericMetric:
		i := slices.IndexFunc(n.Columns(), func(c plan.Column) bool { return c.Name == m.Metric })
		if i < 0 {
			return nil, invalid("Must have an AggregatorFactory or PostAggregator for metric[%s]", m.Metric)
		}
		keys = append(keys, plan.SortKey{Column: i, Desc: !inverted})
	case *DimensionMetric:
		ordering := m.Ordering
		if ordering == "" {
			ordering = "lexicographic"
		}
		if m.PreviousStop != nil {
			op := ">"
			if inverted {
				op = "<"
			}
			x := expr.Expr(&expr.Column{Index: 1, Name: n.Columns()[1].Name, T: n.Columns()[1].Type})
			c, err := boundTerm(op, x, *m.PreviousStop, ordering)
			if err != nil {
				return nil, err
			}
			n = &plan.Filter{Input: n, Cond: c}
		}
		var key plan.SortKey
		if n, key, err = orderKey(n, 1, ordering, inverted); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	default:
		return nil, invalid("must specify a metric")
	}
	keys = append(keys, plan.SortKey{Column: 1, NullsFirst: true})
	limit := int64(-1)
	if g.IsAll() {
		limit = int64(q.Threshold)
	}
	n = &plan.Sort{Input: n, Keys: keys, Limit: limit}
	return narrow(n, width), nil
}

// narrow drops the columns behind the first width, which were added to sort by.
func narrow(n plan.Node, width int) plan.Node {
	if len(n.Columns()) == width {
		return n
	}
	keep := make([]int, width)
	for i := range keep {
		keep[i] = i
	}
	return plan.Select(n, keep)
}

// orderKey is the sort key for column i in an order of texts. Where that is not the column's own order, a column is added to sort by.
func orderKey(n plan.Node, i int, ordering OrderingOf, desc bool) (plan.Node, plan.SortKey, error) {
	key := plan.SortKey{Column: i, Desc: desc, NullsFirst: !desc}
	c := n.Columns()[i]
	x := expr.Expr(&expr.Column{Index: i, Name: c.Name, T: c.Type})
	var by expr.Expr
	var err error
	switch ordering {
	case "", "natural":
		return n, key, nil
	case "lexicographic":
		if c.Type.IsCharacter() {
			return n, key, nil
		}
		by, err = cast(x, textType)
	case "numeric":
		if c.Type.IsNumeric() || c.Type.IsTime() {
			return n, key, nil
		}
		by, err = cast(x, doubleType)
	case "strlen":
		if by, err = cast(x, textType); err == nil {
			by, err = call("LENGTH", by)
		}
	default:
		return nil, key, fault.Unsupported("Ordering [%s] is not supported", ordering)
	}
	if err != nil {
		return nil, key, err
	}
	p := &plan.Project{Input: n}
	for j, c := range n.Columns() {
		p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: j, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
	}
	p.Exprs, p.Names = append(p.Exprs, by), append(p.Names, "$order")
	key.Column = len(p.Exprs) - 1
	return p, key, nil
}

func (t *translator) groupBy(q *GroupBy) (plan.Node, error) {
	g := q.Granularity.Granularity
	n, err := t.group(grouped{common: &q.Common, granularity: g, dimensions: q.Dimensions, Grouping: &q.Grouping, subtotals: q.SubtotalsSpec})
	if err != nil {
		return nil, err
	}
	if q.Having.Having != nil {
		s, err := t.newScope(n.Columns(), nil)
		if err != nil {
			return nil, err
		}
		c, err := s.having(q.Having.Having)
		if err != nil {
			return nil, err
		}
		n = &plan.Filter{Input: n, Cond: c}
	}
	width := len(n.Columns())
	keys := []plan.SortKey{{Column: 0}}
	limit, offset := int64(-1), int64(0)
	if l := q.LimitSpec; l != nil {
		if l.Limit != nil && *l.Limit < math.MaxInt32 {
			limit = int64(*l.Limit)
		}
		offset = int64(l.Offset)
		for _, o := range l.Columns {
			i := slices.IndexFunc(n.Columns()[:width], func(c plan.Column) bool { return c.Name == o.Dimension })
			if i < 0 {
				return nil, invalid("Unknown column in order clause[%s]", o.Dimension)
			}
			ordering := o.DimensionOrder
			if i > len(q.Dimensions) {
				ordering = "" // aggregates have their own order
			} else if ordering == "" && !n.Columns()[i].Type.IsNumeric() {
				ordering = "lexicographic"
			}
			var key plan.SortKey
			if n, key, err = orderKey(n, i, ordering, o.Descending()); err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	if q.SubtotalsSpec != nil && (q.LimitSpec == nil || len(q.LimitSpec.Columns) == 0) && limit < 0 {
		return n, nil // the subtotals come in the order of the spec
	}
	for i := range q.Dimensions {
		c := n.Columns()[i+1]
		if c.Type.Base != expr.Other && !slices.ContainsFunc(keys, func(k plan.SortKey) bool { return k.Column == i+1 }) {
			keys = append(keys, plan.SortKey{Column: i + 1, NullsFirst: true})
		}
	}
	return narrow(&plan.Sort{Input: n, Keys: keys, Offset: offset, Limit: limit}, width), nil
}

// having translates a condition on groups.
func (s *scope) having(h Having) (expr.Expr, error) {
	list := func(specs []HavingOf, empty bool, join func([]expr.Expr, fault.Span) (expr.Expr, error)) (expr.Expr, error) {
		var terms []expr.Expr
		for _, h := range specs {
			c, err := s.having(h.Having)
			if err != nil {
				return nil, err
			}
			terms = append(terms, c)
		}
		switch len(terms) {
		case 0:
			return boolLiteral(empty), nil
		case 1:
			return terms[0], nil
		}
		return join(terms, fault.Span{})
	}
	switch h := h.(type) {
	case *AlwaysHaving:
		return boolLiteral(true), nil
	case *AndHaving:
		return list(h.HavingSpecs, true, expr.NewAnd)
	case *OrHaving:
		return list(h.HavingSpecs, false, expr.NewOr)
	case *NotHaving:
		c, err := s.having(h.HavingSpec.Having)
		if err != nil {
			return nil, err
		}
		return expr.NewNot(c, fault.Span{})
	case *DimensionHaving:
		return s.selector(h.Dimension, h.Value, h.ExtractionFn)
	case *NumberHaving:
		x, err := s.column(h.Aggregation)
		if err != nil {
			return nil, err
		}
		if x, err = number(x); err != nil {
			return nil, err
		}
		op := map[string]string{"equalTo": "=", "greaterThan": ">", "lessThan": "<"}[h.Type]
		return compareText(op, x, h.Value.S)
	case *FilterHaving:
		if h.Filter.Filter == nil {
			return nil, invalid("Having of type [filter] needs a filter")
		}
		return s.filter(h.Filter.Filter)
	}
	return nil, invalid("A having condition can't be null")
}

// Ungrouped is the timeseries over all buckets of q together.
func Ungrouped(q *Timeseries) *Timeseries {
	out := *q
	out.Granularity, out.Limit, out.Descending = GranularitySet{Granularity: chrono.All, Given: true}, 0, false
	return &out
}

// Never is a timeseries with the outputs of q over no rows: what a bucket without rows shows.
func Never(q *Timeseries) *Timeseries {
	out := Ungrouped(q)
	out.Filter = FilterOf{&FalseFilter{}}
	return out
}
