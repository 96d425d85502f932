package exec

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/hengedb/henge/internal/plan"
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

// unmatchedOp gives what the workers of a RIGHT or FULL join give, and after them the right rows that none of them has found a partner for.
type unmatchedOp struct {
	input Operator // closes the table
	node  *plan.Join
	table *joinTable
	marks rowMarks
	rows  int // of a batch
	ended bool
	next  int
}

func (o *unmatchedOp) Next(ctx context.Context) (*vector.Batch, error) {
	if !o.ended {
		b, err := o.input.Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		o.ended = true
	}
	if err := stop(ctx); err != nil {
		return nil, err
	}
	var rows []uint32
	for ; o.next < o.table.rows.N && len(rows) < o.rows; o.next++ {
		if !o.marks.get(o.next) {
			rows = append(rows, uint32(o.next))
		}
	}
	if len(rows) == 0 {
		return nil, io.EOF
	}
	return rightOnly(o.node, o.table.rows, rows), nil
}

func (o *unmatchedOp) Close() { o.input.Close() }

// rightOnly gives rows of the right side, padded with nulls on the left.
func rightOnly(n *plan.Join, right *vector.Batch, rows []uint32) *vector.Batch {
	out := &vector.Batch{N: len(rows)}
	for _, c := range n.Left.Columns() {
		out.Cols = append(out.Cols, vector.Nulls(c.Type.Runtime(), len(rows)))
	}
	for _, c := range right.Cols {
		out.Cols = append(out.Cols, c.Gather(rows))
	}
	return out
}
