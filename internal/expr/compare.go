package expr

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// comparison is a comparison operator.
type comparison uint8

const (
	opEq comparison = iota
	opNe
	opLt
	opLe
	opGt
	opGe
	opDistinct
	opNotDistinct
)

// orders reports whether the operator asks which of its operands is the greater; JSON has equality,
// but no order.
func (op comparison) orders() bool { return op >= opLt && op <= opGe }

var comparisonNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

// Comparison returns the operator "=", "<>" or another operator of comparisonNames.
func Comparison(name string) *Function {
	return comparisonFunctions[slices.Index(comparisonNames[:], name)]
}

var comparisonFunctions = func() []*Function {
	natives := [...]string{"==", "!=", "<", "<=", ">", ">=", "isdistinctfrom", "notdistinctfrom"}
	out := make([]*Function, len(comparisonNames))
	for i, name := range comparisonNames {
		out[i] = &Function{
			Name: name, NativeName: natives[i], Min: 2, Max: 2, SeesNulls: comparison(i) >= opDistinct, Total: true,
			Forms: []string{"<COMPARABLE_TYPE> $F <COMPARABLE_TYPE>"},
			Bind:  bindComparison,
		}
	}
	return out
}()

func comparisonOf(fn *Function) (comparison, bool) {
	for i, f := range comparisonFunctions {
		if f == fn.Entry() {
			return comparison(i), true
		}
	}
	return 0, false
}

// NewCompare binds "a op b" for the operators =, <>, !=, <, <=, >, >=, IS DISTINCT FROM and IS NOT
// DISTINCT FROM. Operands of different types are converted to a common type. On a multi-value
// string, a comparison is true if it is true for at least one value, and <> is true if no value is
// equal.
func NewCompare(op string, a, b Expr, at fault.Span) (Expr, error) {
	if op == "!=" {
		op = "<>"
	}
	i := slices.Index(comparisonNames[:], op)
	if i < 0 {
		return nil, fault.InvalidSQL(at, "Operator [%s] is unknown", op)
	}
	if op == "<>" && (a.Type().Multi || b.Type().Multi) {
		equal, err := NewCompare("=", a, b, at)
		if err != nil {
			return nil, err
		}
		return &Not{X: equal}, nil
	}
	return NewCall(comparisonFunctions[i], []Expr{a, b}, at)
}

func bindComparison(b *Binding) (Expr, error) {
	op := comparison(slices.Index(comparisonNames[:], b.Fn.Name))
	if t, ok := comparedAs(b.Type(0), b.Type(1)); ok && !(op.orders() && t.Base == Other) {
		b.compared(0, t)
		b.compared(1, t)
	} else {
		b.Mismatch()
	}
	if b.Fn.SeesNulls {
		return b.Call(Of(Boolean).NotNull())
	}
	return b.Strict(Of(Boolean))
}

// compared casts an operand to the type in which the two are compared. Unlike in arithmetic a FLOAT
// is rounded before: it is one where a query gives it, and both must compare alike.
func (b *Binding) compared(i int, t Type) {
	if x := b.Args[i]; b.Err == nil && isRounded(x, t) {
		b.Args[i] = roundedAs(x, t)
		return
	}
	b.Cast(i, t)
}

// isRounded reports whether an operand is rounded to FLOAT before it is compared as t.
func isRounded(x Expr, t Type) bool {
	return x.Type().Base == Float && t.Runtime() == vector.Double && Unrounded(x) != x
}

// roundedAs is a FLOAT as t, rounded before.
func roundedAs(x Expr, t Type) Expr { return &Cast{X: x, T: t.NotNull().OrNull(x.Type().Nullable)} }

// coerceCompared is coerce for an operand that is compared as t: IN compares as = does.
func coerceCompared(x Expr, t Type) Expr {
	if isRounded(x, t) {
		return roundedAs(x, t)
	}
	return Coerce(x, t)
}

