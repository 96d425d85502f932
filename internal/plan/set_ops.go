package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/vector"
)

// setOps makes INTERSECT and EXCEPT of distinct rows groups of the rows of both sides, of which a
// column more says from which side they come: groups with rows of both, or of the left side only.
// Groups are made by all workers, and what is known of them holds for set operations, too.
func (o *optimizer) setOps(n Node) Node {
	n = MapInputs(n, o.setOps)
	x, ok := n.(*SetOp)
	if !ok || x.All {
		return n
	}
	o.fired()
	cols, right := x.Left.Columns(), x.Right.Columns()
	keys := make([]int, len(cols))
	union := &Union{Ins: []Node{ofSide(x.Left, leftSide), ofSide(x.Right, rightSide)}, Out: slices.Clone(cols)}
	for i := range cols {
		keys[i] = i
		union.Out[i].Type = cols[i].Type.OrNull(right[i].Type.Nullable)
	}
	side := Column{Name: "$side", Type: expr.Of(expr.BigInt).NotNull()}
	union.Out = append(union.Out, side)
	// The right side counts more: the greatest side of a group says whether it is there.
	groups := &Aggregate{Input: union, Keys: keys, Aggs: []AggCall{sideOf("MAX", len(cols), side.Type)}}
	cond := isSide(groups, len(cols), leftSide)
	if x.Kind == Intersect {
		groups.Aggs = append(groups.Aggs, sideOf("MIN", len(cols), side.Type))
		cond = Conjunction([]expr.Expr{isSide(groups, len(cols), rightSide), isSide(groups, len(cols)+1, leftSide)})
	}
	out := &Project{Input: filter(groups, []expr.Expr{cond})}
	for i, c := range cols { // no row that is given comes from the right side alone
		out.Exprs, out.Names = append(out.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(out.Names, c.Name)
	}
	return out
}

// leftSide and rightSide number the sides of a set operation.
const (
	leftSide int64 = iota
	rightSide
)

// ofSide puts the number of its side behind the columns of n.
func ofSide(n Node, side int64) Node {
	p := Select(n, identity(Width(n)))
	p.Exprs, p.Names = append(p.Exprs, sideLiteral(side)), append(p.Names, "$side")
	return p
}

func sideLiteral(side int64) expr.Expr {
	return &expr.Literal{Value: side, T: expr.Of(expr.BigInt).NotNull()}
}

// sideOf is the least or the greatest side of a group's rows, which stands in a column.
func sideOf(fn string, column int, t expr.Type) AggCall {
	return AggCall{Agg: agg.Spec{Name: fn, Args: []vector.Type{vector.Long}}, Args: []int{column}, Filter: -1, Name: "$" + fn, Type: t}
}

// isSide is the condition that a column of groups is a side.
func isSide(groups *Aggregate, column int, side int64) expr.Expr {
	c := ColumnAt(groups, column)
	equal, _ := catalog.Lookup(fnEqual)
	return &expr.Call{Fn: equal, Args: []expr.Expr{&expr.Column{Index: column, Name: c.Name, T: c.Type}, sideLiteral(side)}, T: expr.Of(expr.Boolean).NotNull()}
}
