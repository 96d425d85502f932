package expr

import (
	"slices"

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

// elementAt makes ARRAY_OFFSET (origin 0) or ARRAY_ORDINAL (origin 1), or with multi their
// counterparts for multi-value strings.
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
