package expr

import (
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// kept makes a function of one number whose result has the type of the argument: on whole numbers
// long, on the rest double.
func kept(name, native, summary string, forms []string, long func(dst, src []int64), double func(dst, src []float64)) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 1, Max: 1, Summary: summary, Forms: forms,
		Bind: bindKept,
		Kernel: func(c *Call, ctx *Context) (Kernel, error) {
			if c.Args[0].Type().Runtime() == vector.Long {
				return kernel.Over(ctx.Reuse, long), nil
			}
			return kernel.Over(ctx.Reuse, double), nil
		},
	}
}

func bindKept(b *Binding) (Expr, error) {
	t := b.Type(0)
	if t.Base == Null {
		return b.Args[0], nil
	}
	b.Number(0)
	return b.rounded(t)
}

// The absolute value of the least BIGINT, which has no positive counterpart, is itself.
var absFunction = kept("ABS", "", "Returns the absolute value.", []string{"$F(<NUMERIC>)", "$F(<DATETIME_INTERVAL>)"},
	absolutes, absoluteDoubles)

var ceilForms = []string{"$F(<NUMERIC>)", "$F(<DATETIME_INTERVAL>)", "$F(<DATE> TO <TIME_UNIT>)", "$F(<TIMESTAMP> TO <TIME_UNIT>)"}

var floorFunction = kept("FLOOR", "", "Returns the largest integer not greater than the argument. With TO, rounds a timestamp "+
	"down to a unit.", ceilForms, same, floors)

var ceilFunction = func() *Function {
	f := kept("CEIL", "", "Returns the smallest integer not less than the argument. With TO, rounds a timestamp up "+
		"to a unit.", ceilForms, same, ceilings)
	f.Aliases = []string{"CEILING"}
	return f
}()

// inDouble makes a function of one number that is computed in DOUBLE.
func inDouble(name, native, summary string, f func(float64) float64) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 1, Max: 1, Summary: summary,
		Forms: []string{"$F(<NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Double(0)
			return b.Strict(Of(Double))
		},
		Kernel: func(_ *Call, ctx *Context) (Kernel, error) {
			return kernel.Over(ctx.Reuse, func(dst, src []float64) {
				for i, x := range src {
					dst[i] = f(x)
				}
			}), nil
		},
	}
}

// naturalLog is math.Log, which reads the numbers next to zero, those with fewer digits, as larger
// ones on some processors.
func naturalLog(x float64) float64 {
	const least, scale = 0x1p-1022, 54
	if x > 0 && x < least {
		return math.Log(x*(1<<scale)) - scale*math.Ln2
	}
	return math.Log(x)
}

// log10 is exact for powers of ten, whose rounded logarithms would otherwise lie below a whole
// number: what is added to the logarithm of the digits is log10(2), in two parts, for each power of
// two.
func log10(x float64) float64 {
	const twoHigh, twoLow = 3.01029995663611771306e-01, 3.69423907715893078616e-13
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x)
	}
	digits, power := math.Frexp(x)
	if power > 0 {
		digits, power = digits*2, power-1
	}
	k := float64(power)
	low := k * twoLow // apart, so that nothing is fused
	return float64(low+float64(math.Log(digits)*(1/math.Ln10))) + float64(k*twoHigh)
}

var doubleFunctions = []*Function{
	inDouble("SQRT", "", "Returns the square root.", math.Sqrt),
	inDouble("CBRT", "", "Returns the cube root.", math.Cbrt),
	inDouble("EXP", "", "Returns e raised to the power of the argument.", math.Exp),
	inDouble("LN", "log", "Returns the natural logarithm.", naturalLog),
	inDouble("LOG10", "", "Returns the logarithm to base 10.", log10),
	inDouble("SIN", "", "Returns the sine of an angle in radians.", math.Sin),
	inDouble("COS", "", "Returns the cosine of an angle in radians.", math.Cos),
	inDouble("TAN", "", "Returns the tangent of an angle in radians.", math.Tan),
	inDouble("COT", "", "Returns the cotangent of an angle in radians.", func(x float64) float64 { return math.Cos(x) / math.Sin(x) }),
	inDouble("ASIN", "", "Returns the arc sine in radians.", math.Asin),
	inDouble("ACOS", "", "Returns the arc cosine in radians.", math.Acos),
	inDouble("ATAN", "", "Returns the arc tangent in radians.", math.Atan),
	inDouble("DEGREES", "todegrees", "Converts radians to degrees.", func(x float64) float64 { return x * (180 / math.Pi) }),
	inDouble("RADIANS", "toradians", "Converts degrees to radians.", func(x float64) float64 { return x * (math.Pi / 180) }),
}

