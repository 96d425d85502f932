package exec

import (
	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// wantsBounds reports whether an aggregation wants nothing of a segment whose rows all count but
// their number and the least and the greatest time: it is a total of all rows of a scan, of COUNT,
// MIN and MAX of the time. What it says yes to, summary sums up without reading rows.
func wantsBounds(n *plan.Aggregate) bool {
	if len(n.Keys) > 0 || n.Sets != nil || len(n.Order) > 0 {
		return false
	}
	for _, call := range n.Aggs {
		if call.Filter >= 0 || call.Distinct || call.Agg.Keep || len(call.Args) > 1 {
			return false
		}
		if !ofBounds(agg.Lookup(call.Agg.Name).OfBlock) || len(call.Args) == 1 && !isTime(n.Input, call.Args[0]) {
			return false
		}
	}
	return allRows(n.Input)
}

// ofBounds reports whether the bounds of a segment, and its number of rows, give a statistic.
func ofBounds(s agg.Statistic) bool {
	return s == agg.ValueCount || s == agg.Least || s == agg.Greatest
}

// allRows reports whether a node gives all rows of a scan, whatever projections make of them.
func allRows(n plan.Node) bool {
	for {
		switch x := n.(type) {
		case *plan.Project:
			n = x.Input
		case *plan.Scan:
			return x.Filter == nil && x.Limit < 0 && x.Time == 0
		default:
			return false
		}
	}
}

// isTime reports whether column c of a node is the time of a scan's rows.
func isTime(n plan.Node, c int) bool {
	for {
		switch x := n.(type) {
		case *plan.Project:
			column, ok := x.Exprs[c].(*expr.Column)
			if !ok {
				return false
			}
			n, c = x.Input, column.Index
		case *plan.Scan:
			return x.Out[c].Name == plan.TimeColumn
		default:
			return false
		}
	}
}
