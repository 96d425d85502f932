package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
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
			to := &elements{Builder: b.Child(), meter: NewMeter(c.Fn.Name, ctx)}
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
	meter *Meter
	known int // how many of them the meter knows
}

// counted tells the meter of the elements that were appended without asking it.
func (e *elements) counted() error {
	n := e.Len() - e.known
	e.known = e.Len()
	return e.meter.AddElements(n)
}

// room asks the meter for n elements that are going to be appended.
func (e *elements) room(n int) error {
	if err := e.counted(); err != nil {
		return err
	}
	e.known += n
	return e.meter.AddElements(n)
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
		Forms: ListForms([]string{"array, expr", "expr, array"}[list]),
		Bind: func(b *Binding) (Expr, error) {
			if multi && b.Type(1-list).IsNumeric() {
				b.Mismatch()
			}
			b.element(1-list, list)
			b.lists(list)
			b.array(list, b.Type(1-list))
			b.unBoolean(list)
			if b.Err == nil {
				b.typed(list, b.Type(1-list))
				if b.elem(list).Base == Float && !allFloats(b.Args[1-list:2-list]) {
					b.Cast(list, ArrayOf(Of(Double)))
				}
				elem := b.elem(list)
				if t := b.Type(1 - list); t.Multi || !castable(t, elem) {
					b.Mismatch()
				}
				b.Cast(1-list, elem)
				if multi {
					b.Cast(1-list, Of(Varchar))
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
		Forms: ListForms("array1, array2"),
		Bind: func(b *Binding) (Expr, error) {
			b.lists(0, 1)
			b.array(0, b.elem(1))
			if b.Err == nil {
				b.array(1, b.elem(0))
			}
			if b.Err == nil {
				b.typed(0, b.elem(1))
				if !castable(b.elem(1), b.elem(0)) {
					b.Mismatch()
				}
				t := joined(b.elem(0), b.elem(1))
				if multi {
					t = Of(Varchar)
				}
				b.Cast(0, ArrayOf(t))
				b.Cast(1, ArrayOf(t))
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
		Forms: ListForms("array, start, [end]"),
		Bind: func(b *Binding) (Expr, error) {
			b.lists(0)
			b.array(0, Type{})
			for i := 1; i < len(b.Args); i++ {
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
		Forms: ListForms("array, delimiter"),
		Bind: func(b *Binding) (Expr, error) {
			b.lists(0)
			b.array(0, Type{})
			b.texts(0)
			switch {
			case b.Type(1).Multi:
				b.Mismatch()
			case b.Type(1).Base == Array && b.Err == nil:
				b.Args[1], b.Err = NewCall(listTextFunction, b.Args[1:], b.At)
			default:
				b.AnyText(1)
			}
			return b.Call(Of(Varchar))
		},
		Kernel: Metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *Meter) (*vector.Vector, error) {
			list, delimiters, r := args[0], kernel.ColumnOf[string](args[1]), kernel.NewRows[string](n)
			var parts []string
			for i := range r.Out {
				if list.IsNull(i) {
					r.Null(i)
					continue
				}
				delimiter := "" // quirk Q001: a NULL stands for nothing, as in Druid
				if !args[1].IsNull(i) {
					delimiter = delimiters.At(i)
				}
				lo, hi := list.ListAt(i)
				if hi-lo == 1 && list.Child.IsNull(lo) {
					r.Null(i)
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
				if r.Out[i], err = m.Join(parts, delimiter); err != nil {
					return nil, err
				}
			}
			return r.Vector(), nil
		}),
	}
}

// splitText makes STRING_TO_ARRAY and STRING_TO_MV.
func splitText(name string, multi bool, summary string) *Function {
	return &Function{
		Name: name, NativeName: "string_to_array", Min: 2, Max: 2, SeesNulls: true, Summary: summary,
		Forms: ListForms("string, expr"),
		Bind: func(b *Binding) (Expr, error) {
			b.AnyText(0)
			b.AnyText(1)
			b.LiteralPattern(1)
			if multi {
				return b.Call(MultiString)
			}
			return b.Call(ArrayOf(Of(Varchar)))
		},
		Kernel: func(c *Call, ctx *Context) (Kernel, error) {
			last := LastPattern{Function: c.Fn.Name, Context: ctx}
			return listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
				if args[0].IsNull(i) {
					return false, nil
				}
				pattern := "" // quirk Q001: a NULL stands for nothing, as in Druid: it splits into characters
				if !args[1].IsNull(i) {
					pattern = args[1].StringAt(i)
				}
				p, err := last.Of(pattern)
				if err != nil {
					return false, err
				}
				parts, err := p.Split(args[0].StringAt(i))
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
	Forms:   ListForms("array"),
	Bind: func(b *Binding) (Expr, error) {
		b.array(0, Type{})
		b.texts(0)
		return b.Call(MultiString)
	},
	Kernel: Fixed(func(args []*vector.Vector, _ int, _ vector.Bitmap) (*vector.Vector, error) { return args[0], nil }),
}

var mvToArrayFunction = &Function{
	Name: "MV_TO_ARRAY", Min: 1, Max: 1, SeesLists: true, ListsValues: true,
	Summary: "Converts a multi-value string to an array. Converts the elements of an array to strings.",
	Forms:   ListForms("str"),
	Bind: func(b *Binding) (Expr, error) {
		switch t := b.Type(0); {
		case t.Base == Array:
			if b.texts(0); b.Err != nil {
				return nil, b.Err
			}
			return b.Args[0], nil
		case t.IsNumeric():
			b.Cast(0, Of(Varchar))
		case !t.IsCharacter() && t.Base != Null:
			b.Mismatch()
		}
		b.array(0, Of(Varchar))
		if b.Err != nil {
			return nil, b.Err
		}
		return b.Strict(ArrayOf(Of(Varchar)))
	},
	// A row whose only value is NULL has no values.
	Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
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