// inDouble2 makes a function of two numbers that is computed in DOUBLE.
func inDouble2(name, native, summary string, f func(x, y float64) float64) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, Summary: summary,
		Forms: []string{"$F(<NUMERIC>, <NUMERIC>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Double(0)
			b.Double(1)
			return b.Strict(Of(Double))
		},
		Kernel: Fixed(kernel.Binary(f)),
	}
}

var powerFunction = inDouble2("POWER", "pow", "Returns x raised to the power of y.", javaPow)
var atan2Function = inDouble2("ATAN2", "", "Returns the angle of the point (x, y) in radians. The first argument is y.", math.Atan2)

// javaPow is math.Pow except where Java differs: one to the power of NaN or an infinity is NaN
// there, and so is minus one's.
func javaPow(x, y float64) float64 {
	if y != y || math.IsInf(y, 0) && math.Abs(x) == 1 {
		return math.NaN()
	}
	return math.Pow(x, y)
}

var logFunction = &Function{
	Name: "LOG", Min: 1, Max: 2,
	Summary: "Returns the logarithm of x to a base, by default the natural logarithm.",
	Forms:   []string{"$F(<NUMERIC>)", "$F(<NUMERIC>, <NUMERIC>)"},
	Bind: func(b *Binding) (Expr, error) {
		for i := range b.Args {
			b.Double(i)
		}
		return b.Strict(Of(Double))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if len(c.Args) == 1 {
			return kernel.Unary(naturalLog), nil
		}
		return kernel.Binary(func(base, x float64) float64 { return naturalLog(x) / naturalLog(base) }), nil
	},
}

var signFunction = &Function{
	Name: "SIGN", Min: 1, Max: 1,
	Summary: "Returns -1, 0 or 1 for a negative number, zero and a positive one.",
	Forms:   []string{"$F(<NUMERIC>)"},
	Bind: func(b *Binding) (Expr, error) {
		b.Number(0)
		return b.Strict(Of(Integer))
	},
	Kernel: byType(
		kernel.Unary(func(x int64) int64 { return kernel.Bool(x > 0) - kernel.Bool(x < 0) }),
		kernel.Unary(func(x float64) int64 { return kernel.Bool(x > 0) - kernel.Bool(x < 0) })),
}

var piFunction = &Function{
	Name: "PI", Min: 0, Max: 0,
	Summary: "Returns the constant pi.",
	Forms:   []string{"$F"},
	Bind:    func(*Binding) (Expr, error) { return &Literal{Value: math.Pi, T: Of(Double).NotNull()}, nil },
}

var divFunction = &Function{
	Name: "DIV", Min: 2, Max: 2,
	Summary: "Returns the integer part of x divided by y.",
	Forms:   []string{"$F(<NUMERIC>, <NUMERIC>)"},
	Bind: func(b *Binding) (Expr, error) {
		whole := true
		for i := range b.Args {
			b.Number(i)
			whole = whole && (b.Type(i).IsInteger() || b.Type(i).Base == Null)
		}
		for i := range b.Args {
			if whole {
				b.Cast(i, Of(BigInt))
			} else {
				b.Cast(i, Of(Double))
			}
		}
		return b.Strict(Of(BigInt))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return divideInts, nil
		}
		return kernel.Failing2(func(x, y float64) (int64, bool, error) {
			if y == 0 {
				return 0, false, errDivisionByZero()
			}
			return truncate(x / y), true, nil
		}), nil
	},
}

var safeDivideFunction = &Function{
	Name: "SAFE_DIVIDE", Min: 2, Max: 2,
	Summary: "Returns x divided by y, or NULL if y is zero.",
	Forms:   []string{"$F(<NUMERIC>, <NUMERIC>)"},
	Bind: func(b *Binding) (Expr, error) {
		if b.Type(0).IsNumeric() && b.Type(1).IsCharacter() {
			b.Cast(1, Of(Decimal))
		}
		t, _ := arithmeticType(b.Type(0), b.Type(1))
		for i := range b.Args {
			b.ExactNumber(i)
		}
		for i := range b.Args {
			if t.IsInteger() {
				b.Cast(i, Of(BigInt))
			} else {
				b.Cast(i, Of(Double))
			}
		}
		if t.Base != Float {
			return b.Call(t.OrNull(true))
		}
		e, err := b.Call(Of(Double))
		if err != nil {
			return nil, err
		}
		return &Cast{X: e, T: Of(Float)}, nil
	},
	Kernel: byType(
		kernel.Partial2(func(x, y int64) (int64, bool) {
			if y == 0 {
				return 0, false
			}
			return x / y, true
		}),
		kernel.Partial2(func(x, y float64) (float64, bool) {
			if y != 0 {
				return x / y, true
			}
			return 0, x == 0
		})),
}

