package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Functions that the native language has and SQL has not. They bind to what their kernels take: the
// native binder has cast the arguments.

var nativeOnlyFunctions = slices.Concat(nativeDoubleFunctions, nativeDouble2Functions, []*Function{
	wholePowerFunction, signumFunction, getExponentFunction, onlyElementFunction, listTextFunction, safeDivideByZeroFunction, wrappedFunction,
})

func ofDouble(name string, f func(float64) float64) *Function {
	return inDouble("$"+name, strings.ToLower(name), "", f)
}

var nativeDoubleFunctions = []*Function{
	ofDouble("SINH", math.Sinh), ofDouble("COSH", math.Cosh), ofDouble("TANH", math.Tanh),
	ofDouble("EXPM1", math.Expm1), ofDouble("LOG1P", math.Log1p), ofDouble("RINT", math.RoundToEven),
	ofDouble("NEXTUP", func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }),
	ofDouble("ULP", ulp),
}

// ulp is the distance to the next number away from zero.
func ulp(x float64) float64 {
	switch x = math.Abs(x); {
	case math.IsInf(x, 0) || x != x:
		return x
	case x == math.MaxFloat64:
		return x - math.Nextafter(x, 0)
	}
	return math.Nextafter(x, math.Inf(1)) - x
}

func ofDoubles(name string, f func(x, y float64) float64) *Function {
	return inDouble2("$"+name, strings.ToLower(name), "", f)
}

var nativeDouble2Functions = []*Function{
	ofDoubles("COPYSIGN", math.Copysign), ofDoubles("HYPOT", math.Hypot), ofDoubles("NEXTAFTER", math.Nextafter),
	ofDoubles("REMAINDER", math.Remainder),
	ofDoubles("SCALB", func(x, n float64) float64 { return math.Ldexp(x, int(min(max(int32Of(n), -4200), 4200))) }),
}

// int32Of cuts a number to 32 bits as Java cuts a long.
func int32Of(x float64) int32 { return int32(truncate(x)) }

// wrappedFunction cuts a whole number to 32 bits, which wrap.
var wrappedFunction = &Function{
	Name: "$WRAPPED", Min: 1, Max: 1,
	Bind: func(b *Binding) (Expr, error) {
		b.Cast(0, Of(BigInt))
		return b.Strict(Of(BigInt))
	},
	Kernel: Fixed(kernel.Unary(func(x int64) int64 { return int64(int32(x)) })),
}

// wholePowerFunction is x raised to the power of y in 64 bits, which wrap; y is not negative.
var wholePowerFunction = &Function{
	Name: "$WHOLE_POWER", NativeName: "^", Min: 2, Max: 2,
	Bind: func(b *Binding) (Expr, error) {
		b.Cast(0, Of(BigInt))
		b.Cast(1, Of(BigInt))
		return b.Strict(Of(BigInt))
	},
	Kernel: Fixed(kernel.Failing2(func(x, y int64) (int64, bool, error) {
		if y < 0 {
			return 0, false, fault.InvalidInput("The exponent [%d] of a whole number must not be negative", y)
		}
		out := int64(1)
		for ; y > 0; y >>= 1 {
			if y&1 == 1 {
				out *= x
			}
			x *= x
		}
		return out, true, nil
	})),
}

var signumFunction = &Function{
	Name: "$SIGNUM", NativeName: "signum", Min: 1, Max: 1,
	Bind: func(b *Binding) (Expr, error) {
		b.Double(0)
		return b.Strict(Of(Double))
	},
	Kernel: Fixed(kernel.Unary(func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	})),
}

// getExponentFunction is the exponent that a DOUBLE is kept with.
var getExponentFunction = &Function{
	Name: "$GET_EXPONENT", NativeName: "getexponent", Min: 1, Max: 1,
	Bind: func(b *Binding) (Expr, error) {
		b.Double(0)
		return b.Strict(Of(BigInt))
	},
	Kernel: Fixed(kernel.Unary(func(x float64) int64 { return int64(math.Float64bits(x)>>52&0x7ff) - 1023 })),
}

// onlyElementFunction is what a list counts as in the place of a number: its element, if it has
// one, else NULL.
var onlyElementFunction = &Function{
	Name: "$ONLY_ELEMENT", Min: 1, Max: 1, SeesLists: true,
	Bind: bindElement,
	Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		list, picks, has, some := args[0], make([]uint32, n), vector.NewBitmap(n), false
		for i := range n {
			if !valid.Get(i) {
				continue
			}
			if lo, hi := list.ListAt(i); hi-lo == 1 {
				picks[i], some = uint32(lo), true
				has.Set(i)
			}
		}
		if !some {
			return vector.Nulls(list.Type.Elem(), n), nil
		}
		return kernel.WithValid(list.Child.Gather(picks), has), nil
	}),
}

// listTextFunction is what a list of texts counts as in the place of a text: its element, if it has
// one, else all of them in brackets.
var listTextFunction = &Function{
	Name: "$LIST_TEXT", Min: 1, Max: 1, SeesLists: true,
	Bind: func(b *Binding) (Expr, error) {
		b.array(0, Of(Varchar))
		b.texts(0)
		return b.Call(Of(Varchar))
	},
	Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		list, out := args[0], kernel.NewRows[string](n)
		var b strings.Builder
		for i := range n {
			if !valid.Get(i) {
				continue
			}
			lo, hi := list.ListAt(i)
			if hi-lo == 1 {
				if list.Child.IsNull(lo) {
					out.Null(i)
				} else {
					out.Out[i] = list.Child.StringAt(lo)
				}
				continue
			}
			b.Reset()
			b.WriteByte('[')
			for k := lo; k < hi; k++ {
				if k > lo {
					b.WriteString(", ")
				}
				if list.Child.IsNull(k) {
					b.WriteString("null")
				} else {
					b.WriteString(list.Child.StringAt(k))
				}
			}
			b.WriteByte(']')
			out.Out[i] = b.String()
		}
		return out.Vector(), nil
	}),
}

// safeDivideByZeroFunction is safe_divide of numbers with fractions, NULL where the divisor is
// zero, whatever it divides.
var safeDivideByZeroFunction = &Function{
	Name: "$SAFE_DIVIDE", NativeName: "safe_divide", Min: 2, Max: 2,
	Bind: func(b *Binding) (Expr, error) {
		b.Double(0)
		b.Double(1)
		return b.Call(Of(Double))
	},
	Kernel: Fixed(kernel.Partial2(func(x, y float64) (float64, bool) { return x / y, y != 0 })),
}
