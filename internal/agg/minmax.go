package agg

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

var minimum = &Function{
	Name: "MIN", Doc: "Returns the least value. Strings are compared by their bytes.",
	Signature: "'MIN(<COMPARABLE_TYPE>)'", MinArgs: 1, MaxArgs: 1, Duplicates: true, Compares: true,
	OfValues: "ARRAY_MIN", MergedBy: "MIN", Extreme: -1, OfBlock: Least, Native: NativeForm{NativeTyped, "Min"},
	check: ordered, result: argType, partial: argTypes,
	create: func(s Spec) State { return newExtreme(s.Args[0], false) },
}

var maximum = &Function{
	Name: "MAX", Doc: "Returns the greatest value. NaN is greater than all numbers.",
	Signature: "'MAX(<COMPARABLE_TYPE>)'", MinArgs: 1, MaxArgs: 1, Duplicates: true, Compares: true,
	OfValues: "ARRAY_MAX", MergedBy: "MAX", Extreme: 1, OfBlock: Greatest, Native: NativeForm{NativeTyped, "Max"},
	check: ordered, result: argType, partial: argTypes,
	create: func(s Spec) State { return newExtreme(s.Args[0], true) },
}

func newExtreme(t vector.Type, greatest bool) State {
	switch t.Kind {
	case vector.KindLong:
		return &extremeState[int64]{greatest: greatest, none: pick(greatest, int64(math.MinInt64), math.MaxInt64)}
	case vector.KindDouble:
		return &extremeState[float64]{greatest: greatest, none: pick(greatest, math.Inf(-1), math.NaN())}
	case vector.KindFloat:
		return &extremeState[float32]{greatest: greatest, none: float32(pick(greatest, math.Inf(-1), math.NaN()))}
	}
	return &extremeCells{cells: newCells(t), greatest: greatest}
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// extremeState is MIN or MAX of numbers. The intermediate value is the result.
type extremeState[T number] struct {
	greatest bool
	none     T // what no value loses against: the extreme of a group without values
	best     []T
	seen     seenGroups
}

func (s *extremeState[T]) Grow(n int) {
	before := len(s.best)
	s.best = grown(s.best, n)
	for g := before; g < n; g++ {
		s.best[g] = s.none
	}
	s.seen.grow(n)
}

func (s *extremeState[T]) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	if v.Const && groups == nil && n > 1 {
		n = 1 // all rows are the same
		v = v.Slice(0, 1)
	}
	v = v.Flat()
	s.seen.mark(v, groups, n)
	xs := numbers[T](v)[:n]
	switch {
	case v.Valid == nil && groups == nil && s.greatest:
		s.best[0] = greatestOf(s.best[0], xs)
	case v.Valid == nil && groups == nil:
		s.best[0] = leastOf(s.best[0], xs)
	case v.Valid != nil:
		for i, x := range xs {
			if g := group(groups, i); v.Valid.Get(i) && s.beats(x, s.best[g]) {
				s.best[g] = x
			}
		}
	case s.greatest:
		raise(s.best, xs, groups)
	default:
		lower(s.best, xs, groups)
	}
	return nil
}

// greatestOf returns the greatest of best and xs; see raise.
func greatestOf[T number](best T, xs []T) T {
	for _, x := range xs {
		if !(x < best) && above(x, best) {
			best = x
		}
	}
	return best
}

// leastOf is greatestOf for the least.
func leastOf[T number](best T, xs []T) T {
	for _, x := range xs {
		if !(x > best) && above(best, x) {
			best = x
		}
	}
	return best
}

// raise gives each group the greatest of its value and those of its rows. Most rows are below what
// their group has, which one comparison shows.
func raise[T number](best, xs []T, groups []uint32) {
	groups = groups[:len(xs)]
	for i, x := range xs {
		if b := &best[groups[i]]; !(x < *b) && above(x, *b) {
			*b = x
		}
	}
}

// lower is raise for the least value.
func lower[T number](best, xs []T, groups []uint32) {
	groups = groups[:len(xs)]
	for i, x := range xs {
		if b := &best[groups[i]]; !(x > *b) && above(*b, x) {
			*b = x
		}
	}
}

