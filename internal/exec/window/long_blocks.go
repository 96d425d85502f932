package window

import (
	"context"
	"errors"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/vector"
)

// frameBlocks are partial results of runs of a partition's rows, and of runs of those, and so on: a
// frame of any length is a few of each.
type frameBlocks struct {
	f      *longAggregate
	levels []*spill.Pages // levels[k] has a partial result per frameBlock of what lies below; rows are below levels[0]
	parts  *vector.BatchBuilder
	into   []uint32
}

func newFrameBlocks(ctx context.Context, f *longAggregate) (_ *frameBlocks, err error) {
	o := &frameBlocks{f: f}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	empty, err := f.newState(0)
	if err != nil {
		return nil, err
	}
	var types []vector.Type
	for _, v := range empty.Partial(0, 0) {
		types = append(types, v.Type)
	}
	o.parts = vector.NewBatchBuilder(types, 0)
	for below := f.p.n(); below > frameBlock; {
		if err := o.level(ctx, types, below); err != nil {
			return nil, err
		}
		below = o.levels[len(o.levels)-1].Len()
	}
	return o, nil
}

// level adds a level over the topmost one, which has so many entries.
func (o *frameBlocks) level(ctx context.Context, types []vector.Type, below int) error {
	const blocksAtOnce = 16
	p, err := spill.NewPages(types, spill.LeastPageRows*2, o.f.p.res)
	if err != nil {
		return err
	}
	top := len(o.levels) - 1
	fill := func() error {
		for lo := 0; lo < below; lo += blocksAtOnce * frameBlock {
			if err := scheduler.Yield(ctx); err != nil {
				return err
			}
			hi := min(lo+blocksAtOnce*frameBlock, below)
			n := (hi - lo + frameBlock - 1) / frameBlock
			s, err := o.f.newState(n)
			if err != nil {
				return err
			}
			for k := range n {
				if err := o.entries(s, top, span{lo + k*frameBlock, min(lo+(k+1)*frameBlock, hi)}, k); err != nil {
					return err
				}
			}
			if err := errors.Join(o.f.fold.flush(s), o.flush(s)); err != nil {
				return err
			}
			if err := p.Add(&vector.Batch{N: n, Cols: s.Partial(0, n)}); err != nil {
				return err
			}
		}
		return p.Finish()
	}
	if err := fill(); err != nil {
		p.Close()
		return err
	}
	o.levels = append(o.levels, p)
	return nil
}

// entries folds a run of the entries of a level, or of rows for level -1, into a group.
func (o *frameBlocks) entries(s agg.State, level int, run span, group int) error {
	if level < 0 {
		return o.f.fold.rows(s, run, group, nil)
	}
	for run.lo < run.hi {
		b, at, err := o.levels[level].At(run.lo)
		if err != nil {
			return err
		}
		n := min(run.hi-run.lo, b.N-at)
		o.parts.Append(b.Slice(at, at+n))
		for range n {
			o.into = append(o.into, uint32(group))
		}
		run.lo += n
		if len(o.into) >= flushRows {
			if err := o.flush(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// fold folds a run of rows into a group: its ends row by row, and what lies between by blocks as
// large as fit.
func (o *frameBlocks) fold(s agg.State, run span, group int) error {
	return byBlocks(run, len(o.levels), func(level int, run span) error { return o.entries(s, level, run, group) })
}

func (o *frameBlocks) flush(s agg.State) error {
	if len(o.into) == 0 {
		return nil
	}
	err := s.Merge(o.parts.Build().Cols, o.into, len(o.into))
	o.into = o.into[:0]
	return err
}

func (o *frameBlocks) close() {
	for _, l := range o.levels {
		l.Close()
	}
}
