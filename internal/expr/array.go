package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

var arrayFunction = &Function{
	Name: "ARRAY", NativeName: "array", Min: 0, Max: -1, SeesNulls: true,
	Summary: "Makes an array of its arguments, which are cast to their least restrictive type.",
	Forms:   []string{"$F[expr, ...]"},
	Bind: func(b *binding) (Expr, error) {
		elem, ok := CommonType(b.args)
		if !ok || elem.IsCharacter() && slices.ContainsFunc(b.args, isBoolean) {
			b.fail("Parameters must be of the same type")
			return nil, b.err
		}
		if elem.Base == Float && !allFloats(b.args) {
			elem = Of(Double) // FLOAT can't hold the others
		}
		if depth(elem) >= maxArrayDepth {
			b.fail("Arrays are nested more than [%d] deep", maxArrayDepth)
			return nil, b.err
		}
		for i := range b.args {
			b.cast(i, elem)
		}
		return b.call(ArrayOf(elem).NotNull())
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		t := c.T.Runtime()
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			b := vector.NewBuilder(t, n)
			for i := range n {
				for _, a := range args {
					b.Child().AppendFrom(a, i)
				}
				b.AppendList()
			}
			return b.Build(), nil
		}, nil
	},
}

// depth returns how many arrays are nested in each other in values of t.
func depth(t Type) int {
	n := 0
	for ; t.Base == Array; t = t.Elem() {
		n++
	}
	return n
}

func isBoolean(e Expr) bool { return e.Type().Base == Boolean }

// allFloats reports whether all of the values that are not the literal NULL are FLOATs.
func allFloats(args []Expr) bool {
	return !slices.ContainsFunc(args, func(a Expr) bool { t := a.Type(); return t.Base != Float && t.Base != Null })
}

// array wants an array; what is no list becomes one of one element, and a NULL one of elements of type elem.
func (b *binding) array(i int, elem Type) {
	t := b.typ(i)
	switch {
	case t.Base == Array:
	case t.Multi:
		b.cast(i, ArrayOf(Of(Varchar)))
	case t.Base == Null:
		if elem.Base == Invalid || elem.Base == Null {
			elem = Of(Varchar)
		}
		b.args[i] = &Literal{T: ArrayOf(elem)}
	case t.Base == Other, t.Base == Row, t.IsInterval():
		b.mismatch()
	default:
		if t.Base == Float {
			t = Of(Double)
		}
		b.cast(i, ArrayOf(t))
	}
}

// texts makes the elements of the array at argument i texts. Times are milliseconds, as they are wherever an array is written.
func (b *binding) texts(i int) {
	if t := b.typ(i); b.err == nil && t.Base == Array && t.Elem().IsTime() {
		b.args[i] = &Cast{X: b.args[i], T: ArrayOf(Of(BigInt)).NotNull().OrNull(t.Nullable)}
	}
	b.cast(i, ArrayOf(Of(Varchar)))
}

// lists wants arrays, or strings, which may be several values; no other scalar counts as an array of one.
func (b *binding) lists(args ...int) {
	for _, i := range args {
		if t := b.typ(i); t.Base != Array && t.Base != Null && !t.IsCharacter() {
			b.mismatch()
		}
	}
}

// element wants what can be an element of the list at argument list: a string or a number, or an array where the list is of strings.
func (b *binding) element(i, list int) {
	switch t, l := b.typ(i), b.typ(list); {
	case t.IsTime(), t.Base == Boolean, t.IsInterval():
		b.mismatch()
	case t.Base == Array && !l.IsCharacter() && !l.Elem().IsCharacter():
		b.mismatch()
	}
}

// index wants a position in an array: a number, which is cut to a whole one; NULL counts as 0, as in the reference.
func (b *binding) index(i int) {
	if t := b.typ(i); !t.IsNumeric() && t.Base != Null {
		b.mismatch()
		return
	}
	b.cast(i, Of(BigInt))
	if t := b.typ(i); b.err == nil && t.Nullable {
		zero := &Literal{Value: int64(0), T: Of(BigInt).NotNull()}
		b.args[i], b.err = NewCall(coalesceFunction, []Expr{b.args[i], zero}, b.at)
	}
}

