package expr

import (
	"math"
	"slices"
)

// Walk calls f for e and, as long as f returns true, for the expressions in it, outer before inner.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	switch x := e.(type) {
	case *Call:
		for _, a := range x.Args {
			Walk(a, f)
		}
	case *Cast:
		Walk(x.X, f)
	case *Case:
		for _, w := range x.Whens {
			Walk(w.Cond, f)
			Walk(w.Then, f)
		}
		if x.Else != nil {
			Walk(x.Else, f)
		}
	case *And:
		for _, t := range x.Terms {
			Walk(t, f)
		}
	case *Or:
		for _, t := range x.Terms {
			Walk(t, f)
		}
	case *Not:
		Walk(x.X, f)
	case *In:
		Walk(x.X, f)
	case *Each:
		Walk(x.Source, f)
		Walk(x.Body, f)
	case *Any:
		Walk(x.Source, f)
		Walk(x.Body, f)
	case *Loop:
		for _, l := range x.Lists {
			Walk(l, f)
		}
		Walk(x.Initial, f)
		Walk(x.Body, f)
	case *Column, *Literal, *Element: // nothing is in them
	}
}

// Rewrite returns e with f applied to every expression in it, inner before outer. Unchanged parts
// are shared with e.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	return f(mapOperands(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// mapOperands returns e with f applied to each direct operand, and e itself if that changed
// nothing.
func mapOperands(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Call:
		if args, changed := mapList(x.Args, f); changed {
			c := *x
			c.Args = args
			return &c
		}
	case *Cast:
		if y := f(x.X); y != x.X {
			return &Cast{X: y, T: x.T, Implied: x.Implied}
		}
	case *Case:
		whens, changed := make([]When, len(x.Whens)), false
		for i, w := range x.Whens {
			whens[i] = When{Cond: f(w.Cond), Then: f(w.Then)}
			changed = changed || whens[i] != w
		}
		other := x.Else
		if other != nil {
			other = f(other)
		}
		if changed || other != x.Else {
			return &Case{Whens: whens, Else: other, T: x.T}
		}
	case *And:
		if terms, changed := mapList(x.Terms, f); changed {
			return &And{Terms: terms}
		}
	case *Or:
		if terms, changed := mapList(x.Terms, f); changed {
			return &Or{Terms: terms}
		}
	case *Not:
		if y := f(x.X); y != x.X {
			return &Not{X: y}
		}
	case *In:
		if y := f(x.X); y != x.X {
			return &In{X: y, Values: x.Values, HasNull: x.HasNull}
		}
	case *Each:
		if s, b := f(x.Source), f(x.Body); s != x.Source || b != x.Body {
			return &Each{Source: s, Body: b, T: x.T}
		}
	case *Any:
		if s, b := f(x.Source), f(x.Body); s != x.Source || b != x.Body {
			return &Any{Source: s, Body: b}
		}
	case *Loop:
		return x.MapOperands(f)
	}
	return e
}

func mapList(list []Expr, f func(Expr) Expr) ([]Expr, bool) {
	var out []Expr
	for i, e := range list {
		y := f(e)
		if y != e && out == nil {
			out = slices.Clone(list)
		}
		if out != nil {
			out[i] = y
		}
	}
	if out == nil {
		return list, false
	}
	return out, true
}

// Columns returns the indexes of the columns e reads, ascending and distinct.
func Columns(e Expr) []int {
	var out []int
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Column); ok {
			out = append(out, c.Index)
		}
		return true
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// Remap returns e with every column's index i replaced by to(i).
func Remap(e Expr, to func(int) int) Expr {
	return Rewrite(e, func(x Expr) Expr {
		c, ok := x.(*Column)
		if !ok {
			return x
		}
		i := to(c.Index)
		if i == c.Index {
			return x
		}
		return &Column{Index: i, Name: c.Name, T: c.T}
	})
}

// Equal reports whether a and b are equal trees over equal columns. It ignores positions in the
// text, column names and the nullability of types.
func Equal(a, b Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	switch x := a.(type) {
	case *Column:
		y, ok := b.(*Column)
		return ok && x.Index == y.Index
	case *Literal:
		y, ok := b.(*Literal)
		return ok && sameType(x.T, y.T) && equalValues(x.Value, y.Value)
	case *Call:
		y, ok := b.(*Call)
		return ok && x.Fn.Same(y.Fn) && sameType(x.T, y.T) && slices.EqualFunc(x.Args, y.Args, Equal)
	case *Cast:
		y, ok := b.(*Cast)
		return ok && sameType(x.T, y.T) && Equal(x.X, y.X)
	case *Case:
		y, ok := b.(*Case)
		return ok && sameType(x.T, y.T) && Equal(x.Else, y.Else) &&
			slices.EqualFunc(x.Whens, y.Whens, func(v, w When) bool { return Equal(v.Cond, w.Cond) && Equal(v.Then, w.Then) })
	case *And:
		y, ok := b.(*And)
		return ok && slices.EqualFunc(x.Terms, y.Terms, Equal)
	case *Or:
		y, ok := b.(*Or)
		return ok && slices.EqualFunc(x.Terms, y.Terms, Equal)
	case *Not:
		y, ok := b.(*Not)
		return ok && Equal(x.X, y.X)
	case *In:
		y, ok := b.(*In)
		return ok && x.HasNull == y.HasNull && Equal(x.X, y.X) && slices.EqualFunc(x.Values, y.Values, equalValues)
	case *Each:
		y, ok := b.(*Each)
		return ok && Equal(x.Source, y.Source) && Equal(x.Body, y.Body)
	case *Any:
		y, ok := b.(*Any)
		return ok && Equal(x.Source, y.Source) && Equal(x.Body, y.Body)
	case *Loop:
		y, ok := b.(*Loop)
		return ok && equalLoops(x, y)
	case *Element:
		y, ok := b.(*Element)
		return ok && x.Depth == y.Depth
	}
	return false
}

func sameType(a, b Type) bool { return a.OrNull(true) == b.OrNull(true) }

// equalValues compares the values of literals; NaN equals itself, zeros differ by sign, lists
// compare by element.
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case float64:
		y, ok := b.(float64)
		return ok && (x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y)
	case float32:
		y, ok := b.(float32)
		return ok && (x == y && math.Signbit(float64(x)) == math.Signbit(float64(y)) || x != x && y != y)
	}
	if _, ok := b.([]any); ok {
		return false
	}
	return a == b
}

// IsConstant reports whether e does not read columns or elements and always has the same value.
func IsConstant(e Expr) bool {
	constant := true
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Column, *Element:
			constant = false
		case *Call:
			constant = constant && !x.Fn.Volatile
		}
		return constant
	})
	return constant
}

// LiteralValue returns the value of a literal that is not NULL.
func LiteralValue(e Expr) (any, bool) {
	if l, ok := e.(*Literal); ok && l.Value != nil {
		return l.Value, true
	}
	return nil, false
}

// IsNullLiteral reports whether e is a constant NULL of any type.
func IsNullLiteral(e Expr) bool {
	switch x := e.(type) {
	case *Literal:
		return x.Value == nil
	case *Cast:
		return IsNullLiteral(x.X)
	}
	return false
}

// NeverFails reports whether e can be computed for every row without an error, so that it may be
// evaluated for rows that the user must not see: an error would reveal them.
func NeverFails(e Expr) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Call:
			ok = ok && x.Fn.Entry().Total
		case *Loop:
			ok = false
		}
		return ok
	})
	return ok
}
