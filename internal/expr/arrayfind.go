package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// indexOf makes ARRAY_OFFSET_OF (origin 0) or ARRAY_ORDINAL_OF (origin 1), or their counterparts.
func indexOf(name, native string, origin int64, summary string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 2, Max: 2, SeesLists: true, NullsOfMaps: true, SeesNulls: true, Summary: summary,
		Forms: ListForms("array, expr"),
		Bind: func(b *Binding) (Expr, error) {
			if b.Type(1).Multi {
				b.Mismatch()
			}
			b.lists(0)
			b.array(0, b.Type(1))
			if b.Err == nil && !alike(b.elem(0), b.Type(1)) {
				return b.indexOfNull()
			}
			b.matched(0, 1, true, false)
			return b.Call(Of(Integer))
		},
		Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			list, x, r := args[0], args[1], kernel.NewRows[int64](n)
			for i := range r.Out {
				k := -1
				if !list.IsNull(i) {
					k = findElement(list, i, x, i)
				}
				if k < 0 {
					r.Null(i)
				}
				r.Out[i] = int64(k) + origin
			}
			return r.Vector(), nil
		}),
	}
}

// indexOfNull binds the search for a value of a type that no element has: it is found only where it
// is NULL, and the array has a NULL.
func (b *Binding) indexOfNull() (Expr, error) {
	x := b.Args[1]
	if !x.Type().Nullable {
		return &Literal{T: Of(Integer)}, nil
	}
	missing, err := NewCall(isNullFunction, []Expr{x}, b.At)
	if err != nil {
		return nil, err
	}
	b.Args[1] = &Literal{T: b.elem(0).Plain()}
	index, err := b.Call(Of(Integer))
	if err != nil {
		return nil, err
	}
	return &Case{Whens: []When{{Cond: missing, Then: index}}, T: Of(Integer)}, nil
}

// findElement returns the index of the first element of row i of list that equals row k of x, NULL
// being equal to NULL; -1: none.
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

// findText returns the index from lo of the first number up to hi that a text is, as CAST reads it;
// -1: there is none, or it is no number.
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
	Summary: "Returns whether an array contains an element, or all elements of another array.",
	Forms:   ListForms("array, expr"),
	Bind: func(b *Binding) (Expr, error) {
		scalar := !b.Type(1).Multi && b.Type(1).Base != Array
		if t := b.Type(1); t.IsTime() || t.Base == Boolean {
			b.Mismatch()
		}
		b.lists(0)
		b.array(0, b.Type(1))
		if !scalar {
			b.array(1, Type{})
		}
		b.matched(0, 1, scalar, false) // quirk Q002: as Druid has it
		return b.Call(Of(Boolean).NotNull().OrNull(b.Type(0).Nullable))
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

// isArrayColumn reports whether an argument that is a list was given as a column of arrays, or as
// all values of a multi-value string: in the place of what is looked for it is found nowhere where
// it is NULL, while everything else that is NULL asks for NULL, as in Druid. See quirk Q001.
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
	Forms:   ListForms("array1, array2"),
	Bind: func(b *Binding) (Expr, error) {
		b.lists(0, 1)
		b.array(0, b.elem(1))
		b.array(1, b.elem(0))
		b.matched(0, 1, false, false)
		return b.Call(Of(Boolean).NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: Fixed(listPredicate(func(a, x *vector.Vector, i int) bool { return !x.IsNull(i) && hasAny(a, i, x, i) })),
}

// listPredicate makes the kernel of a predicate on an array and something else, NULL where the
// array is.
func listPredicate(holds func(a, x *vector.Vector, i int) bool) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		r := kernel.NewRows[int64](n)
		for i := range r.Out {
			if args[0].IsNull(i) {
				r.Null(i)
			} else {
				r.Out[i] = kernel.Bool(holds(args[0], args[1], i))
			}
		}
		return r.Vector(), nil
	}
}

var scalarInArrayFunction = &Function{
	Name: "SCALAR_IN_ARRAY", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether a value is an element of an array.",
	Forms:   ListForms("expr, array"),
	Bind: func(b *Binding) (Expr, error) {
		if t := b.Type(1); t.Base != Array && t.Base != Null {
			b.Mismatch()
		}
		b.element(0, 1)
		b.array(1, b.Type(0))
		b.matched(1, 0, true, true)
		return b.Call(Of(Boolean))
	},
	Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		x, list, r := args[0], args[1], kernel.NewRows[int64](n)
		for i := range r.Out {
			if list.IsNull(i) {
				r.Null(i)
				continue
			}
			found := findElement(list, i, x, i) >= 0
			if !found && x.IsNull(i) {
				r.Null(i)
			}
			r.Out[i] = kernel.Bool(found)
		}
		return r.Vector(), nil
	}),
}