// elem returns the element type of argument i.
func (b *binding) elem(i int) Type { return b.typ(i).Elem() }

// matched casts array a and the other argument, an array or with scalar an element, to a common element type in which both compare. With texts,
// texts that are looked for among numbers stay texts, so that findElement tells those that are no number from NULL; else they are found at NULLs.
func (b *binding) matched(a, other int, scalar, texts bool) {
	boolean := b.typ(a).Elem().Base == Boolean
	b.unBoolean(a)
	if !scalar {
		b.unBoolean(other)
	}
	if b.err != nil {
		return
	}
	x, y := b.elem(a), b.typ(other)
	if !scalar {
		y = b.elem(other)
	}
	t := x
	switch {
	case y.Base == Null:
	case x.Base == Null:
		t = y
	case boolean && !texts && y.IsNumeric(): // cut to a whole number
	case x.IsNumeric() && y.IsNumeric():
		t = elementNumber(widerNumber(x.Base, y.Base))
	case texts && y.IsCharacter() && (x.IsNumeric() || x.Base == Boolean):
		if t = Of(Varchar); !scalar {
			t = ArrayOf(t)
		}
		b.cast(other, t)
		return
	case !castable(y, x):
		b.mismatch()
		return
	}
	b.cast(a, ArrayOf(t))
	if scalar {
		b.cast(other, t)
	} else {
		b.cast(other, ArrayOf(t))
	}
}

// unBoolean makes the elements of an array of BOOLEAN numbers, which they are wherever an array is stored: 2 is not among them, though it is true.
func (b *binding) unBoolean(i int) {
	if t := b.typ(i); b.err == nil && t.Base == Array && t.Elem().Base == Boolean {
		b.args[i] = &Cast{X: b.args[i], T: ArrayOf(Of(BigInt)).NotNull().OrNull(t.Nullable)}
	}
}

// listForms returns the way a function's signature is shown by default.
func listForms(args string) []string { return []string{"$F(" + args + ")"} }

var arrayLengthFunction = lengthOfList("ARRAY_LENGTH", []string{"CARDINALITY"}, "Returns the number of elements of an array.")

func lengthOfList(name string, aliases []string, summary string) *Function {
	return &Function{
		Name: name, Aliases: aliases, Min: 1, Max: 1, SeesLists: true, NullsOfMaps: true, Summary: summary, NativeName: "array_length",
		Forms: listForms("array"),
		Bind: func(b *binding) (Expr, error) {
			b.array(0, Type{})
			return b.strict(Of(Integer))
		},
		Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			out := make([]int64, n)
			for i := range out {
				lo, hi := args[0].ListAt(i)
				out[i] = int64(hi - lo)
			}
			return vector.FromLongs(out), nil
		}),
	}
}

// elementAt makes ARRAY_OFFSET (origin 0) or ARRAY_ORDINAL (origin 1), or with multi their counterparts for multi-value strings.
func elementAt(name, native string, origin int64, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, SeesLists: true, Summary: summary,
		Forms: listForms("array, expr"),
		Bind: func(b *binding) (Expr, error) {
			b.lists(0)
			b.index(1)
			if b.err == nil && !multi && b.typ(0).Base == Null {
				return b.args[0], nil
			}
			b.array(0, Type{})
			if b.err != nil {
				return nil, b.err
			}
			if multi {
				b.cast(0, ArrayOf(Of(Varchar)))
				return b.call(Of(Varchar))
			}
			return b.call(b.elem(0).OrNull(true))
		},
		Kernel: fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			list, index := args[0], columnOf[int64](args[1])
			picks, has, some := make([]uint32, n), vector.NewBitmap(n), false
			for i := range n {
				if !valid.Get(i) {
					continue
				}
				lo, hi := list.ListAt(i)
				if k := index.at(i) - origin; k >= 0 && k < int64(hi-lo) {
					picks[i] = uint32(lo) + uint32(k)
					has.Set(i)
					some = true
				}
			}
			if !some {
				return vector.Nulls(list.Type.Elem(), n), nil
			}
			return withValid(list.Child.Gather(picks), has), nil
		}),
	}
}

