package expr

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The arithmetic operators. Whole numbers are computed in 64 bits and wrap; everything else in
// DOUBLE. A result of type FLOAT is rounded to one at the end of an expression only, as Druid does.
// See quirk Q002.

var addFunction = &Function{
	Name: "+", Min: 1, Max: 2,
	Forms: []string{"<NUMERIC> + <NUMERIC>", "<DATETIME_INTERVAL> + <DATETIME_INTERVAL>", "<DATETIME> + <DATETIME_INTERVAL>",
		"<DATETIME_INTERVAL> + <DATETIME>"},
	Bind: func(b *Binding) (Expr, error) {
		switch {
		case len(b.Args) == 1:
			return b.unaryPlus()
		case b.Type(0).IsTime() && b.Type(1).IsInterval():
			return b.shifted()
		case b.Type(0).IsInterval() && b.Type(1).IsTime():
			b.Args[0], b.Args[1] = b.Args[1], b.Args[0]
			return b.shifted()
		case b.Type(0).IsTime() && isUntypedNull(b.Args[1]):
			return &Literal{T: b.Type(0).OrNull(true)}, nil
		case b.Type(1).IsTime() && isUntypedNull(b.Args[0]):
			return &Literal{T: b.Type(1).OrNull(true)}, nil
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
	Bind: func(b *Binding) (Expr, error) {
		switch {
		case len(b.Args) == 1:
			return b.negated()
		case b.Type(0).IsTime() && b.Type(1).IsInterval():
			return b.shifted()
		case b.Type(0).IsTime() && isUntypedNull(b.Args[1]):
			return &Literal{T: b.Type(0).OrNull(true)}, nil
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
			return kernel.Over(ctx.Reuse, negate[int64]), nil
		}
		return kernel.Over(ctx.Reuse, negate[float64]), nil
	},
}

var multiplyFunction = &Function{
	Name: "*", Min: 2, Max: 2,
	Forms: []string{"<NUMERIC> * <NUMERIC>", "<DATETIME_INTERVAL> * <NUMERIC>", "<NUMERIC> * <DATETIME_INTERVAL>"},
	Bind: func(b *Binding) (Expr, error) {
		switch {
		case b.Type(0).IsInterval() && b.Type(1).IsNumeric():
			return b.scaled(0, 1)
		case b.Type(1).IsInterval() && b.Type(0).IsNumeric():
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
	Bind: func(b *Binding) (Expr, error) {
		if b.Type(0).IsInterval() && b.Type(1).IsNumeric() {
			return b.scaled(0, 1)
		}
		return b.numeric()
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return divideInts, nil
		}
		return loop(ctx, divide), nil
	},
}

var remainderFunction = &Function{
	Name: "%", Min: 2, Max: 2,
	Forms:  []string{"<NUMERIC> % <NUMERIC>"},
	Bind:   (*Binding).numeric,
	Kernel: remainderKernel,
}

var modFunction = &Function{
	Name: "MOD", Min: 2, Max: 2, NativeName: "%",
	Summary: "Returns the remainder of x divided by y. The result has the sign of x and the type of y.",
	Forms:   []string{"$F(<EXACT_NUMERIC>, <EXACT_NUMERIC>)"},
	Bind: func(b *Binding) (Expr, error) {
		t := b.Type(1)
		if t.IsCharacter() || t.IsFractional() {
			t = Of(Decimal)
			b.Cast(1, t)
		}
		e, err := NewCall(remainderFunction, b.Args, b.At)
		switch {
		case err != nil:
			return nil, err
		case t.Base == Null:
			return &Literal{T: t}, nil
		case !t.IsNumeric():
			return e, nil
		}
		return retype(Coerce(e, t), t), nil
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
	if !ok || c.Fn.SeesNulls || !slices.ContainsFunc(c.Args, IsNullLiteral) {
		return false
	}
	_, comparing := comparisonOf(c.Fn)
	return comparing || arithmetical(c.Fn.Entry())
}

func (b *Binding) negated() (Expr, error) {
	t := b.Type(0)
	if t.IsInterval() {
		return b.Strict(t)
	}
	if t.Base == Null {
		return b.Args[0], nil
	}
	if l, ok := b.Args[0].(*Literal); ok && l.Value == float64(0) {
		return l, b.Err // constants have no -0.0
	}
	b.operand(0)
	return b.rounded(t)
}

func (b *Binding) unaryPlus() (Expr, error) {
	if t := b.Type(0); t.IsInterval() || t.Base == Null {
		return b.Args[0], nil
	}
	b.operand(0)
	return b.Args[0], b.Err
}

// operand wants an operand of arithmetic: a number, or text or a boolean taken for one.
func (b *Binding) operand(i int) {
	if b.Type(i).Base == Boolean {
		b.Cast(i, Of(BigInt))
		return
	}
	b.Number(i)
}

// arithmetic binds + and - of numbers or of intervals.
func (b *Binding) arithmetic() (Expr, error) {
	if t := b.Type(0); t.IsInterval() && b.Type(1).Base == t.Base {
		return b.Strict(t)
	}
	return b.numeric()
}

// numeric binds an operator of two numbers.
func (b *Binding) numeric() (Expr, error) {
	x, y := b.Type(0), b.Type(1)
	if x.Base == Null && y.Base == Null {
		return b.Args[0], nil
	}
	t, ok := arithmeticType(x, y)
	if !ok {
		b.Mismatch()
		return nil, b.Err
	}
	for i := range b.Args {
		if t.IsInteger() {
			b.Cast(i, Of(BigInt))
		} else {
			b.Cast(i, Of(Double))
		}
	}
	return b.rounded(t)
}

// rounded is strict for a result of type t that was computed in DOUBLE if t is FLOAT.
func (b *Binding) rounded(t Type) (Expr, error) {
	switch {
	case t.IsCharacter():
		return b.Strict(Of(Decimal))
	case t.Base == Boolean:
		return b.Strict(Of(BigInt))
	case t.Base != Float:
		return b.Strict(t)
	}
	e, err := b.Strict(Of(Double))
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
		return x, true // quirk Q002: Druid takes both for equally wide, and the first of them
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
func (b *Binding) scaled(interval, number int) (Expr, error) {
	t := b.Type(interval)
	if b.Type(number).IsInteger() {
		b.Cast(number, Of(BigInt))
		return b.Strict(t)
	}
	b.Number(number)
	b.Args[interval] = Coerce(&Cast{X: b.Args[interval], T: Of(BigInt).NotNull().OrNull(t.Nullable)}, Of(Double))
	e, err := b.Strict(Of(Double))
	if err != nil {
		return nil, err
	}
	return &Cast{X: e, T: t.NotNull().OrNull(e.Type().Nullable)}, nil
}

// shifted binds a DATE or TIMESTAMP plus or minus an interval; a DATE stays one.
func (b *Binding) shifted() (Expr, error) {
	t := b.Type(0)
	b.Cast(0, Of(Timestamp))
	e, err := b.Strict(Of(Timestamp))
	if err != nil || t.Base != Date {
		return e, err
	}
	return Coerce(e, t), nil
}

// shiftKernel adds an interval: milliseconds exactly, months by the calendar of the query's zone.
func shiftKernel(c *Call, ctx *Context, sign int64) Kernel {
	if c.Args[1].Type().Base == IntervalDay {
		return kernel.Binary(func(ms, by int64) int64 { return ms + sign*by })
	}
	zone := ctx.Zone
	return kernel.Binary(func(ms, months int64) int64 { return chrono.AddMonths(ms, sign*months, zone) })
}

func operatorKernel(c *Call, ctx *Context, ints func(a, b kernel.Column[int64], out []int64), floats func(a, b kernel.Column[float64], out []float64)) Kernel {
	if c.Args[0].Type().Runtime() == vector.Long {
		return loop(ctx, ints)
	}
	return loop(ctx, floats)
}

// loop makes a kernel of a loop over two operands.
func loop[T int64 | float64](ctx *Context, op func(a, b kernel.Column[T], out []T)) Kernel {
	results := kernel.ResultsOf[T](ctx.Reuse)
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := results.Rows(n)
		op(kernel.ColumnOf[T](args[0]), kernel.ColumnOf[T](args[1]), out)
		return kernel.Wrap(out), nil
	}
}

func add[T int64 | float64](a, b kernel.Column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] + y[i]
		}
		return
	}
	if b.Mask == 0 {
		y := b.Values[0]
		for i, x := range a.Values[:len(out)] {
			out[i] = x + y
		}
		return
	}
	x := a.Values[0]
	for i, y := range b.Values[:len(out)] {
		out[i] = x + y
	}
}

func subtract[T int64 | float64](a, b kernel.Column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] - y[i]
		}
		return
	}
	if b.Mask == 0 {
		y := b.Values[0]
		for i, x := range a.Values[:len(out)] {
			out[i] = x - y
		}
		return
	}
	x := a.Values[0]
	for i, y := range b.Values[:len(out)] {
		out[i] = x - y
	}
}

