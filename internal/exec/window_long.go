package exec

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longPartition is a partition that does not fit in memory, or the rest of one. Its rows are on
// disk, and each call goes over them once or more: a page gives as many rows of its result. Beside
// the pages little is held.
type longPartition struct {
	env   *Env
	order []plan.SortKey
	rows  *pages
	// peers has, by group of rows that are equal in the order, its first row.
	peers  *pages
	last   *vector.Batch // the row added last, as one row
	starts []int64       // for peers
	// continues says that rows of the partition came before these.
	continues bool

	calls []longFunction
	next  int // page
	out   *batches
}

// longFunction computes a column over a longPartition.
type longFunction interface {
	// compute returns the values of rows lo up to, not including, hi, which are those of a page b.
	// Pages come in order.
	compute(ctx context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error)
	close()
}

// newLongPartition starts a partition with the rows of b, of which there is at least one.
func newLongPartition(b *vector.Batch, types []vector.Type, order []plan.SortKey, memory int64, env *Env) (*longPartition, error) {
	p := &longPartition{env: env, order: order}
	var err error
	if p.rows, err = newPages(types, pageRows(b.Bytes()/int64(b.N), memory, vector.BatchRows), env); err != nil {
		return nil, err
	}
	if p.peers, err = newPages([]vector.Type{vector.Long}, pageRows(8, memory, vector.BatchRows), env); err != nil {
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
			p.starts = append(p.starts, int64(p.rows.rows+i))
		}
	}
	p.last = (&vector.Batch{N: b.N, Cols: b.Cols, Sel: []uint32{uint32(b.N - 1)}}).Compact()
	if len(p.starts) > 0 {
		if err := p.peers.add(&vector.Batch{N: len(p.starts), Cols: []*vector.Vector{vector.FromLongs(p.starts)}}); err != nil {
			return err
		}
	}
	return p.rows.add(b)
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
func (p *longPartition) finish(ctx context.Context, calls []plan.WindowCall, before []windowFunction) error {
	if err := p.rows.finish(); err != nil {
		return err
	}
	if err := p.peers.finish(); err != nil {
		return err
	}
	for i := range calls {
		var earlier windowFunction
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
		if p.next == p.rows.count() {
			return nil, io.EOF
		}
		b, err := p.compute(ctx)
		if err != nil {
			return nil, err
		}
		p.out = newBatches(b, p.env.BatchRows)
	}
}

// compute returns the rows of the next page with the values of all calls.
func (p *longPartition) compute(ctx context.Context) (*vector.Batch, error) {
	b, err := p.rows.page(p.next)
	if err != nil {
		return nil, err
	}
	lo := p.next * p.rows.per
	p.next++
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector(nil), b.Cols...)}
	for _, f := range p.calls {
		if err := stop(ctx); err != nil {
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
	p.rows.close()
	p.peers.close()
}

// n is how many rows there are.
func (p *longPartition) n() int { return p.rows.rows }

// groups is how many groups of peers there are.
func (p *longPartition) groups() int { return p.peers.rows }

// groupStart returns the first row of a group of peers, or the number of rows for the group after
// the last.
func (p *longPartition) groupStart(group int) (int, error) {
	if group >= p.groups() {
		return p.n(), nil
	}
	start, err := p.peers.long(group)
	return int(start), err
}

// each calls f with each page of rows, and the number of its first row.
func (p *longPartition) each(ctx context.Context, f func(b *vector.Batch, lo int) error) error {
	for k := range p.rows.count() {
		if err := stop(ctx); err != nil {
			return err
		}
		b, err := p.rows.page(k)
		if err != nil {
			return err
		}
		if err := f(b, k*p.rows.per); err != nil {
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
