package agg

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

var mode = &Function{
	Name: "MODE", Doc: "Returns the exact most frequent value. If several values are equally frequent, returns " +
		"the least.", Signature: "'MODE(<expr>)'", MinArgs: 1, MaxArgs: 1,
	check: scalars, result: argType, partial: tallyTypes,
	create: func(s Spec) State { return newTally(s.Args[0], 0, 0) },
}

// The most values that APPROX_TOP_K returns, and how many it keeps count of: at least leastKept,
// and keptPerK for each it returns.
const (
	maxTopK   = 10_000
	leastKept = 1024
	keptPerK  = 32
)

var approxTopK = &Function{
	Name: "APPROX_TOP_K", Doc: "Returns the most frequent values, the most frequent first. The result is exact while a group " +
		"has at most " +
		"2048 distinct values, or 64 for each value requested.",
	Signature: "'APPROX_TOP_K(<expr>, <count>)'", MinArgs: 1, MaxArgs: 1, MinParams: 1, MaxParams: 1,
	check: func(s Spec) error {
		if k, ok := s.Params[0].(int64); !ok || k < 1 || k > maxTopK {
			return fault.InvalidInput("The count of aggregation [%s] must be a whole number from [1] to "+
				"[%d], not [%v]", s.Name, maxTopK, s.Params[0])
		}
		return scalars(s)
	},
	result: func(s Spec) vector.Type { return vector.ListOf(s.Args[0]) }, partial: tallyTypes,
	create: func(s Spec) State {
		k := int(s.longParam(0, 1))
		return newTally(s.Args[0], k, max(leastKept, keptPerK*k))
	},
}

func scalars(s Spec) error {
	if k := s.Args[0].Kind; k == vector.KindList || k == vector.KindComplex {
		return badType(s, 0)
	}
	return nil
}

// tallyTypes are those of different values and how often each was met.
func tallyTypes(s Spec) []vector.Type {
	return []vector.Type{vector.ListOf(s.Args[0]), vector.ListOf(vector.Long)}
}

// newTally returns the state of MODE, or with top above 0 that of APPROX_TOP_K, which keeps count
// of about kept values.
func newTally(t vector.Type, top, kept int) State {
	switch t.Kind {
	case vector.KindLong:
		return &tallyState[int64]{typ: t, top: top, kept: kept, at: (*vector.Vector).LongAt, add: (*vector.Builder).AppendLong, compare: cmp.Compare[int64]}
	case vector.KindDouble:
		return newDoubleTally(t, top, kept, (*vector.Builder).AppendDouble)
	case vector.KindFloat:
		return newDoubleTally(t, top, kept, func(b *vector.Builder, x float64) { b.AppendFloat(float32(x)) })
	}
	return &tallyState[string]{typ: t, top: top, kept: kept, at: (*vector.Vector).StringAt, add: (*vector.Builder).AppendString, compare: strings.Compare}
}

// newDoubleTally counts fractional numbers by their bits, so that NaN is one value.
func newDoubleTally(t vector.Type, top, kept int, add func(b *vector.Builder, x float64)) State {
	return &tallyState[uint64]{
		typ: t, top: top, kept: kept, at: func(v *vector.Vector, i int) uint64 { return vector.DoubleWord(v.DoubleAt(i)) },
		add:     func(b *vector.Builder, w uint64) { add(b, math.Float64frombits(w)) },
		compare: func(a, b uint64) int { return vector.CompareDoubles(math.Float64frombits(a), math.Float64frombits(b)) },
	}
}

// tallyState counts how often each group has met each value. With kept above 0 it forgets the
// rarest when a group has more than twice as many, and takes from the others the count of the first
// that it forgot: the summary of Misra and Gries, which merges by addition (Agarwal et al.,
// Mergeable summaries, 2012). A count is then too low by the number of the group's rows divided by
// kept at most.
type tallyState[K comparable] struct {
	typ       vector.Type
	top, kept int
	at        func(v *vector.Vector, i int) K
	add       func(b *vector.Builder, key K)
	compare   func(a, b K) int
	counts    []map[K]int64
	heap      int64
}

