package exec

import (
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// fewNumbers is how far apart the keys of a small table may lie to be numbered by distance: dates written as 20240131 do.
const fewNumbers = 1 << 18

// joinTable is the build side of a join: its rows and, by key, which rows have it. It is read by any number of goroutines.
//
// Without keys every row is a candidate for every other. Rows with a null in a key that is not null-safe (or NaN, which equals nothing)
// are kept and have no key: they have no partner.
//
// Keys have numbers from 0 on. Those of one Long key whose values lie close together are the distances from the least; others are found in
// a hash table.
type joinTable struct {
	rows  *vector.Batch
	free  int64
	equi  []plan.EquiKey // empty: no keys
	keys  *keyTable      // nil: numbers are distances
	least int64          // of the values when numbers are distances,
	span  uint64         // how many numbers there are then

	// unique says that no key has two rows; only is then by key number + 1 the row + 1, 0: there is none.
	unique bool
	only   []uint32
	// Else there are:
	starts []uint32 // by key: where its rows start in order
	order  []uint32 // rows by key
	// nullKey says that some row has a null in a key (what NOT IN wants to know).
	nullKey bool
}

// newJoinTable takes over rows. Free is the memory that there is.
func newJoinTable(rows *vector.Batch, equi []plan.EquiKey, free int64) *joinTable {
	t := &joinTable{rows: rows, equi: equi, free: free}
	if t.keyed() {
		t.index()
	}
	return t
}

func (t *joinTable) keyed() bool { return len(t.equi) > 0 }

func (t *joinTable) index() {
	n := t.rows.N
	cols := make([]*vector.Vector, len(t.equi))
	for i, k := range t.equi {
		cols[i] = joinKey(t.rows.Cols[k.Right])
	}
	without := withoutKey(cols, t.equi, n)
	t.nullKey = without != nil
	of, numbers := t.number(cols, without)
	if t.unique = t.one(of, without, numbers); !t.unique {
		t.group(of, without, numbers)
	}
}

// one notes the row of each key, and reports whether none has two.
func (t *joinTable) one(of []uint32, without []bool, numbers int) bool {
	t.only = make([]uint32, numbers+1)
	for i, k := range of {
		if without != nil && without[i] {
			continue
		}
		if t.only[k+1] != 0 {
			t.only = nil
			return false
		}
		t.only[k+1] = uint32(i) + 1
	}
	return true
}

// group brings rows with the same key together, in their order, by a counting sort.
func (t *joinTable) group(of []uint32, without []bool, numbers int) {
	t.starts = make([]uint32, numbers+1)
	for i, k := range of {
		if without == nil || !without[i] {
			t.starts[k+1]++
		}
	}
	for k := range numbers {
		t.starts[k+1] += t.starts[k]
	}
	t.order = make([]uint32, t.starts[numbers])
	next := append([]uint32(nil), t.starts...)
	for i, k := range of {
		if without == nil || !without[i] {
			t.order[next[k]] = uint32(i)
			next[k]++
		}
	}
}

// number returns the number of each row's key, and how many numbers there are. Those of rows without a key mean nothing.
func (t *joinTable) number(cols []*vector.Vector, without []bool) (of []uint32, numbers int) {
	n := t.rows.N
	of = make([]uint32, n)
	if t.near(cols, without) {
		for i, x := range cols[0].Longs[:n] {
			if without == nil || !without[i] {
				of[i] = uint32(x - t.least)
			}
		}
		return of, int(t.span)
	}
	types := make([]vector.Type, len(cols))
	for i, c := range cols {
		types[i] = c.Type
	}
	t.keys = newKeyTable(types, nil)
	batch := make([]*vector.Vector, len(cols))
	for lo := 0; lo < n; lo += vector.BatchRows {
		hi := min(lo+vector.BatchRows, n)
		for i, c := range cols {
			batch[i] = c.Slice(lo, hi)
		}
		copy(of[lo:], t.keys.find(batch, hi-lo))
	}
	t.keys.settle()
	return of, t.keys.len()
}

// near finds out whether the numbers of keys can be distances.
func (t *joinTable) near(cols []*vector.Vector, without []bool) bool {
	if len(cols) != 1 || cols[0].Type.Kind != vector.KindLong || t.equi[0].NullSafe || cols[0].Len == 0 || cols[0].Const {
		return false
	}
	xs := cols[0].Longs
	var least, greatest int64
	first := true
	for i, x := range xs {
		if without != nil && without[i] {
			continue
		}
		if first {
			least, greatest, first = x, x, false
		}
		least, greatest = min(least, x), max(greatest, x)
	}
	span := uint64(greatest) - uint64(least)
	if first || span >= uint64(8*len(xs)+1024) && (span >= fewNumbers || t.free < 16*fewNumbers) {
		return false
	}
	t.least, t.span = least, span+1
	return true
}

// find sets out to key number + 1 of each value of a Long column, 0 where there is none or the value is null. Numbers are distances.
func (t *joinTable) find(v *vector.Vector, out []uint32) {
	if v.Const {
		v = v.Flat()
	}
	least, span := uint64(t.least), t.span
	if v.Valid == nil {
		for i, x := range v.Longs[:len(out)] {
			at := uint64(x) - least
			if at >= span {
				at = ^uint64(0)
			}
			out[i] = uint32(at + 1)
		}
		return
	}
	for i, x := range v.Longs[:len(out)] {
		out[i] = 0
		if at := uint64(x) - least; at < span && v.Valid.Get(i) {
			out[i] = uint32(at + 1)
		}
	}
}

// bytes returns the memory held beside the rows.
func (t *joinTable) bytes() int64 {
	n := 4 * int64(cap(t.starts)+cap(t.order)+cap(t.only))
	if t.keys != nil {
		n += t.keys.bytes()
	}
	return n
}

// joinRowBytes is about what indexing takes per row, before the table exists.
func joinRowBytes(keys int) int64 { return int64(8*(keys+1) + 16 + 12) }

// joinKey returns a key column in which values are one group exactly if they are equal: -0.0 becomes 0.0.
func joinKey(v *vector.Vector) *vector.Vector {
	switch v.Type.Kind {
	case vector.KindDouble:
		c := *v
		c.Doubles = make([]float64, len(v.Doubles))
		for i, x := range v.Doubles {
			c.Doubles[i] = x + 0
		}
		return &c
	case vector.KindFloat:
		c := *v
		c.Floats = make([]float32, len(v.Floats))
		for i, x := range v.Floats {
			c.Floats[i] = x + 0
		}
		return &c
	}
	return v
}

// withoutKey returns which of n rows have no key: a null where nulls are not equal, or NaN. It is nil if all have one.
func withoutKey(cols []*vector.Vector, equi []plan.EquiKey, n int) []bool {
	var out []bool
	mark := func(i int) {
		if out == nil {
			out = make([]bool, n)
		}
		out[i] = true
	}
	for c, v := range cols {
		if equi[c].NullSafe {
			continue
		}
		floating := v.Type.Kind == vector.KindDouble || v.Type.Kind == vector.KindFloat
		if v.Valid == nil && !floating {
			continue
		}
		for i := range n {
			if v.IsNull(i) {
				mark(i)
			} else if floating {
				if x := v.DoubleAt(i); x != x {
					mark(i)
				}
			}
		}
	}
	return out
}