func multiply[T int64 | float64](a, b kernel.Column[T], out []T) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] * y[i]
		}
		return
	}
	if b.Mask == 0 {
		y := b.Values[0]
		for i, x := range a.Values[:len(out)] {
			out[i] = x * y
		}
		return
	}
	x := a.Values[0]
	for i, y := range b.Values[:len(out)] {
		out[i] = x * y
	}
}

// flatPair returns the n values of two columns of which none is constant: loops over them need no
// masks.
func flatPair[T int64 | float64](a, b kernel.Column[T], n int) (x, y []T, ok bool) {
	if a.Mask == 0 || b.Mask == 0 {
		return nil, nil, false
	}
	return a.Values[:n], b.Values[:n], true
}

func errDivisionByZero() error { return fault.InvalidInput("/ by zero") }

func divideInts(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
	a, b, out := kernel.ColumnOf[int64](args[0]), kernel.ColumnOf[int64](args[1]), make([]int64, n)
	for i := range out {
		d := b.At(i)
		if d == 0 {
			if valid.Get(i) {
				return nil, errDivisionByZero()
			}
			continue
		}
		out[i] = a.At(i) / d
	}
	return kernel.Wrap(out), nil
}

func remainderKernel(c *Call, _ *Context) (Kernel, error) {
	if c.Args[0].Type().Runtime() != vector.Long {
		return kernel.Binary(math.Mod), nil
	}
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, out := kernel.ColumnOf[int64](args[0]), kernel.ColumnOf[int64](args[1]), make([]int64, n)
		for i := range out {
			d := b.At(i)
			if d == 0 {
				if valid.Get(i) {
					return nil, errDivisionByZero()
				}
				continue
			}
			out[i] = a.At(i) % d
		}
		return kernel.Wrap(out), nil
	}, nil
}