// comparedAs returns the type two operands are compared as.
func comparedAs(a, b Type) (Type, bool) {
	switch {
	case a.Base == Null && b.Base == Null:
		return Of(Varchar), true
	case a.Base == Null:
		return comparedAs(b, b)
	case b.Base == Null:
		return comparedAs(a, a)
	case a.IsCharacter() && b.IsCharacter():
		return Of(Varchar), true
	case a.IsCharacter():
		return comparedWithText(b)
	case b.IsCharacter():
		return comparedWithText(a)
	case a.IsInteger() && b.IsInteger():
		return Of(BigInt), true
	case a.IsNumeric() && b.IsNumeric():
		return Of(Double), true
	case a.Base == Boolean && b.IsNumeric():
		return comparedAs(b, b)
	case b.Base == Boolean && a.IsNumeric():
		return comparedAs(a, a)
	case a.IsTime() && b.IsTime():
		return Of(Timestamp), true
	case a.Base == b.Base && (a.Base == Boolean || a.IsInterval()):
		return a, true
	case a.Base == Array && b.Base == Array:
		if x, y := a.Elem(), b.Elem(); x.IsCharacter() != y.IsCharacter() && x.Base != Array && y.Base != Array {
			return ArrayOf(Of(Varchar)), castable(x, Of(Varchar)) && castable(y, Of(Varchar))
		}
		elem, ok := comparedAs(a.Elem(), b.Elem())
		return ArrayOf(elem), ok
	case a.Base == Other && b.Base == Other:
		return a, a.ComplexName() == "json" && b.ComplexName() == "json"
	}
	return Type{}, false
}

// comparedWithText returns what text is read as when it is compared with a value of type t.
func comparedWithText(t Type) (Type, bool) {
	switch {
	case t.IsInteger():
		return Of(BigInt), true
	case t.IsNumeric():
		return Of(Double), true
	case t.IsTime():
		return Of(Timestamp), true
	case t.Base == Boolean:
		return Of(Boolean), true
	case t.IsInterval(): // as its number of milliseconds or months
		return Of(BigInt), true
	}
	return Type{}, false
}

// compareNode compares two operands of one physical type.
type compareNode struct {
	op   comparison
	a, b node
	kind vector.Kind
}

func newCompareNode(op comparison, a, b node, t Type) node {
	return &compareNode{op: op, a: a, b: b, kind: t.Runtime().Kind}
}

func (n *compareNode) operands(f *frame) (a, b *vector.Vector, err error) {
	if a, err = n.a.eval(f); err != nil {
		return nil, nil, err
	}
	b, err = n.b.eval(f)
	return a, b, err
}

func (n *compareNode) eval(f *frame) (*vector.Vector, error) {
	a, b, err := n.operands(f)
	if err != nil {
		return nil, err
	}
	if n.op < opDistinct && (a.AllNull() || b.AllNull()) {
		return vector.Nulls(vector.Long, f.n), nil
	}
	rows := f.n
	if a.Const && b.Const && rows > 0 {
		rows = 1
	}
	out := make([]int64, rows)
	switch n.kind {
	case vector.KindLong:
		compareInts(n.op, kernel.ColumnOf[int64](a), kernel.ColumnOf[int64](b), out)
	case vector.KindDouble:
		compareFloats(n.op, kernel.ColumnOf[float64](a), kernel.ColumnOf[float64](b), out)
	case vector.KindFloat:
		compareFloats(n.op, kernel.ColumnOf[float32](a), kernel.ColumnOf[float32](b), out)
	case vector.KindList:
		for i := range out {
			out[i] = holds(n.op, compareLists(a, b, i, i))
		}
	default:
		compareStrings(n.op, kernel.ColumnOf[string](a), kernel.ColumnOf[string](b), out)
	}
	v := vector.FromLongs(out)
	if n.op >= opDistinct {
		if a.Valid != nil || b.Valid != nil {
			for i := range out {
				if x, y := a.IsNull(i), b.IsNull(i); x || y {
					out[i] = kernel.Bool((x == y) == (n.op == opNotDistinct))
				}
			}
		}
	} else {
		v.Valid = kernel.ValidRows([]*vector.Vector{a, b}, rows)
	}
	if rows < f.n {
		v.Const, v.Len = true, f.n
	}
	return v, nil
}

// filter avoids the vector of truth values for the commonest filters: a flat numeric column without
// NULLs and a constant.
func (n *compareNode) filter(f *frame) ([]uint32, error) {
	if n.op < opDistinct && (n.kind == vector.KindLong || n.kind == vector.KindDouble) {
		a, b, err := n.operands(f)
		if err != nil {
			return nil, err
		}
		if !a.Const && b.Const && b.Valid == nil && f.n > 0 {
			if n.kind == vector.KindLong {
				return dropNulls(selectConst(n.op, a.Longs[:f.n], b.Longs[0]), a.Valid), nil
			}
			if x := b.Doubles[0]; x == x {
				return dropNulls(selectConst(n.op, a.Doubles[:f.n], x), a.Valid), nil
			}
		}
		c := compareNode{op: n.op, a: vectorNode{a}, b: vectorNode{b}, kind: n.kind}
		v, err := c.eval(f)
		if err != nil {
			return nil, err
		}
		return trueRows(v), nil
	}
	v, err := n.eval(f)
	if err != nil {
		return nil, err
	}
	return trueRows(v), nil
}

