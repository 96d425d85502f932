package exec

import (
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// joinTable is the build side of a join: its rows and, by key, which rows have it. It is read by any number of goroutines.
//
// Without keys every row is a candidate for every other. Rows with a null in a key that is not null-safe (or NaN, which equals nothing)
// are kept and have no key: they have no partner.
type joinTable struct {
	rows   *vector.Batch
	keys   *keyTable // nil: no keys
	starts []uint32  // by key: where its rows start in order
	order  []uint32  // rows by key
	equi   []plan.EquiKey
	// direct is, for one Long key whose values lie close together, the key's number + 1 by value - least.
	direct []uint32
	least  int64
	// nullKey says that some row has a null in a key (what NOT IN wants to know).
	nullKey bool
}

// newJoinTable takes over rows.
func newJoinTable(rows *vector.Batch, equi []plan.EquiKey) *joinTable {
	t := &joinTable{rows: rows, equi: equi}
	if len(equi) > 0 {
		t.index()
	}
	for i, c := range rows.Cols {
		rows.Cols[i] = encodeText(c)
	}
	return t
}

func (t *joinTable) index() {
	n := t.rows.N
	cols := make([]*vector.Vector, len(t.equi))
	types := make([]vector.Type, len(t.equi))
	for i, k := range t.equi {
		cols[i] = joinKey(t.rows.Cols[k.Right])
		types[i] = cols[i].Type
	}
	t.keys = newKeyTable(types)
	without := withoutKey(cols, t.equi, n)
	t.nullKey = without != nil
	of := make([]uint32, n)
	batch := make([]*vector.Vector, len(cols))
	for lo := 0; lo < n; lo += vector.BatchRows {
		hi := min(lo+vector.BatchRows, n)
		for i, c := range cols {
			batch[i] = c.Slice(lo, hi)
		}
		copy(of[lo:], t.keys.find(batch, hi-lo))
	}
	t.keys.settle()
	t.address(cols, of, without)
	// A counting sort brings rows with the same key together, in their order.
	t.starts = make([]uint32, t.keys.len()+1)
	for i, k := range of {
		if without == nil || !without[i] {
			t.starts[k+1]++
		}
	}
	for k := range t.keys.len() {
		t.starts[k+1] += t.starts[k]
	}
	t.order = make([]uint32, t.starts[t.keys.len()])
	next := append([]uint32(nil), t.starts...)
	for i, k := range of {
		if without == nil || !without[i] {
			t.order[next[k]] = uint32(i)
			next[k]++
		}
	}
}

// address makes direct if the keys are of that kind.
func (t *joinTable) address(cols []*vector.Vector, of []uint32, without []bool) {
	if len(cols) != 1 || cols[0].Type.Kind != vector.KindLong || t.equi[0].NullSafe || cols[0].Len == 0 || cols[0].Const {
		return
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
	if first || span >= uint64(8*len(xs)+1024) {
		return
	}
	t.least, t.direct = least, make([]uint32, span+1)
	for i, x := range xs {
		if without == nil || !without[i] {
			t.direct[x-least] = of[i] + 1
		}
	}
}

// find sets out to key number + 1 of each value of a Long column, 0 where there is none or the value is null.
func (t *joinTable) find(v *vector.Vector, out []uint32) {
	if v.Const {
		v = v.Flat()
	}
	for i, x := range v.Longs[:len(out)] {
		out[i] = 0
		if at := uint64(x) - uint64(t.least); at < uint64(len(t.direct)) && v.Valid.Get(i) {
			out[i] = t.direct[at]
		}
	}
}

// bytes returns the memory held beside the rows.
func (t *joinTable) bytes() int64 {
	n := 4 * int64(cap(t.starts)+cap(t.order)+cap(t.direct))
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

// encodeText turns a string column with many repetitions into codes, so that what is done with the joined rows is done once per value.
func encodeText(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindString || v.Const || v.Dict != nil || v.Len == 0 {
		return v
	}
	texts := &interner{}
	codes := make([]uint32, v.Len)
	for i, s := range v.Strings {
		if !v.Valid.Get(i) {
			continue
		}
		codes[i] = texts.number(s)
		if texts.len() > 16 && texts.len()*2 > v.Len {
			return v
		}
	}
	if texts.len() == 0 {
		return v
	}
	out := vector.FromCodes(codes, texts.dict())
	out.Valid = v.Valid
	return out
}
