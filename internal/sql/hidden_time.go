package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// hiddenTime is the name of the column in which a query in FROM passes on the __time of the table
// it reads, when it does not select it. EARLIEST and LATEST above it find it; nothing else does,
// and * leaves it out.
const hiddenTime = "$" + plan.TimeColumn

// withTime returns a relation of a query's columns, over a plan that has the table's time as a
// further one if the query only filters and projects the rows of one table.
func (r *relational) withTime(name string) (plan.Node, relation) {
	out := relationOf(name, r.planColumns(), 0)
	for _, c := range r.cols {
		if c.name == plan.TimeColumn {
			return r.node, out
		}
	}
	if _, ok := r.node.(*plan.Project); !ok {
		return r.node, out
	}
	n, at := carryTime(r.node)
	if n == nil {
		return r.node, out
	}
	out.cols = append(out.cols, scopeColumn{name: hiddenTime, col: columnOf(n, at), hidden: true})
	return n, out
}

// carryTime returns n with the time of its table, and the column that has it; nil if the rows of n
// are not those of a table.
func carryTime(n plan.Node) (plan.Node, int) {
	switch x := n.(type) {
	case *plan.Scan:
		for i, c := range x.Out {
			if c.Name == plan.TimeColumn {
				return x, i
			}
		}
	case *plan.Filter:
		if in, at := carryTime(x.Input); in != nil {
			return &plan.Filter{Input: in, Cond: x.Cond}, at // a column more, behind those of the condition
		}
	case *plan.Project:
		in, at := carryTime(x.Input)
		if in == nil {
			return nil, 0
		}
		p := &plan.Project{Input: in, Exprs: append([]expr.Expr(nil), x.Exprs...), Names: append([]string(nil), x.Names...)}
		p.Exprs, p.Names = append(p.Exprs, columnOf(in, at)), append(p.Names, hiddenTime)
		return p, len(p.Exprs) - 1
	}
	return nil, 0
}
