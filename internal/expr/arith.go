package expr

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The arithmetic operators. Whole numbers are computed in 64 bits and wrap; everything else in
// DOUBLE. A result of type FLOAT is rounded to one at the end of an expression only, as the
// reference does.

var addFunction = &Function{
	Name: "+", Min: 1, Max: 2,
	Forms: []string{"<NUMERIC> + <NUMERIC>", "<DATETIME_INTERVAL> + <DATETIME_INTERVAL>", "<DATETIME> + <DATETIME_INTERVAL>",
		"<DATETIME_INTERVAL> + <DATETIME>"},
	Bind: func(b *binding) (Expr, error) {
		switch {
		case len(b.args) == 1:
			return b.unaryPlus()
		case b.typ(0).IsTime() && b.typ(1).IsInterval():
			return b.shifted()
		case b.typ(0).IsInterval() && b.typ(1).IsTime():
			b.args[0], b.args[1] = b.args[1], b.args[0]
			return b.shifted()
		case b.typ(0).IsTime() && isUntypedNull(b.args[1]):
			return &Literal{T: b.typ(0).OrNull(true)}, nil
		case b.typ(1).IsTime() && isUntypedNull(b.args[0]):
			return &Literal{T: b.typ(1).OrNull(true)}, nil
		}
		return b.arithmetic()
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		if c.T.Base == Timestamp {
			return shiftKernel(c, ctx, 1), nil
		}
		return operatorKernel(c, ctx, add[int64], add[float64]), nil
	},
}

var subtractFunction = &Function{
	Name: "-", Min: 1, Max: 2,
	Forms: []string{"<NUMERIC> - <NUMERIC>", "<DATETIME_INTERVAL> - <DATETIME_INTERVAL>", "<DATETIME> - <DATETIME_INTERVAL>",
		"-<NUMERIC>", "-<DATETIME_INTERVAL>"},
	Bind: func(b *binding) (Expr, error) {
		switch {
		case len(b.args) == 1:
			return b.negated()
		case b.typ(0).IsTime() && b.typ(1).IsInterval():
			return b.shifted()
		case b.typ(0).IsTime() && isUntypedNull(b.args[1]):
			return &Literal{T: b.typ(0).OrNull(true)}, nil
		}
		return b.arithmetic()
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		switch {
		case c.T.Base == Timestamp:
			return shiftKernel(c, ctx, -1), nil
		case len(c.Args) == 2:
			return operatorKernel(c, ctx, subtract[int64], subtract[float64]), nil
		case c.T.Runtime() == vector.Long:
			return unary(func(x int64) int64 { return -x }), nil
		}
		return unary(func(x float64) float64 { return -x }), nil
	},
}

var multiplyFunction = &Function{
	Name: "*", Min: 2, Max: 2,
	Forms: []string{"<NUMERIC> * <NUMERIC>", "<DATETIME_INTERVAL> * <NUMERIC>", "<NUMERIC> * <DATETIME_INTERVAL>"},
	Bind: func(b *binding) (Expr, error) {
		switch {
		case b.typ(0).IsInterval() && b.typ(1).IsNumeric():
			return b.scaled(0, 1)
		case b.typ(1).IsInterval() && b.typ(0).IsNumeric():
			return b.scaled(1, 0)
		}
		return b.numeric()
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		return operatorKernel(c, ctx, multiply[int64], multiply[float64]), nil
	},
}

var divideFunction = &Function{
	Name: "/", Min: 2, Max: 2,
	Forms: []string{"<NUMERIC> / <NUMERIC>", "<DATETIME_INTERVAL> / <NUMERIC>"},
	Bind: func(b *binding) (Expr, error) {
		if b.typ(0).IsInterval() && b.typ(1).IsNumeric() {
			return b.scaled(0, 1)
		}
		return b.numeric()
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return divideInts, nil
		}
		return binary(func(x, y float64) float64 { return x / y }), nil
	},
}

var remainderFunction = &Function{
	Name: "%", Min: 2, Max: 2,
	Forms:  []string{"<NUMERIC> % <NUMERIC>"},
	Bind:   (*binding).numeric,
	Kernel: remainderKernel,
}

var modFunction = &Function{
	Name: "MOD", Min: 2, Max: 2, NativeName: "%",
	Summary: "Returns the remainder of x divided by y, with the sign of x. It has the type of y.",
	Forms:   []string{"$F(<EXACT_NUMERIC>, <EXACT_NUMERIC>)"},
	Bind: func(b *binding) (Expr, error) {
		t := b.typ(1)
		if t.IsCharacter() || t.IsFractional() {
			t = Of(Decimal)
			b.cast(1, t)
		}
		e, err := NewCall(remainderFunction, b.args, b.at)
		switch {
		case err != nil:
			return nil, err
		case t.Base == Null:
			return &Literal{T: t}, nil
		case !t.IsNumeric():
			return e, nil
		}
		return retype(coerce(e, t), t), nil
	},
}

