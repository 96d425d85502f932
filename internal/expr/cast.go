package expr

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// NewCast binds CAST(x AS to). The values of a multi-value string are cast one by one, except to an
// array. The error means that no value of the type of x can be converted; a single value that
// cannot be converted becomes NULL at run time.
func NewCast(x Expr, to Type, at fault.Span) (Expr, error) {
	from := x.Type()
	if from.Multi {
		if to.Base == Array {
			return &Cast{X: x, T: to}, nil
		}
		if from.IsCharacter() && to.IsCharacter() {
			to.Multi = true
			return retype(x, to), nil
		}
		return MapOverValues([]Expr{x}, 0, func(args []Expr) (Expr, error) { return NewCast(args[0], to, at) })
	}
	if !castable(from, to) {
		return nil, fault.InvalidSQL(at, "Cast function cannot convert value of type %s to type %s", from, to)
	}
	t := to.NotNull().OrNull(from.Nullable || loses(from, to))
	if l, ok := x.(*Literal); ok && l.Value == nil {
		return &Literal{T: to.OrNull(true)}, nil
	}
	if from.OrNull(true) == to.OrNull(true) {
		return x, nil
	}
	if to.Runtime() == vector.Double || to.IsCharacter() {
		x = Unrounded(x)
	}
	return castOf(x, t), nil
}

// castOf is CAST(x AS t), or what reads a number at a path of JSON as one.
func castOf(x Expr, t Type) Expr {
	if n := numberAtPath(x, t); n != nil {
		return n
	}
	return &Cast{X: x, T: t}
}

// Unrounded returns x as DOUBLE if it is a FLOAT that was cast from another type, and else x: Druid
// computes FLOATs in 64 bits and rounds only at the end of an expression. See quirk Q003.
func Unrounded(x Expr) Expr {
	c, ok := x.(*Cast)
	if !ok || c.T.Base != Float || c.X.Type().Base == Float {
		return x
	}
	if c.X.Type().Runtime() == vector.Double {
		return c.X
	}
	return &Cast{X: c.X, T: Of(Double).OrNull(c.T.Nullable)}
}

// castable reports whether a cast from one type to another has a meaning.
func castable(from, to Type) bool {
	switch {
	case from.Base == Null:
		return true
	case to.Base == Array && from.Base == Array:
		return castable(from.Elem(), to.Elem())
	case to.Base == Array:
		return from.Base != Other && from.Base != Row && castable(from, to.Elem())
	case from.Base == Array:
		return to.Base != Other && to.Base != Row && !to.IsCharacter() && castable(from.Elem(), to)
	case from.Base == Other || to.Base == Other:
		return from.Base == to.Base && (from.ComplexName() == to.ComplexName() || to.ComplexName() == "")
	case from.Base == Row || to.Base == Row:
		return from == to
	case from.IsInterval() || to.IsInterval():
		return to.Base == from.Base
	case from.Base == Date:
		return !to.IsFractional() && to.Base != Boolean
	case to.Base == Date:
		return !from.IsFractional() && from.Base != Boolean
	}
	return true
}

// loses reports whether some value of one type has no counterpart in the other, so that a cast may
// give NULL.
func loses(from, to Type) bool {
	return from.IsCharacter() && !to.IsCharacter() || from.Base == Array
}

// Coerce is the cast that binding inserts. It does not change x if both types are of the same kind,
// and it removes the rounding of an inner expression to FLOAT.
func Coerce(x Expr, to Type) Expr {
	from := x.Type()
	if l, ok := x.(*Literal); ok && l.Value == nil {
		return &Literal{T: to.OrNull(true)}
	}
	if to.Runtime() == vector.Double || to.IsCharacter() {
		if x = Unrounded(x); from.Base == Float {
			from = x.Type()
		}
	}
	same := from.Base == to.Base && from.Base != Array ||
		from.IsInteger() && to.IsInteger() ||
		from.IsCharacter() && to.IsCharacter() ||
		from.IsFractional() && to.IsFractional() && from.Runtime() == to.Runtime()
	if same || from.OrNull(true) == to.OrNull(true) {
		return x
	}
	if from.Base == Array && to.Base == Array && from.Runtime() == to.Runtime() {
		return x
	}
	return castOf(x, to.NotNull().OrNull(from.Nullable || loses(from, to)))
}

