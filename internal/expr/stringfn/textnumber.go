package stringfn

import (
	"math"
	"math/big"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
)

// Dimensions of native queries read numbers out of texts more strictly than a cast does: the words
// true and false are none, and a whole number is one only if there is nothing behind its decimal
// point.

// textDoubleFunction gives the DOUBLE that a text is, else NULL.
var textDoubleFunction = &expr.Function{
	Name: "$TEXT_DOUBLE", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Call(expr.Of(expr.Double))
	},
	Kernel: expr.Fixed(kernel.Partial1(expr.ParseDecimal)),
}

// textLongFunction gives the BIGINT that a text is exactly, else NULL.
var textLongFunction = &expr.Function{
	Name: "$TEXT_LONG", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Call(expr.Of(expr.BigInt))
	},
	Kernel: expr.Fixed(kernel.Partial1(exactLong)),
}

// maxExactText bounds the texts that are computed exactly, and with them the exponents: 1e-99999999
// would be a number of that many digits.
const maxExactText = 64

func exactLong(s string) (int64, bool) {
	if n, ok := expr.ParseDigits(s); ok {
		return n, true
	}
	x, ok := expr.ParseDecimal(s)
	if !ok || len(s) > maxExactText || math.Abs(x) > 1<<63 || x != 0 && math.Abs(x) < 1 || x == 0 && strings.ContainsAny(s, "eE") {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// floatTextFunction gives the text of a FLOAT with the digits that tell it from other FLOATs, 0.1
// and not 0.10000000149011612, as dimensions and filters of native queries see it.
var floatTextFunction = &expr.Function{
	Name: "$FLOAT_TEXT", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Cast(0, expr.Of(expr.Float))
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Unary(floatText)),
}

func floatText(x float32) string {
	var buf [32]byte
	return string(expr.AppendFloat(buf[:0], x))
}
