package stringfn

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
)

var humanReadableFunctions = []*expr.Function{
	humanReadable("HUMAN_READABLE_BINARY_BYTE_FORMAT", "Formats a number of bytes with a binary unit, such as 1.00 MiB.", 1024, " B",
		[]string{" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}),
	humanReadable("HUMAN_READABLE_DECIMAL_BYTE_FORMAT", "Formats a number of bytes with a decimal unit, such as 1.00 MB.", 1000, " B",
		[]string{" KB", " MB", " GB", " TB", " PB", " EB"}),
	humanReadable("HUMAN_READABLE_DECIMAL_FORMAT", "Formats a number with a decimal unit, such as 1.00 M.", 1000, "",
		[]string{" K", " M", " G", " T", " P", " E"}),
}

// humanReadable makes a function (number, places) that divides by the greatest power of base that
// is not above the number.
func humanReadable(name, summary string, base int64, plain string, units []string) *expr.Function {
	return &expr.Function{
		Name: name, Min: 1, Max: 2, Summary: summary,
		Forms: []string{"$F(<NUMERIC>, [<INTEGER>])"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			for _, a := range b.Args {
				if expr.IsNullLiteral(a) && a.Type().Base == expr.Null {
					b.Mismatch()
				}
			}
			b.Long(0)
			if b.Has(1) {
				b.Whole(1)
				if n, ok := expr.LiteralValue(b.Args[1]); ok && b.Err == nil && (n.(int64) < 0 || n.(int64) > 3) {
					b.Err = errPrecision(name, n.(int64))
				}
			} else {
				b.Args = append(b.Args, &expr.Literal{Value: int64(2), T: expr.Of(expr.Integer).NotNull()})
			}
			return b.Strict(expr.Of(expr.Varchar))
		},
		Kernel: expr.Fixed(kernel.Failing2(func(x, places int64) (string, bool, error) {
			if places < 0 || places > 3 {
				return "", false, errPrecision(name, places)
			}
			return readable(x, int(places), base, plain, units), true, nil
		})),
	}
}

func errPrecision(name string, n int64) error {
	return fault.InvalidInput("Given precision[%d] of Function[%s] must be in the range of [0,3]", n, strings.ToLower(name))
}

func readable(x int64, places int, base int64, plain string, units []string) string {
	magnitude := uint64(x)
	if x < 0 {
		magnitude = -magnitude
	}
	if magnitude < uint64(base) {
		return strconv.FormatInt(x, 10) + plain
	}
	unit, power := 0, uint64(base)
	for unit+1 < len(units) && magnitude/uint64(base) >= power {
		power *= uint64(base)
		unit++
	}
	sign := ""
	if x < 0 {
		sign = "-"
	}
	if base == 1000 {
		// quirk Q004: Druid first cuts the number to thousandths of the unit, and rounds those.
		thousandths := magnitude / (power / 1000)
		return sign + roundedRatio(thousandths, 1000, places) + units[unit]
	}
	return sign + roundedRatio(magnitude, power, places) + units[unit]
}

// roundedRatio writes a/b with a number of decimal places, rounded half up.
func roundedRatio(a, b uint64, places int) string {
	scale := uint64(math.Pow10(places))
	// (a*scale*2 + b) / (2*b), in numbers wide enough.
	n := new(big.Int).SetUint64(a)
	n.Mul(n, new(big.Int).SetUint64(2*scale))
	n.Add(n, new(big.Int).SetUint64(b))
	n.Quo(n, new(big.Int).Lsh(new(big.Int).SetUint64(b), 1))
	digits := n.String()
	if places == 0 {
		return digits
	}
	for len(digits) <= places {
		digits = "0" + digits
	}
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}
