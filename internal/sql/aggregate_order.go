package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// byOrder gives the aggregates of n the orders their rows are to come in, nil for any. An Aggregate
// has one order: where the calls want several, the groups are made once for each, and joined. The
// columns are those of n. The different values of a DISTINCT come in their own order, ascending, if
// there is no other for them.
func byOrder(n *plan.Aggregate, orders [][]plan.SortKey) plan.Node {
	if slices.ContainsFunc(orders, func(o []plan.SortKey) bool { return o != nil }) {
		for i, a := range n.Aggs {
			if orders[i] == nil && a.Distinct && agg.Lookup(a.Agg.Name).InOrder {
				for _, arg := range a.Args {
					orders[i] = append(orders[i], plan.SortKey{Column: arg, NullsFirst: true})
				}
			}
		}
	}
	var different [][]plan.SortKey
	for _, o := range orders {
		if o != nil && !slices.ContainsFunc(different, func(d []plan.SortKey) bool { return slices.Equal(d, o) }) {
			different = append(different, o)
		}
	}
	if len(different) < 2 {
		out := *n
		if len(different) == 1 {
			out.Order = different[0]
		}
		return &out
	}
	var joined plan.Node
	at := make([]int, len(n.Aggs)) // the column of joined that has the aggregate
	for i, order := range different {
		part := *n
		part.Order, part.Aggs, part.Grouping = order, nil, n.Sets != nil
		before := 0
		if joined != nil {
			before = plan.Width(joined)
		}
		for j, a := range n.Aggs {
			if slices.Equal(orders[j], order) || orders[j] == nil && i == 0 {
				at[j] = before + len(n.Keys) + len(part.Aggs)
				part.Aggs = append(part.Aggs, a)
			}
		}
		joined = joinGroups(joined, &part)
	}
	p := &plan.Project{Input: joined}
	add := func(i int, c plan.Column) {
		p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
	}
	cols := n.Columns()
	for i := range n.Keys {
		add(i, cols[i])
	}
	for j, i := range at {
		add(i, cols[len(n.Keys)+j])
	}
	if n.Grouping {
		add(setColumn(joined), cols[len(cols)-1])
	}
	return p
}

// joinGroups puts the aggregates of right beside those of left, which has the same groups.
func joinGroups(left plan.Node, right *plan.Aggregate) plan.Node {
	if left == nil {
		return right
	}
	j := &plan.Join{Kind: plan.Inner, Left: left, Right: right}
	for k := range right.Keys {
		j.Keys = append(j.Keys, plan.EquiKey{Left: k, Right: k, NullSafe: true})
	}
	if right.Grouping {
		// A key that is NULL in a row's set is not one that is NULL in its data.
		j.Keys = append(j.Keys, plan.EquiKey{Left: setColumn(left), Right: plan.Width(right) - 1})
	}
	return j
}

// setColumn is the column of joined groups that tells their grouping set: the last of the leftmost
// Aggregate.
func setColumn(n plan.Node) int {
	for {
		j, ok := n.(*plan.Join)
		if !ok {
			return plan.Width(n) - 1
		}
		n = j.Left
	}
}
