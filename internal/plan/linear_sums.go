package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/vector"
)

// linearSums computes several sums of one whole number plus different constants from a single sum
// and a count: SUM(x + c) is SUM(x) + c * COUNT(x), exactly, as whole numbers wrap around in both.
func (o *optimizer) linearSums(n Node) Node {
	n = MapInputs(n, o.linearSums)
	a, ok := n.(*Aggregate)
	if !ok || a.Sets != nil {
		return n
	}
	p, ok := a.Input.(*Project)
	if !ok {
		return n
	}
	var groups []*shiftedSums
	for i := range a.Aggs {
		groups = addShifted(groups, &a.Aggs[i], i, p)
	}
	if !slices.ContainsFunc(groups, (*shiftedSums).worthIt) {
		return n
	}
	r := linearRewrite{in: &Project{Input: p.Input, Exprs: append([]expr.Expr(nil), p.Exprs...), Names: append([]string(nil), p.Names...)}}
	r.sums = make([]expr.Expr, len(a.Aggs))
	for _, g := range groups {
		if g.worthIt() {
			r.replace(g, a)
		}
	}
	o.fired()
	return r.finish(a)
}

// shiftedSums are the sums of x plus constants, over the same rows.
type shiftedSums struct {
	sum    string // the function
	x      expr.Expr
	filter int
	calls  []int   // of the Aggregate
	shifts []int64 // by call
}

// worthIt reports whether one sum and one count are less work.
func (g *shiftedSums) worthIt() bool { return len(g.calls) > 2 }

// addShifted adds call number i to the group that it belongs to, if it is such a sum.
func addShifted(groups []*shiftedSums, call *AggCall, i int, p *Project) []*shiftedSums {
	if f := agg.Lookup(call.Agg.Name); f == nil || !f.Linear || call.Agg.Keep || call.Distinct || call.Agg.Args[0] != vector.Long {
		return groups
	}
	x, shift := shifted(p.Exprs[call.Args[0]])
	for _, g := range groups {
		if g.sum == call.Agg.Name && g.filter == call.Filter && expr.Equal(g.x, x) {
			g.calls, g.shifts = append(g.calls, i), append(g.shifts, shift)
			return groups
		}
	}
	if IsVolatile(x) {
		return groups
	}
	return append(groups, &shiftedSums{sum: call.Agg.Name, x: x, filter: call.Filter, calls: []int{i}, shifts: []int64{shift}})
}

// shifted takes a whole number apart into what varies and a constant that is added.
func shifted(e expr.Expr) (x expr.Expr, by int64) {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) != 2 || c.T.Runtime() != vector.Long || c.T.IsTime() || c.T.IsInterval() || c.Fn.Name != "+" && c.Fn.Name != "-" {
		return e, 0
	}
	if k, ok := wholeLiteral(c.Args[1]); ok {
		if c.Fn.Name == "-" {
			k = -k
		}
		return c.Args[0], k
	}
	if k, ok := wholeLiteral(c.Args[0]); ok && c.Fn.Name == "+" {
		return c.Args[1], k
	}
	return e, 0
}

func wholeLiteral(e expr.Expr) (int64, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return 0, false
	}
	x, ok := l.Value.(int64)
	return x, ok
}

// linearRewrite collects the new input, the new aggregates and what stands for the old ones.
type linearRewrite struct {
	in   *Project
	aggs []AggCall
	sums []expr.Expr // by old aggregate; nil: it stays
}

// replace makes one sum and one count of a group. The expressions refer to the new aggregates by
// their place after the keys and all old aggregates.
func (r *linearRewrite) replace(g *shiftedSums, a *Aggregate) {
	at := len(r.in.Exprs)
	r.in.Exprs, r.in.Names = append(r.in.Exprs, g.x), append(r.in.Names, "$x")
	big := expr.Of(expr.BigInt)
	first := len(a.Keys) + len(a.Aggs) + len(r.aggs)
	sum := &expr.Column{Index: first, Name: "$sum", T: big}
	count := &expr.Column{Index: first + 1, Name: "$count", T: big.NotNull()}
	for _, c := range []struct {
		name string
		of   *expr.Column
	}{{g.sum, sum}, {"COUNT", count}} {
		spec := agg.Spec{Name: c.name, Args: []vector.Type{vector.Long}}
		r.aggs = append(r.aggs, AggCall{Agg: spec, Args: []int{at}, Filter: g.filter, Name: c.of.Name, Type: c.of.T})
	}
	plus, _ := catalog.Lookup("+")
	times, _ := catalog.Lookup("*")
	for i, call := range g.calls {
		t := a.Aggs[call].Type
		if g.shifts[i] == 0 {
			r.sums[call] = &expr.Column{Index: sum.Index, Name: sum.Name, T: t}
			continue
		}
		product := &expr.Call{Fn: times, Args: []expr.Expr{count, &expr.Literal{Value: g.shifts[i], T: big.NotNull()}}, T: big.NotNull()}
		r.sums[call] = &expr.Call{Fn: plus, Args: []expr.Expr{sum, product}, T: t}
	}
}

// finish returns the projection that has the columns of a.
func (r *linearRewrite) finish(a *Aggregate) Node {
	c := *a
	c.Input, c.Aggs = r.in, append(append([]AggCall(nil), a.Aggs...), r.aggs...)
	out, columns := &Project{Input: &c}, c.Columns()
	for i, column := range a.Columns() {
		e := expr.Expr(columnRefOf(columns, i))
		if call := i - len(a.Keys); call >= 0 && r.sums[call] != nil {
			e = r.sums[call]
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, column.Name)
	}
	return out
}
