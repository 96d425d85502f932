package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/vector"
)

// eagerAggregation aggregates the large side of a join by what the join and the groups above look
// at, before it is joined, where the rows would otherwise all travel: other servers hold the large
// side, and the other one is too large to be sent to them. Rows of one partial group have the same
// partners, so that what stands for them counts once for each partner, as they would.
//
// Joins with dimensions that can be sent cost less than grouping by their keys and stay as they
// are.
func (o *optimizer) eagerAggregation(n Node) Node {
	n = MapInputs(n, o.eagerAggregation)
	a, ok := n.(*Aggregate)
	if !ok || o.options.BroadcastRowLimit <= 0 || len(a.Order) > 0 {
		return n
	}
	p, ok := a.Input.(*Project)
	if !ok {
		return n
	}
	j, ok := p.Input.(*Join)
	if !ok || len(j.Keys) == 0 || j.On != nil && IsVolatile(j.On) {
		return n
	}
	large := o.largeSide(j)
	if large < 0 {
		return n
	}
	g := newEagerGrouping(a, p, j, large)
	if !g.analyze() {
		return n
	}
	o.fired()
	return g.build()
}

// largeSide returns which side of a join is worth grouping first, 0 or 1, or -1.
func (o *optimizer) largeSide(j *Join) int {
	const worthwhile = 4 // times as many rows
	left, right := o.rows(j.Left), o.rows(j.Right)
	switch {
	case (j.Kind == Inner || j.Kind == Left) && right >= o.options.BroadcastRowLimit && left >= worthwhile*right:
		return 0
	case (j.Kind == Inner || j.Kind == Right) && left >= o.options.BroadcastRowLimit && right >= worthwhile*left:
		return 1
	}
	return -1
}

// maxEagerKeys bounds the columns of the large side that groups look at beside the keys of the
// join: the more there are, the fewer rows have them in common.
const maxEagerKeys = 2

// eagerGrouping takes an aggregation over a projection over a join apart.
type eagerGrouping struct {
	a     *Aggregate
	p     *Project
	j     *Join
	large int // the side that is grouped
	// first and width are where the large side's columns are among those of the join.
	first, width int

	keys  []expr.Expr // of the partial groups, over the large side
	calls []AggCall   // theirs, over under
	under []expr.Expr // what the calls read, behind the keys
}

func newEagerGrouping(a *Aggregate, p *Project, j *Join, large int) *eagerGrouping {
	g := &eagerGrouping{a: a, p: p, j: j, large: large, width: Width(j.Left)}
	if large == 1 {
		g.first, g.width = g.width, Width(j.Right)
	}
	return g
}

func (g *eagerGrouping) onLarge(column int) bool {
	return column >= g.first && column < g.first+g.width
}

func (g *eagerGrouping) onOther(column int) bool { return !g.onLarge(column) }

// analyze finds the keys and calls of the partial groups; false if there is something that can't be
// had of them.
func (g *eagerGrouping) analyze() bool {
	side := g.j.Inputs()[g.large].Columns()
	for _, k := range g.j.Keys {
		at := k.Left
		if g.large == 1 {
			at = k.Right
		}
		g.key(columnRefOf(side, at))
	}
	joined := len(g.keys)
	if g.j.On != nil {
		expr.Walk(g.j.On, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Column); ok && g.onLarge(c.Index) {
				g.key(columnRefOf(side, c.Index-g.first))
			}
			return true
		})
	}
	for _, k := range g.a.Keys {
		switch e := g.p.Exprs[k]; {
		case IsVolatile(e):
			return false
		case ReadsOnly(e, g.onOther):
		case ReadsOnly(e, g.onLarge):
			g.key(ShiftColumns(e, -g.first))
		default:
			return false
		}
	}
	if len(g.keys) > joined+maxEagerKeys || slices.ContainsFunc(g.keys, hasManyValues) {
		return false
	}
	for i := range g.a.Aggs {
		if !g.call(&g.a.Aggs[i]) {
			return false
		}
	}
	return true
}

// hasManyValues reports whether grouping by e gives about as many groups as there are rows, or
// more.
func hasManyValues(e expr.Expr) bool {
	_, column := e.(*expr.Column)
	return e.Type().Multi || column && e.Type().IsTime()
}

// key adds a key, over the large side, and returns its number.
func (g *eagerGrouping) key(e expr.Expr) int {
	at := slices.IndexFunc(g.keys, func(x expr.Expr) bool { return expr.Equal(x, e) })
	if at < 0 {
		at = len(g.keys)
		g.keys = append(g.keys, e)
	}
	return at
}

// call adds the partial form of a call. A FILTER over the large side is its; one over the other
// side is left to the call above.
func (g *eagerGrouping) call(c *AggCall) bool {
	f := agg.Lookup(c.Agg.Name)
	if f == nil || f.MergedBy == "" && !f.MergesKept || c.Distinct && !f.Duplicates {
		return false
	}
	if c.Agg.Keep || len(c.Agg.Params) > 0 || len(c.Args) > 1 || slices.ContainsFunc(c.Agg.Args, func(t vector.Type) bool { return t.Kind == vector.KindComplex }) {
		return false
	}
	partial := *c
	partial.Args, partial.Filter, partial.Distinct = nil, -1, false
	for _, at := range c.Args {
		e := g.p.Exprs[at]
		if IsVolatile(e) || e.Type().Multi || !ReadsOnly(e, g.onLarge) {
			return false
		}
		partial.Args = append(partial.Args, g.read(e))
	}
	if c.Filter >= 0 {
		switch e := g.p.Exprs[c.Filter]; {
		case IsVolatile(e):
			return false
		case ReadsOnly(e, g.onOther):
		case ReadsOnly(e, g.onLarge):
			partial.Filter = g.read(e)
		default:
			return false
		}
	}
	partial.Type = partial.Type.OrNull(!f.EmptyIsZero)
	if f.MergedBy == "" {
		partial.Agg.Keep = true
		t, err := partial.Agg.ResultType()
		if err != nil {
			return false
		}
		partial.Type = expr.FromRuntime(t, true)
	}
	g.calls = append(g.calls, partial)
	return true
}

