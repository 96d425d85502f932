package window

import (
	"context"

	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// newLongFunction returns the function of a call over a partition on disk. earlier is one that had
// the rows before, or nil.
func newLongFunction(ctx context.Context, p *longPartition, c *plan.WindowCall, earlier function) (longFunction, error) {
	rank, _ := earlier.(*streamedRank)
	if rank == nil {
		rank = &streamedRank{}
	}
	n := int64(p.n())
	ranked := func(value func(i int, peers *longPeers) int64) (longFunction, error) {
		return &longRank{peers: p.peersBefore(), value: value}, nil
	}
	share := func(value func(i int, peers *longPeers) float64) (longFunction, error) {
		return &longShare{peers: p.peersBefore(), value: value}, nil
	}
	switch c.Fn {
	case "":
		return newLongAggregate(ctx, p, c, earlier)
	case "ROW_NUMBER":
		return ranked(func(i int, _ *longPeers) int64 { return rank.rows + int64(i) + 1 })
	case "RANK":
		return ranked(func(_ int, peers *longPeers) int64 { return rank.rows + int64(peers.lo) + 1 })
	case "DENSE_RANK":
		return ranked(func(_ int, peers *longPeers) int64 { return rank.groups + int64(peers.group) + 1 })
	case "PERCENT_RANK":
		return share(func(_ int, peers *longPeers) float64 { return float64(peers.lo) / float64(max(n-1, 1)) })
	case "CUME_DIST":
		return share(func(_ int, peers *longPeers) float64 { return float64(peers.hi) / float64(n) })
	case "NTILE":
		return &longTile{p: p, tiles: constantOf(c, 0)}, nil
	case "LAG", "LEAD":
		f := &longShift{p: p, call: c, forward: c.Fn == "LEAD", offset: constantOf(c, 1)}
		var err error
		if c.IgnoreNulls {
			f.known, err = newKnownValues(ctx, p, c.Args[0])
		}
		return f, err
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		f := &longPick{p: p, call: c, last: c.Fn == "LAST_VALUE"}
		if c.Fn == "NTH_VALUE" {
			f.nth = constantOf(c, 1)
		}
		var err error
		if f.frames, err = newLongFrames(p, c.Frame); err == nil && c.IgnoreNulls {
			f.known, err = newKnownValues(ctx, p, c.Args[0])
		}
		return f, err
	}
	return nil, fault.Unsupported("Window function [%s] is not known", c.Fn)
}

// longRank gives a whole number per row that depends on its position and its peers.
type longRank struct {
	peers longPeers
	value func(i int, peers *longPeers) int64
}

func (f *longRank) compute(_ context.Context, _ *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := make([]int64, hi-lo)
	for i := range out {
		if err := f.peers.move(lo + i); err != nil {
			return nil, err
		}
		out[i] = f.value(lo+i, &f.peers)
	}
	return vector.FromLongs(out), nil
}

func (f *longRank) close() {}

// longShare gives a fraction per row, likewise.
type longShare struct {
	peers longPeers
	value func(i int, peers *longPeers) float64
}

func (f *longShare) compute(_ context.Context, _ *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := make([]float64, hi-lo)
	for i := range out {
		if err := f.peers.move(lo + i); err != nil {
			return nil, err
		}
		out[i] = f.value(lo+i, &f.peers)
	}
	return vector.FromDoubles(out), nil
}

func (f *longShare) close() {}

// longTile is NTILE.
type longTile struct {
	p     *longPartition
	tiles argument
}

func (f *longTile) compute(_ context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := make([]int64, hi-lo)
	for i := range out {
		var err error
		if out[i], err = f.tiles.tile(b, i, int64(lo+i), int64(f.p.n())); err != nil {
			return nil, err
		}
	}
	return vector.FromLongs(out), nil
}

func (f *longTile) close() {}

// longShift is LAG and LEAD.
type longShift struct {
	p       *longPartition
	call    *plan.WindowCall
	forward bool
	offset  argument
	known   *knownValues // with IGNORE NULLS
}

func (f *longShift) compute(_ context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := vector.NewBuilder(f.call.Type.Runtime(), hi-lo)
	for i := range hi - lo {
		n, ok := int64(1), true
		if f.offset.given {
			n, ok = f.offset.at(b, i)
		}
		if !ok {
			out.AppendNull()
			continue
		}
		if f.forward {
			n = -n
		}
		v, at, err := f.back(lo+i, n)
		switch {
		case err != nil:
			return nil, err
		case v != nil:
			out.AppendFrom(v, at)
		case len(f.call.Args) > 2:
			out.AppendFrom(b.Cols[f.call.Args[2]], i)
		default:
			out.AppendNull()
		}
	}
	return out.Build(), nil
}

// back returns where the value n rows before row i is, or -n after it; nil if that is outside the
// partition.
func (f *longShift) back(i int, n int64) (*vector.Vector, int, error) {
	rows, column, to := f.p.rows, f.call.Args[0], int64(i)-n
	if f.known != nil && n != 0 {
		rows, column = f.known.values, 0
		after := i
		if n < 0 {
			after, n = i+1, n+1
		}
		before, err := f.known.before(after)
		if err != nil {
			return nil, 0, err
		}
		to = int64(before) - n
	}
	if to < 0 || to >= int64(rows.Len()) {
		return nil, 0, nil
	}
	b, at, err := rows.At(int(to))
	if err != nil {
		return nil, 0, err
	}
	return b.Cols[column], at, nil
}

func (f *longShift) close() { f.known.close() }

// longPick is FIRST_VALUE, LAST_VALUE and NTH_VALUE.
type longPick struct {
	p      *longPartition
	call   *plan.WindowCall
	frames *longFrames
	last   bool
	nth    argument
	known  *knownValues // with IGNORE NULLS
}

func (f *longPick) compute(_ context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := vector.NewBuilder(f.call.Type.Runtime(), hi-lo)
	for i := range hi - lo {
		fr, err := f.frames.rows(b, lo+i, i)
		if err != nil {
			return nil, err
		}
		n, err := f.nth.position(b, i)
		if err != nil {
			return nil, err
		}
		v, at, err := f.find(&fr, n)
		if err != nil {
			return nil, err
		}
		if v == nil {
			out.AppendNull()
		} else {
			out.AppendFrom(v, at)
		}
	}
	return out.Build(), nil
}

// find returns where the nth value of a frame is, from the end for LAST_VALUE; nil if there are not
// so many.
func (f *longPick) find(rows *frame, n int64) (*vector.Vector, int, error) {
	source, column := f.p.rows, f.call.Args[0]
	for k := range rows.n {
		part := rows.parts[k]
		if f.last {
			part = rows.parts[rows.n-1-k]
		}
		if f.known != nil {
			source, column = f.known.values, 0
			var err error
			if part.lo, err = f.known.before(part.lo); err != nil {
				return nil, 0, err
			}
			if part.hi, err = f.known.before(part.hi); err != nil {
				return nil, 0, err
			}
		}
		size := int64(part.hi - part.lo)
		if n > size {
			n -= size
			continue
		}
		to := part.lo + int(n) - 1
		if f.last {
			to = part.hi - int(n)
		}
		b, at, err := source.At(to)
		if err != nil {
			return nil, 0, err
		}
		return b.Cols[column], at, nil
	}
	return nil, 0, nil
}

func (f *longPick) close() { f.known.close() }

// knownValues are the values of a column that are not NULL, in the order of their rows.
type knownValues struct {
	values *spill.Pages
	counts *spill.Pages // by row: how many values come before it
}

func newKnownValues(ctx context.Context, p *longPartition, column int) (_ *knownValues, err error) {
	k := &knownValues{}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	first, err := p.rows.Page(0)
	if err != nil {
		return nil, err
	}
	if k.values, err = spill.NewPages([]vector.Type{first.Cols[column].Type}, p.rows.PerPage(), p.res); err != nil {
		return nil, err
	}
	if k.counts, err = spill.NewPages([]vector.Type{vector.Long}, p.peers.PerPage(), p.res); err != nil {
		return nil, err
	}
	if err = p.each(ctx, func(b *vector.Batch, _ int) error {
		v := b.Cols[column]
		counts, there := make([]int64, b.N), make([]uint32, 0, b.N)
		for i := range b.N {
			counts[i] = int64(k.values.Len() + len(there))
			if !v.IsNull(i) {
				there = append(there, uint32(i))
			}
		}
		if err := k.counts.Add(&vector.Batch{N: b.N, Cols: []*vector.Vector{vector.FromLongs(counts)}}); err != nil {
			return err
		}
		if len(there) == 0 {
			return nil
		}
		return k.values.Add(&vector.Batch{N: b.N, Cols: []*vector.Vector{v}, Sel: there})
	}); err != nil {
		return nil, err
	}
	if err = k.values.Finish(); err != nil {
		return nil, err
	}
	return k, k.counts.Finish()
}

// before is how many values there are in the rows before row i.
func (k *knownValues) before(i int) (int, error) {
	if i >= k.counts.Len() {
		return k.values.Len(), nil
	}
	n, err := k.counts.Long(i)
	return int(n), err
}

func (k *knownValues) close() {
	if k != nil {
		k.values.Close()
		k.counts.Close()
	}
}
