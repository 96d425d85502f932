package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// forgetsOrder reports whether groups are limited, or have subtotals, or are put in order as they
// are; groups with subtotals that are put in order as they are keep their keys as they are written.
func (s *stage) forgetsOrder() bool {
	if s.group.countsInSets() {
		return false
	}
	if s.rowNames == nil {
		return s.forgetsJoinOrder()
	}
	if s.group.unordered || s.limit >= 0 || s.offset > 0 {
		return true
	}
	if len(s.keys) == 0 && s.group.node.Sets == nil && s.readsOtherwise() {
		return true
	}
	asTheyAre := s.group.having == nil && s.group.showsAll(s.cols) && s.inPlace()
	if s.group.node.Sets != nil {
		return len(s.keys) == 0 || !asTheyAre
	}
	return len(s.keys) > 0 && !s.group.inOrder(&s.ordered) && asTheyAre
}

// forgetsJoinOrder reports whether groups of all rows of a join are by a column of the table on its
// right side, and come as they are or in an order of their own.
func (s *stage) forgetsJoinOrder() bool {
	j, g := s.join, s.group
	if j == nil || j.changed || g.unordered || j.right == nil || j.right.group != nil || s.filter != nil || s.intervals != nil || g.having != nil || g.node.Sets != nil ||
		len(s.keys) > 0 && s.group.inOrder(&s.ordered) || !s.group.showsAll(s.cols) || !s.inPlace() {
		return false
	}
	return slices.ContainsFunc(g.dims, func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		return ok && c.Index >= j.width
	})
}

// readsOtherwise reports whether groups without an order are output with their keys in the order of
// the table, or without the key that is first there. Of groups that another query reads it is the
// first of the statement that is not read, while another one is.
func (s *stage) readsOtherwise() bool {
	g := s.group
	place := make([]int, len(g.dims))
	for i, d := range g.dims {
		c, ok := d.(*expr.Column)
		if !ok {
			return false
		}
		place[i] = s.placeOf(c)
	}
	if len(place) < 2 || len(s.cols) == 0 {
		return false
	}
	if s.isInner {
		return !s.group.shows(s.cols, 0) && slices.ContainsFunc(places(len(g.dims)), func(i int) bool { return g.shows(s.cols, i) })
	}
	if !s.group.shows(s.cols, slices.Index(place, slices.Min(place))) {
		return true
	}
	if g.having != nil {
		return false
	}
	var shown []int
	for i, e := range s.cols {
		c, ok := e.(*expr.Column)
		if !ok || c.Index >= len(place) != (i >= len(place)) || c.Index >= len(place) && c.Index != i {
			return false
		}
		if c.Index < len(place) {
			shown = append(shown, place[c.Index])
		}
	}
	return len(shown) == len(place) && s.group.showsAll(s.cols) && slices.IsSorted(shown)
}

// placeOf is the place of a column in its table, or among those of a join.
func (r *rows) placeOf(c *expr.Column) int {
	if r.rowNames == nil {
		return c.Index
	}
	return slices.Index(r.rowNames, c.Name)
}

// inTableOrder has the keys of a group in the order of the table where Druid forgets that of the
// statement: where keys and arguments are columns as they are, without constants beside them, and
// something comes after. See quirk Q015.
func (s *stage) inTableOrder() {
	g := s.group
	if s.w.stepwise || len(g.dims) < 2 || s.rowNames == nil && s.join == nil || !s.forgetsOrder() {
		return
	}
	for _, a := range g.node.Aggs {
		if a.Filter >= 0 || len(a.Agg.Params) > 0 || slices.ContainsFunc(a.Args, func(i int) bool { return !isColumn(g.args[i]) }) {
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
		place[i] = s.placeOf(c)
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
	for k, l := range g.equalities {
		fixed[to[k]] = l
	}
	s.group, s.cols = &grouped{node: &node, dims: dims, args: g.args, having: moved(g.having), equalities: fixed, unordered: g.unordered}, cols
}