// castNode converts vectors.
type castNode struct {
	in      node
	t       vector.Type
	convert Kernel // nil: the physical value stays
}

func newCastNode(in node, x *Cast, ctx *Context) (node, error) {
	from, to := x.X.Type(), x.T
	if from.Base == Null {
		return &castNode{in: in, t: to.Runtime(), convert: kernel.Nulls(to.Runtime())}, nil
	}
	convert := converter(from, to, ctx)
	if convert == nil {
		return in, nil
	}
	return &castNode{in: in, t: to.Runtime(), convert: convert}, nil
}

func (n *castNode) eval(f *frame) (*vector.Vector, error) {
	c := callNode{args: []node{n.in}, kernel: n.convert, t: n.t}
	return c.eval(f)
}

// converter returns the kernel that casts between two scalar or array types, nil if values stay as
// they are.
func converter(from, to Type, ctx *Context) Kernel {
	zone := ctx.Zone
	switch {
	case from.Multi && (to.Multi || to.Base == Array), from.Base == Array && to.Base == Array:
		elem := from.Elem()
		if elem.Base == Boolean { // arrays hold 0 and 1
			elem = Of(BigInt)
		}
		if elem.OrNull(true) == JSON && to.Elem().IsCharacter() {
			return castElements(kernel.Unary(jsonText), to.Runtime())
		}
		return castElements(converter(elem, to.Elem(), ctx), to.Runtime())
	case to.Base == Array || to.Multi:
		return castToArray(converter(from, to.Elem(), ctx), to.Runtime())
	case from.Base == Array:
		return castFromArray(converter(from.Elem(), to, ctx), to.Runtime())
	case from.Base == to.Base:
		return nil
	}
	switch from.Runtime().Kind {
	case vector.KindString:
		return castText(to, zone)
	case vector.KindDouble:
		return castDouble(to, zone)
	case vector.KindFloat:
		if to.Runtime() == vector.Double {
			return kernel.Unary(func(x float32) float64 { return float64(x) })
		}
		return widened(castDouble(to, zone))
	case vector.KindLong:
		return castLong(from, to, ctx)
	}
	return nil
}

func castText(to Type, zone *chrono.Zone) Kernel {
	switch {
	case to.IsCharacter():
		return nil
	case to.Base == Boolean:
		return kernel.Partial1(func(s string) (int64, bool) {
			n, ok := ParseLong(s)
			return kernel.Bool(n > 0), ok
		})
	case to.Base == Timestamp:
		return kernel.Partial1(func(s string) (int64, bool) { return chrono.ParseTimestamp(s, zone) })
	case to.Base == Date:
		day := DayFloor(zone)
		return kernel.Partial1(func(s string) (int64, bool) {
			ms, ok := chrono.ParseTimestamp(s, zone)
			return day(ms), ok
		})
	case to.Base == Float:
		return kernel.Partial1(func(s string) (float32, bool) {
			x, ok := ParseDouble(s)
			return float32(x), ok
		})
	case to.IsFractional():
		return kernel.Partial1(ParseDouble)
	}
	return kernel.Partial1(ParseLong)
}

func castDouble(to Type, zone *chrono.Zone) Kernel {
	switch {
	case to.IsCharacter():
		return kernel.Texts(AppendDouble)
	case to.Base == Boolean:
		return kernel.Unary(func(x float64) int64 { return kernel.Bool(x > 0) })
	case to.Base == Float:
		return kernel.Unary(func(x float64) float32 { return float32(x) })
	case to.IsFractional():
		return nil
	case to.Base == Date:
		day := DayFloor(zone)
		return kernel.Unary(func(x float64) int64 { return day(truncate(x)) })
	}
	return kernel.Unary(truncate)
}

// widened runs a kernel over doubles on floats.
func widened(k Kernel) Kernel {
	widen := kernel.Unary(func(x float32) float64 { return float64(x) })
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		v, err := widen(args, n, valid)
		if err != nil {
			return nil, err
		}
		return k([]*vector.Vector{v}, n, valid)
	}
}

