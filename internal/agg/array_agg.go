package agg

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// defaultMaxBytes bounds one array or text when the call does not. Druid has 1 KiB, which most real
// uses exceed.
const defaultMaxBytes = 1 << 20

var arrayAgg = &Function{
	Name: "ARRAY_AGG", Doc: "Collects the values, NULLs included, in an array.",
	Signature: "'ARRAY_AGG(<expr>)'\n'ARRAY_AGG(<expr>, <maxSizeBytes>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, TakesNulls: true, InOrder: true,
	Gives: GivesArrays, ParamKinds: []ParamKind{LongParam}, SortedForm: "ARRAY_AGG_SORTED", OfLists: "ARRAY_CONCAT_AGG",
	Native:  NativeForm{Kind: NativeArray},
	check:   func(s Spec) error { return s.sizeParam(0) },
	result:  func(s Spec) vector.Type { return vector.ListOf(s.Args[0]) },
	partial: listOfArg,
	create:  func(s Spec) State { return newCollect(s, s.Args[0], false) },
}

// arrayAggSorted runs ARRAY_AGG(DISTINCT x) over a window.
var arrayAggSorted = &Function{
	Name: "ARRAY_AGG_SORTED", Doc: "Collects the different values, NULLs included, in order.", Internal: true,
	Signature: "'ARRAY_AGG_SORTED(<expr>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, TakesNulls: true,
	check: arrayAgg.check, result: arrayAgg.result, partial: listOfArg,
	create: func(s Spec) State {
		c := newCollect(s, s.Args[0], false)
		c.name, c.distinct = arrayAgg.Name, true
		return c
	},
}

var arrayConcatAgg = &Function{
	Name: "ARRAY_CONCAT_AGG", Doc: "Concatenates the arrays that are not NULL.",
	Signature: "'ARRAY_CONCAT_AGG(<ARRAY>)'\n'ARRAY_CONCAT_AGG(<ARRAY>, " +
		"<maxSizeBytes>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, InOrder: true,
	ParamKinds: []ParamKind{LongParam}, DistinctForm: "ARRAY_CONCAT_AGG_DISTINCT", Native: NativeForm{Kind: NativeArrays},
	check: lists, result: argType, partial: argTypes,
	create: func(s Spec) State { return newCollect(s, s.Args[0].Elem(), true) },
}

// arrayConcatDistinct runs ARRAY_CONCAT_AGG(DISTINCT x), which is about the elements.
var arrayConcatDistinct = &Function{
	Name: "ARRAY_CONCAT_AGG_DISTINCT", Doc: "Collects the different elements of the arrays that are not " +
		"NULL, in order.", Internal: true,
	Signature: "'ARRAY_CONCAT_AGG_DISTINCT(<ARRAY>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, Duplicates: true,
	check: lists, result: argType, partial: argTypes,
	create: func(s Spec) State {
		c := newCollect(s, s.Args[0].Elem(), true)
		c.distinct = true
		return c
	},
}

func lists(s Spec) error {
	if s.Args[0].Kind != vector.KindList {
		return badType(s, 0)
	}
	return s.sizeParam(0)
}

// sizeParam says what is wrong with constant i as the bytes that a result may have.
func (s Spec) sizeParam(i int) error {
	if i >= len(s.Params) {
		return nil
	}
	if n, ok := s.Params[i].(int64); !ok || n < 1 || n > math.MaxInt32 {
		return fault.InvalidInput("The size of aggregation [%s] must be a whole number from [1] to "+
			"[%d], not [%s]", s.Name, math.MaxInt32, constantText(s.Params[i]))
	}
	return nil
}

// constantText writes a constant so that 1.0 is not taken for the whole number that it isn't.
func constantText(x any) string {
	if f, ok := x.(float64); ok && f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return fmt.Sprint(x)
}

// collectState keeps the values of all groups in the order they came, and which group each belongs
// to; a counting sort makes lists of them in the end.
type collectState struct {
	name     string
	lists    bool // arguments are lists, whose elements are taken
	distinct bool // results have each value once, in order
	max      int64
	elem     vector.Type
	values   *vector.Builder
	of       []uint32 // by value: its group
	seen     []bool
	sizes    []int64 // by group, in bytes
	heap     int64

	sorted *vector.Vector // the values by group, when nothing was added since
	starts []uint32       // by group: where its values start in sorted
}