// indexOf makes ARRAY_OFFSET_OF (origin 0) or ARRAY_ORDINAL_OF (origin 1), or their counterparts.
func indexOf(name, native string, origin int64, summary string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, SeesLists: true, NullsOfMaps: true, SeesNulls: true, Summary: summary,
		Forms: listForms("array, expr"),
		Bind: func(b *binding) (Expr, error) {
			if b.typ(1).Multi {
				b.mismatch()
			}
			b.lists(0)
			b.array(0, b.typ(1))
			if b.err == nil && !alike(b.elem(0), b.typ(1)) {
				return b.indexOfNull()
			}
			b.matched(0, 1, true, false)
			return b.call(Of(Integer))
		},
		Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			list, x, r := args[0], args[1], newRows[int64](n)
			for i := range r.out {
				k := -1
				if !list.IsNull(i) {
					k = findElement(list, i, x, i)
				}
				if k < 0 {
					r.null(i)
				}
				r.out[i] = int64(k) + origin
			}
			return r.vector(), nil
		}),
	}
}

// indexOfNull binds the search for a value of a type that no element has: it is found only where it is NULL, and the array has a NULL.
func (b *binding) indexOfNull() (Expr, error) {
	x := b.args[1]
	if !x.Type().Nullable {
		return &Literal{T: Of(Integer)}, nil
	}
	missing, err := NewCall(isNullFunction, []Expr{x}, b.at)
	if err != nil {
		return nil, err
	}
	b.args[1] = &Literal{T: b.elem(0).Plain()}
	index, err := b.call(Of(Integer))
	if err != nil {
		return nil, err
	}
	return &Case{Whens: []When{{Cond: missing, Then: index}}, T: Of(Integer)}, nil
}

// alike reports whether a value of type x can be an element of type elem as it is: ARRAY_OFFSET_OF and its like cast neither, as in the reference.
func alike(elem, x Type) bool {
	class := func(t Type) int {
		switch {
		case t.Base == Null:
			return 0
		case t.IsCharacter():
			return 1
		case t.IsFractional():
			return 2
		}
		return 3
	}
	a, b := class(elem), class(x)
	return a == 0 || b == 0 || a == b
}

// findElement returns the index of the first element of row i of list that equals row k of x, NULL being equal to NULL; -1: none.
func findElement(list *vector.Vector, i int, x *vector.Vector, k int) int {
	lo, hi := list.ListAt(i)
	if x.Type == vector.String && list.Child.Type != vector.String && !x.IsNull(k) {
		return findText(list.Child, lo, hi, x.StringAt(k))
	}
	for e := lo; e < hi; e++ {
		if compareElements(list.Child, x, e, k) == 0 {
			return e - lo
		}
	}
	return -1
}

// findText returns the index from lo of the first number up to hi that a text is, as CAST reads it; -1: there is none, or it is no number.
func findText(numbers *vector.Vector, lo, hi int, text string) int {
	x := vector.Nulls(numbers.Type, 1)
	if numbers.Type == vector.Long {
		if n, ok := ParseLong(text); ok {
			x = vector.Constant(vector.Long, n, 1)
		}
	} else if d, ok := ParseDouble(text); ok {
		x = vector.Constant(vector.Double, d, 1)
	}
	if x.IsNull(0) {
		return -1
	}
	for e := lo; e < hi; e++ {
		if compareElements(numbers, x, e, 0) == 0 {
			return e - lo
		}
	}
	return -1
}

// hasAll reports whether all elements of row k of b are in row i of a; hasAny, whether some is.
func hasAll(a *vector.Vector, i int, b *vector.Vector, k int) bool {
	lo, hi := b.ListAt(k)
	for ; lo < hi; lo++ {
		if findElement(a, i, b.Child, lo) < 0 {
			return false
		}
	}
	return true
}

