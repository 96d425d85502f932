package expr

import (
	"math"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
)

// bitwise makes a function of two whole numbers; fractions are cut off.
func bitwise(name, native, summary string, f func(a, b int64) int64) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<NUMERIC>, <NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Long(0)
			b.Long(1)
			return b.Strict(Of(BigInt))
		},
		Kernel: Fixed(kernel.Binary(f)),
	}
}

var bitwiseFunctions = []*Function{
	bitwise("BITWISE_AND", "bitwiseand", "Returns the bitwise AND.", func(a, b int64) int64 { return a & b }),
	bitwise("BITWISE_OR", "bitwiseor", "Returns the bitwise OR.", func(a, b int64) int64 { return a | b }),
	bitwise("BITWISE_XOR", "bitwisexor", "Returns the bitwise exclusive OR.", func(a, b int64) int64 { return a ^ b }),
	bitwise("BITWISE_SHIFT_LEFT", "bitwiseshiftleft", "Shifts the bits to the left. The number of places is taken modulo 64.",
		func(a, n int64) int64 { return a << uint(n&63) }),
	bitwise("BITWISE_SHIFT_RIGHT", "bitwiseshiftright", "Shifts the bits to the right and keeps the sign. The number of places "+
		"is taken modulo 64.",
		func(a, n int64) int64 { return a >> uint(n&63) }),
	{
		Name: "BITWISE_COMPLEMENT", NativeName: "bitwisecomplement", Min: 1, Max: 1, RefusesNull: true,
		Summary: "Returns the bitwise complement.",
		Forms:   []string{"$F(<NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Long(0)
			return b.Strict(Of(BigInt))
		},
		Kernel: Fixed(kernel.Unary(func(a int64) int64 { return ^a })),
	},
	{
		Name: "BITWISE_CONVERT_DOUBLE_TO_LONG_BITS", NativeName: "bitwiseconvertdoubletolongbits", Min: 1, Max: 1, RefusesNull: true,
		Summary: "Returns the bits of a DOUBLE as a BIGINT.",
		Forms:   []string{"$F(<NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.ExactNumber(0)
			b.Cast(0, Of(Double))
			return b.Strict(Of(BigInt))
		},
		Kernel: Fixed(kernel.Unary(func(x float64) int64 {
			if x != x {
				return 0x7ff8000000000000 // Java knows one NaN
			}
			return int64(math.Float64bits(x))
		})),
	},
	{
		Name: "BITWISE_CONVERT_LONG_BITS_TO_DOUBLE", NativeName: "bitwiseconvertlongbitstodouble", Min: 1, Max: 1, RefusesNull: true,
		Summary: "Returns the DOUBLE that has the bits of a BIGINT.",
		Forms:   []string{"$F(<NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Long(0)
			return b.Strict(Of(Double))
		},
		Kernel: Fixed(kernel.Unary(func(n int64) float64 { return math.Float64frombits(uint64(n)) })),
	},
}

var parseLongFunction = &Function{
	Name: "PARSE_LONG", NativeName: "parse_long", Min: 1, Max: 2, RefusesNull: true,
	Summary: "Parses an integer in a radix, by default 10. Returns NULL if the string is not an integer in that radix.",
	Forms:   []string{"$F(<CHARACTER>, [<INTEGER>])"},
	Bind: func(b *Binding) (Expr, error) {
		b.Text(0)
		if b.Has(1) {
			b.Whole(1)
		} else {
			b.Args = append(b.Args, &Literal{Value: int64(10), T: Of(Integer).NotNull()})
		}
		return b.Call(Of(BigInt))
	},
	Kernel: Fixed(kernel.Partial2(parseRadix)),
}

func parseRadix(s string, radix int64) (int64, bool) {
	if radix < 2 || radix > 36 {
		return 0, false
	}
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	} else if radix == 16 && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")) {
		s = s[2:]
	}
	if s == "" {
		return 0, false
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	n := uint64(0)
	for i := 0; i < len(s); i++ {
		d := digitValue(s[i])
		if d >= uint64(radix) || n > (limit-d)/uint64(radix) {
			return 0, false
		}
		n = n*uint64(radix) + d
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// digitValue is the value of a digit or letter, and 99 of anything else.
func digitValue(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return uint64(c|0x20-'a') + 10
	}
	return 99
}
