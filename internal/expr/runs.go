package expr

import (
	"github.com/hengedb/henge/internal/vector"
)

// constantRun are arms of a CASE, one after the other, whose conditions are that x equals
// constants.
type constantRun struct {
	x      Expr
	arms   int
	values []any    // of x's physical type
	of     []uint32 // by value, the arm
}

// runsOf returns the runs of whens by their first arm, those long enough for a table; nil: there is
// none.
func runsOf(whens []When) map[int]*constantRun {
	var out map[int]*constantRun
	for at := 0; at < len(whens); {
		r := runFrom(whens[at:])
		if r == nil {
			at++
			continue
		}
		if r.arms >= manyArms {
			if out == nil {
				out = map[int]*constantRun{}
			}
			out[at] = r
		}
		at += r.arms
	}
	return out
}

// runFrom returns the run that begins with the first of whens, nil: that arm is of none.
func runFrom(whens []When) *constantRun {
	r := &constantRun{}
	for i, w := range whens {
		x, values, ok := equalities(w.Cond)
		if !ok || r.x != nil && !sameValue(r.x, x) {
			break
		}
		r.x = x
		for _, v := range values {
			r.values, r.of = append(r.values, v), append(r.of, uint32(i))
		}
		r.arms++
	}
	if r.arms == 0 {
		return nil
	}
	return r
}

// sameValue reports whether x and y have the same value in every row, and are compared in the same
// way.
func sameValue(x, y Expr) bool { return x == y || Equal(x, y) }

// equalities takes apart a condition that is true of exactly the rows in which x is one of values.
func equalities(cond Expr) (x Expr, values []any, ok bool) {
	switch e := cond.(type) {
	case *Call:
		if op, is := comparisonOf(e.Fn); !is || op != opEq {
			return nil, nil, false
		}
		x, l := e.Args[0], e.Args[1]
		if isLiteral(x) {
			x, l = l, x
		}
		constant, is := l.(*Literal)
		if !is || isLiteral(x) || !tabled(x) || x.Type().Runtime() != constant.T.Runtime() {
			return nil, nil, false
		}
		if constant.Value == nil {
			return x, nil, true
		}
		return x, []any{runtimeValue(constant.Value, x.Type().Runtime())}, true
	case *In:
		if !tabled(e.X) {
			return nil, nil, false
		}
		return e.X, e.Values, true
	case *Or:
		for i, term := range e.Terms {
			of, more, is := equalities(term)
			if !is || i > 0 && !sameValue(x, of) {
				return nil, nil, false
			}
			x, values = of, append(values, more...)
		}
		return x, values, true
	}
	return nil, nil, false
}

// tabled reports whether the values of x can be found in a table, and stay the same when x is
// computed once for several arms.
func tabled(x Expr) bool {
	t := x.Type().Runtime()
	fits := t.Kind == vector.KindLong || t.Kind == vector.KindDouble || t.Kind == vector.KindFloat || t == vector.String
	pure := true
	Walk(x, func(e Expr) bool {
		if c, ok := e.(*Call); ok && c.Fn.Volatile {
			pure = false
		}
		return pure
	})
	return fits && pure && !x.Type().Multi
}