func hasAny(a *vector.Vector, i int, b *vector.Vector, k int) bool {
	lo, hi := b.ListAt(k)
	for ; lo < hi; lo++ {
		if findElement(a, i, b.Child, lo) >= 0 {
			return true
		}
	}
	return false
}

var arrayContainsFunction = &Function{
	Name: "ARRAY_CONTAINS", Min: 2, Max: 2, SeesLists: true, SeesNulls: true,
	Summary: "Returns whether an array has an element, or all elements of another array.",
	Forms:   listForms("array, expr"),
	Bind: func(b *binding) (Expr, error) {
		scalar := !b.typ(1).Multi && b.typ(1).Base != Array
		if t := b.typ(1); t.IsTime() || t.Base == Boolean {
			b.mismatch()
		}
		b.lists(0)
		b.array(0, b.typ(1))
		if !scalar {
			b.array(1, Type{})
		}
		b.matched(0, 1, scalar, false) // as the reference has it
		return b.call(Of(Boolean).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		x := c.Args[1].Type().Runtime()
		scalar := x.Kind != vector.KindList || x == c.Args[0].Type().Elem().Runtime() // an element, which may be an array itself
		column := isArrayColumn(c.Args[1])
		return listPredicate(func(a, x *vector.Vector, i int) bool {
			switch {
			case scalar:
				return findElement(a, i, x, i) >= 0
			case x.IsNull(i):
				return !column && hasNull(a, i)
			}
			return hasAll(a, i, x, i)
		}), nil
	},
}

// isArrayColumn reports whether an argument that is a list was given as a column of arrays, or as all values of a multi-value string: in the
// place of what is looked for it is found nowhere where it is NULL, while everything else that is NULL asks for NULL, as in the reference.
func isArrayColumn(e Expr) bool {
	switch x := e.(type) {
	case *Column:
		return x.T.Base == Array || x.T.Multi
	case *Cast:
		return isArrayColumn(x.X)
	case *Call:
		return x.Fn == mvToArrayFunction && isArrayColumn(x.Args[0])
	}
	return false
}

var arrayOverlapFunction = &Function{
	Name: "ARRAY_OVERLAP", Min: 2, Max: 2, SeesLists: true, SeesNulls: true,
	Summary: "Returns whether two arrays have an element in common.",
	Forms:   listForms("array1, array2"),
	Bind: func(b *binding) (Expr, error) {
		b.lists(0, 1)
		b.array(0, b.elem(1))
		b.array(1, b.elem(0))
		b.matched(0, 1, false, false)
		return b.call(Of(Boolean).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: fixed(listPredicate(func(a, x *vector.Vector, i int) bool { return !x.IsNull(i) && hasAny(a, i, x, i) })),
}

// listPredicate makes the kernel of a predicate on an array and something else, NULL where the array is.
func listPredicate(holds func(a, x *vector.Vector, i int) bool) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		r := newRows[int64](n)
		for i := range r.out {
			if args[0].IsNull(i) {
				r.null(i)
			} else {
				r.out[i] = b2i(holds(args[0], args[1], i))
			}
		}
		return r.vector(), nil
	}
}

var scalarInArrayFunction = &Function{
	Name: "SCALAR_IN_ARRAY", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether a value is an element of an array.",
	Forms:   listForms("expr, array"),
	Bind: func(b *binding) (Expr, error) {
		if t := b.typ(1); t.Base != Array && t.Base != Null {
			b.mismatch()
		}
		b.element(0, 1)
		b.array(1, b.typ(0))
		b.matched(1, 0, true, true)
		return b.call(Of(Boolean))
	},
	Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		x, list, r := args[0], args[1], newRows[int64](n)
		for i := range r.out {
			if list.IsNull(i) {
				r.null(i)
				continue
			}
			found := findElement(list, i, x, i) >= 0
			if !found && x.IsNull(i) {
				r.null(i)
			}
			r.out[i] = b2i(found)
		}
		return r.vector(), nil
	}),
}

