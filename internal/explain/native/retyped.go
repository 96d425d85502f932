package native

import (
	"slices"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// A constant that is computed beforehand keeps the type of what it was: where that may be NULL, or
// is a text of another length, Druid converts the constant, which makes it something to compute
// again, and no row. See quirk Q015.

// constantsOf are the output columns of a statement that reads nothing; nil: it reads something.
func constantsOf(n plan.Node) []expr.Expr {
	for {
		switch x := n.(type) {
		case *plan.Limit:
			n = x.Input
		case *plan.Sort:
			n = x.Input
		case *plan.Project:
			if rows, ok := x.Input.(*plan.Inline); ok && len(rows.Out) == 0 {
				return x.Exprs
			}
			return nil
		default:
			return nil
		}
	}
}

// isRetyped reports whether the value of output column i is converted to the type that the column
// had before it was computed.
func (w *writer) isRetyped(i int, l *expr.Literal) bool {
	if i >= len(w.written) || l.Value == nil {
		return false
	}
	e := w.written[i]
	if _, ok := e.(*expr.Literal); ok {
		return false
	}
	if c, ok := e.(*expr.Cast); ok && c.T.Base == expr.Char {
		text, isText := l.Value.(string)
		return isText && len(utf16.Encode([]rune(text))) > 1
	}
	return mayBeNull(e)
}

// alwaysNullable are the functions whose results may be NULL whatever their arguments are, by their
// declaration.
var alwaysNullable = []string{"BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_COMPLEMENT", "BITWISE_SHIFT_LEFT",
	"BITWISE_SHIFT_RIGHT", "BITWISE_CONVERT_DOUBLE_TO_LONG_BITS", "BITWISE_CONVERT_LONG_BITS_TO_DOUBLE", "GREATEST", "LEAST", "IPV4_STRINGIFY", "JSON_VALUE",
	"MV_OFFSET", "MV_ORDINAL", "REGEXP_EXTRACT", "REGEXP_REPLACE", "TIME_PARSE", "TRY_PARSE_JSON", "ARRAY_QUANTILE", "LOOKUP", "DECODE_BASE64_UTF8"}

// neverNullable are those whose results are never NULL, by their declaration. What compares, too,
// is simplified before it is computed.
var neverNullable = []string{"ARRAY_CONTAINS", "ARRAY_OVERLAP", "ARRAY_LENGTH", "MV_CONTAINS", "MV_OVERLAP", "MV_LENGTH", "IS NULL", "IS NOT NULL", "IS TRUE",
	"IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

// mayBeNull reports whether something constant is of a type with NULL for Druid. See quirk Q015.
func mayBeNull(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.Literal:
		return x.Value == nil
	case *expr.Cast:
		return mayBeNull(x.X)
	case *expr.Call:
		switch {
		case slices.Contains(alwaysNullable, x.Fn.Name):
			return true
		case slices.Contains(neverNullable, x.Fn.Name) || flipped[x.Fn.Name] != "":
			return false
		case x.Fn == expr.CoalesceFunction:
			return !slices.ContainsFunc(x.Args, func(a expr.Expr) bool { return !mayBeNull(a) })
		}
		return slices.ContainsFunc(x.Args, mayBeNull)
	}
	return false
}