// arithmetical reports whether a function is an operator of two numbers.
func arithmetical(fn *Function) bool {
	return fn == addFunction || fn == subtractFunction || fn == multiplyFunction || fn == divideFunction || fn == remainderFunction
}

// isNullByOperand reports whether e is arithmetic or a comparison with the constant NULL. It is
// NULL whatever the other operand is, and that one isn't evaluated: 1 / 0 + NULL is no error.
func isNullByOperand(e Expr) bool {
	c, ok := e.(*Call)
	if !ok || c.Fn.SeesNulls || !slices.ContainsFunc(c.Args, isNullLiteral) {
		return false
	}
	_, comparing := comparisonOf(c.Fn)
	return comparing || arithmetical(c.Fn.entry())
}

func (b *binding) negated() (Expr, error) {
	t := b.typ(0)
	if t.IsInterval() {
		return b.strict(t)
	}
	if t.Base == Null {
		return b.args[0], nil
	}
	if l, ok := b.args[0].(*Literal); ok && l.Value == float64(0) {
		return l, b.err // constants have no -0.0
	}
	b.operand(0)
	return b.rounded(t)
}

func (b *binding) unaryPlus() (Expr, error) {
	if t := b.typ(0); t.IsInterval() || t.Base == Null {
		return b.args[0], nil
	}
	b.operand(0)
	return b.args[0], b.err
}

// operand wants an operand of arithmetic: a number, or text or a boolean taken for one.
func (b *binding) operand(i int) {
	if b.typ(i).Base == Boolean {
		b.cast(i, Of(BigInt))
		return
	}
	b.number(i)
}

// arithmetic binds + and - of numbers or of intervals.
func (b *binding) arithmetic() (Expr, error) {
	if t := b.typ(0); t.IsInterval() && b.typ(1).Base == t.Base {
		return b.strict(t)
	}
	return b.numeric()
}

// numeric binds an operator of two numbers.
func (b *binding) numeric() (Expr, error) {
	x, y := b.typ(0), b.typ(1)
	if x.Base == Null && y.Base == Null {
		return b.args[0], nil
	}
	t, ok := arithmeticType(x, y)
	if !ok {
		b.mismatch()
		return nil, b.err
	}
	for i := range b.args {
		if t.IsInteger() {
			b.cast(i, Of(BigInt))
		} else {
			b.cast(i, Of(Double))
		}
	}
	return b.rounded(t)
}

// rounded is strict for a result of type t that was computed in DOUBLE if t is FLOAT.
func (b *binding) rounded(t Type) (Expr, error) {
	switch {
	case t.IsCharacter():
		return b.strict(Of(Decimal))
	case t.Base == Boolean:
		return b.strict(Of(BigInt))
	case t.Base != Float:
		return b.strict(t)
	}
	e, err := b.strict(Of(Double))
	if err != nil {
		return nil, err
	}
	return &Cast{X: e, T: t.NotNull().OrNull(e.Type().Nullable)}, nil
}

// arithmeticType returns the type of the result of arithmetic over two types. Text takes the type
// of the other operand.
func arithmeticType(x, y Type) (Type, bool) {
	x, y = countable(x), countable(y)
	switch {
	case x.Base == Float && y.Base == Double:
		return x, true // the reference takes both for equally wide, and the first of them
	case x.IsNumeric() && y.IsNumeric():
		return Of(widerNumber(x.Base, y.Base)), true
	case x.Base == Null && y.Base == Null:
		return Of(Integer), true
	case x.IsNumeric() && (y.IsCharacter() || y.Base == Null):
		return x, true
	case y.IsNumeric() && (x.IsCharacter() || x.Base == Null):
		return y, true
	case (x.IsCharacter() || x.Base == Null) && (y.IsCharacter() || y.Base == Null):
		return Of(Decimal), true
	}
	return Type{}, false
}

func countable(t Type) Type {
	if t.Base == Boolean {
		return Of(BigInt)
	}
	return t
}

// scaled binds an interval times or by a number.
func (b *binding) scaled(interval, number int) (Expr, error) {
	t := b.typ(interval)
	if b.typ(number).IsInteger() {
		b.cast(number, Of(BigInt))
		return b.strict(t)
	}
	b.number(number)
	b.args[interval] = coerce(&Cast{X: b.args[interval], T: Of(BigInt).NotNull().OrNull(t.Nullable)}, Of(Double))
	e, err := b.strict(Of(Double))
	if err != nil {
		return nil, err
	}
	return &Cast{X: e, T: t.NotNull().OrNull(e.Type().Nullable)}, nil
}