// listBuilder makes the kernel of a function that builds a list per row; where build reports false the row is NULL.
func listBuilder(build func(b *vector.Builder, args []*vector.Vector, i int) (bool, error)) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, _ *Context) (Kernel, error) {
		t := c.T.Runtime()
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			b := vector.NewBuilder(t, n)
			for i := range n {
				if !valid.Get(i) {
					b.AppendNull()
					continue
				}
				ok, err := build(b.Child(), args, i)
				if err != nil {
					return nil, err
				}
				if ok {
					b.AppendList()
				} else {
					b.AppendNull()
				}
			}
			return b.Build(), nil
		}, nil
	}
}

func appendElements(b *vector.Builder, list *vector.Vector, i int) {
	lo, hi := list.ListAt(i)
	for ; lo < hi; lo++ {
		b.AppendFrom(list.Child, lo)
	}
}

// appendOne makes ARRAY_APPEND and ARRAY_PREPEND, and their counterparts; list is the position of the array.
func appendOne(name, native string, list int, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, SeesLists: true, NullsOfMaps: true, SeesNulls: true, Summary: summary,
		Forms: listForms([]string{"array, expr", "expr, array"}[list]),
		Bind: func(b *binding) (Expr, error) {
			if multi && b.typ(1-list).IsNumeric() {
				b.mismatch()
			}
			b.element(1-list, list)
			b.lists(list)
			b.array(list, b.typ(1-list))
			b.unBoolean(list)
			if b.err == nil {
				b.typed(list, b.typ(1-list))
				if b.elem(list).Base == Float && !allFloats(b.args[1-list:2-list]) {
					b.cast(list, ArrayOf(Of(Double)))
				}
				elem := b.elem(list)
				if t := b.typ(1 - list); t.Multi || !castable(t, elem) {
					b.mismatch()
				}
				b.cast(1-list, elem)
				if multi {
					b.cast(1-list, Of(Varchar))
				}
			}
			return b.list(list, multi)
		},
		Kernel: listBuilder(func(b *vector.Builder, args []*vector.Vector, i int) (bool, error) {
			if args[list].IsNull(i) {
				return false, nil
			}
			if list == 1 {
				b.AppendFrom(args[0], i)
			}
			appendElements(b, args[list], i)
			if list == 0 {
				b.AppendFrom(args[1], i)
			}
			return true, nil
		}),
	}
}

// typed gives the empty array ARRAY[], whose elements have no type, elements of type elem.
func (b *binding) typed(i int, elem Type) {
	if b.err != nil || b.elem(i).Base != Null || elem.Base == Null {
		return
	}
	if elem.Base == Float {
		elem = Of(Double)
	}
	b.args[i] = &Cast{X: b.args[i], T: ArrayOf(elem.Plain())}
}

// list ends the binding of a function whose result is a list like argument i, or with multi a multi-value string of its elements.
func (b *binding) list(i int, multi bool) (Expr, error) {
	if multi {
		b.cast(i, ArrayOf(Of(Varchar)))
		return b.call(MultiString)
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.call(b.typ(i).OrNull(true))
}

// joined returns the type of the elements of an array of those of type a and of type b, one in which none is lost.
func joined(a, b Type) Type {
	switch {
	case a.Base == Float && b.Base == Float:
		return a
	case a.IsNumeric() && b.IsNumeric():
		return elementNumber(widerNumber(a.Base, b.Base))
	case a.IsCharacter() != b.IsCharacter() && b.Base != Null:
		return Of(Varchar)
	}
	return a
}

// elementNumber is the type of numbers in an array that are not all FLOATs.
func elementNumber(base Base) Type {
	if base == Float {
		base = Double
	}
	return Of(base)
}

// concatLists makes ARRAY_CONCAT and MV_CONCAT.
func concatLists(name string, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: "array_concat", Min: 2, Max: 2, SeesLists: true, NullsOfMaps: true, Summary: summary,
		Forms: listForms("array1, array2"),
		Bind: func(b *binding) (Expr, error) {
			b.lists(0, 1)
			b.array(0, b.elem(1))
			if b.err == nil {
				b.array(1, b.elem(0))
			}
			if b.err == nil {
				b.typed(0, b.elem(1))
				if !castable(b.elem(1), b.elem(0)) {
					b.mismatch()
				}
				t := joined(b.elem(0), b.elem(1))
				if multi {
					t = Of(Varchar)
				}
				b.cast(0, ArrayOf(t))
				b.cast(1, ArrayOf(t))
			}
			return b.list(0, multi)
		},
		Kernel: listBuilder(func(b *vector.Builder, args []*vector.Vector, i int) (bool, error) {
			appendElements(b, args[0], i)
			appendElements(b, args[1], i)
			return true, nil
		}),
	}
}

