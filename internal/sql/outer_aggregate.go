package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// aggregateOf binds an aggregate, or GROUPING, that belongs to the query so many levels further
// out. The queries between see its value as an outer column. Whether it may stand there depends on
// the clause of that query that the subquery is in.
func (x exprs) aggregateOf(e *syntax.Call, levels int) (expr.Expr, error) {
	switch {
	case levels == 0 && e.Name == "GROUPING":
		return x.grouping(e)
	case levels == 0:
		return x.aggregateCall(e)
	}
	value, err := x.in.outer.aggregateOf(e, levels-1)
	if err != nil {
		return nil, err
	}
	return x.in.corr.column(value, e.Name), nil
}

// levelsOut returns how many levels further out the query is that an aggregate belongs to: the
// innermost one of which it reads a column, as argument, in its FILTER or in its ORDER BY. One that
// reads none, or what a query in it gives, is of the query it stands in.
func (x exprs) levelsOut(e *syntax.Call) int {
	if x.in.outer == nil {
		return 0
	}
	levels := -1
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Query:
			levels = 0
		case *syntax.Name:
			if l := x.levelOf(n); l >= 0 && (levels < 0 || l < levels) {
				levels = l
			}
		}
		return levels != 0
	})
	return max(levels, 0)
}

// levelOf returns how many levels further out the column of that name is, -1: there is none.
func (blk *block) levelOf(name *syntax.Name) int {
	for level := 0; ; level++ {
		if blk.scope.hasName(name.Parts) {
			return level
		}
		if blk.in.outer == nil {
			return -1
		}
		blk = blk.in.outer.block
	}
}

// hasName reports whether a name is of s, and of none further out: a column, be it ambiguous, or
// what stands behind the name of a relation.
func (s *scope) hasName(parts []syntax.Ident) bool {
	if n := len(parts) - 1; n > 0 {
		return s.relation(parts[:n]) != nil
	}
	found, err := s.lookup(parts[0])
	return found != nil || err != nil
}
