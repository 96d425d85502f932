package window

import (
	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/vector"
)

// frameBlock is how many rows are folded together ahead, for frames that contain them all, and how
// many such blocks again.
const frameBlock = 64

// byBlocks takes a run of rows apart: f is called with runs of rows (level -1) at its ends, and
// with runs of blocks of as high a level as lie within it. There are so many levels: a block of
// level k is made of frameBlock of level k-1.
func byBlocks(run span, levels int, f func(level int, run span) error) error {
	for level := -1; ; level++ {
		inner := span{(run.lo + frameBlock - 1) / frameBlock, run.hi / frameBlock}
		if level+1 == levels || inner.lo >= inner.hi {
			return f(level, run)
		}
		if err := f(level, span{run.lo, inner.lo * frameBlock}); err != nil {
			return err
		}
		if err := f(level, span{inner.hi * frameBlock, run.hi}); err != nil {
			return err
		}
		run = inner
	}
}

// foldedRows are partial results of blocks of the rows in memory, whatever partitions they belong
// to.
type foldedRows struct {
	f      *framed
	levels []foldedLevel
}

// foldedLevel has the partial results of a level, and which of them wait to be merged into which
// groups.
type foldedLevel struct {
	parts    []*vector.Vector
	at, into []uint32
}

// build makes as many levels as there are rows for.
func (o *foldedRows) build() error {
	for below := o.f.p.rows.N; below > frameBlock; {
		n := (below + frameBlock - 1) / frameBlock
		s, err := o.f.state(n)
		if err != nil {
			return err
		}
		for k := range n {
			if err := o.fold(s, len(o.levels)-1, span{k * frameBlock, min((k+1)*frameBlock, below)}, k); err != nil {
				return err
			}
		}
		if err := o.f.flush(s); err != nil {
			return err
		}
		if err := o.flush(s); err != nil {
			return err
		}
		o.levels = append(o.levels, foldedLevel{parts: s.Partial(0, n)})
		below = n
	}
	return nil
}

// fold puts a run of rows (level -1) or of blocks into a group, now or soon.
func (o *foldedRows) fold(s agg.State, level int, run span, group int) error {
	if level < 0 {
		for r := run.lo; r < run.hi; r++ {
			if err := o.f.fold(s, r, group); err != nil {
				return err
			}
		}
		return nil
	}
	l := &o.levels[level]
	for r := run.lo; r < run.hi; r++ {
		l.at, l.into = append(l.at, uint32(r)), append(l.into, uint32(group))
	}
	if len(l.at) >= flushRows {
		return l.merge(s)
	}
	return nil
}

func (o *foldedRows) flush(s agg.State) error {
	for i := range o.levels {
		if err := o.levels[i].merge(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *foldedLevel) merge(s agg.State) error {
	if len(l.at) == 0 {
		return nil
	}
	parts := make([]*vector.Vector, len(l.parts))
	for i, p := range l.parts {
		parts[i] = p.Gather(l.at)
	}
	err := s.Merge(parts, l.into, len(l.into))
	l.at, l.into = l.at[:0], l.into[:0]
	return err
}
