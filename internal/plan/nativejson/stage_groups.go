package nativejson

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

func (s *stage) aggregate(x *plan.Aggregate) {
	unique, place := s.uniqueKeys(x)
	if unique == x {
		s.aggregateEach(x)
		return
	}
	s.aggregateEach(unique)
	cols := make([]expr.Expr, len(x.Keys)+len(x.Aggs))
	for i := range cols {
		if i < len(place) {
			cols[i] = s.cols[place[i]]
		} else {
			cols[i] = s.cols[i-len(place)+len(unique.Keys)]
		}
	}
	s.cols = cols
}

// uniqueKeys is x without keys that are the same as others, and the place of each key among those
// that are left. Subtotals need all of them.
func (s *stage) uniqueKeys(x *plan.Aggregate) (*plan.Aggregate, []int) {
	if x.Sets != nil || s.w.asItIs {
		return x, nil
	}
	var keys []int
	place := make([]int, len(x.Keys))
	for i, k := range x.Keys {
		at := slices.IndexFunc(keys, func(other int) bool { return expr.Equal(s.cols[other], s.cols[k]) })
		if at < 0 {
			at = len(keys)
			keys = append(keys, k)
		}
		place[i] = at
	}
	if len(keys) == len(x.Keys) {
		return x, nil
	}
	out := *x
	out.Keys = keys
	return &out, place
}

// groupsNeededSide reports whether groups are by columns of that side of a FULL JOIN alone whose
// rows a condition needs: the reference leaves the join as it is.
func (s *stage) groupsNeededSide(x *plan.Aggregate) bool {
	j := s.join
	if j == nil || j.full == nil || len(x.Keys) == 0 {
		return false
	}
	return !slices.ContainsFunc(x.Keys, func(k int) bool {
		c, ok := s.cols[k].(*expr.Column)
		return !ok || (c.Index < j.width) != (j.kind == plan.Left)
	})
}

func (s *stage) aggregateEach(x *plan.Aggregate) {
	s.rowOfConstants()
	if s.groupsNeededSide(x) {
		s.source = s.join.full
	}
	values := s.fixed()
	s.cols = s.withFixed(s.cols, values, s.keysAndArgs(x))
	g := &group{node: x, args: s.cols, fixed: map[int]*expr.Literal{}}
	for i, k := range x.Keys {
		g.dims = append(g.dims, s.cols[k])
		if c, ok := s.cols[k].(*expr.Column); ok && values[c.Index] != nil {
			g.fixed[i] = values[c.Index]
		}
	}
	s.group = g
	s.cols = nil
	for i, c := range x.Columns() {
		if a := i - len(x.Keys); a >= 0 && len(x.Keys) > 0 && x.Aggs[a].Agg.Name == "SUM" {
			c.Type = c.Type.NotNull() // for the reference, the sum of a group is a number
		}
		s.cols = append(s.cols, &expr.Column{Index: i, Name: c.Name, T: c.Type})
	}
}

// nestGroups is nest for what is grouped by x then: it is the outer query that computes of the
// inner one's groups, and that chooses of them where it does not read all that they have.
func (s *stage) nestGroups(x *plan.Aggregate) (*stage, error) {
	if s.sorted || s.group == nil || s.group.having == nil && !slices.ContainsFunc(s.cols, func(e expr.Expr) bool { return !isColumn(e) }) {
		return s.nest()
	}
	inner, groups := *s, *s.group
	inner.group = &groups
	having := groups.having
	used := s.readOfGroups(x)
	if having == nil || !slices.Contains(used, false) {
		having = nil
		used = slices.Repeat([]bool{true}, len(used))
	} else {
		groups.having = nil
	}
	names := rowNamesOf(groups.node)
	inner.cols, inner.names = nil, nil
	for i, c := range groups.node.Columns() {
		if used[i] {
			inner.cols, inner.names = append(inner.cols, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(inner.names, names[i])
		}
	}
	outer, err := inner.nest()
	if err != nil {
		return nil, err
	}
	read := outer.cols
	outer.cols = make([]expr.Expr, len(used))
	for i, n := 0, 0; i < len(used); i++ {
		if used[i] {
			outer.cols[i] = read[n]
			n++
		}
	}
	if having != nil {
		outer.where(outer.over(having))
	}
	cols := make([]expr.Expr, len(s.cols))
	for i, e := range s.cols {
		if !slices.ContainsFunc(columnsOfExpr(e), func(c int) bool { return !used[c] }) {
			cols[i] = outer.over(e)
		}
	}
	outer.cols = cols
	return outer, nil
}

// readOfGroups says which columns of the groups of s the condition on them and the groups that x
// makes of them read.
func (s *stage) readOfGroups(x *plan.Aggregate) []bool {
	used := make([]bool, len(s.group.node.Columns()))
	read := func(e expr.Expr) {
		for _, c := range columnsOfExpr(e) {
			used[c] = true
		}
	}
	if s.group.having != nil {
		read(s.group.having)
	}
	for _, k := range x.Keys {
		read(s.cols[k])
	}
	for _, a := range x.Aggs {
		for _, i := range a.Args {
			read(s.cols[i])
		}
		if a.Filter >= 0 {
			read(s.cols[a.Filter])
		}
	}
	return used
}
