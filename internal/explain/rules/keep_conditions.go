package rules

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// keepConditions is push_filters, but that conditions stay over unions, and over joins unless they
// are what rows are joined by.
//
// A plan is cut at its unions and joins: push_filters runs over what is above, where each of them
// is a leaf, and the cuts are then filled with what is below, done the same way.
var keepConditions = plan.NewRule("push_filters", keptConditions)

func keptConditions(n plan.Node, c expr.Context) plan.Node {
	cuts := map[plan.Node]plan.Node{}
	return filled(plan.RuleNamed("push_filters").Apply(cut(n, cuts), c), cuts, c)
}

// cut returns n with a leaf in the place of each topmost join and union, which are in cuts by it.
func cut(n plan.Node, cuts map[plan.Node]plan.Node) plan.Node {
	switch n.(type) {
	case *plan.Join, *plan.Union:
		leaf := plan.Empty(n.Columns())
		cuts[leaf] = n
		return leaf
	}
	return plan.MapInputs(n, func(n plan.Node) plan.Node { return cut(n, cuts) })
}

func filled(n plan.Node, cuts map[plan.Node]plan.Node, c expr.Context) plan.Node {
	if f, ok := n.(*plan.Filter); ok {
		if x, ok := cuts[f.Input].(*plan.Join); ok {
			if terms := plan.Split(f.Cond); joinsAll(x, terms) {
				return joined(x, terms, c)
			}
		}
	}
	switch x := cuts[n].(type) {
	case *plan.Join:
		return joined(x, nil, c)
	case *plan.Union:
		return plan.MapInputs(x, func(n plan.Node) plan.Node { return keptConditions(n, c) })
	}
	return plan.MapInputs(n, func(n plan.Node) plan.Node { return filled(n, cuts, c) })
}

// joinsAll reports whether each of the terms is an equality that reads both sides of a join without
// a condition.
func joinsAll(x *plan.Join, terms []expr.Expr) bool {
	if x.On != nil || len(x.Keys) > 0 {
		return len(terms) == 0
	}
	width := plan.Width(x.Left)
	for _, e := range terms {
		if c, ok := e.(*expr.Call); !ok || c.Fn.Name != "=" {
			return false
		}
		if plan.ReadsOnly(e, func(c int) bool { return c < width }) || plan.ReadsOnly(e, func(c int) bool { return c >= width }) {
			return false
		}
	}
	return true
}

// joined distributes terms, over the columns of left then right, and the terms of the join
// condition to the sides that they judge. That a column of the right side has one value stays in
// the condition.
func joined(x *plan.Join, terms []expr.Expr, c expr.Context) plan.Node {
	x = plan.Strengthen(x, terms)
	width := plan.Width(x.Left)
	judges := func(e expr.Expr, side func(int) bool) bool { return plan.ReadsOnly(e, side) && !plan.IsVolatile(e) }
	onLeft := func(e expr.Expr) bool { return judges(e, func(c int) bool { return c < width }) }
	onRight := func(e expr.Expr) bool { return judges(e, func(c int) bool { return c >= width }) }

	var left, right, on, stay []expr.Expr
	for _, e := range terms {
		switch {
		case onLeft(e) && x.Kind != plan.Right && x.Kind != plan.Full:
			left = append(left, e)
		case onRight(e) && (x.Kind == plan.Inner || x.Kind == plan.Right):
			right = append(right, e)
		default:
			stay = append(stay, e)
		}
	}
	for _, e := range plan.Split(x.On) {
		switch {
		case !readsSome(e):
			on = append(on, e)
		case onLeft(e) && (x.Kind == plan.Inner || x.Kind == plan.Semi || x.Kind == plan.Right):
			left = append(left, e)
		case onRight(e) && x.Kind != plan.Right && x.Kind != plan.Full && x.Kind != plan.AntiNull && !givesColumn(e):
			right = append(right, e)
		default:
			on = append(on, e)
		}
	}
	if x.Kind == plan.Inner {
		on, stay = append(on, stay...), nil
	}
	for i, e := range right {
		right[i] = plan.ShiftColumns(e, -width)
	}
	out := *x
	out.Left, out.Right, out.On = keptConditions(filter(x.Left, left), c), keptConditions(filter(x.Right, right), c), plan.Conjunction(on)
	return filter(&out, stay)
}

func filter(n plan.Node, terms []expr.Expr) plan.Node {
	if len(terms) == 0 {
		return n
	}
	return &plan.Filter{Input: n, Cond: plan.Conjunction(terms)}
}

func readsSome(e expr.Expr) bool { return !plan.ReadsOnly(e, func(int) bool { return false }) }

// givesColumn reports whether a condition is that a column has one value.
func givesColumn(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.Name != "=" || len(c.Args) != 2 {
		return false
	}
	left, right := c.Args[0], c.Args[1]
	if _, constant := left.(*expr.Literal); constant {
		left, right = right, left
	}
	_, isColumn := left.(*expr.Column)
	_, isConstant := right.(*expr.Literal)
	return isColumn && isConstant
}
