package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

func (s *stage) aggregate(x *plan.Aggregate) {
	if s.w.stepwise {
		s.aggregateEach(x)
		return
	}
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

func (s *stage) aggregateEach(x *plan.Aggregate) {
	s.rowOfConstants()
	keys := make([]expr.Expr, len(x.Keys))
	for i, k := range x.Keys {
		keys[i] = s.cols[k]
	}
	if s.groupsNeededSide(keys) {
		s.source = s.join.full
	}
	values := s.equalities()
	s.cols = s.withFixed(s.cols, values, s.keysAndArgs(x))
	g := &grouped{node: x, args: s.cols, equalities: map[int]*expr.Literal{}}
	for i, k := range x.Keys {
		g.dims = append(g.dims, s.cols[k])
		if c, ok := s.cols[k].(*expr.Column); ok && values[c.Index] != nil {
			g.equalities[i] = values[c.Index]
		}
	}
	s.group = g
	s.cols = nil
	for i, c := range x.Columns() {
		if a := i - len(x.Keys); a >= 0 && a < len(x.Aggs) && len(x.Keys) > 0 && isSum(&x.Aggs[a]) {
			c.Type = c.Type.NotNull()
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
	used := s.group.readBy(x, s.cols)
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
