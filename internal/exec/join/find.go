package join

import (
	"github.com/hengedb/henge/internal/vector"

	"github.com/hengedb/henge/internal/exec/keys"
)

// finder finds which rows of a table rows of the left side may be joined with. It is for one
// goroutine.
type finder struct {
	table *table
	words *keys.Table // a reader of the table's; nil: it has none
	// By left row: of a table whose keys are unique, to is the partner + 1, 0: there is none. Else the
	// partners are at positions from up to, not including, to of the table's order.
	from, to []uint32
	slots    []uint64 // of one call
}

func newFinder(t *table) finder {
	f := finder{table: t}
	if t.words != nil {
		f.words = t.words.Reader()
	}
	return f
}

// find looks the keys of n rows up.
func (f *finder) find(cols []*vector.Vector, n int) {
	t := f.table
	f.from, f.to = vector.Sized(f.from, n), vector.Sized(f.to, n)
	if f.words == nil {
		t.longNumbers(cols[0], f.to)
	} else {
		w := f.words
		w.Rows = vector.Sized(w.Rows, n*w.Stride)
		w.FillWords(cols, n, w.Rows, w.Stride)
		if t.hash != nil {
			w.HashRows(w.Rows, w.Stride, n)
			f.slots = vector.Sized(f.slots, n)
			t.hash.find(w.Rows, w.Hashes, f.slots, f.from, f.to)
		} else {
			t.textNumbers(w.Rows, f.to)
		}
	}
	if without := withoutKey(cols, t.equi, n); without != nil {
		f.none(func(i int) bool { return without[i] })
	}
	if f.words != nil && !f.words.Masked && f.words.Numbers > 0 && f.words.NullNumbers(cols, n) { // the table has no such nulls
		for c, k := range cols {
			if f.words.Cols[c].IsNumber() && k.HasNulls() {
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
func (f *finder) none(of func(i int) bool) {
	for i := range f.to {
		if of(i) {
			f.from[i], f.to[i] = 0, 0
		}
	}
}

// candidates returns the positions of the rows that row i may be joined with; see table.rowsAt.
func (f *finder) candidates(i int) (lo, hi uint32) {
	if f.table.unique {
		return max(f.to[i], 1) - 1, f.to[i]
	}
	return f.from[i], f.to[i]
}

// rowsAt sets out to the rows at the positions from first on.
func (t *table) rowsAt(first uint32, out []uint32) {
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
func (t *table) longNumbers(v *vector.Vector, out []uint32) {
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
func (t *table) textNumbers(words []uint64, out []uint32) {
	for i, w := range words[:len(out)] {
		out[i] = 0
		if w < t.span {
			out[i] = uint32(w + 1)
		}
	}
}
