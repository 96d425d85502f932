package window

import (
	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longFold folds rows of a partition on disk into groups, many at once.
type longFold struct {
	p     *longPartition
	call  *plan.WindowCall
	first *earlierRows
	args  *vector.BatchBuilder // of the rows that wait
	into  []uint32             // their groups
}

func newLongFold(p *longPartition, c *plan.WindowCall, first *earlierRows) (*longFold, error) {
	b, err := p.rows.Page(0)
	if err != nil {
		return nil, err
	}
	types := make([]vector.Type, len(c.Args))
	for i, a := range c.Args {
		types[i] = b.Cols[a].Type
	}
	return &longFold{p: p, call: c, first: first, args: vector.NewBatchBuilder(types, 0)}, nil
}

// rows folds a run of rows into a group: those that FILTER lets through and, for DISTINCT, that are
// the first of their value in the frame.
func (f *longFold) rows(s agg.State, run span, group int, in *frame) error {
	for run.lo < run.hi {
		b, at, err := f.p.rows.At(run.lo)
		if err != nil {
			return err
		}
		n := min(run.hi-run.lo, b.N-at)
		args := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(f.call.Args))}
		for i, a := range f.call.Args {
			args.Cols[i] = b.Cols[a]
		}
		if f.first == nil && f.call.Filter < 0 {
			f.args.Append(args.Slice(at, at+n))
			f.take(n, group)
		} else {
			rows, err := f.counting(b, at, n, run.lo, in)
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				f.args.Append(&vector.Batch{N: b.N, Cols: args.Cols, Sel: rows})
			}
			f.take(len(rows), group)
		}
		run.lo += n
		if len(f.into) >= flushRows {
			if err := f.flush(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *longFold) take(n, group int) {
	for range n {
		f.into = append(f.into, uint32(group))
	}
}

// counting returns which of n rows of b from row at on, which is row number of the partition,
// count.
func (f *longFold) counting(b *vector.Batch, at, n, number int, in *frame) ([]uint32, error) {
	rows := make([]uint32, 0, n)
	for i := range n {
		if !countsIn(b, f.call.Filter, at+i) {
			continue
		}
		if f.first != nil {
			if first, err := f.first.in(in, number+i); err != nil || !first {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		rows = append(rows, uint32(at+i))
	}
	return rows, nil
}

// countsIn reports whether FILTER, a column or -1, lets row i through.
func countsIn(b *vector.Batch, filter, i int) bool {
	return filter < 0 || !b.Cols[filter].IsNull(i) && b.Cols[filter].LongAt(i) > 0
}

func (f *longFold) flush(s agg.State) error {
	if len(f.into) == 0 {
		return nil
	}
	err := s.Update(f.args.Build().Cols, f.into, len(f.into))
	f.into = f.into[:0]
	return err
}
