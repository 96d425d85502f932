package agg

import "github.com/hengedb/henge/internal/vector"

var (
	maxBy = byValue("MAX_BY", "ARG_MAX", "greatest", true)
	minBy = byValue("MIN_BY", "ARG_MIN", "least", false)
)

func byValue(name, alias, which string, greatest bool) *Function {
	return &Function{
		Name: name, Aliases: []string{alias},
		Doc: "Returns the first argument of the row with the " + which + " key. If several rows have that key, returns the " +
			"least value, NULL first.",
		Signature: "'" + name + "(<expr>, <COMPARABLE_TYPE>)'", MinArgs: 2, MaxArgs: 2, TakesNulls: true, Duplicates: true,
		check: func(s Spec) error {
			if s.Args[1].Kind == vector.KindComplex {
				return badType(s, 1)
			}
			return nil
		},
		result:  argType,
		partial: func(s Spec) []vector.Type { return []vector.Type{s.Args[1], s.Args[0]} },
		create: func(s Spec) State {
			return &byValueState{greatest: greatest, by: newCells(s.Args[1]), values: newCells(s.Args[0])}
		},
	}
}

// byValueState keeps the value of the row that has the greatest or least of another; rows without
// that are ignored. What decides between rows that are equal there is the value, so that the result
// does not depend on the order of the rows. The intermediate form is what decides, null for a group
// without rows, and the value.
type byValueState struct {
	greatest   bool
	by, values *cells
	pending    pending
}

func (s *byValueState) Grow(n int) {
	s.by.grow(n)
	s.values.grow(n)
	s.pending.grow(n)
}

func (s *byValueState) Update(args []*vector.Vector, groups []uint32, n int) error {
	s.fold(args[1], args[0], groups, n)
	return nil
}

func (s *byValueState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	s.fold(parts[0], parts[1], groups, n)
	return nil
}

func (s *byValueState) fold(by, values *vector.Vector, groups []uint32, n int) {
	for i := range n {
		if by.IsNull(i) {
			continue
		}
		g := group(groups, i)
		if row, ok := s.pending.row(g); ok {
			if s.wins(vector.Compare(by, i, by, int(row)), func() int { return vector.Compare(values, i, values, int(row)) }) {
				s.pending.put(g, i)
			}
		} else if !s.by.set[g] || s.wins(s.by.compare(by, i, g), func() int { return s.values.compare(values, i, g) }) {
			s.pending.put(g, i)
		}
	}
	s.pending.flush(func(g uint32, row int) {
		s.by.put(g, by, row)
		s.values.put(g, values, row)
	})
}

// wins reports whether a row takes the place of another, given how the two compare, and how their
// values do.
func (s *byValueState) wins(c int, values func() int) bool {
	if c == 0 {
		return values() < 0
	}
	return (c > 0) == s.greatest
}

func (s *byValueState) Partial(lo, hi int) []*vector.Vector {
	return []*vector.Vector{s.by.build(lo, hi), s.values.build(lo, hi)}
}

func (s *byValueState) Final(lo, hi int) (*vector.Vector, error) { return s.values.build(lo, hi), nil }

func (s *byValueState) Bytes() int64 { return s.by.bytes() + s.values.bytes() + s.pending.bytes() }
