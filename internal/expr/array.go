package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

var arrayFunction = &Function{
	Name: "ARRAY", NativeName: "array", Min: 0, Max: -1, SeesNulls: true,
	Summary: "Builds an array of its arguments, cast to their least restrictive type.",
	Forms:   []string{"$F[expr, ...]"},
	Bind: func(b *Binding) (Expr, error) {
		elem, ok := CommonType(b.Args)
		if !ok || elem.IsCharacter() && slices.ContainsFunc(b.Args, isBoolean) {
			b.Fail("Parameters must be of the same type")
			return nil, b.Err
		}
		if elem.Base == Float && !allFloats(b.Args) {
			elem = Of(Double) // FLOAT can't hold the others
		}
		if depth(elem) >= maxArrayDepth {
			b.Fail("Arrays are nested more than [%d] deep", maxArrayDepth)
			return nil, b.Err
		}
		for i := range b.Args {
			b.Cast(i, elem)
		}
		return b.Call(ArrayOf(elem).NotNull())
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
		Forms: ListForms("array"),
		Bind: func(b *Binding) (Expr, error) {
			b.array(0, Type{})
			return b.Strict(Of(Integer))
		},
		Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
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
		Forms: ListForms("array, expr"),
		Bind: func(b *Binding) (Expr, error) {
			b.lists(0)
			b.index(1)
			if b.Err == nil && !multi && b.Type(0).Base == Null {
				return b.Args[0], nil
			}
			b.array(0, Type{})
			if b.Err != nil {
				return nil, b.Err
			}
			if multi {
				b.Cast(0, ArrayOf(Of(Varchar)))
				return b.Call(Of(Varchar))
			}
			return b.Call(b.elem(0).OrNull(true))
		},
		Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			list, index := args[0], kernel.ColumnOf[int64](args[1])
			picks, has, some := make([]uint32, n), vector.NewBitmap(n), false
			for i := range n {
				if !valid.Get(i) {
					continue
				}
				lo, hi := list.ListAt(i)
				if k := index.At(i) - origin; k >= 0 && k < int64(hi-lo) {
					picks[i] = uint32(lo) + uint32(k)
					has.Set(i)
					some = true
				}
			}
			if !some {
				return vector.Nulls(list.Type.Elem(), n), nil
			}
			return kernel.WithValid(list.Child.Gather(picks), has), nil
		}),
	}
}

var arrayFunctions = []*Function{
	arrayFunction, arrayLengthFunction,
	elementAt("ARRAY_OFFSET", "", 0, false, "Returns the element of an array at a position counted from 0. Returns NULL "+
		"beyond the end."),
	elementAt("ARRAY_ORDINAL", "", 1, false, "Returns the element of an array at a position counted from 1. Returns NULL "+
		"beyond the end."),
	indexOf("ARRAY_OFFSET_OF", "", 0, "Returns the position, counted from 0, of a value in an array. Returns NULL if the "+
		"array lacks it."),
	indexOf("ARRAY_ORDINAL_OF", "", 1, "Returns the position, counted from 1, of a value in an array. Returns NULL if the "+
		"array lacks it."),
	arrayContainsFunction, arrayOverlapFunction, scalarInArrayFunction,
	appendOne("ARRAY_APPEND", "", 0, false, "Adds an element at the end of an array."),
	appendOne("ARRAY_PREPEND", "", 1, false, "Adds an element at the start of an array."),
	concatLists("ARRAY_CONCAT", false, "Returns the elements of one array followed by those of another."),
	sliceOf("ARRAY_SLICE", false, "Returns the elements from a start position, counted from 0, to an end position, which is "+
		"excluded. Positions beyond the end give NULLs."),
	joinList("ARRAY_TO_STRING", "Joins the elements of an array with a delimiter."),
	splitText("STRING_TO_ARRAY", false, "Splits a string into an array at the matches of a regular expression."),
	arrayToMVFunction, mvToArrayFunction, arrayQuantileFunction,
	rearranged("ARRAY_SORT", "Sorts the elements of an array, NULLs first.", sortElements),
	rearranged("ARRAY_DISTINCT", "Returns the distinct elements of an array in the order of their first appearance.", distinctElements),
	extremeElement("ARRAY_MAX", 1, "Returns the greatest element of an array."),
	extremeElement("ARRAY_MIN", -1, "Returns the least element of an array."),
}