// vectorNode gives a vector that is already there.
type vectorNode struct{ v *vector.Vector }

func (n vectorNode) eval(*frame) (*vector.Vector, error) { return n.v, nil }

// selectConst returns the rows for which "x op c" holds. It writes every row number and moves on
// only past those that count, so that the loop has no branch to mispredict. c is not NaN; a NaN
// among x is above it, hence the negations.
func selectConst[T int64 | float64](op comparison, x []T, c T) []uint32 {
	out := make([]uint32, len(x)+1)
	k := 0
	switch op {
	case opEq:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(v == c)
		}
	case opNe:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(v != c)
		}
	case opLt:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(v < c)
		}
	case opLe:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(v <= c)
		}
	case opGt:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(!(v <= c))
		}
	case opGe:
		for i, v := range x {
			out[k] = uint32(i)
			k += one(!(v < c))
		}
	}
	return out[:k]
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dropNulls leaves of sel the rows that are valid, in place and without a branch to mispredict.
func dropNulls(sel []uint32, valid vector.Bitmap) []uint32 {
	if valid == nil {
		return sel
	}
	k := 0
	for _, r := range sel {
		sel[k] = r
		k += int(valid[r>>6] >> (r & 63) & 1)
	}
	return sel[:k]
}

func compareInts(op comparison, a, b kernel.Column[int64], out []int64) {
	switch op {
	case opEq, opNotDistinct:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) == b.At(i))
		}
	case opNe, opDistinct:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) != b.At(i))
		}
	case opLt:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) < b.At(i))
		}
	case opLe:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) <= b.At(i))
		}
	case opGt:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) > b.At(i))
		}
	case opGe:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) >= b.At(i))
		}
	}
}

// compareFloats orders NaN above Infinity. NaN equals nothing; for IS [NOT] DISTINCT FROM it equals
// itself.
func compareFloats[T float64 | float32](op comparison, a, b kernel.Column[T], out []int64) {
	switch op {
	case opEq:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) == b.At(i))
		}
	case opNe:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) != b.At(i))
		}
	default:
		for i := range out {
			out[i] = holds(op, compareFloat(a.At(i), b.At(i)))
		}
	}
}

func compareFloat[T float64 | float32](x, y T) int {
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

func compareStrings(op comparison, a, b kernel.Column[string], out []int64) {
	switch op {
	case opEq, opNotDistinct:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) == b.At(i))
		}
	case opNe, opDistinct:
		for i := range out {
			out[i] = kernel.Bool(a.At(i) != b.At(i))
		}
	default:
		for i := range out {
			out[i] = holds(op, cmp.Compare(a.At(i), b.At(i)))
		}
	}
}

// holds reports whether an operator holds for a three-way result, as 0 or 1.
func holds(op comparison, c int) int64 {
	switch op {
	case opEq, opNotDistinct:
		return kernel.Bool(c == 0)
	case opNe, opDistinct:
		return kernel.Bool(c != 0)
	case opLt:
		return kernel.Bool(c < 0)
	case opLe:
		return kernel.Bool(c <= 0)
	case opGt:
		return kernel.Bool(c > 0)
	default:
		return kernel.Bool(c >= 0)
	}
}

// compareLists compares row i of a with row k of b element by element: NULL is lowest, and a list
// that ends first comes first.
func compareLists(a, b *vector.Vector, i, k int) int {
	lo, hi := a.ListAt(i)
	from, to := b.ListAt(k)
	for ; lo < hi && from < to; lo, from = lo+1, from+1 {
		if c := compareElements(a.Child, b.Child, lo, from); c != 0 {
			return c
		}
	}
	return cmp.Compare(hi-lo, to-from)
}

func compareElements(a, b *vector.Vector, i, k int) int {
	if x, y := a.IsNull(i), b.IsNull(k); x || y {
		return int(kernel.Bool(y) - kernel.Bool(x))
	}
	switch a.Type.Kind {
	case vector.KindLong:
		return cmp.Compare(a.LongAt(i), b.LongAt(k))
	case vector.KindDouble, vector.KindFloat:
		return compareFloat(a.DoubleAt(i), b.DoubleAt(k))
	case vector.KindList:
		return compareLists(a, b, i, k)
	}
	return cmp.Compare(a.StringAt(i), b.StringAt(k))
}
