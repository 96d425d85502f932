package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// joinOnSubqueries returns the outer join j on a condition with subqueries. Each subquery is computed for the rows of the side whose
// columns it uses, before the join: that keeps the rows as they are, and the condition then compares columns.
func (blk *block) joinOnSubqueries(j *plan.Join, cond expr.Expr, at fault.Span) (plan.Node, error) {
	width := len(j.Left.Columns())
	left, right := j.Left, j.Right
	type value struct {
		x     expr.Expr // over the side
		right bool
	}
	values := map[int]value{}
	var failed error
	expr.Walk(cond, func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		if !ok || c.Index < subqueryBase || c.Index >= correlatedBase || failed != nil {
			return failed == nil
		}
		if _, done := values[c.Index]; done {
			return true
		}
		s := *blk.subqueries[c.Index-subqueryBase]
		usesLeft, usesRight := sidesOf(&s, width)
		if usesLeft && usesRight {
			failed = fault.InvalidSQL(at, "A subquery in the ON clause of an outer join can use columns of one side only")
			return false
		}
		v := value{right: usesRight}
		if usesRight {
			s.shift(-width)
			right, v.x, failed = blk.attachOne(right, &s)
		} else {
			left, v.x, failed = blk.attachOne(left, &s)
		}
		values[c.Index] = v
		return true
	})
	if failed != nil {
		return nil, failed
	}
	added := len(left.Columns()) - width
	on := expr.Rewrite(cond, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok {
			return e
		}
		if v, ok := values[c.Index]; ok {
			if v.right {
				return shiftColumns(v.x, width+added)
			}
			return v.x
		}
		if c.Index >= width && c.Index < subqueryBase {
			return &expr.Column{Index: c.Index + added, Name: c.Name, T: c.T}
		}
		return e
	})
	out := &plan.Join{Kind: j.Kind, Left: left, Right: right, On: on}
	keep := firstN(width)
	for i := range j.Right.Columns() {
		keep = append(keep, width+added+i)
	}
	return plan.Select(out, keep), nil
}

// sidesOf reports whether a subquery's operands and outer columns are before column width, and whether some are not.
func sidesOf(s *subquery, width int) (left, right bool) {
	for _, list := range [][]expr.Expr{s.operands, s.corr.outer} {
		for _, e := range list {
			expr.Walk(e, func(e expr.Expr) bool {
				if c, ok := e.(*expr.Column); ok && c.Index < subqueryBase {
					left, right = left || c.Index < width, right || c.Index >= width
				}
				return true
			})
		}
	}
	return left, right
}

// shift moves the columns that the subquery uses of the block around.
func (s *subquery) shift(by int) {
	move := func(list []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(list))
		for i, e := range list {
			out[i] = shiftColumns(e, by)
		}
		return out
	}
	s.operands = move(s.operands)
	s.corr = &correlation{outer: move(s.corr.outer)}
}

func shiftColumns(e expr.Expr, by int) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Index < subqueryBase {
			return &expr.Column{Index: c.Index + by, Name: c.Name, T: c.T}
		}
		return e
	})
}
