package expr

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

var arrayQuantileFunction = &Function{
	Name: "ARRAY_QUANTILE", Min: 2, Max: 2, SeesLists: true, RefusesNull: true,
	Summary: "Returns the exact quantile of an array of numbers, with linear interpolation. Returns NaN for an empty array and " +
		"NULL for an array of strings.",
	Forms: ListForms("array, rank"),
	Bind: func(b *Binding) (Expr, error) {
		b.array(0, Of(Double))
		b.Double(1)
		if b.Err == nil && b.elem(0).IsCharacter() {
			return &Literal{T: Of(Double)}, nil // text has no quantiles, even if it reads as numbers
		}
		b.Cast(0, ArrayOf(Of(Double)))
		return b.Call(Of(Double))
	},
	Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		r, ranks := kernel.NewRows[float64](n), kernel.ColumnOf[float64](args[1])
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			r.Out[i] = quantile(doublesOf(args[0], i), ranks.At(i))
		}
		return r.Vector(), nil
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

// rearranged makes ARRAY_SORT and ARRAY_DISTINCT: arrange gets the positions of a row's elements in
// the child vector.
func rearranged(name, summary string, arrange func(child *vector.Vector, elements []int) []int) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, SeesLists: true, Summary: summary,
		Forms: ListForms("array"),
		Bind: func(b *Binding) (Expr, error) {
			b.array(0, Type{})
			return b.list(0, false)
		},
		Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
			lo, hi := args[0].ListAt(i)
			elements := make([]int, 0, hi-lo)
			for ; lo < hi; lo++ {
				elements = append(elements, lo)
			}
			for _, e := range arrange(args[0].Child, elements) {
				to.AppendFrom(args[0].Child, e)
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

// extremeElement makes ARRAY_MAX (sign 1) and ARRAY_MIN (sign -1). NULL elements don't count.
func extremeElement(name string, sign int, summary string) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, SeesLists: true, Summary: summary,
		Forms: ListForms("array"),
		Bind:  bindElement,
		Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
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
