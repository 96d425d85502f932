package expr

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/vector"
)

// CoalesceFunction does not have a kernel: the compiler evaluates its arguments one after the
// other.
var CoalesceFunction = &Function{
	Name: "COALESCE", Min: 1, Max: -1, SeesNulls: true, NativeName: "nvl",
	Summary: "Returns the first of its arguments that is not NULL.",
	Forms:   []string{"$F(expr, ...)"},
	Bind:    bindCoalesce,
}

func bindCoalesce(b *Binding) (Expr, error) {
	nullable := true
	for i := range b.Args {
		nullable = nullable && b.Type(i).Nullable
	}
	t, ok := CommonType(b.Args)
	if !ok {
		return nil, fault.InvalidSQL(b.At, "Illegal mixing of types in CASE or COALESCE statement")
	}
	if len(b.Args) == 1 {
		return b.Args[0], nil
	}
	for i := range b.Args {
		b.Cast(i, t)
	}
	return b.Call(t.NotNull().OrNull(nullable))
}

// CommonType returns the least restrictive type of expressions whose values become one column. CHAR
// literals of different lengths become VARCHAR. It returns false if there is no common type.
func CommonType(results []Expr) (Type, bool) {
	var c Common
	for _, e := range results {
		c.Add(e)
	}
	return c.Type()
}

// Common computes the CommonType of a sequence of expressions. The zero value is an empty sequence.
type Common struct {
	least   leastRestrictive
	texts   bool // some constant texts were among them
	length  int  // of the last of these
	varying bool // they have several lengths
	// fraction is the first of FLOAT and DOUBLE among their types, decimal tells that DECIMAL is.
	// Druid takes FLOAT and DOUBLE for equally wide, so that the first of them is the type of a column
	// without decimals, shown with the digits of 32 bits. See quirk Q002.
	fraction Base
	decimal  bool
}

// Add adds e to the expressions.
func (c *Common) Add(e Expr) {
	t := e.Type()
	c.least.add(t)
	switch {
	case t.Base == Decimal:
		c.decimal = true
	case (t.Base == Float || t.Base == Double) && c.fraction == Invalid:
		c.fraction = t.Base
	}
	if n, ok := charLength(e); ok {
		c.varying = c.varying || c.texts && n != c.length
		c.texts, c.length = true, n
	}
}

// Type returns their common type, and false if there is none.
func (c *Common) Type() (Type, bool) {
	t, ok := c.least.result()
	if ok && c.varying && t.Base == Char {
		t.Base = Varchar
	}
	if ok && t.Base == Double && c.fraction == Float && !c.decimal {
		t.Base = Float
	}
	return t, ok
}

// charLength returns the length that the type of a constant text has, if e is one: of a literal,
// and of what is made of literals.
func charLength(e Expr) (int, bool) {
	if e.Type().Base != Char {
		return 0, false
	}
	if v, ok := LiteralValue(e); ok {
		s, ok := v.(string)
		return javatext.UnitCount(s), ok
	}
	c, ok := e.(*Call)
	if !ok {
		return 0, false
	}
	switch c.Fn.Name {
	case "UPPER", "LOWER", "SUBSTRING":
		return charLength(c.Args[0])
	case "||":
		sum := 0
		for _, a := range c.Args {
			n, ok := charLength(a)
			if !ok {
				return 0, false
			}
			sum += n
		}
		return sum, true
	}
	return 0, false
}

var nvlFunction = &Function{
	Name: "NVL", Aliases: []string{"IFNULL"}, Min: 2, Max: 2,
	Summary: "Returns the first argument, or the second if the first is NULL.",
	Forms:   []string{"$F(expr, expr)"},
	Bind: func(b *Binding) (Expr, error) {
		x, y := b.Type(0), b.Type(1)
		if _, ok := LeastRestrictive(x, y); !ok || x.IsTime() && y.IsNumeric() || x.IsNumeric() && y.IsTime() {
			return nil, fault.InvalidSQL(b.At, "Parameters must be of the same type")
		}
		return NewCall(CoalesceFunction, b.Args, b.At)
	},
}

var nullifFunction = &Function{
	Name: "NULLIF", Min: 2, Max: 2,
	Summary: "Returns NULL if the arguments are equal, otherwise the first argument.",
	Forms:   []string{"$F(expr, expr)"},
	Bind: func(b *Binding) (Expr, error) {
		if err := CheckRepeated(b.Args[0], 2, b.At); err != nil {
			return nil, err
		}
		equal, err := NewCompare("=", b.Args[0], b.Args[1], b.At)
		if err != nil {
			return nil, err
		}
		return NewCase([]When{{Cond: equal, Then: &Literal{T: b.Type(0).OrNull(true)}}}, b.Args[0], b.At)
	},
}

var ifFunction = &Function{
	Name: "IF", Min: 2, Max: 3, SeesLists: true,
	Summary: "Returns the second argument if the condition is true. Otherwise returns the third argument, or NULL.",
	Forms:   []string{"$F(<BOOLEAN>, expr, [expr])"},
	Bind: func(b *Binding) (Expr, error) {
		var other Expr
		if b.Has(2) {
			other = b.Args[2]
		}
		return NewCase([]When{{Cond: b.Args[0], Then: b.Args[1]}}, other, b.At)
	},
}

var greatestFunction = extremeFunction("GREATEST", 1, "Returns the greatest of its arguments that are not NULL.")
var leastFunction = extremeFunction("LEAST", -1, "Returns the least of its arguments that are not NULL.")