// read returns the place of what a call reads, counted from the end of the keys for now.
func (g *eagerGrouping) read(e expr.Expr) int {
	g.under = append(g.under, ShiftColumns(e, -g.first))
	return len(g.under) - 1
}

// build returns the aggregation of the join of the partial groups.
func (g *eagerGrouping) build() Node {
	join := g.join()
	columns := join.Columns()
	grouped := 0 // where the partial groups' columns are
	if g.large == 1 {
		grouped = g.first
	}
	moved := func(c *expr.Column) expr.Expr { return columnRefOf(columns, g.other(c.Index)) }
	under := &Project{Input: join}
	add := func(e expr.Expr) int {
		under.Exprs, under.Names = append(under.Exprs, e), append(under.Names, "$x")
		return len(under.Exprs) - 1
	}
	top := *g.a
	top.Keys, top.Aggs = nil, nil
	for _, k := range g.a.Keys {
		e := g.p.Exprs[k]
		if ReadsOnly(e, g.onOther) {
			e = replaceColumns(e, moved)
		} else {
			e = columnRefOf(columns, grouped+g.key(ShiftColumns(e, -g.first)))
		}
		top.Keys = append(top.Keys, add(e))
	}
	for i, c := range g.a.Aggs {
		partial := &g.calls[i]
		merged := AggCall{Agg: agg.Spec{Name: c.Agg.Name, Args: []vector.Type{partial.Type.Runtime()}}, Filter: -1, Name: c.Name, Type: c.Type.OrNull(true)}
		if by := agg.Lookup(c.Agg.Name).MergedBy; by != "" {
			merged.Agg.Name = by
		}
		merged.Args = []int{add(columnRefOf(columns, grouped+len(g.keys)+i))}
		if c.Filter >= 0 && partial.Filter < 0 {
			merged.Filter = add(replaceColumns(g.p.Exprs[c.Filter], moved))
		}
		top.Aggs = append(top.Aggs, merged)
	}
	top.Input = under
	return g.finish(&top)
}

// join returns the join with the large side grouped.
func (g *eagerGrouping) join() *Join {
	side := g.j.Inputs()[g.large]
	rows := &Project{Input: side}
	for _, e := range append(slices.Clone(g.keys), g.under...) {
		rows.Exprs, rows.Names = append(rows.Exprs, e), append(rows.Names, "$x")
	}
	groups := &Aggregate{Input: rows}
	for i := range g.keys {
		groups.Keys = append(groups.Keys, i)
	}
	for _, c := range g.calls {
		c.Args = slices.Clone(c.Args)
		for i := range c.Args {
			c.Args[i] += len(g.keys)
		}
		if c.Filter >= 0 {
			c.Filter += len(g.keys)
		}
		groups.Aggs = append(groups.Aggs, c)
	}
	j := *g.j
	if g.large == 0 {
		j.Left = groups
	} else {
		j.Right = groups
	}
	j.Keys = slices.Clone(g.j.Keys)
	columns := side.Columns()
	for i := range j.Keys {
		at := &j.Keys[i].Left
		if g.large == 1 {
			at = &j.Keys[i].Right
		}
		*at = g.key(columnRefOf(columns, *at))
	}
	if g.j.On != nil {
		j.On = replaceColumns(g.j.On, func(c *expr.Column) expr.Expr {
			if g.onLarge(c.Index) {
				at := g.key(columnRefOf(columns, c.Index-g.first))
				if g.large == 1 {
					at += g.first
				}
				return &expr.Column{Index: at, Name: c.Name, T: c.T}
			}
			return &expr.Column{Index: g.other(c.Index), Name: c.Name, T: c.T}
		})
	}
	return &j
}

// other returns where a column of the other side goes.
func (g *eagerGrouping) other(column int) int {
	if g.large == 1 {
		return column
	}
	return column - g.width + len(g.keys) + len(g.calls)
}

// finish gives the columns of the aggregation their types back: a count of nothing is zero.
func (g *eagerGrouping) finish(top *Aggregate) Node {
	columns := top.Columns()
	out := &Project{Input: top}
	for i, c := range g.a.Columns() {
		e := expr.Expr(columnRefOf(columns, i))
		if call := i - len(top.Keys); call >= 0 && call < len(g.a.Aggs) && agg.Lookup(g.a.Aggs[call].Agg.Name).EmptyIsZero {
			coalesce, _ := catalog.Lookup("COALESCE")
			e = &expr.Call{Fn: coalesce, Args: []expr.Expr{e, &expr.Literal{Value: int64(0), T: c.Type}}, T: c.Type}
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, c.Name)
	}
	return out
}
