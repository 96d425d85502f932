package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// An EXISTS whose outer columns stand in its own conditions only, one of them an equality, needs no
// domain of their values: the conditions are those of a semi or anti join with the rows of the
// subquery. Without an equality the join would compare all pairs of rows, and asking for each
// different value of the outer columns once is better; with nothing but equalities the decorrelator
// joins no domain either.

// pullUp returns the rows of a subquery, of which only whether there are some matters, before the
// conditions with outer columns, and these conditions; nil where outer columns are used for
// something else.
func pullUp(n plan.Node) (plan.Node, []expr.Expr) {
	switch x := n.(type) {
	case *plan.Project:
		if !slices.ContainsFunc(x.Exprs, usesOuter) {
			return pullUp(x.Input)
		}
	case *plan.Sort:
		if x.Limit < 0 && x.Offset == 0 {
			return pullUp(x.Input)
		}
	case *plan.Filter:
		if correlated(x.Input) {
			return nil, nil
		}
		var own, outer []expr.Expr
		for _, t := range plan.Split(x.Cond) {
			if usesOuter(t) {
				outer = append(outer, t)
			} else {
				own = append(own, t)
			}
		}
		if len(own) == 0 {
			return x.Input, outer
		}
		return &plan.Filter{Input: x.Input, Cond: plan.Conjunction(own)}, outer
	}
	return nil, nil
}

// keyedByMore reports whether there are equalities with outer columns among the terms, and others.
func keyedByMore(terms []expr.Expr) bool {
	equalities := 0
	for _, t := range terms {
		if _, local := outerEquality(t); local != nil {
			equalities++
		}
	}
	return 0 < equalities && equalities < len(terms)
}

// onTerms joins n with right on conditions over right's columns and outer values, which are
// expressions over n.
func onTerms(n plan.Node, outer []expr.Expr, kind plan.JoinKind, right plan.Node, terms []expr.Expr) *plan.Join {
	n, columns := extend(n, outer)
	width := plan.Width(n)
	on := make([]expr.Expr, len(terms))
	for i, t := range terms {
		on[i] = expr.Remap(t, func(c int) int {
			if c >= correlatedBase {
				return columns[c-correlatedBase]
			}
			return width + c
		})
	}
	return &plan.Join{Kind: kind, Left: n, Right: right, On: plan.Conjunction(on)}
}
