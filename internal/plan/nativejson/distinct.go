package nativejson

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Native queries count distinct values exactly as groups: of the groups by the keys and the values, those by the keys. Other aggregates are computed in two
// steps then, too.

// again is the aggregate that makes one of several results of another; "": there is none.
var again = map[string]string{"COUNT": "SUM", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX"}

// countedKeys has exact counts of the distinct values of a key be what they are of a group: one, or none of NULL.
func countedKeys(n plan.Node) plan.Node {
	old := n.Inputs()
	if len(old) == 0 {
		return n
	}
	in := make([]plan.Node, len(old))
	for i, c := range old {
		in[i] = countedKeys(c)
	}
	n = plan.WithInputs(n, in)
	x, ok := n.(*plan.Aggregate)
	if !ok || x.Sets != nil || len(x.Aggs) != 1 {
		return n
	}
	a := x.Aggs[0]
	if !a.Distinct || a.Agg.Name != "COUNT" || a.Filter >= 0 || len(a.Args) != 1 {
		return n
	}
	same := func(i, j int) bool {
		p, ok := x.Input.(*plan.Project)
		return i == j || ok && expr.Equal(p.Exprs[i], p.Exprs[j])
	}
	at := slices.IndexFunc(x.Keys, func(k int) bool { return same(k, a.Args[0]) })
	if at < 0 {
		return n
	}
	groups := &plan.Aggregate{Input: x.Input, Keys: x.Keys}
	out := &plan.Project{Input: groups}
	for i, c := range groups.Columns() {
		out.Exprs, out.Names = append(out.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(out.Names, c.Name)
	}
	whole := func(n int64) expr.Expr { return &expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()} }
	count := &expr.Case{Whens: []expr.When{{Cond: notNull(out.Exprs[at]), Then: whole(1)}}, Else: whole(0), T: expr.Of(expr.BigInt).NotNull()}
	out.Exprs, out.Names = append(out.Exprs, count), append(out.Names, a.Name)
	return out
}

// exactDistinct is the stage that counts the groups of another, where the aggregates of s have one COUNT(DISTINCT x) among them; nil: they have none, or
// anything else that this can't do.
func (s *stage) exactDistinct() *stage {
	g := s.group
	at := -1
	for i, a := range g.node.Aggs {
		switch {
		case a.Distinct && (at >= 0 || a.Agg.Name != "COUNT" || len(a.Args) != 1):
			return nil
		case a.Distinct:
			at = i
		case again[a.Agg.Name] == "":
			return nil
		}
	}
	if at < 0 || g.node.Sets != nil || s.w.asItIs && len(g.node.Aggs) > 1 || len(g.node.Aggs) > 1 && slices.ContainsFunc(g.node.Aggs, func(a plan.AggCall) bool { return a.Filter >= 0 }) {
		return nil
	}
	call := g.node.Aggs[at]
	inner := *s
	inner.sorted, inner.keys, inner.limit, inner.offset, inner.pick = false, nil, -1, 0, nil
	if call.Filter >= 0 {
		inner.filter = and(inner.filter, g.args[call.Filter])
	}
	inner.cols, inner.group = g.args, nil
	inner.unordered = !s.showsAll() || g.having == nil && (!s.sorted || s.inOrder())
	distinct := len(g.node.Keys)
	groups := &plan.Aggregate{Input: g.node.Input, Keys: append(slices.Clone(g.node.Keys), call.Args[0])}
	node := &plan.Aggregate{Input: g.node.Input}
	for i := range g.node.Keys {
		node.Keys = append(node.Keys, i)
	}
	for _, a := range g.node.Aggs {
		step := plan.AggCall{Agg: agg.Spec{Name: "COUNT"}, Args: []int{distinct}, Filter: -1, Name: a.Name, Type: a.Type}
		if !a.Distinct {
			step.Agg, step.Args = agg.Spec{Name: again[a.Agg.Name]}, []int{len(groups.Keys) + len(groups.Aggs)}
			groups.Aggs = append(groups.Aggs, a)
		}
		node.Aggs = append(node.Aggs, step)
	}
	inner.aggregate(groups)
	inner.names = rowNamesOf(groups)
	q, err := inner.query()
	if err != nil {
		return nil
	}
	outer := inner.outer(q)
	args := outer.cols
	outer.group = &group{node: node, dims: args[:distinct], args: args, having: g.having}
	outer.cols, outer.sorted, outer.keys, outer.limit, outer.offset, outer.pick = s.cols, s.sorted, s.keys, s.limit, s.offset, s.pick
	return outer
}
