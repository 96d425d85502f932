package nativejson

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// ofColumns are the aggregates that the reference computes of columns as they are; others take constants and times beside them.
var ofColumns = []string{"COUNT", "SUM", "MIN", "MAX", "AVG", "APPROX_COUNT_DISTINCT", "GROUPING"}

// inTableOrder has the keys of a group in the order of the table where the reference forgets that of the statement: where keys and arguments are columns
// as they are, and a limit or subtotals come after.
func (s *stage) inTableOrder() {
	g := s.group
	if s.w.options.Tasks || len(g.dims) < 2 || s.limit < 0 && s.offset == 0 && g.node.Sets == nil || s.rowNames == nil {
		return
	}
	for _, a := range g.node.Aggs {
		if a.Filter >= 0 || !slices.Contains(ofColumns, a.Agg.Name) || slices.ContainsFunc(a.Args, func(i int) bool { return !isColumn(g.args[i]) }) {
			return
		}
	}
	order := make([]int, len(g.dims))
	for i := range order {
		order[i] = i
	}
	place := make([]int, len(g.dims))
	for i, d := range g.dims {
		c, ok := d.(*expr.Column)
		if !ok {
			return
		}
		place[i] = slices.Index(s.rowNames, c.Name)
	}
	slices.SortStableFunc(order, func(a, b int) int { return place[a] - place[b] })
	if slices.IsSorted(order) {
		return
	}
	to := make([]int, len(order))
	node, dims := *g.node, make([]expr.Expr, len(order))
	node.Keys = make([]int, len(order))
	for i, k := range order {
		to[k], dims[i], node.Keys[i] = i, g.dims[k], g.node.Keys[k]
	}
	node.Sets = nil
	for _, set := range g.node.Sets {
		moved := make([]int, len(set))
		for i, k := range set {
			moved[i] = to[k]
		}
		slices.Sort(moved)
		node.Sets = append(node.Sets, moved)
	}
	slices.SortStableFunc(node.Sets, func(a, b []int) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return slices.Compare(a, b)
	})
	moved := func(e expr.Expr) expr.Expr {
		if e == nil {
			return nil
		}
		return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok && c.Index < len(to) {
				return &expr.Column{Index: to[c.Index], Name: c.Name, T: c.T}
			}
			return e
		})
	}
	cols := make([]expr.Expr, len(s.cols))
	for i, e := range s.cols {
		cols[i] = moved(e)
	}
	fixed := map[int]*expr.Literal{}
	for k, l := range g.fixed {
		fixed[to[k]] = l
	}
	s.group, s.cols = &group{node: &node, dims: dims, args: g.args, having: moved(g.having), fixed: fixed}, cols
}