func castLong(from, to Type, ctx *Context) Kernel {
	zone := ctx.Zone
	switch {
	case to.IsCharacter():
		switch from.Base {
		case Boolean:
			return kernel.Unary(boolText)
		case Timestamp:
			return kernel.Texts(func(dst []byte, ms int64) []byte { return chrono.AppendSQLTimestamp(dst, ms, zone) })
		case Date:
			return kernel.Texts(func(dst []byte, ms int64) []byte { return chrono.AppendSQLDate(dst, ms, zone) })
		}
		return kernel.Texts(func(dst []byte, x int64) []byte { return strconv.AppendInt(dst, x, 10) })
	case to.Base == Boolean:
		return kernel.Unary(func(x int64) int64 { return kernel.Bool(x > 0) })
	case to.Base == Float:
		return kernel.Unary(func(x int64) float32 { return float32(x) })
	case to.IsFractional():
		return kernel.Over(ctx.Reuse, widenLongs)
	case to.Base == Date:
		return kernel.Unary(DayFloor(zone))
	}
	return nil
}

// boolText is the text of a BOOLEAN.
func boolText(x int64) string { return strconv.FormatBool(x > 0) }

// DayFloor returns a function that floors to the start of the day in a zone and caches the last
// day.
func DayFloor(zone *chrono.Zone) func(int64) int64 {
	g, err := chrono.PeriodGranularity(chrono.Period{Days: 1}, zone, nil)
	if err != nil {
		return func(ms int64) int64 { return ms }
	}
	f := g.Floorer()
	return f.Floor
}

// castElements converts each element of lists.
func castElements(k Kernel, t vector.Type) Kernel {
	return func(args []*vector.Vector, _ int, _ vector.Bitmap) (*vector.Vector, error) {
		v := args[0]
		if k == nil && v.Type == t {
			return v, nil
		}
		out := *v
		out.Type = t
		if k != nil {
			child, err := convertAll(k, v.Child)
			if err != nil {
				return nil, err
			}
			out.Child = child
		}
		return &out, nil
	}
}

// convertAll runs a kernel of one argument over a whole vector.
func convertAll(k Kernel, v *vector.Vector) (*vector.Vector, error) {
	out, err := k([]*vector.Vector{v}, v.Len, v.Valid)
	if err != nil || v.Valid == nil {
		return out, err
	}
	if v.Const {
		return vector.Nulls(out.Type, v.Len), nil
	}
	return kernel.WithValid(out, v.Valid), nil
}

// castToArray makes lists of one element.
func castToArray(k Kernel, t vector.Type) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		child := args[0]
		if k != nil {
			var err error
			if child, err = k(args, n, valid); err != nil {
				return nil, err
			}
		}
		offsets := make([]uint32, n+1)
		for i := range offsets {
			offsets[i] = uint32(i)
		}
		return &vector.Vector{Type: t, Len: n, Offsets: offsets, Child: child.Flat()}, nil
	}
}

// castFromArray takes the element of lists of one; other lists become NULL.
func castFromArray(k Kernel, t vector.Type) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		v, rows, picks := args[0], vector.NewBitmap(n), make([]uint32, n)
		some := false
		for i := range picks {
			lo, hi := v.ListAt(i)
			if valid.Get(i) && hi-lo == 1 {
				picks[i] = uint32(lo)
				rows.Set(i)
				some = true
			}
		}
		if !some {
			return vector.Nulls(t, n), nil
		}
		picked := kernel.WithValid(v.Child.Gather(picks), rows)
		if k == nil {
			return picked, nil
		}
		return convertAll(k, picked)
	}
}

// scalarTypes are what the names of types in CAST, RETURNING and table schemas stand for.
var scalarTypes = map[string]Base{
	"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Integer, "INTEGER": Integer, "BIGINT": BigInt,
	"FLOAT": Float, "REAL": Real, "DOUBLE": Double, "DOUBLE PRECISION": Double, "DECIMAL": Decimal, "DEC": Decimal, "NUMERIC": Decimal,
	"CHAR": Char, "CHARACTER": Char, "VARCHAR": Varchar, "CHARACTER VARYING": Varchar, "CHAR VARYING": Varchar,
	"DATE": Date, "TIMESTAMP": Timestamp,
}

// TypeNames are the names that ParseTypeName accepts, in order.
var TypeNames = slices.Sorted(maps.Keys(scalarTypes))

// ParseTypeName returns the scalar type for a SQL type name in CAST, RETURNING and table schemas.
// Parameters such as the length of a VARCHAR are not part of the name.
func ParseTypeName(name string) (Type, bool) {
	base, ok := scalarTypes[strings.ToUpper(name)]
	if !ok {
		return Type{}, false
	}
	return Of(base), true
}
