package native

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// regrouped has groups of groups by all of their keys be these groups: each is of one row, whose
// sum, least and greatest value are the value, and of which a value is counted once where there is
// one.
func regrouped(n plan.Node) plan.Node {
	n = plan.MapInputs(n, regrouped)
	x, ok := n.(*plan.Aggregate)
	if !ok || x.Sets != nil || !areUnique(x.Input, x.Keys) {
		return n
	}
	columns := x.Input.Columns()
	column := func(i int) expr.Expr { return &expr.Column{Index: i, Name: columns[i].Name, T: columns[i].Type} }
	names := x.Columns()
	out := &plan.Project{Input: x.Input}
	for i, k := range x.Keys {
		out.Exprs, out.Names = append(out.Exprs, column(k)), append(out.Names, names[i].Name)
	}
	for i, a := range x.Aggs {
		e := ofOneRow(a, column)
		if e == nil {
			return n
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, names[len(x.Keys)+i].Name)
	}
	return out
}

// countedSums has counts of the sums of groups be those of the groups: a group has a sum.
func countedSums(n plan.Node) plan.Node {
	n = plan.MapInputs(n, countedSums)
	x, ok := n.(*plan.Aggregate)
	if !ok {
		return n
	}
	out := *x
	out.Aggs = slices.Clone(x.Aggs)
	for i, a := range x.Aggs {
		if functionOf(&a).Counts && !a.Distinct && len(a.Args) == 1 && isSumOfGroups(x.Input, a.Args[0]) {
			out.Aggs[i].Args, out.Aggs[i].Agg.Args = nil, nil
		}
	}
	return &out
}

// isSum reports whether an aggregate is a sum, which for Druid is a number where there are groups.
// See quirk Q015.
func isSum(a *plan.AggCall) bool { return functionOf(a).Native.Kind == agg.NativeSum }

// isSumOfGroups reports whether a column of n is the sum of groups.
func isSumOfGroups(n plan.Node, column int) bool {
	switch x := n.(type) {
	case *plan.Filter:
		return isSumOfGroups(x.Input, column)
	case *plan.Project:
		c, ok := x.Exprs[column].(*expr.Column)
		return ok && isSumOfGroups(x.Input, c.Index)
	case *plan.Aggregate:
		a := column - len(x.Keys)
		return len(x.Keys) > 0 && x.Sets == nil && a >= 0 && a < len(x.Aggs) && isSum(&x.Aggs[a]) && x.Aggs[a].Filter < 0
	}
	return false
}

// ofOneRow is an aggregate of a group of one row, over its columns; nil: it does not follow from
// them.
func ofOneRow(a plan.AggCall, column func(int) expr.Expr) expr.Expr {
	if a.Filter >= 0 || len(a.Args) > 1 {
		return nil
	}
	switch fn := functionOf(&a); {
	case fn.MergesItself():
		return column(a.Args[0])
	case fn.Counts, fn.Native.Kind == agg.NativeCardinality:
		whole := func(n int64) expr.Expr { return &expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()} }
		if len(a.Args) == 0 || !column(a.Args[0]).Type().Nullable {
			return whole(1)
		}
		known := notNull(column(a.Args[0]))
		return &expr.Case{Whens: []expr.When{{Cond: known, Then: whole(1)}}, Else: whole(0), T: expr.Of(expr.BigInt).NotNull()}
	}
	return nil
}

// areUnique reports whether no two rows of n have the same values in some columns: these are all
// keys of the groups that the rows are.
func areUnique(n plan.Node, columns []int) bool {
	switch x := n.(type) {
	case *plan.Filter:
		return areUnique(x.Input, columns)
	case *plan.Project:
		var below []int
		for _, i := range columns {
			if c, ok := x.Exprs[i].(*expr.Column); ok {
				below = append(below, c.Index)
			}
		}
		return areUnique(x.Input, below)
	case *plan.Aggregate:
		for i := range x.Keys {
			if !slices.Contains(columns, i) {
				return false
			}
		}
		return len(x.Keys) > 0 && x.Sets == nil
	}
	return false
}
