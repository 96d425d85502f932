package native

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/nativetext"
)

// writer writes one plan.
type writer struct {
	options Options
	// stepwise says that the plan is one that is run, whose steps are written one by one.
	stepwise bool
	// tables are all columns of the datasources.
	tables map[string][]column
	// written are the output columns of a statement that reads nothing, as they were before they were
	// computed.
	written []expr.Expr
	// limit is how many rows the statement gives at most, -1: all. A plan of one row has lost it.
	limit int64
	// unnests is how many unnests have been read, in the text form; unnestsChosen says that the only
	// one is of rows that a query chose.
	unnests       int
	unnestsChosen bool
}

func (w *writer) native(e expr.Expr) string {
	return nativetext.Format(wholeElements(inPairs(plain(e))), &w.options.Expr)
}

// wholeElements are whole numbers beside an array of DOUBLEs as they are written.
func wholeElements(e expr.Expr) expr.Expr {
	whole := func(v any) any {
		if x, ok := v.(float64); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x)
		}
		return v
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Call)
		if !ok || !strings.HasPrefix(c.Fn.Name, "ARRAY_") {
			return e
		}
		out := *c
		out.Args = slices.Clone(c.Args)
		for i, a := range c.Args {
			l, ok := a.(*expr.Literal)
			if !ok {
				continue
			}
			list, isList := l.Value.([]any)
			switch {
			case l.T.Base == expr.Double:
				out.Args[i] = &expr.Literal{Value: whole(l.Value), T: l.T}
			case isList && l.T.Elem().Base == expr.Double:
				values := make([]any, len(list))
				for j, v := range list {
					values[j] = whole(v)
				}
				out.Args[i] = &expr.Literal{Value: values, T: l.T}
			}
		}
		return &out
	})
}

// typeOfFloats is the type of what is computed: of FLOATs, beside numbers that are no fractions
// written with a point, it is FLOAT for Druid. See quirk Q015.
func typeOfFloats(e expr.Expr) expr.Type {
	if ofFloats(e) {
		return expr.Of(expr.Float)
	}
	return e.Type()
}

func ofFloats(e expr.Expr) bool {
	x, ok := e.(*expr.Call)
	if !ok || x.T.Base != expr.Double || len(x.Args) == 0 {
		return false
	}
	isFloat := func(e expr.Expr) bool {
		e = stripCasts(e)
		return e.Type().Base == expr.Float || ofFloats(e)
	}
	if _, form := formOf(x); form.floats {
		return isFloat(x.Args[0])
	}
	switch x.Fn.Name {
	case "+", "-", "*", "/":
		if len(x.Args) == 1 {
			return isFloat(x.Args[0])
		}
		if typ := stripCasts(x.Args[0]).Type().Base; typ == expr.Double || typ == expr.Decimal {
			return isFloat(x.Args[0]) // of fractions the first one says it
		}
		return !slices.ContainsFunc(x.Args, isPointed) && slices.ContainsFunc(x.Args, isFloat)
	}
	return false
}

// isPointed reports whether a number is written with a point.
func isPointed(e expr.Expr) bool {
	l, ok := stripCasts(e).(*expr.Literal)
	if !ok {
		return false
	}
	kind, _ := typedValue(l)
	return kind == "DOUBLE"
}

// inPairs joins texts two by two, as the operator is written, where the plan joins them at once.
func inPairs(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Call)
		if !ok || c.Fn.Name != "||" || len(c.Args) < 3 {
			return e
		}
		out := c.Args[0]
		for _, a := range c.Args[1:] {
			if joined := joinedTexts(out, a); joined != nil {
				out = joined
				continue
			}
			pair := *c
			pair.Args = []expr.Expr{out, a}
			out = &pair
		}
		return out
	})
}

// joinedTexts are two constant texts as one; nil: they are none.
func joinedTexts(a, b expr.Expr) expr.Expr {
	l, isConstant := a.(*expr.Literal)
	r, areConstants := b.(*expr.Literal)
	if !isConstant || !areConstants {
		return nil
	}
	if l.Value == nil || r.Value == nil {
		return &expr.Literal{T: expr.Of(expr.Varchar)}
	}
	left, isText := l.Value.(string)
	right, areTexts := r.Value.(string)
	if !isText || !areTexts {
		return nil
	}
	return &expr.Literal{Value: left + right, T: expr.Of(expr.Varchar).NotNull()}
}
