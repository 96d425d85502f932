package window

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longPartition is a partition that does not fit in memory, or the rest of one. Its rows are on
// disk, and each call goes over them once or more: a page gives as many rows of its result. Beside
// the pages little is held.
type longPartition struct {
	res   operator.Resources
	order []plan.SortKey
	rows  *spill.Pages
	// peers has, by group of rows that are equal in the order, its first row.
	peers  *spill.Pages
	last   *vector.Batch // the row added last, as one row
	starts []int64       // for peers
	// continues says that rows of the partition came before these.
	continues bool

	calls []longFunction
	next  int // page
	out   operator.Operator
}

// longFunction computes a column over a longPartition.
type longFunction interface {
	// compute returns the values of rows lo up to, not including, hi, which are those of a page b.
	// Pages come in order.
	compute(ctx context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error)
	close()
}

// newLongPartition starts a partition with the rows of b, of which there is at least one.
func newLongPartition(b *vector.Batch, types []vector.Type, order []plan.SortKey, memory int64,
	res operator.Resources) (*longPartition, error) {
	p := &longPartition{res: res, order: order}
	var err error
	if p.rows, err = spill.NewPages(types, spill.PageRows(b.Bytes()/int64(b.N), memory, vector.BatchRows), res); err != nil {
		return nil, err
	}
	if p.peers, err = spill.NewPages([]vector.Type{vector.Long}, spill.PageRows(8, memory, vector.BatchRows), res); err != nil {
		p.Close()
		return nil, err
	}
	if err := p.add(b); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// add appends rows.
func (p *longPartition) add(b *vector.Batch) error {
	p.starts = p.starts[:0]
	for i := range b.N {
		before, at := b, i-1
		if i == 0 {
			before, at = p.last, 0
		}
		if before == nil || !p.same(before, at, b, i) {
			p.starts = append(p.starts, int64(p.rows.Len()+i))
		}
	}
	p.last = (&vector.Batch{N: b.N, Cols: b.Cols, Sel: []uint32{uint32(b.N - 1)}}).Compact()
	if len(p.starts) > 0 {
		if err := p.peers.Add(&vector.Batch{N: len(p.starts), Cols: []*vector.Vector{vector.FromLongs(p.starts)}}); err != nil {
			return err
		}
	}
	return p.rows.Add(b)
}

func (p *longPartition) same(a *vector.Batch, i int, b *vector.Batch, j int) bool {
	for _, k := range p.order {
		if !vector.Same(a.Cols[k.Column], i, b.Cols[k.Column], j) {
			return false
		}
	}
	return true
}

// finish ends adding and prepares the calls. before are functions that had the rows of the
// partition that came earlier, nil: none did.
func (p *longPartition) finish(ctx context.Context, calls []plan.WindowCall, before []function) error {
	if err := p.rows.Finish(); err != nil {
		return err
	}
	if err := p.peers.Finish(); err != nil {
		return err
	}
	for i := range calls {
		var earlier function
		if before != nil {
			earlier = before[i]
		}
		f, err := newLongFunction(ctx, p, &calls[i], earlier)
		if err != nil {
			return err
		}
		p.calls = append(p.calls, f)
	}
	return nil
}

// Next returns the next rows with the values of all calls.
func (p *longPartition) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if p.out != nil {
			b, err := p.out.Next(ctx)
			if !errors.Is(err, io.EOF) {
				return b, err
			}
		}
		if p.next == p.rows.Count() {
			return nil, io.EOF
		}
		b, err := p.compute(ctx)
		if err != nil {
			return nil, err
		}
		p.out = operator.Batches(b, p.res.BatchRows)
	}
}

// compute returns the rows of the next page with the values of all calls.
func (p *longPartition) compute(ctx context.Context) (*vector.Batch, error) {
	b, err := p.rows.Page(p.next)
	if err != nil {
		return nil, err
	}
	lo := p.next * p.rows.PerPage()
	p.next++
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector(nil), b.Cols...)}
	for _, f := range p.calls {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		v, err := f.compute(ctx, b, lo, lo+b.N)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	return out, nil
}

// Close removes what is on disk.
func (p *longPartition) Close() {
	for _, f := range p.calls {
		f.close()
	}
	p.rows.Close()
	p.peers.Close()
}

// n is how many rows there are.
func (p *longPartition) n() int { return p.rows.Len() }

// groups is how many groups of peers there are.
func (p *longPartition) groups() int { return p.peers.Len() }

// groupStart returns the first row of a group of peers, or the number of rows for the group after
// the last.
func (p *longPartition) groupStart(group int) (int, error) {
	if group >= p.groups() {
		return p.n(), nil
	}
	start, err := p.peers.Long(group)
	return int(start), err
}

// each calls f with each page of rows, and the number of its first row.
func (p *longPartition) each(ctx context.Context, f func(b *vector.Batch, lo int) error) error {
	for k := range p.rows.Count() {
		if err := scheduler.Yield(ctx); err != nil {
			return err
		}
		b, err := p.rows.Page(k)
		if err != nil {
			return err
		}
		if err := f(b, k*p.rows.PerPage()); err != nil {
			return err
		}
	}
	return nil
}

// longPeers is the group of peers of a row. It goes from row to row.
type longPeers struct {
	p      *longPartition
	group  int
	lo, hi int
}

func (p *longPartition) peersBefore() longPeers { return longPeers{p: p, group: -1} }

// move goes to row i, which is not before the present one.
func (c *longPeers) move(i int) error {
	for i >= c.hi {
		c.group++
		c.lo = c.hi
		var err error
		if c.hi, err = c.p.groupStart(c.group + 1); err != nil {
			return err
		}
	}
	return nil
}
