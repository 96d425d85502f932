package sql

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// joinOnSubqueries returns the outer join j on a condition with subqueries. Each subquery is
// computed for the rows of the side whose columns it uses, before the join: that keeps the rows as
// they are, and the condition then compares columns. If one of them uses columns of both sides, see
// joinOnPairs.
func (blk *block) joinOnSubqueries(j *plan.Join, cond expr.Expr, at fault.Span) (plan.Node, error) {
	width := plan.Width(j.Left)
	left, right := j.Left, j.Right
	type value struct {
		x     expr.Expr // over the side
		right bool
	}
	values := map[int]value{}
	both := false
	var failed error
	expr.Walk(cond, func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		if !ok || c.Index < subqueryBase || c.Index >= correlatedBase || both || failed != nil {
			return !both && failed == nil
		}
		if _, done := values[c.Index]; done {
			return true
		}
		s := *blk.subqueries[c.Index-subqueryBase]
		usesLeft, usesRight := sidesOf(&s, width)
		if usesLeft && usesRight {
			both = true
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
	if both {
		return blk.joinOnPairs(j, cond)
	}
	added := plan.Width(left) - width
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
	out := &plan.Join{Kind: j.Kind, Left: left, Right: right, Keys: j.Keys, On: on}
	keep := firstN(width)
	for i := range j.Right.Columns() {
		keep = append(keep, width+added+i)
	}
	return plan.Select(out, keep), nil
}

// joinOnPairs returns the outer join j on a condition with a subquery that uses columns of both
// sides. Whether two rows are partners depends on the values of the columns in the condition alone,
// so the condition is asked of the pairs of these values, each pair once, and the rows of both
// sides are then joined through the pairs that hold:
//
//	left L JOIN right R ON c(L.a, R.b)
//	  = L left join (R join P on R.b = P.b) on L.a = P.a
//
// where P is the set of pairs of distinct L.a and distinct R.b for which c is true.
//
// For RIGHT and FULL joins R is outer joined with P: a row without pairs stays, with a mark that is
// NULL and so equals nothing.
func (blk *block) joinOnPairs(j *plan.Join, cond expr.Expr) (plan.Node, error) {
	width, total := plan.Width(j.Left), plan.Width(j)
	used := map[int]bool{}
	note := func(e expr.Expr) {
		expr.Walk(e, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok && c.Index < total {
				used[c.Index] = true
			}
			return true
		})
	}
	note(cond)
	expr.Walk(cond, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok && c.Index >= subqueryBase && c.Index < correlatedBase {
			s := blk.subqueries[c.Index-subqueryBase]
			for _, e := range slices.Concat(s.operands, s.corr.outer) {
				note(e)
			}
		}
		return true
	})
	var lefts, rights []int // the columns used, of each side
	to := map[int]int{}     // where they are in the pairs
	for _, c := range slices.Sorted(maps.Keys(used)) {
		if c < width {
			to[c], lefts = len(lefts), append(lefts, c)
		} else {
			to[c], rights = len(lefts)+len(rights), append(rights, c-width)
		}
	}
	pairs := plan.Node(&plan.Join{Kind: plan.Inner, Left: distinctRows(j.Left, lefts), Right: distinctRows(j.Right, rights)})
	over := func(e expr.Expr) expr.Expr { return expr.Remap(e, func(i int) int { return movedTo(to, i) }) }
	moved := expr.Rewrite(cond, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Index >= subqueryBase && c.Index < correlatedBase {
			return blk.rewriteSubquery(c, over)
		}
		return e
	})
	pairs, err := blk.filter(pairs, over(moved))
	if err != nil {
		return nil, err
	}
	pairs = plan.Extend(plan.Select(pairs, firstN(len(to))), []expr.Expr{boolLiteral(true)}, []string{"$pair"})

	through := &plan.Join{Kind: plan.Inner, Left: j.Right, Right: pairs}
	if j.Kind == plan.Right || j.Kind == plan.Full {
		through.Kind = plan.Left
	}
	for i, c := range rights {
		through.Keys = append(through.Keys, plan.EquiKey{Left: c, Right: len(lefts) + i, NullSafe: true})
	}
	right := total - width
	left := plan.Extend(j.Left, []expr.Expr{boolLiteral(true)}, []string{"$pair"})
	out := &plan.Join{Kind: j.Kind, Left: left, Right: through}
	out.Keys = append(append(out.Keys, j.Keys...), plan.EquiKey{Left: width, Right: right + len(to)})
	for i, c := range lefts {
		out.Keys = append(out.Keys, plan.EquiKey{Left: c, Right: right + i, NullSafe: true})
	}
	keep := firstN(width)
	for i := range right {
		keep = append(keep, width+1+i)
	}
	return plan.Select(out, keep), nil
}

// movedTo is where column i went; placeholders stay.
func movedTo(to map[int]int, i int) int {
	if at, ok := to[i]; ok {
		return at
	}
	return i
}

// distinctRows returns the distinct rows that some columns of n have.
func distinctRows(n plan.Node, columns []int) plan.Node {
	return &plan.Aggregate{Input: plan.Select(n, columns), Keys: firstN(len(columns))}
}

// sidesOf reports whether a subquery's operands and outer columns are before column width, and
// whether some are not.
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