func newCollect(s Spec, elem vector.Type, lists bool) *collectState {
	return &collectState{name: s.Name, lists: lists, max: s.longParam(0, defaultMaxBytes), elem: elem, values: vector.NewBuilder(elem, 0)}
}

func (s *collectState) Grow(n int) { s.seen, s.sizes = grown(s.seen, n), grown(s.sizes, n) }

func (s *collectState) Update(args []*vector.Vector, groups []uint32, n int) error {
	if s.lists {
		return s.Merge(args, groups, n)
	}
	v := args[0].Flat().OwnStrings()
	for i := range n {
		g := group(groups, i)
		s.seen[g] = true
		if err := s.append(g, v, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *collectState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	v := parts[0].OwnStrings()
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g := group(groups, i)
		s.seen[g] = true
		for lo, hi := v.ListAt(i); lo < hi; lo++ {
			if err := s.append(g, v.Child, lo); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *collectState) append(g uint32, v *vector.Vector, i int) error {
	size := valueSize(v, i)
	s.sizes[g] += size
	if s.sizes[g] > s.max {
		return tooLarge(s.name, s.max)
	}
	s.keep(g, v, i, size)
	return nil
}

// keep adds row i of v, of that size, to group g.
func (s *collectState) keep(g uint32, v *vector.Vector, i int, size int64) {
	s.heap += size + 16
	s.values.AppendFrom(v, i)
	s.of = append(s.of, g)
}

func tooLarge(name string, max int64) error {
	return fault.ResourceLimit("A result of [%s] would be larger than [%d] bytes; set its maximum size as the "+
		"last argument.", name, max)
}

// valueSize is the size of a value that the limit of the call counts.
func valueSize(v *vector.Vector, i int) int64 {
	if v.IsNull(i) {
		return 1
	}
	switch v.Type.Kind {
	case vector.KindString, vector.KindComplex:
		return int64(len(v.StringAt(i))) + 1
	case vector.KindList:
		n := int64(1)
		for lo, hi := v.ListAt(i); lo < hi; lo++ {
			n += valueSize(v.Child, lo)
		}
		return n
	}
	return 8
}

// sort brings the values into the order of their groups, unless they are: it makes of the builder a
// vector, rows by group, and starts.
func (s *collectState) sort() {
	if s.sorted != nil && s.sorted.Len == len(s.of) && len(s.starts) == len(s.seen)+1 {
		return
	}
	all := s.values.Build()
	s.starts = make([]uint32, len(s.seen)+1)
	for _, g := range s.of {
		s.starts[g+1]++
	}
	for i := range s.seen {
		s.starts[i+1] += s.starts[i]
	}
	rows, of := make([]uint32, len(s.of)), make([]uint32, len(s.of))
	next := append([]uint32(nil), s.starts...)
	for i, g := range s.of {
		rows[next[g]], of[next[g]] = uint32(i), g
		next[g]++
	}
	s.sorted, s.of = all.Gather(rows), of
	s.values.AppendRows(s.sorted, nil) // so that groups can still grow
}

func (s *collectState) Partial(lo, hi int) []*vector.Vector {
	s.sort()
	return []*vector.Vector{{
		Type: vector.ListOf(s.elem), Len: hi - lo, Offsets: copied(s.starts, lo, hi+1), Child: s.sorted, Valid: validOf(s.seen[lo:hi]),
	}}
}

func (s *collectState) Final(lo, hi int) (*vector.Vector, error) {
	v := s.Partial(lo, hi)[0]
	if s.distinct {
		v = distinctElements(v)
	}
	return v, nil
}

// distinctElements sorts the elements of each list, nulls first, and keeps one of those that are
// the same.
func distinctElements(v *vector.Vector) *vector.Vector {
	out := vector.NewBuilder(v.Type, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			out.AppendNull()
			continue
		}
		lo, hi := v.ListAt(i)
		rows := make([]int, 0, hi-lo)
		for r := lo; r < hi; r++ {
			rows = append(rows, r)
		}
		slices.SortFunc(rows, func(a, b int) int { return vector.Compare(v.Child, a, v.Child, b) })
		rows = slices.CompactFunc(rows, func(a, b int) bool { return vector.Same(v.Child, a, v.Child, b) })
		for _, r := range rows {
			out.Child().AppendFrom(v.Child, r)
		}
		out.AppendList()
	}
	return out.Build()
}

func (s *collectState) Bytes() int64 {
	return s.heap + 4*int64(cap(s.of)) + int64(cap(s.seen)) + 8*int64(cap(s.sizes))
}
