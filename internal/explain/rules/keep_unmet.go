package rules

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// folding is fold_constants, but for what Druid has no constants of: lists of a column's values,
// and sketches. With unmet, conditions that are never true stay, where rows could meet them. See
// quirk Q015.
func folding(unmet bool) plan.Rule {
	var fold func(n plan.Node, c expr.Context) plan.Node
	fold = func(n plan.Node, c expr.Context) plan.Node {
		n = plan.MapInputs(n, func(n plan.Node) plan.Node { return fold(n, c) })
		n = plan.MapExprs(n, func(e expr.Expr) expr.Expr {
			if (e.Type().Base == expr.Other || e.Type().Multi) && expr.IsConstant(e) {
				return e
			}
			return plan.FoldExpr(e, &c)
		})
		if unmet && isUnmet(n) {
			return n
		}
		return plan.FoldNode(n)
	}
	return plan.NewRule("fold_constants", fold)
}

// isUnmet reports whether n is rows of which no one meets a condition.
func isUnmet(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return plan.IsNever(x.Filter)
	case *plan.Filter:
		inline, ok := x.Input.(*plan.Inline)
		return plan.IsNever(x.Cond) && !(ok && inline.Rows.Rows() == 0)
	}
	return false
}

// keepEmptyTimes is time_intervals, but that a scan stays of which conditions on buckets of time
// leave none.
var keepEmptyTimes = plan.NewRule("time_intervals", timesOf)

func timesOf(n plan.Node, c expr.Context) plan.Node {
	n = plan.MapInputs(n, func(n plan.Node) plan.Node { return timesOf(n, c) })
	scan, ok := n.(*plan.Scan)
	if !ok || scan.Filter == nil || scan.TimeColumn() < 0 {
		return n
	}
	bound, _ := plan.TimeBounds(scan.Filter, scan.TimeColumn(), c.Zone, scan.Intervals)
	if bound != nil && len(bound) == 0 && (scan.Intervals == nil || len(scan.Intervals) > 0) && emptyByBuckets(scan, c.Zone) {
		out := *scan
		out.Filter, out.Intervals = nil, bound
		return &out
	}
	return plan.RuleNamed("time_intervals").Apply(scan, c)
}

// emptyByBuckets reports whether only conditions on buckets of time leave no time for the rows of a
// scan.
func emptyByBuckets(scan *plan.Scan, zone *chrono.Zone) bool {
	var others []expr.Expr
	for t := range plan.Terms(scan.Filter) {
		bucket := false
		expr.Walk(t, func(e expr.Expr) bool {
			switch x := e.(type) {
			case *expr.Call:
				bucket = bucket || x.Fn.FloorsTime
			case *expr.Cast:
				bucket = bucket || x.T.Base == expr.Date
			}
			return !bucket
		})
		if !bucket {
			others = append(others, t)
		}
	}
	bound, _ := plan.TimeBounds(plan.Conjunction(others), scan.TimeColumn(), zone, scan.Intervals)
	return bound == nil || len(bound) > 0
}
