package native

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// Native queries count distinct values exactly as groups: of the groups by the keys and the values,
// those by the keys. Other aggregates are computed in two steps then, too.

// isExactCount reports whether an aggregate is the exact count of the distinct values of a column.
func isExactCount(a *plan.AggCall) bool {
	return a.Distinct && functionOf(a).Counts && len(a.Args) == 1
}

// setNumber is what the number of a grouping set is called by which counts of distinct values are
// told apart.
const setNumber = "$g"

// countedKeys has exact counts of the distinct values of a key be what they are of a group: one, or
// none of NULL.
func countedKeys(n plan.Node) plan.Node {
	n = plan.MapInputs(n, countedKeys)
	x, ok := n.(*plan.Aggregate)
	if !ok || x.Sets != nil || len(x.Aggs) != 1 {
		return n
	}
	a := x.Aggs[0]
	if !isExactCount(&a) || a.Filter >= 0 {
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

// joinedCounts are aggregates of all rows, among them exact counts of distinct values that can't be
// computed together: each is of its own rows, joined with the others. nil: x is none.
func (w *writer) joinedCounts(x *plan.Aggregate) plan.Node {
	if len(x.Keys) > 0 || x.Sets != nil || w.stepwise || w.says(querycontext.GroupingSets, true) {
		return nil
	}
	var others []plan.AggCall
	counts := map[int]plan.AggCall{}
	var args []int
	inTwoSteps := true
	for _, a := range x.Aggs {
		switch {
		case a.Distinct && (a.Filter >= 0 || !isExactCount(&a)):
			return nil
		case !a.Distinct:
			others = append(others, a)
			inTwoSteps = inTwoSteps && a.Filter < 0 && functionOf(&a).MergedBy != ""
		case !slices.Contains(args, a.Args[0]):
			args = append(args, a.Args[0])
			counts[a.Args[0]] = a
		}
	}
	if len(args) == 0 || len(args) == 1 && inTwoSteps {
		return nil
	}
	var out plan.Node
	if len(others) > 0 {
		out = &plan.Aggregate{Input: x.Input, Aggs: others}
	}
	for _, arg := range args {
		one := &plan.Aggregate{Input: x.Input, Aggs: []plan.AggCall{counts[arg]}}
		if out == nil {
			out = one
		} else {
			out = &plan.Join{Left: out, Right: one, Kind: plan.Inner}
		}
	}
	keep := make([]int, len(x.Aggs))
	other := 0
	for i, a := range x.Aggs {
		if keep[i] = len(others) + slices.Index(args, argOf(&a)); !a.Distinct {
			keep[i] = other
			other++
		}
	}
	return plan.Select(out, keep)
}

// countedInSets are aggregates among which are exact counts of distinct values, where the context
// asks for grouping sets: groups by the keys and the values of each count, and by the keys alone
// for the other aggregates, are told apart by what they are groups of. nil: x is anything else.
func (w *writer) countedInSets(x *plan.Aggregate) plan.Node {
	if x.Sets != nil || w.stepwise || !w.says(querycontext.GroupingSets, true) {
		return nil
	}
	inner := &plan.Aggregate{Input: x.Input, Keys: slices.Clone(x.Keys)}
	for _, a := range x.Aggs {
		switch arg := argOf(&a); {
		case a.Filter >= 0 || a.Distinct && (!isExactCount(&a) || slices.Contains(x.Keys, arg)):
			return nil
		case !a.Distinct:
			inner.Aggs = append(inner.Aggs, a)
		case !slices.Contains(inner.Keys, arg):
			inner.Keys = append(inner.Keys, arg)
		}
	}
	values := len(inner.Keys) - len(x.Keys)
	if values == 0 || values == 1 && len(inner.Aggs) == 0 {
		return nil
	}
	var keys []int
	for i := range x.Keys {
		keys = append(keys, i)
	}
	for i := range values {
		inner.Sets = append(inner.Sets, append(slices.Clone(keys), len(keys)+i))
	}
	others := len(inner.Aggs)
	if others > 0 {
		inner.Sets = append(inner.Sets, keys)
	}
	whole := expr.Of(expr.BigInt).NotNull()
	inner.Aggs = append(inner.Aggs, plan.AggCall{Agg: agg.Spec{Name: grouping.Name}, Args: inner.Keys, Filter: -1, Name: setNumber,
		Type: whole})

	columns := inner.Columns()
	below := &plan.Project{Input: inner}
	for i, c := range columns {
		below.Exprs, below.Names = append(below.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(below.Names, c.Name)
	}
	set := below.Exprs[len(columns)-1]
	missing := int64(1)<<values - 1 // the values that the groups by the keys alone are not of
	isSet := func(without int64) int {
		below.Exprs, below.Names = append(below.Exprs, test("=", set, &expr.Literal{Value: without, T: whole})), append(below.Names, "s")
		return len(below.Exprs) - 1
	}
	outer := &plan.Aggregate{Input: below, Keys: keys}
	other := len(inner.Keys)
	for _, a := range x.Aggs {
		step := plan.AggCall{Agg: agg.Spec{Name: "MIN"}, Args: []int{other}, Name: a.Name, Type: a.Type}
		if a.Distinct {
			at := slices.Index(inner.Keys, a.Args[0])
			step.Agg.Name, step.Args = "COUNT", []int{at}
			step.Filter = isSet(missing &^ (1 << (len(inner.Keys) - 1 - at)))
		} else {
			step.Filter = isSet(missing)
			other++
		}
		outer.Aggs = append(outer.Aggs, step)
	}
	return outer
}

func argOf(a *plan.AggCall) int {
	if len(a.Args) == 1 {
		return a.Args[0]
	}
	return -1
}

// exactDistinct is the stage that counts the groups of another, where the aggregates of s have one
// COUNT(DISTINCT x) among them; nil: they have none, or anything else that this can't do.
func (s *stage) exactDistinct() *stage {
	g := s.group
	at := -1
	for i, a := range g.node.Aggs {
		switch {
		case a.Distinct && (at >= 0 || !isExactCount(&a)):
			return nil
		case a.Distinct:
			at = i
		case functionOf(&a).MergedBy == "":
			return nil
		}
	}
	if at < 0 || g.node.Sets != nil || s.w.stepwise && len(g.node.Aggs) > 1 || len(g.node.Aggs) > 1 && slices.ContainsFunc(g.node.Aggs, func(a plan.AggCall) bool { return a.Filter >= 0 }) {
		return nil
	}
	call := g.node.Aggs[at]
	inner := *s
	inner.sorted, inner.keys, inner.limit, inner.offset, inner.pick = false, nil, -1, 0, nil
	inner.cols, inner.group = g.args, nil
	input := g.node.Input
	if call.Filter >= 0 { // the values of the other rows are none
		of := func(list []expr.Expr) expr.Expr {
			value := list[call.Args[0]]
			return &expr.Case{Whens: []expr.When{{Cond: list[call.Filter], Then: value}}, T: value.Type().OrNull(true)}
		}
		all := plan.Select(input, places(len(input.Columns())))
		all.Exprs, all.Names = append(all.Exprs, of(all.Exprs)), append(all.Names, "only")
		inner.cols, input = append(slices.Clone(g.args), of(g.args)), all
		call.Args = []int{len(g.args)}
	}
	unordered := !s.group.showsAll(s.cols) || g.having == nil && (!s.sorted || s.group.inOrder(&s.ordered))
	distinct := len(g.node.Keys)
	groups := &plan.Aggregate{Input: input, Keys: append(slices.Clone(g.node.Keys), call.Args[0])}
	node := &plan.Aggregate{Input: g.node.Input}
	for i := range g.node.Keys {
		node.Keys = append(node.Keys, i)
	}
	for _, a := range g.node.Aggs {
		step := plan.AggCall{Agg: agg.Spec{Name: "COUNT"}, Args: []int{distinct}, Filter: -1, Name: a.Name, Type: a.Type}
		if !a.Distinct {
			step.Agg, step.Args = agg.Spec{Name: functionOf(&a).MergedBy}, []int{len(groups.Keys) + len(groups.Aggs)}
			groups.Aggs = append(groups.Aggs, a)
		}
		node.Aggs = append(node.Aggs, step)
	}
	inner.aggregate(groups)
	inner.group.unordered = unordered
	inner.names = rowNamesOf(groups)
	q, err := inner.query()
	if err != nil {
		return nil
	}
	outer := inner.outer(q)
	args := outer.cols
	outer.group = &grouped{node: node, dims: args[:distinct], args: args, having: g.having}
	outer.cols, outer.sorted, outer.keys, outer.limit, outer.offset, outer.pick = s.cols, s.sorted, s.keys, s.limit, s.offset, s.pick
	return outer
}