// shifted binds a DATE or TIMESTAMP plus or minus an interval; a DATE stays one.
func (b *binding) shifted() (Expr, error) {
	t := b.typ(0)
	b.cast(0, Of(Timestamp))
	e, err := b.strict(Of(Timestamp))
	if err != nil || t.Base != Date {
		return e, err
	}
	return coerce(e, t), nil
}

// shiftKernel adds an interval: milliseconds exactly, months by the calendar of the query's zone.
func shiftKernel(c *Call, ctx *Context, sign int64) Kernel {
	if c.Args[1].Type().Base == IntervalDay {
		return binary(func(ms, by int64) int64 { return ms + sign*by })
	}
	zone := ctx.Zone
	return binary(func(ms, months int64) int64 { return chrono.AddMonths(ms, sign*months, zone) })
}

func operatorKernel(c *Call, ctx *Context, ints func(a, b column[int64], out []int64), floats func(a, b column[float64], out []float64)) Kernel {
	if c.Args[0].Type().Runtime() == vector.Long {
		return loop(ctx, ints)
	}
	return loop(ctx, floats)
}

// loop makes a kernel of a loop over two operands.
func loop[T int64 | float64](ctx *Context, op func(a, b column[T], out []T)) Kernel {
	results := resultsOf[T](ctx)
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := results.rows(n)
		op(columnOf[T](args[0]), columnOf[T](args[1]), out)
		return wrap(out), nil
	}
}

func add[T int64 | float64](a, b column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		for ; len(out) >= 8 && len(x) >= 8 && len(y) >= 8; x, y, out = x[8:], y[8:], out[8:] {
			p, q, r := (*[8]T)(x), (*[8]T)(y), (*[8]T)(out)
			r[0], r[1], r[2], r[3] = p[0]+q[0], p[1]+q[1], p[2]+q[2], p[3]+q[3]
			r[4], r[5], r[6], r[7] = p[4]+q[4], p[5]+q[5], p[6]+q[6], p[7]+q[7]
		}
		for i := range out {
			out[i] = x[i] + y[i]
		}
		return
	}
	for i := range out {
		out[i] = a.at(i) + b.at(i)
	}
}

func subtract[T int64 | float64](a, b column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		for ; len(out) >= 8 && len(x) >= 8 && len(y) >= 8; x, y, out = x[8:], y[8:], out[8:] {
			p, q, r := (*[8]T)(x), (*[8]T)(y), (*[8]T)(out)
			r[0], r[1], r[2], r[3] = p[0]-q[0], p[1]-q[1], p[2]-q[2], p[3]-q[3]
			r[4], r[5], r[6], r[7] = p[4]-q[4], p[5]-q[5], p[6]-q[6], p[7]-q[7]
		}
		for i := range out {
			out[i] = x[i] - y[i]
		}
		return
	}
	for i := range out {
		out[i] = a.at(i) - b.at(i)
	}
}

func multiply[T int64 | float64](a, b column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		for ; len(out) >= 8 && len(x) >= 8 && len(y) >= 8; x, y, out = x[8:], y[8:], out[8:] {
			p, q, r := (*[8]T)(x), (*[8]T)(y), (*[8]T)(out)
			r[0], r[1], r[2], r[3] = p[0]*q[0], p[1]*q[1], p[2]*q[2], p[3]*q[3]
			r[4], r[5], r[6], r[7] = p[4]*q[4], p[5]*q[5], p[6]*q[6], p[7]*q[7]
		}
		for i := range out {
			out[i] = x[i] * y[i]
		}
		return
	}
	for i := range out {
		out[i] = a.at(i) * b.at(i)
	}
}

// flatPair returns the n values of two columns of which none is constant: loops over them need no
// masks.
func flatPair[T int64 | float64](a, b column[T], n int) (x, y []T, ok bool) {
	if a.mask == 0 || b.mask == 0 {
		return nil, nil, false
	}
	return a.values[:n], b.values[:n], true
}

func errDivisionByZero() error { return fault.InvalidInput("/ by zero") }

func divideInts(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
	a, b, out := columnOf[int64](args[0]), columnOf[int64](args[1]), make([]int64, n)
	for i := range out {
		d := b.at(i)
		if d == 0 {
			if valid.Get(i) {
				return nil, errDivisionByZero()
			}
			continue
		}
		out[i] = a.at(i) / d
	}
	return wrap(out), nil
}

func remainderKernel(c *Call, _ *Context) (Kernel, error) {
	if c.Args[0].Type().Runtime() != vector.Long {
		return binary(math.Mod), nil
	}
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, out := columnOf[int64](args[0]), columnOf[int64](args[1]), make([]int64, n)
		for i := range out {
			d := b.at(i)
			if d == 0 {
				if valid.Get(i) {
					return nil, errDivisionByZero()
				}
				continue
			}
			out[i] = a.at(i) % d
		}
		return wrap(out), nil
	}, nil
}
