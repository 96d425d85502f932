package exec

import "github.com/hengedb/henge/internal/vector"

// joinFinder finds which rows of a table rows of the left side may be joined with. It is for one
// goroutine.
type joinFinder struct {
	table *joinTable
	words *keyTable // a reader of the table's; nil: it has none
	// By left row: of a table whose keys are unique, to is the partner + 1, 0: there is none. Else the
	// partners are at places from up to, not including, to of the table's order.
	from, to []uint32
	slots    []uint64 // of one call
}

func newJoinFinder(t *joinTable) joinFinder {
	f := joinFinder{table: t}
	if t.words != nil {
		f.words = t.words.reader()
	}
	return f
}

// find looks the keys of n rows up.
func (f *joinFinder) find(cols []*vector.Vector, n int) {
	t := f.table
	f.from, f.to = sized(f.from, n), sized(f.to, n)
	if f.words == nil {
		t.longNumbers(cols[0], f.to)
	} else {
		w := f.words
		w.rows = sized(w.rows, n*w.stride)
		w.fillWords(cols, n, w.rows, w.stride)
		if t.hash != nil {
			w.hashRows(w.rows, w.stride, n)
			f.slots = sized(f.slots, n)
			t.hash.find(w.rows, w.hashes, f.slots, f.from, f.to)
		} else {
			t.textNumbers(w.rows, f.to)
		}
	}
	if without := withoutKey(cols, t.equi, n); without != nil {
		f.none(func(i int) bool { return without[i] })
	}
	if f.words != nil && !f.words.masked && f.words.numbers > 0 && f.words.nullNumbers(cols, n) { // the table has no such nulls
		for c, k := range cols {
			if f.words.cols[c].isNumber() && k.HasNulls() {
				f.none(k.IsNull)
			}
		}
	}
	switch {
	case t.hash != nil:
	case t.unique:
		only := t.only
		for i, id := range f.to {
			f.to[i] = only[id]
		}
	default:
		starts := t.starts
		for i, id := range f.to {
			f.from[i], f.to[i] = starts[id], starts[id+1]
		}
	}
}

// none takes the partners from rows.
func (f *joinFinder) none(of func(i int) bool) {
	for i := range f.to {
		if of(i) {
			f.from[i], f.to[i] = 0, 0
		}
	}
}

// candidates returns the places of the rows that row i may be joined with; see joinTable.rowsAt.
func (f *joinFinder) candidates(i int) (lo, hi uint32) {
	if f.table.unique {
		return max(f.to[i], 1) - 1, f.to[i]
	}
	return f.from[i], f.to[i]
}

// rowsAt sets out to the rows at the places from first on.
func (t *joinTable) rowsAt(first uint32, out []uint32) {
	if t.order != nil {
		copy(out, t.order[first:])
		return
	}
	for i := range out {
		out[i] = first + uint32(i)
	}
}

// longNumbers sets out to key number + 1 of each value of a Long column, 0 where there is none or
// the value is null. Numbers are distances.
func (t *joinTable) longNumbers(v *vector.Vector, out []uint32) {
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

// textNumbers sets out to key number + 1 of each word of a text, 0 where there is none.
func (t *joinTable) textNumbers(words []uint64, out []uint32) {
	for i, w := range words[:len(out)] {
		out[i] = 0
		if w < t.span {
			out[i] = uint32(w + 1)
		}
	}
}