// toPlaces is the kernel of functions that take a number to some decimal places; without these to a
// whole one.
func toPlaces(
	long func(x, places int64) int64, whole func(dst, src []float64), double func(x float64, places int64) float64,
) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, ctx *Context) (Kernel, error) {
		switch isLong, given := c.Args[0].Type().Runtime() == vector.Long, len(c.Args) > 1; {
		case isLong && given:
			return kernel.Binary(long), nil
		case isLong:
			return kernel.Over(ctx.Reuse, same), nil
		case given:
			return kernel.Binary(double), nil
		}
		return kernel.Over(ctx.Reuse, whole), nil
	}
}

var roundFunction = &Function{
	Name: "ROUND", Min: 1, Max: 2, RefusesNull: true,
	Summary: "Rounds to a number of decimal places, half away from zero. A negative number of places rounds to tens, hundreds " +
		"and so on.",
	Forms:  []string{"$F(<NUMERIC>, [<INTEGER>])"},
	Bind:   bindPlaces,
	Kernel: toPlaces(roundLong, rounds, roundDouble),
}

// bindPlaces binds ROUND and TRUNCATE: the result has the type of the first argument.
func bindPlaces(b *Binding) (Expr, error) {
	t := b.Type(0)
	if t.Base == Null {
		t = Of(Integer)
	}
	b.ExactNumber(0)
	if b.Has(1) {
		b.Whole(1)
	}
	return b.rounded(t)
}

// roundDouble rounds the shortest decimal text of x, not its exact value, so that 1.005 rounds up.
func roundDouble(x float64, places int64) float64 {
	switch {
	case x != x:
		return 0
	case math.IsInf(x, 0):
		return math.Copysign(math.MaxFloat64, x)
	case places > 400:
		return x
	case places < -400:
		return 0
	}
	if places == 0 && math.Abs(x) < 1<<52 {
		// The text of such a number ends in .5 exactly where the number does.
		return plusZero(math.Round(x))
	}
	return plusZero(math.Copysign(roundDecimal(strconv.FormatFloat(math.Abs(x), 'e', -1, 64), places), x))
}

// roundDecimal rounds a positive number, given as text in the form d.ddde±nn.
func roundDecimal(digits string, places int64) float64 {
	var mantissa []byte
	i := 0
	for ; i < len(digits) && digits[i] != 'e'; i++ {
		if digits[i] != '.' {
			mantissa = append(mantissa, digits[i])
		}
	}
	exponent, _ := strconv.Atoi(digits[i+1:])
	keep := exponent + 1 + int(places) // how many digits of the mantissa stay
	if keep >= len(mantissa) {
		x, _ := strconv.ParseFloat(digits, 64)
		return x
	}
	if keep < 0 {
		return 0
	}
	up := mantissa[keep] >= '5'
	kept := append([]byte{'0'}, mantissa[:keep]...)
	if up {
		for k := len(kept) - 1; ; k-- {
			if kept[k] < '9' {
				kept[k]++
				break
			}
			kept[k] = '0'
		}
	}
	x, _ := strconv.ParseFloat(string(kept)+"e"+strconv.Itoa(-int(places)), 64)
	return x
}

func plusZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

func roundLong(x, places int64) int64 {
	if places >= 0 {
		return x
	}
	if places < -19 {
		return 0
	}
	if places == -19 {
		return 0 // half of ten to the 19th is beyond 64 bits, and so would be the result
	}
	unit := int64(math.Pow10(int(-places)))
	rest := x % unit
	down := x - rest
	if rest >= unit-rest && rest > 0 {
		return down + unit
	}
	if -rest >= unit+rest && rest < 0 {
		return down - unit
	}
	return down
}

var truncateFunction = &Function{
	Name: "TRUNCATE", Aliases: []string{"TRUNC"}, Min: 1, Max: 2, RefusesNull: true,
	Summary: "Truncates a number toward zero to a number of decimal places. A negative number of places truncates to tens, " +
		"hundreds and so on.",
	Forms:  []string{"$F(<NUMERIC>, [<INTEGER>])"},
	Bind:   bindPlaces,
	Kernel: toPlaces(truncateLong, truncates, truncateDouble),
}

func truncateLong(x, places int64) int64 {
	switch {
	case places >= 0:
		return x
	case places < -18:
		return 0
	}
	unit := int64(math.Pow10(int(-places)))
	return x - x%unit
}

func truncateDouble(x float64, places int64) float64 {
	unit := math.Pow(10, float64(places))
	return float64(truncate(x*unit)) / unit
}