// extremeFunction is GREATEST or LEAST: as text if an argument is text, of the type of the first
// such, else as DOUBLE if one is fractional, else as BIGINT.
func extremeFunction(name string, sign int, summary string) *Function {
	return &Function{
		Name: name, Min: 0, Max: -1, SeesNulls: true, Summary: summary,
		Forms: []string{"$F(expr, ...)"},
		Bind:  bindExtreme,
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			switch c.T.Runtime().Kind {
			case vector.KindLong:
				return extremeKernel[int64](sign), nil
			case vector.KindDouble:
				return extremeKernel[float64](sign), nil
			}
			return extremeKernel[string](sign), nil
		},
	}
}

func bindExtreme(b *Binding) (Expr, error) {
	t, nullable := Type{Base: Null}, true
	for i, a := range b.Args {
		u := a.Type()
		nullable = nullable && u.Nullable
		switch {
		case u.Base == Null:
		case u.IsCharacter():
			if !t.IsCharacter() {
				t = Of(u.Base)
			}
		case t.IsCharacter():
		case u.IsFractional():
			t = Of(Double)
		case u.IsInteger(), u.IsTime(), u.Base == Boolean:
			if t.Base != Double {
				t = Of(BigInt)
			}
		default:
			return nil, fault.InvalidSQL(b.At, "Function[%s] does not accept %s types", strings.ToLower(b.Fn.Name), b.Type(i))
		}
	}
	if t.Base == Null {
		return &Literal{T: Of(Null)}, nil
	}
	for i, a := range b.Args {
		if u := a.Type(); t.IsCharacter() && u.IsTime() {
			b.Args[i] = &Cast{X: a, T: Of(BigInt).NotNull().OrNull(u.Nullable)}
		}
		b.Cast(i, t)
	}
	return b.Call(t.NotNull().OrNull(nullable))
}

func extremeKernel[T kernel.Scalar](sign int) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		r, has := kernel.NewRows[T](n), make([]bool, n)
		for _, a := range args {
			c := kernel.ColumnOf[T](a)
			for i := range r.Out {
				if a.IsNull(i) {
					continue
				}
				if x := c.At(i); !has[i] || compareScalars(x, r.Out[i])*sign > 0 {
					r.Out[i], has[i] = x, true
				}
			}
		}
		for i, ok := range has {
			if !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// compareScalars orders two values of a physical type, NaN above all.
func compareScalars[T kernel.Scalar](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return int(kernel.Bool(x != x) - kernel.Bool(y != y))
}

var isNullFunction = nullTest("IS NULL", 1, "isnull")
var isNotNullFunction = nullTest("IS NOT NULL", 0, "notnull")

// nullTest is IS NULL or IS NOT NULL. A row of a multi-value string is NULL if it has no value, or
// if one of its values is, as every condition on such values holds if it does for one; so is what a
// function made of them.
func nullTest(name string, ifNull int64, native string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 1, Max: 1, SeesNulls: true, SeesLists: true, Total: true, Forms: []string{"<ANY> $F"},
		Bind: func(b *Binding) (Expr, error) {
			each, ok := b.Args[0].(*Each)
			if !ok || !each.T.Multi && each.T.Base != Other || each.Body.Type().Multi {
				return b.Call(Of(Boolean).NotNull())
			}
			test := &Call{Fn: b.Fn.Entry(), Args: []Expr{each.Body}, T: Of(Boolean).NotNull(), At: b.At}
			if ifNull == 1 {
				return &Any{Source: each.Source, Body: test}, nil
			}
			return &Not{X: &Any{Source: each.Source, Body: &Not{X: test}}}, nil
		},
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			multi := c.Args[0].Type().Multi && !madeAsList(c.Args[0])
			return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
				v, out := args[0], make([]int64, n)
				for i := range out {
					null := v.IsNull(i) || multi && (hasNoValue(v, i) || hasNull(v, i))
					out[i] = kernel.Bool(null == (ifNull == 1))
				}
				return vector.FromLongs(out), nil
			}, nil
		},
	}
}

// madeAsList reports whether the values of a multi-value string come from a function of lists. NULL
// is then only a list that is: an empty one is none, nor is one with a NULL in it.
func madeAsList(e Expr) bool {
	c, ok := e.(*Call)
	return ok && slices.Contains([]string{"MV_SLICE", "MV_APPEND", "MV_PREPEND", "MV_CONCAT", "STRING_TO_MV", "ARRAY_TO_MV"}, c.Fn.Name)
}

// hasNoValue reports whether row i of a multi-value string, itself not NULL, holds nothing but a
// NULL.
func hasNoValue(v *vector.Vector, i int) bool {
	lo, hi := v.ListAt(i)
	return lo == hi || hi-lo == 1 && v.Child.IsNull(lo)
}

var isTrueFunction = truthTest("IS TRUE", 1, true, "istrue")
var isFalseFunction = truthTest("IS FALSE", 0, true, "isfalse")
var isNotTrueFunction = truthTest("IS NOT TRUE", 1, false, "nottrue")
var isNotFalseFunction = truthTest("IS NOT FALSE", 0, false, "notfalse")

// truthTest is IS [NOT] TRUE or FALSE: whether x has a value, and that truth value, is as wanted.
func truthTest(name string, want int64, is bool, native string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 1, Max: 1, SeesNulls: true, Forms: []string{"<BOOLEAN> $F"},
		Bind: func(b *Binding) (Expr, error) {
			b.Boolean(0)
			return b.Call(Of(Boolean).NotNull())
		},
		Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			v, out := args[0], make([]int64, n)
			for i := range out {
				out[i] = kernel.Bool((!v.IsNull(i) && kernel.Bool(v.LongAt(i) > 0) == want) == is)
			}
			return vector.FromLongs(out), nil
		}),
	}
}