// sliceOf makes ARRAY_SLICE and MV_SLICE.
func sliceOf(name string, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: "array_slice", Min: 2, Max: 3, SeesLists: true, NullsOfMaps: true, Summary: summary,
		Forms: listForms("array, start, [end]"),
		Bind: func(b *binding) (Expr, error) {
			b.lists(0)
			b.array(0, Type{})
			for i := 1; i < len(b.args); i++ {
				b.index(i)
			}
			return b.list(0, multi)
		},
		Kernel: listBuilder(func(b *vector.Builder, args []*vector.Vector, i int) (bool, error) {
			lo, hi := args[0].ListAt(i)
			size := int64(hi - lo)
			from, to := args[1].LongAt(i), size
			if len(args) == 3 {
				to = args[2].LongAt(i)
			}
			if from < 0 || from > size || from > to {
				return false, nil
			}
			if to > maxListElements {
				return false, fault.InvalidInput("Function [%s] can't make an array of [%d] elements", name, to)
			}
			for k := from; k < to; k++ {
				if k < size {
					b.AppendFrom(args[0].Child, lo+int(k))
				} else {
					b.AppendNull()
				}
			}
			return true, nil
		}),
	}
}

// joinList makes ARRAY_TO_STRING and MV_TO_STRING.
func joinList(name, summary string) *Function {
	return &Function{
		Name: name, NativeName: "array_to_string", Min: 2, Max: 2, SeesLists: true, SeesNulls: true, Summary: summary,
		Forms: listForms("array, delimiter"),
		Bind: func(b *binding) (Expr, error) {
			b.lists(0)
			b.array(0, Type{})
			b.texts(0)
			switch {
			case b.typ(1).Multi:
				b.mismatch()
			case b.typ(1).Base == Array && b.err == nil:
				b.args[1], b.err = NewCall(listTextFunction, b.args[1:], b.at)
			default:
				b.anyText(1)
			}
			return b.call(Of(Varchar))
		},
		Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			list, delimiters, r := args[0], columnOf[string](args[1]), newRows[string](n)
			var parts []string
			for i := range r.out {
				if list.IsNull(i) {
					r.null(i)
					continue
				}
				delimiter := "" // a NULL stands for nothing, as in the reference
				if !args[1].IsNull(i) {
					delimiter = delimiters.at(i)
				}
				lo, hi := list.ListAt(i)
				if hi-lo == 1 && list.Child.IsNull(lo) {
					r.null(i)
					continue
				}
				parts = parts[:0]
				for ; lo < hi; lo++ {
					if list.Child.IsNull(lo) {
						parts = append(parts, "null")
					} else {
						parts = append(parts, list.Child.StringAt(lo))
					}
				}
				r.out[i] = strings.Join(parts, delimiter)
			}
			return r.vector(), nil
		}),
	}
}

// splitText makes STRING_TO_ARRAY and STRING_TO_MV.
func splitText(name string, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: "string_to_array", Min: 2, Max: 2, Summary: summary,
		Forms: listForms("string, expr"),
		Bind: func(b *binding) (Expr, error) {
			b.anyText(0)
			b.anyText(1)
			if b.err == nil && !isNullLiteral(b.args[1]) {
				b.regex(1)
			}
			if multi {
				return b.call(MultiString)
			}
			return b.call(ArrayOf(Of(Varchar)))
		},
		Kernel: func(c *Call, ctx *Context) (Kernel, error) {
			p, err := regexArg(c, 1, ctx)
			if err != nil {
				return nil, err
			}
			return listBuilder(func(b *vector.Builder, args []*vector.Vector, i int) (bool, error) {
				parts, err := p.split(args[0].StringAt(i))
				for _, s := range parts {
					b.AppendString(s)
				}
				return true, err
			})(c, ctx)
		},
	}
}