// tallied is a value and its count.
type tallied[K comparable] struct {
	key K
	n   int64
}

func (s *tallyState[K]) Grow(n int) { s.counts = grown(s.counts, n) }

func (s *tallyState[K]) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	for i := range n {
		if !v.IsNull(i) {
			s.count(group(groups, i), s.at(v, i), 1)
		}
	}
	return nil
}

func (s *tallyState[K]) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	values, counts := parts[0], parts[1]
	for i := range n {
		if values.IsNull(i) {
			continue
		}
		of, _ := counts.ListAt(i)
		for lo, hi := values.ListAt(i); lo < hi; lo, of = lo+1, of+1 {
			s.count(group(groups, i), s.at(values.Child, lo), counts.Child.LongAt(of))
		}
	}
	return nil
}

func (s *tallyState[K]) count(g uint32, key K, n int64) {
	m := s.counts[g]
	if m == nil {
		m = map[K]int64{}
		s.counts[g] = m
	}
	if _, ok := m[key]; !ok {
		key = owned(key)
		s.heap += entryBytes(key)
	}
	m[key] += n
	if s.kept > 0 && len(m) > 2*s.kept {
		s.forget(m)
	}
}

// forget leaves the kept most frequent values of m, at most.
func (s *tallyState[K]) forget(m map[K]int64) {
	counts := make([]int64, 0, len(m))
	for _, n := range m {
		counts = append(counts, n)
	}
	selectNth(counts, s.kept, func(a, b int64) int { return cmp.Compare(b, a) })
	least := counts[s.kept]
	for key, n := range m {
		if n > least {
			m[key] = n - least
			continue
		}
		s.heap -= entryBytes(key)
		delete(m, key)
	}
}

// sorted returns the values of group g, the most frequent first, of the same frequency the least
// first.
func (s *tallyState[K]) sorted(g int) []tallied[K] {
	out := make([]tallied[K], 0, len(s.counts[g]))
	for key, n := range s.counts[g] {
		out = append(out, tallied[K]{key, n})
	}
	slices.SortFunc(out, func(a, b tallied[K]) int {
		if a.n != b.n {
			return cmp.Compare(b.n, a.n)
		}
		return s.compare(a.key, b.key)
	})
	return out
}

func (s *tallyState[K]) Partial(lo, hi int) []*vector.Vector {
	values, counts := vector.NewBuilder(vector.ListOf(s.typ), hi-lo), vector.NewBuilder(vector.ListOf(vector.Long), hi-lo)
	for g := lo; g < hi; g++ {
		if s.counts[g] == nil {
			values.AppendNull()
			counts.AppendNull()
			continue
		}
		for _, e := range s.sorted(g) {
			s.add(values.Child(), e.key)
			counts.Child().AppendLong(e.n)
		}
		values.AppendList()
		counts.AppendList()
	}
	return []*vector.Vector{values.Build(), counts.Build()}
}

func (s *tallyState[K]) Final(lo, hi int) (*vector.Vector, error) {
	typ := s.typ
	if s.top > 0 {
		typ = vector.ListOf(typ)
	}
	out := vector.NewBuilder(typ, hi-lo)
	for g := lo; g < hi; g++ {
		all := s.sorted(g)
		switch {
		case len(all) == 0:
			out.AppendNull()
		case s.top == 0:
			s.add(out, all[0].key)
		default:
			for _, e := range all[:min(s.top, len(all))] {
				s.add(out.Child(), e.key)
			}
			out.AppendList()
		}
	}
	return out.Build(), nil
}

func (s *tallyState[K]) Bytes() int64 { return 8*int64(cap(s.counts)) + s.heap }

// owned returns key with memory of its own.
func owned[K comparable](key K) K {
	if text, ok := any(key).(string); ok {
		return any(strings.Clone(text)).(K)
	}
	return key
}

// entryBytes is about what an entry of a map takes.
func entryBytes[K comparable](key K) int64 {
	const word = 48
	if text, ok := any(key).(string); ok {
		return word + int64(len(text))
	}
	return word
}
