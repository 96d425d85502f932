package plan

import (
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// MapOperands returns e with f applied to each direct operand, and e itself if no operand changed.
// Unlike expr.Rewrite, it lets the caller decide how far to descend.
func MapOperands(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.Call:
		if args, changed := mapList(x.Args, f); changed {
			c := *x
			c.Args = args
			return &c
		}
	case *expr.Cast:
		if y := f(x.X); y != x.X {
			return &expr.Cast{X: y, T: x.T, Implied: x.Implied}
		}
	case *expr.Case:
		changed := false
		whens := make([]expr.When, len(x.Whens))
		for i, w := range x.Whens {
			whens[i] = expr.When{Cond: f(w.Cond), Then: f(w.Then)}
			changed = changed || whens[i] != w
		}
		other := x.Else
		if other != nil {
			other = f(other)
			changed = changed || other != x.Else
		}
		if changed {
			return &expr.Case{Whens: whens, Else: other, T: x.T}
		}
	case *expr.And:
		if terms, changed := mapList(x.Terms, f); changed {
			return &expr.And{Terms: terms}
		}
	case *expr.Or:
		if terms, changed := mapList(x.Terms, f); changed {
			return &expr.Or{Terms: terms}
		}
	case *expr.Not:
		if y := f(x.X); y != x.X {
			return &expr.Not{X: y}
		}
	case *expr.In:
		if y := f(x.X); y != x.X {
			return &expr.In{X: y, Values: x.Values, HasNull: x.HasNull}
		}
	case *expr.Each:
		if s, b := f(x.Source), f(x.Body); s != x.Source || b != x.Body {
			return &expr.Each{Source: s, Body: b, T: x.T}
		}
	case *expr.Any:
		if s, b := f(x.Source), f(x.Body); s != x.Source || b != x.Body {
			return &expr.Any{Source: s, Body: b}
		}
	case *expr.Loop:
		return x.MapOperands(f)
	}
	return e
}

func mapList(list []expr.Expr, f func(expr.Expr) expr.Expr) ([]expr.Expr, bool) {
	var out []expr.Expr
	for i, e := range list {
		if y := f(e); y != e {
			if out == nil {
				out = slices.Clone(list)
			}
			out[i] = y
		}
	}
	if out == nil {
		return list, false
	}
	return out, true
}

// replaceColumns returns e with every column replaced by what f gives for it.
func replaceColumns(e expr.Expr, f func(*expr.Column) expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Column); ok {
		return f(c)
	}
	return MapOperands(e, func(c expr.Expr) expr.Expr { return replaceColumns(c, f) })
}

// ShiftColumns returns e with by added to every column's index.
func ShiftColumns(e expr.Expr, by int) expr.Expr {
	if by == 0 {
		return e
	}
	return replaceColumns(e, func(c *expr.Column) expr.Expr { return &expr.Column{Index: c.Index + by, Name: c.Name, T: c.T} })
}

// renumber returns e with column i replaced by column to[i].
func renumber(e expr.Expr, to []int) expr.Expr {
	return replaceColumns(e, func(c *expr.Column) expr.Expr {
		if to[c.Index] == c.Index {
			return c
		}
		return &expr.Column{Index: to[c.Index], Name: c.Name, T: c.T}
	})
}

// ReadsOnly reports whether every column of e satisfies ok.
func ReadsOnly(e expr.Expr, ok func(int) bool) bool {
	all := true
	expr.Walk(e, func(x expr.Expr) bool {
		if c, is := x.(*expr.Column); is && !ok(c.Index) {
			all = false
		}
		return all
	})
	return all
}

// isTrivial reports whether computing e twice costs nothing.
func isTrivial(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.Column, *expr.Literal:
		return true
	case *expr.Cast:
		_, ok := x.X.(*expr.Column)
		return ok && x.T.Runtime() == x.X.Type().Runtime()
	}
	return false
}

// IsVolatile reports whether e can have a different value each time it is computed.
func IsVolatile(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Call); ok && c.Fn.Volatile {
			found = true
		}
		return !found
	})
	return found
}

// Split returns the terms of a conjunction; nil has no terms.
func Split(e expr.Expr) []expr.Expr {
	switch x := e.(type) {
	case nil:
		return nil
	case *expr.And:
		return appendTerms(make([]expr.Expr, 0, len(x.Terms)), x)
	}
	return []expr.Expr{e}
}

// Terms yields the terms that Split returns, without allocating a slice.
func Terms(e expr.Expr) iter.Seq[expr.Expr] {
	return func(yield func(expr.Expr) bool) { eachTerm(e, yield) }
}

func eachTerm(e expr.Expr, yield func(expr.Expr) bool) bool {
	switch x := e.(type) {
	case nil:
		return true
	case *expr.And:
		for _, t := range x.Terms {
			if !eachTerm(t, yield) {
				return false
			}
		}
		return true
	}
	return yield(e)
}

func appendTerms(out []expr.Expr, e expr.Expr) []expr.Expr {
	and, ok := e.(*expr.And)
	if !ok {
		return append(out, e)
	}
	for _, t := range and.Terms {
		out = appendTerms(out, t)
	}
	return out
}

// Conjunction returns the conjunction of terms, nil for none.
func Conjunction(terms []expr.Expr) expr.Expr {
	switch len(terms) {
	case 0:
		return nil
	case 1:
		return terms[0]
	}
	return &expr.And{Terms: terms}
}

// filter returns n filtered by terms.
func filter(n Node, terms []expr.Expr) Node {
	if len(terms) == 0 {
		return n
	}
	return &Filter{Input: n, Cond: Conjunction(terms)}
}

// The names of functions that rules know.
const (
	fnEqual       = "="
	fnNotDistinct = "IS NOT DISTINCT FROM"
	fnIsNull      = "IS NULL"
	fnIsNotNull   = "IS NOT NULL"
)

// isStrict reports whether a call is NULL as soon as one of its arguments is.
func isStrict(c *expr.Call) bool {
	for i, a := range c.Args {
		if a.Type().Multi || c.HoldsNull(i) {
			return false
		}
	}
	return !c.Fn.SeesNulls
}