func (s *extremeState[T]) beats(x, b T) bool {
	if s.greatest {
		return above(x, b)
	}
	return above(b, x)
}

// above reports whether x orders after b: NaN is above all numbers, and 0.0 above -0.0.
func above[T number](x, b T) bool {
	return x > b || x != x && b == b || x == b && x == 0 && negative(b) && !negative(x)
}

// negative reports the sign of a zero: -0.0 orders below 0.0.
func negative[T number](x T) bool { return math.Signbit(float64(x)) }

func (s *extremeState[T]) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

func (s *extremeState[T]) Partial(lo, hi int) []*vector.Vector {
	v := fromNumbers(copied(s.best, lo, hi))
	v.Valid = s.seen.validOf(lo, hi)
	return []*vector.Vector{v}
}

func (s *extremeState[T]) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func (s *extremeState[T]) Clear() {
	s.best = emptied(s.best)
	s.seen.clear()
}

func (s *extremeState[T]) Bytes() int64 { return 8*int64(cap(s.best)) + s.seen.bytes() }

// extremeCells is MIN or MAX of strings and lists. Within a batch it remembers row numbers and
// copies a value only at the end.
type extremeCells struct {
	cells    *cells
	greatest bool
	pending  pending
	// dict is the sorted dictionary met last, the epoch-th one, and losers has by group a code of it,
	// below the epoch: the text of that code and all beyond it do not beat what the group has. So most
	// rows are decided without a look at text.
	dict   *vector.Dict
	epoch  uint64
	losers []uint64
}

func (s *extremeCells) Grow(n int) {
	s.cells.grow(n)
	s.pending.grow(n)
	if s.losers != nil {
		s.losers = grown(s.losers, n)
	}
}

func (s *extremeCells) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	if v.Dict != nil && v.Dict.Sorted && !v.Const {
		s.updateCodes(v, groups, n)
	} else {
		s.updateRows(v, groups, n)
	}
	s.pending.flush(func(g uint32, row int) { s.cells.put(g, v, row) })
	return nil
}

func (s *extremeCells) updateRows(v *vector.Vector, groups []uint32, n int) {
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g := group(groups, i)
		var c int
		if row, ok := s.pending.row(g); ok {
			c = vector.Compare(v, i, v, int(row))
		} else if s.cells.set[g] {
			c = s.cells.compare(v, i, g)
		} else {
			c = 2
		}
		if c == 2 || (c > 0) == s.greatest && c != 0 {
			s.pending.put(g, i)
		}
	}
}

// updateCodes is updateRows for codes that order as their texts do.
func (s *extremeCells) updateCodes(v *vector.Vector, groups []uint32, n int) {
	if s.dict != v.Dict {
		s.dict = v.Dict
		s.epoch++
		s.losers = grown(s.losers, len(s.cells.set))
	}
	flip := uint32(0)
	if s.greatest {
		flip = ^flip // the complement turns the order round
	}
	for i, code := range v.Codes[:n] {
		g, code := group(groups, i), code^flip
		if l := s.losers[g]; l>>32 == s.epoch && code >= uint32(l) || !v.Valid.Get(i) {
			continue
		}
		s.losers[g] = s.epoch<<32 | uint64(code)
		if _, wins := s.pending.row(g); !wins && s.cells.set[g] {
			if c := s.cells.compare(v, i, g); c == 0 || (c > 0) != s.greatest {
				continue
			}
		}
		s.pending.put(g, i)
	}
}

func (s *extremeCells) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

func (s *extremeCells) Partial(lo, hi int) []*vector.Vector {
	return []*vector.Vector{s.cells.build(lo, hi)}
}

func (s *extremeCells) Final(lo, hi int) (*vector.Vector, error) { return s.cells.build(lo, hi), nil }

func (s *extremeCells) Bytes() int64 {
	return s.cells.bytes() + s.pending.bytes() + 8*int64(cap(s.losers))
}
