package vector

// Batch is a run of rows: one vector per column, all of N rows, and optionally a selection of those
// that count.
type Batch struct {
	N    int
	Cols []*Vector
	// Sel names the rows that count, ascending; nil: all N of them. None is attached when nothing was
	// filtered.
	Sel []uint32
}

// Rows returns how many rows count.
func (b *Batch) Rows() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Compact returns a batch without selection that holds just the rows that count.
func (b *Batch) Compact() *Batch {
	if b.Sel == nil {
		return b
	}
	out := &Batch{N: len(b.Sel), Cols: make([]*Vector, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Gather(b.Sel)
	}
	return out
}

// Cut returns the first n of the rows that count, and the others. It copies no values.
func (b *Batch) Cut(n int) (first, rest *Batch) {
	rows := b.Sel
	if rows == nil {
		rows = make([]uint32, b.N)
		for i := range rows {
			rows[i] = uint32(i)
		}
	}
	return &Batch{N: b.N, Cols: b.Cols, Sel: rows[:n]}, &Batch{N: b.N, Cols: b.Cols, Sel: rows[n:]}
}

// Slice returns the rows lo up to, not including, hi of those that count.
func (b *Batch) Slice(lo, hi int) *Batch {
	if b.Sel != nil {
		return &Batch{N: b.N, Cols: b.Cols, Sel: b.Sel[lo:hi]}
	}
	out := &Batch{N: hi - lo, Cols: make([]*Vector, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Slice(lo, hi)
	}
	return out
}
