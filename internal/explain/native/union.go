package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// isUnion reports whether a statement is a union, limited or not, and does not read one as a table.
func isUnion(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Union:
		return true
	case *plan.Write:
		return isUnion(x.Input)
	case *plan.Export:
		return isUnion(x.Input)
	case *plan.Project:
		return isIdentity(x) && isUnion(x.Input)
	case *plan.Limit:
		return x.Offset == 0 && isUnion(x.Input)
	case *plan.Sort:
		return len(x.Keys) == 0 && x.Offset == 0 && isUnion(x.Input)
	}
	return false
}

// isIdentity reports whether a projection gives its input's columns as they are.
func isIdentity(x *plan.Project) bool {
	for i, e := range x.Exprs {
		if c, ok := e.(*expr.Column); !ok || c.Index != i {
			return false
		}
	}
	return len(x.Exprs) == len(x.Input.Columns())
}

// branchesOf are the branches of a union, each with its limit.
func branchesOf(n plan.Node) []plan.Node {
	switch x := n.(type) {
	case *plan.Union:
		return x.Ins
	case *plan.Project:
		if isIdentity(x) {
			return branchesOf(x.Input)
		}
	case *plan.Limit:
		if u, ok := x.Input.(*plan.Union); ok {
			out := make([]plan.Node, len(u.Ins))
			for i, in := range u.Ins {
				out[i] = &plan.Limit{Input: in, Count: x.Count}
			}
			return out
		}
	case *plan.Sort:
		if len(x.Keys) == 0 {
			return branchesOf(&plan.Limit{Input: x.Input, Count: x.Limit})
		}
	}
	return []plan.Node{n}
}

// together are the branches of a union that are queries: the first ones are one if they read tables
// as they are, and the same columns.
func (w *writer) together(u *plan.Union) []plan.Node {
	var in []column
	count := 0
	for i, n := range u.Ins {
		s, err := w.read(n)
		if err != nil || !s.isPlainTable() || slices.ContainsFunc(s.cols, func(e expr.Expr) bool { return !isColumn(e) }) {
			break
		}
		q, err := s.query()
		if err != nil || i > 0 && !sameColumns(q.columns(), in) {
			break
		}
		in = q.columns()
		count++
	}
	if count < 2 {
		return u.Ins
	}
	return append([]plan.Node{&plan.Union{Ins: u.Ins[:count], Out: u.Out}}, u.Ins[count:]...)
}
