package sql

import (
	"math"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// zeroSigns gives a subquery the signs of zeros of outer values. Outer rows find their rows of the
// subquery by the equality of values, which takes -0.0 for 0.0. Where the subquery shows the
// difference, as CAST(x AS VARCHAR) does, whether the value is -0.0 is an outer value of its own.
type zeroSigns struct {
	values []expr.Expr
	sign   map[int]int // by outer value: the outer value that is true of -0.0
	err    error
}

// withZeroSigns returns the plan of a subquery with outer values, and these with the signs that it
// needs behind them.
func withZeroSigns(n plan.Node, values []expr.Expr) (plan.Node, []expr.Expr, error) {
	z := &zeroSigns{values: append([]expr.Expr(nil), values...), sign: map[int]int{}}
	for _, v := range values {
		if v.Type().IsFractional() {
			n = z.node(n)
			return n, z.values, z.err
		}
	}
	return n, values, nil
}

func (z *zeroSigns) node(n plan.Node) plan.Node {
	n = plan.MapInputs(n, z.node)
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr { return z.signed(e, false) })
}

// signed returns e with signed zeros in place of outer values, but for those that are only
// compared: comparisons see no signs of zeros, nor do sums and products that they compare.
func (z *zeroSigns) signed(e expr.Expr, compared bool) expr.Expr {
	switch x := e.(type) {
	case *expr.Column:
		if compared || !isOuter(x) || !x.T.IsFractional() {
			return e
		}
		return z.value(x)
	case *expr.Call:
		switch x.Fn.Name {
		case "=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "IS NULL", "IS NOT NULL":
			compared = true
		case "+", "-", "*", "COALESCE":
		default:
			compared = false
		}
	case *expr.In:
		compared = true
	case *expr.Cast:
		t := x.T
		compared = t.IsInteger() || t.IsTime() || t.Base == expr.Boolean || compared && t.IsFractional()
	default:
		compared = false
	}
	return plan.MapOperands(e, func(x expr.Expr) expr.Expr { return z.signed(x, compared) })
}

// value is an outer value with its sign, if it is zero.
func (z *zeroSigns) value(x *expr.Column) expr.Expr {
	k := x.Index - correlatedBase
	if c, ok := z.values[k].(*expr.Column); ok && c.Index >= correlatedBase {
		return x // a value of the query around, which takes care of it
	}
	at, known := z.sign[k]
	if !known {
		text := &expr.Cast{X: &expr.Cast{X: z.values[k], T: expr.Of(expr.Double)}, T: expr.Of(expr.Varchar)}
		is, err := expr.NewCompare("=", text, stringLiteral("-0.0"), fault.Span{})
		if err != nil {
			z.err = err
			return x
		}
		at = len(z.values)
		z.values, z.sign[k] = append(z.values, is), at
	}
	negative := &expr.Column{Index: correlatedBase + at, Name: x.Name, T: z.values[at].Type()}
	zero := &expr.Literal{T: x.T.NotNull(), Value: math.Copysign(0, -1)}
	return &expr.Case{Whens: []expr.When{{Cond: negative, Then: zero}}, Else: x, T: x.T}
}
