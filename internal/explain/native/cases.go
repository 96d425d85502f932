package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// A CASE in a condition is the disjunction of its branches. Branches beside each other that are the
// same are one, whose condition is the disjunction of theirs; what comes behind says that none of
// the conditions before is true, of each in one term.

// branch is a branch of a CASE in a condition: what is asked of its value, where cond is true; nil:
// where no other is.
type branch struct{ cond, then expr.Expr }

// branches is a test of a CASE as tests of its branches, each where its condition is the first that
// is true.
func (w *writer) branches(c *expr.Case, test func(expr.Expr) expr.Expr) (expr.Expr, bool) {
	if isLarge(c) {
		return nil, false
	}
	var some, before []expr.Expr
	list := w.joinedBranches(c, test)
	truths := !slices.ContainsFunc(list, func(b branch) bool { return !isNever(b.then) && !isAlways(b.then) })
	for _, b := range list {
		if !isNever(b.then) {
			var terms []expr.Expr
			if b.cond != nil {
				terms = append(terms, plan.Split(b.cond)...)
			}
			if !isAlways(b.then) {
				terms = append(terms, plan.Split(b.then)...)
			}
			terms = append(terms, w.noneOf(before, terms)...)
			if len(terms) == 0 {
				terms = append(terms, always)
			}
			some = append(some, plan.Conjunction(terms))
		}
		if b.cond != nil && !(truths && isAlways(b.then)) { // what is true already needs not be left out
			before = append(before, b.cond)
		}
	}
	return w.anyOf(some), true
}

// joinedBranches are the branches of a CASE, the last without a condition, of those beside each
// other that are the same one.
func (w *writer) joinedBranches(c *expr.Case, test func(expr.Expr) expr.Expr) []branch {
	var out []branch
	ask := func(then expr.Expr) expr.Expr {
		if then = test(then); isNever(then) {
			return never
		}
		return then
	}
	for _, when := range c.Whens {
		b := branch{w.condition(asked(when.Cond)), ask(when.Then)}
		if n := len(out); n > 0 && expr.Equal(out[n-1].then, b.then) {
			out[n-1].cond = w.anyOf([]expr.Expr{out[n-1].cond, b.cond})
			continue
		}
		out = append(out, b)
	}
	otherwise := c.Else
	if otherwise == nil {
		otherwise = &expr.Literal{T: c.T}
	}
	last := branch{then: ask(otherwise)}
	for n := len(out); n > 0 && expr.Equal(out[n-1].then, last.then); n-- {
		out = out[:n-1]
	}
	return append(out, last)
}

// noneOf says that none of some conditions is true, beside terms that may exclude them already.
func (w *writer) noneOf(conds, beside []expr.Expr) []expr.Expr {
	excluded := func(c expr.Expr) bool {
		a, ok := w.operand(c)
		return ok && slices.ContainsFunc(beside, func(t expr.Expr) bool {
			b, ok := w.operand(t)
			return ok && b.key == a.key && !a.missing && !b.missing && len(a.spans.and(b.spans)) == 0
		})
	}
	var out []expr.Expr
	for _, c := range conds {
		or, several := c.(*expr.Or)
		if several && !mayBeUnknown(or) {
			out = append(out, w.noneOf(or.Terms, beside)...)
			continue
		}
		if excluded(c) || several && !slices.ContainsFunc(or.Terms, func(t expr.Expr) bool { return !excluded(t) }) {
			continue
		}
		out = append(out, notTrue(c))
	}
	return out
}

// notTrue is that a condition is not true.
func notTrue(e expr.Expr) expr.Expr {
	if c := opposite(e); c != nil && !mayBeUnknown(e) {
		return c
	}
	return test("IS NOT TRUE", e)
}

// mayBeUnknown reports whether a condition may be neither true nor false.
func mayBeUnknown(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.And:
		return slices.ContainsFunc(x.Terms, mayBeUnknown)
	case *expr.Or:
		return slices.ContainsFunc(x.Terms, mayBeUnknown)
	case *expr.Not:
		return mayBeUnknown(x.X)
	case *expr.Literal:
		return x.Value == nil
	case *expr.Call:
		switch {
		case slices.Contains(neverNullable, x.Fn.Name):
			return false
		case flipped[x.Fn.Name] != "":
			return slices.ContainsFunc(x.Args, func(a expr.Expr) bool { return a.Type().Nullable })
		}
	}
	return e.Type().Nullable
}

// negatedCases has the negation of a CASE be one of its values.
func negatedCases(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		n, ok := e.(*expr.Not)
		if !ok {
			return e
		}
		c, ok := n.X.(*expr.Case)
		if !ok || !c.T.Nullable {
			return e
		}
		out := &expr.Case{T: c.T}
		for _, when := range c.Whens {
			out.Whens = append(out.Whens, expr.When{Cond: when.Cond, Then: negation(when.Then)})
		}
		if c.Else != nil {
			out.Else = negation(c.Else)
		}
		return out
	})
}

// negation is the negation of a condition.
func negation(e expr.Expr) expr.Expr {
	if l, ok := e.(*expr.Literal); ok {
		if l.Value == nil {
			return e
		}
		return boolConstant(isNever(l))
	}
	if c := opposite(e); c != nil {
		return c
	}
	return &expr.Not{X: e}
}

// ranked is a condition with the terms of its conjunctions in the order that Druid has them in. See
// quirk Q015.
func ranked(e expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.And:
		terms := slices.Clone(plan.Split(x))
		slices.SortStableFunc(terms, func(a, b expr.Expr) int { return termRank(a) - termRank(b) })
		return &expr.And{Terms: terms}
	case *expr.Or:
		terms := make([]expr.Expr, len(x.Terms))
		for i, t := range x.Terms {
			terms[i] = ranked(t)
		}
		return &expr.Or{Terms: terms}
	}
	return e
}