var arrayToMVFunction = &Function{
	Name: "ARRAY_TO_MV", Min: 1, Max: 1, SeesLists: true,
	Summary: "Converts an array to a multi-value string.",
	Forms:   listForms("array"),
	Bind: func(b *binding) (Expr, error) {
		b.array(0, Type{})
		b.texts(0)
		return b.call(MultiString)
	},
	Kernel: fixed(func(args []*vector.Vector, _ int, _ vector.Bitmap) (*vector.Vector, error) { return args[0], nil }),
}

var mvToArrayFunction = &Function{
	Name: "MV_TO_ARRAY", Min: 1, Max: 1, SeesLists: true,
	Summary: "Converts a multi-value string to an array, and the elements of an array to texts.",
	Forms:   listForms("str"),
	Bind: func(b *binding) (Expr, error) {
		switch t := b.typ(0); {
		case t.Base == Array:
			if b.texts(0); b.err != nil {
				return nil, b.err
			}
			return b.args[0], nil
		case t.IsNumeric():
			b.cast(0, Of(Varchar))
		case !t.IsCharacter() && t.Base != Null:
			b.mismatch()
		}
		b.array(0, Of(Varchar))
		if b.err != nil {
			return nil, b.err
		}
		return b.strict(ArrayOf(Of(Varchar)))
	},
	// A row whose only value is NULL has no values.
	Kernel: fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := *args[0]
		out.Valid = slices.Clone(out.Valid)
		for i := range n {
			lo, hi := out.ListAt(i)
			if hi-lo == 1 && out.Child.IsNull(lo) && !out.Const {
				invalidate(&out, i)
			}
		}
		return &out, nil
	}),
}

var arrayQuantileFunction = &Function{
	Name: "ARRAY_QUANTILE", Min: 2, Max: 2, SeesLists: true, RefusesNull: true,
	Summary: "Returns the exact quantile of the numbers of an array, interpolated linearly; NaN if it is empty, NULL of text.",
	Forms:   listForms("array, rank"),
	Bind: func(b *binding) (Expr, error) {
		b.array(0, Of(Double))
		b.double(1)
		if b.err == nil && b.elem(0).IsCharacter() {
			return &Literal{T: Of(Double)}, nil // text has no quantiles, even if it reads as numbers
		}
		b.cast(0, ArrayOf(Of(Double)))
		return b.call(Of(Double))
	},
	Kernel: fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		r, ranks := newRows[float64](n), columnOf[float64](args[1])
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			r.out[i] = quantile(doublesOf(args[0], i), ranks.at(i))
		}
		return r.vector(), nil
	}),
}

// doublesOf returns the elements of row i that are not NULL.
func doublesOf(list *vector.Vector, i int) []float64 {
	lo, hi := list.ListAt(i)
	out := make([]float64, 0, hi-lo)
	for ; lo < hi; lo++ {
		if !list.Child.IsNull(lo) {
			out = append(out, list.Child.DoubleAt(lo))
		}
	}
	return out
}

func quantile(x []float64, rank float64) float64 {
	if len(x) == 0 || !(rank >= 0 && rank <= 1) {
		return math.NaN()
	}
	slices.Sort(x)
	at := rank * float64(len(x)-1)
	below := int(math.Floor(at))
	if below == len(x)-1 {
		return x[below]
	}
	return x[below] + (x[below+1]-x[below])*(at-float64(below))
}

