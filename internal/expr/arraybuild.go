package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// listBuilder makes the kernel of a function that builds a list per row; where build reports false
// the row is NULL.
func listBuilder(build func(to *elements, args []*vector.Vector, i int) (bool, error)) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, ctx *Context) (Kernel, error) {
		t := c.T.Runtime()
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			b := vector.NewBuilder(t, n)
			to := &elements{Builder: b.Child(), meter: newMeter(c.Fn.Name, ctx)}
			for i := range n {
				if !valid.Get(i) {
					b.AppendNull()
					continue
				}
				ok, err := build(to, args, i)
				if err == nil {
					err = to.counted()
				}
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

// elements are those of the lists of a batch, which have room together.
type elements struct {
	*vector.Builder
	meter *meter
	known int // how many of them the meter knows
}

// counted tells the meter of the elements that were appended without asking it.
func (e *elements) counted() error {
	n := e.Len() - e.known
	e.known = e.Len()
	return e.meter.addElements(n)
}

// room asks the meter for n elements that are going to be appended.
func (e *elements) room(n int) error {
	if err := e.counted(); err != nil {
		return err
	}
	e.known += n
	return e.meter.addElements(n)
}

// appendList appends the elements of row i of list.
func (e *elements) appendList(list *vector.Vector, i int) error {
	lo, hi := list.ListAt(i)
	if err := e.room(hi - lo); err != nil {
		return err
	}
	e.AppendRange(list.Child, lo, hi)
	return nil
}

// appendOne makes ARRAY_APPEND and ARRAY_PREPEND, and their counterparts; list is the position of
// the array.
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
		Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
			if args[list].IsNull(i) {
				return false, nil
			}
			if list == 1 {
				to.AppendFrom(args[0], i)
			}
			err := to.appendList(args[list], i)
			if list == 0 {
				to.AppendFrom(args[1], i)
			}
			return err == nil, err
		}),
	}
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
		Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
			err := to.appendList(args[0], i)
			if err == nil {
				err = to.appendList(args[1], i)
			}
			return err == nil, err
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
		Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
			lo, hi := args[0].ListAt(i)
			size := int64(hi - lo)
			from, end := args[1].LongAt(i), size
			if len(args) == 3 {
				end = args[2].LongAt(i)
			}
			if from < 0 || from > size || from > end {
				return false, nil
			}
			if end > maxListElements {
				return false, fault.InvalidInput("Function [%s] can't make an array of [%d] elements", name, end)
			}
			if err := to.room(int(end - from)); err != nil {
				return false, err
			}
			if from < size {
				to.AppendRange(args[0].Child, lo+int(from), lo+int(min(end, size)))
			}
			for k := max(from, size); k < end; k++ {
				to.AppendNull()
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
		Kernel: metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *meter) (*vector.Vector, error) {
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
				var err error
				if r.out[i], err = m.join(parts, delimiter); err != nil {
					return nil, err
				}
			}
			return r.vector(), nil
		}),
	}
}

// splitText makes STRING_TO_ARRAY and STRING_TO_MV.
func splitText(name string, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: "string_to_array", Min: 2, Max: 2, SeesNulls: true, Summary: summary,
		Forms: listForms("string, expr"),
		Bind: func(b *binding) (Expr, error) {
			b.anyText(0)
			b.anyText(1)
			b.checkPattern(1)
			if multi {
				return b.call(MultiString)
			}
			return b.call(ArrayOf(Of(Varchar)))
		},
		Kernel: func(c *Call, ctx *Context) (Kernel, error) {
			last := lastPattern{function: c.Fn.Name, ctx: ctx}
			return listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
				if args[0].IsNull(i) {
					return false, nil
				}
				pattern := "" // a NULL stands for nothing, as in the reference: it splits into characters
				if !args[1].IsNull(i) {
					pattern = args[1].StringAt(i)
				}
				p, err := last.of(pattern)
				if err != nil {
					return false, err
				}
				parts, err := p.split(args[0].StringAt(i))
				for _, s := range parts {
					to.AppendString(s)
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
