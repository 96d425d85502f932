package stringfn

import (
	"math"
	"regexp"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
)

// numericOrderFunction gives a text whose order by bytes is the numeric order of texts, by which
// native queries may sort: what is not a number comes first, in its own order, then numbers by
// value. Unlike a cast it takes neither blanks nor the words true, NaN or Infinity.
var numericOrderFunction = &expr.Function{
	Name: "$NUMERIC_ORDER", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Unary(numericOrderKey)),
}

var decimalNumber = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func numericOrderKey(s string) string {
	if !decimalNumber.MatchString(s) {
		return "\x00" + s
	}
	x, _ := strconv.ParseFloat(s, 64) // beyond its range: infinite, the greatest of all
	bits := math.Float64bits(x + 0)   // -0 is 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	key := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}
	for i := range 8 {
		key[8-i] = byte(bits >> (8 * i))
	}
	return string(key)
}
