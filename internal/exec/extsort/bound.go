package extsort

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// bound is the last row that a sorter with a limit may still need: rows that lie behind it, or
// are equal to it, are not taken. Columns are compared one after the other, each over the rows that
// those before left open.
type bound struct {
	keys []plan.SortKey
	cols []*vector.Vector // by key: one row
	// Of the dictionary met last, by key: where the value of a text column lies in it.
	dicts []*vector.Dict
	codes []uint32
	found []bool
	// Scratch of one call.
	open, taken []uint32
}

// newBound returns the bound that row i of b is. It keeps nothing of b.
func newBound(keys []plan.SortKey, b *vector.Batch, i int) *bound {
	s := &bound{keys: keys, dicts: make([]*vector.Dict, len(keys)), codes: make([]uint32, len(keys)), found: make([]bool, len(keys))}
	for _, k := range keys {
		s.cols = append(s.cols, b.Cols[k.Column].Gather([]uint32{uint32(i)}).OwnStrings())
	}
	return s
}

// before returns the rows of b that lie before the bound, nil if there are none. The result is
// valid until the next call.
func (s *bound) before(b *vector.Batch) *vector.Batch {
	s.taken = s.taken[:0]
	if b.Sel != nil {
		s.open = append(s.open[:0], b.Sel...)
	} else {
		s.open = vector.Sized(s.open, b.N)
		for i := range s.open {
			s.open[i] = uint32(i)
		}
	}
	mixed := false
	for k, key := range s.keys {
		taken := len(s.taken)
		s.compare(k, b.Cols[key.Column])
		mixed = mixed || taken > 0 && len(s.taken) > taken
		if len(s.open) == 0 {
			break
		}
	}
	if len(s.taken) == 0 {
		return nil
	}
	if mixed {
		slices.Sort(s.taken)
	}
	return &vector.Batch{N: b.N, Cols: b.Cols, Sel: s.taken}
}

// compare moves the open rows whose key k lies before the bound's to the taken ones, and leaves
// open those with an equal key.
func (s *bound) compare(k int, v *vector.Vector) {
	one, key := s.cols[k], s.keys[k]
	plain := !v.Const && v.Valid == nil && !one.IsNull(0)
	switch {
	case plain && v.Type.Kind == vector.KindLong:
		last, flip := one.LongAt(0), int64(0)
		if key.Desc {
			flip, last = -1, ^last // the complement turns the order round
		}
		s.split(func(r uint32) int { return cmp.Compare(v.Longs[r]^flip, last) })
	case plain && v.Dict != nil && v.Dict.Sorted:
		at, found := s.find(k, v.Dict)
		s.split(func(r uint32) int {
			c := v.Codes[r]
			switch {
			case c == at && found:
				return 0
			case c < at != key.Desc:
				return -1
			}
			return 1
		})
	default:
		s.split(func(r uint32) int { return compareRows(v, int(r), one, key) })
	}
}

// find returns where the bound's value of key k lies in a sorted dictionary, and whether it is
// there.
func (s *bound) find(k int, d *vector.Dict) (code uint32, found bool) {
	if s.dicts[k] != d {
		s.dicts[k] = d
		s.codes[k], s.found[k] = d.Lookup(s.cols[k].StringAt(0))
	}
	return s.codes[k], s.found[k]
}

// split asks where each open row lies.
func (s *bound) split(compare func(r uint32) int) {
	open := s.open[:0]
	for _, r := range s.open {
		switch compare(r) {
		case -1:
			s.taken = append(s.taken, r)
		case 0:
			open = append(open, r)
		}
	}
	s.open = open
}

// compareRows orders row i of v against the only row of one.
func compareRows(v *vector.Vector, i int, one *vector.Vector, key plan.SortKey) int {
	if a, b := v.IsNull(i), one.IsNull(0); a || b {
		switch {
		case a && b:
			return 0
		case a == key.NullsFirst:
			return -1
		}
		return 1
	}
	c := vector.Compare(v, i, one, 0)
	if key.Desc {
		return -c
	}
	return c
}
