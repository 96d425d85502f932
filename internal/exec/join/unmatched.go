package join

import (
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// rowMarks is a set of rows that many goroutines add to.
type rowMarks []atomic.Uint64

func newRowMarks(rows int64) rowMarks { return make(rowMarks, rows/64+1) }
func rowMarksBytes(rows int64) int64  { return rows/8 + 8 }
func (m rowMarks) get(row int) bool   { return m[row/64].Load()&(1<<(row%64)) != 0 }

func (m rowMarks) set(row int) {
	w, bit := &m[row/64], uint64(1)<<(row%64)
	if w.Load()&bit == 0 { // most rows with a partner have several: looking is cheaper than writing
		w.Or(bit)
	}
}

// Unmatched is the state that the workers of a RIGHT or FULL join share: the right rows without a
// partner are known when all workers have ended.
type Unmatched struct {
	marks   rowMarks
	working atomic.Int64 // workers that have not come to the end of their left rows
	given   atomic.Bool  // one of them, the last, gives the rows without a partner: a worker that begins later finds nothing to do
}

// Outer returns the shared state of the workers of a RIGHT or FULL join with b. Mark must have been
// called.
func (b *Build) Outer() *Unmatched { return &Unmatched{marks: b.marks} }

// Expect registers a worker before it starts.
func (u *Unmatched) Expect() { u.working.Add(1) }

// left is called by a worker at the end of its left rows, once, and reports whether it gives the
// right rows that were left over.
func (u *Unmatched) left() bool { return u.working.Add(-1) == 0 && !u.given.Swap(true) }

// missing returns rows from from up to, not including, to that are not marked, at most n, less
// base, and where to go on.
func (m rowMarks) missing(from, to, base, n int) (rows []uint32, next int) {
	for ; from < to && len(rows) < n; from++ {
		if !m.get(from) {
			rows = append(rows, uint32(from-base))
		}
	}
	return rows, from
}

// rightOnly gives rows of the right side, padded with nulls on the left.
func (p *prober) rightOnly(rows []uint32) *vector.Batch {
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, 0, len(p.leftTypes)+len(p.rightTypes))}
	for i, t := range p.leftTypes {
		out.Cols = append(out.Cols, p.unused(i, t, len(rows)))
	}
	for i, c := range p.table.rows.Cols {
		out.Cols = append(out.Cols, p.gather(len(p.leftTypes)+i, c, p.rightTypes[i], rows))
	}
	return out
}
