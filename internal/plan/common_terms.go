package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// commonTerms takes what all parts of a disjunction ask out of it: (a AND b) OR (a AND c) is a AND
// (b OR c), in three-valued logic too. An equality of two tables that is repeated in each part then
// is the key of a join.
func (o *optimizer) commonTerms(n Node) Node {
	n = MapInputs(n, o.commonTerms)
	if _, ok := n.(*Project); ok {
		return n
	}
	return MapExprs(n, func(e expr.Expr) expr.Expr {
		changed := false
		for t := range Terms(e) {
			changed = changed || factored(t) != nil
		}
		if !changed {
			return e
		}
		var out []expr.Expr
		for t := range Terms(e) {
			if terms := factored(t); terms != nil {
				out = append(out, terms...)
			} else {
				out = append(out, t)
			}
		}
		o.fired()
		return Conjunction(out)
	})
}

// factored returns the terms whose conjunction e is, nil if that is only e.
func factored(e expr.Expr) []expr.Expr {
	or, ok := e.(*expr.Or)
	if !ok {
		return nil
	}
	list := disjuncts(or, nil)
	parts := make([][]expr.Expr, len(list))
	var common []expr.Expr
	for i, t := range list {
		parts[i] = Split(t)
		if i == 0 {
			common = slices.DeleteFunc(slices.Clone(parts[i]), IsVolatile)
		} else {
			common = slices.DeleteFunc(common, func(c expr.Expr) bool { return !hasTerm(parts[i], c) })
		}
		if len(common) == 0 {
			return nil
		}
	}
	rest := make([]expr.Expr, len(parts))
	for i, p := range parts {
		rest[i] = Conjunction(slices.DeleteFunc(p, func(t expr.Expr) bool { return hasTerm(common, t) }))
		if rest[i] == nil { // this part asks nothing else, so the disjunction asks no more
			return common
		}
	}
	return append(common, &expr.Or{Terms: rest})
}

// disjuncts appends the terms of which one has to be true for a disjunction to be.
func disjuncts(or *expr.Or, out []expr.Expr) []expr.Expr {
	for _, t := range or.Terms {
		if inner, ok := t.(*expr.Or); ok {
			out = disjuncts(inner, out)
		} else {
			out = append(out, t)
		}
	}
	return out
}

// hasTerm reports whether e, or an equality of the same two, is among the terms.
func hasTerm(terms []expr.Expr, e expr.Expr) bool {
	x, ok := e.(*expr.Call)
	ok = ok && x.Fn.Name == fnEqual
	return slices.ContainsFunc(terms, func(t expr.Expr) bool {
		if expr.Equal(t, e) {
			return true
		}
		y, is := t.(*expr.Call)
		return ok && is && y.Fn.Name == fnEqual && expr.Equal(x.Args[0], y.Args[1]) && expr.Equal(x.Args[1], y.Args[0])
	})
}

// impliedTerms returns what the disjunctions among terms say of the columns for which ok holds
// alone.
func impliedTerms(terms []expr.Expr, ok func(column int) bool) []expr.Expr {
	var out []expr.Expr
	for _, t := range terms {
		if or, is := t.(*expr.Or); is {
			if e := implied(or, ok); e != nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// implied returns what a disjunction says of the columns for which ok holds alone: of (a AND x) OR
// (b AND y) with only a and b over them, a OR b. Nil: nothing.
func implied(or *expr.Or, ok func(column int) bool) expr.Expr {
	var out []expr.Expr
	for _, part := range disjuncts(or, nil) {
		var own []expr.Expr
		for _, t := range Split(part) {
			if inner, is := t.(*expr.Or); is && !ReadsOnly(t, ok) {
				if t = implied(inner, ok); t == nil {
					continue
				}
			}
			if readsSome(t) && ReadsOnly(t, ok) && !IsVolatile(t) {
				own = append(own, t)
			}
		}
		if len(own) == 0 {
			return nil
		}
		out = append(out, Conjunction(own))
	}
	return &expr.Or{Terms: out}
}
