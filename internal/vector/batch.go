package vector

// Batch is a run of rows: one vector of N rows per column, and optionally a selection of rows.
type Batch struct {
	N    int
	Cols []*Vector
	// Sel contains the numbers of the selected rows in ascending order; nil: all N rows. Operators
	// leave it nil if no row was filtered.
	Sel []uint32
}

// Rows returns the number of selected rows.
func (b *Batch) Rows() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Compact returns a batch without a selection that contains only the selected rows.
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

// Cut splits the selected rows into the first n and the rest, without copying values.
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

// Slice returns selected rows lo to hi (exclusive).
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