// rearranged makes ARRAY_SORT and ARRAY_DISTINCT: arrange gets the positions of a row's elements in the child vector.
func rearranged(name, summary string, arrange func(child *vector.Vector, elements []int) []int) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, SeesLists: true, Summary: summary,
		Forms: listForms("array"),
		Bind: func(b *binding) (Expr, error) {
			b.array(0, Type{})
			return b.list(0, false)
		},
		Kernel: listBuilder(func(b *vector.Builder, args []*vector.Vector, i int) (bool, error) {
			lo, hi := args[0].ListAt(i)
			elements := make([]int, 0, hi-lo)
			for ; lo < hi; lo++ {
				elements = append(elements, lo)
			}
			for _, e := range arrange(args[0].Child, elements) {
				b.AppendFrom(args[0].Child, e)
			}
			return true, nil
		}),
	}
}

func sortElements(child *vector.Vector, elements []int) []int {
	slices.SortStableFunc(elements, func(a, b int) int { return compareElements(child, child, a, b) })
	return elements
}

func distinctElements(child *vector.Vector, elements []int) []int {
	sorted := sortElements(child, slices.Clone(elements))
	sorted = slices.CompactFunc(sorted, func(a, b int) bool { return compareElements(child, child, a, b) == 0 })
	slices.Sort(sorted) // the first of equals came first, so this is the order of first appearance
	return sorted
}

// bindElement binds a function of a list that gives one of its elements or NULL.
func bindElement(b *binding) (Expr, error) {
	b.array(0, Type{})
	if b.err != nil {
		return nil, b.err
	}
	return b.call(b.elem(0).OrNull(true))
}

// extremeElement makes ARRAY_MAX (sign 1) and ARRAY_MIN (sign -1). NULL elements don't count.
func extremeElement(name string, sign int, summary string) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, SeesLists: true, Summary: summary,
		Forms: listForms("array"),
		Bind:  bindElement,
		Kernel: fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			child := args[0].Child
			b := vector.NewBuilder(child.Type, n)
			for i := range n {
				best := -1
				if valid.Get(i) {
					for lo, hi := args[0].ListAt(i); lo < hi; lo++ {
						if !child.IsNull(lo) && (best < 0 || compareElements(child, child, lo, best)*sign > 0) {
							best = lo
						}
					}
				}
				if best < 0 {
					b.AppendNull()
				} else {
					b.AppendFrom(child, best)
				}
			}
			return b.Build(), nil
		}),
	}
}

var arrayFunctions = []*Function{
	arrayFunction, arrayLengthFunction,
	elementAt("ARRAY_OFFSET", "", 0, false, "Returns the element of an array at a position counted from 0; NULL if there is none."),
	elementAt("ARRAY_ORDINAL", "", 1, false, "Returns the element of an array at a position counted from 1; NULL if there is none."),
	indexOf("ARRAY_OFFSET_OF", "", 0, "Returns the position, counted from 0, of a value in an array; NULL if it is not in it."),
	indexOf("ARRAY_ORDINAL_OF", "", 1, "Returns the position, counted from 1, of a value in an array; NULL if it is not in it."),
	arrayContainsFunction, arrayOverlapFunction, scalarInArrayFunction,
	appendOne("ARRAY_APPEND", "", 0, false, "Adds an element at the end of an array."),
	appendOne("ARRAY_PREPEND", "", 1, false, "Adds an element at the start of an array."),
	concatLists("ARRAY_CONCAT", false, "Returns the elements of one array followed by those of another."),
	sliceOf("ARRAY_SLICE", false, "Returns the elements of an array from one position, counted from 0, up to another, filled up with NULLs."),
	joinList("ARRAY_TO_STRING", "Joins the elements of an array with a delimiter."),
	splitText("STRING_TO_ARRAY", false, "Splits a string into an array at the matches of a regular expression."),
	arrayToMVFunction, mvToArrayFunction, arrayQuantileFunction,
	rearranged("ARRAY_SORT", "Sorts the elements of an array, NULLs first.", sortElements),
	rearranged("ARRAY_DISTINCT", "Returns the distinct elements of an array in the order of their first appearance.", distinctElements),
	extremeElement("ARRAY_MAX", 1, "Returns the greatest element of an array."),
	extremeElement("ARRAY_MIN", -1, "Returns the least element of an array."),
}
