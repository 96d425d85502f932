package window

import (
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longAggregate is an aggregate over the frames of a partition on disk. Frames from the first row
// on have one state that grows; so have those up to the last row, backwards, and their values are
// kept until rows come in order. For others a page of rows makes as many groups, and what lies in
// their frames is folded into them: rows, or whole blocks of rows that were folded before.
type longAggregate struct {
	p      *longPartition
	w      *aggregate
	frames *longFrames
	fold   *longFold
	first  *earlierRows // for DISTINCT; nil: all rows count
	blocks *frameBlocks // nil: frames are short, or the order of their rows shows
	groups budget.Account

	grows bool
	whole frame          // of all rows
	state agg.State      // while frames grow
	to    int            // rows that it has
	value *vector.Vector // of it

	backwards *spill.Pages // the values of frames up to the last row, that of the last row first; nil: there are none
}

func newLongAggregate(ctx context.Context, p *longPartition, c *plan.WindowCall, earlier function) (_ longFunction, err error) {
	f := &longAggregate{p: p, groups: budget.NewAccount(p.res.Budget)}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.w, err = newAggregate(c); err != nil {
		return nil, err
	}
	if f.frames, err = newLongFrames(p, c.Frame); err != nil {
		return nil, err
	}
	if f.w.distinct {
		if f.first, err = newEarlierRows(ctx, p, c); err != nil {
			return nil, err
		}
	}
	if f.fold, err = newLongFold(p, c, f.first); err != nil {
		return nil, err
	}
	frame := &c.Frame
	f.grows = frame.FromUnbounded && frame.ToColumn < 0 && frame.Exclude == plan.ExcludeNothing
	if f.grows {
		f.whole.add(0, p.n())
		if s, ok := earlier.(*streamedAggregate); ok && s.state != nil {
			f.state = s.state
			return f, nil
		}
		f.state, err = f.newState(1)
		return f, err
	}
	inOrder := agg.Lookup(f.w.spec.Name).InOrder
	if frame.ToUnbounded && frame.FromColumn < 0 && frame.Exclude == plan.ExcludeNothing && !f.w.distinct && !inOrder {
		f.whole.add(0, p.n())
		return f, f.shrink(ctx)
	}
	short := !frame.Range && !frame.Groups && !frame.FromUnbounded && !frame.ToUnbounded && frame.FromColumn < 0 && frame.ToColumn < 0 &&
		frame.ToOffset-frame.FromOffset < 2*frameBlock
	if !short && !f.w.distinct && !inOrder {
		f.blocks, err = newFrameBlocks(ctx, f)
	}
	return f, err
}

func (f *longAggregate) newState(groups int) (agg.State, error) {
	s, err := f.w.spec.New()
	if err == nil {
		s.Grow(groups)
	}
	return s, err
}

func (f *longAggregate) compute(ctx context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	if f.grows {
		return f.growing(ctx, b, lo, hi)
	}
	out := vector.NewBuilder(f.w.call.Type.Runtime(), hi-lo)
	if f.backwards != nil {
		for i := lo; i < hi; i++ {
			values, at, err := f.backwards.At(f.p.n() - 1 - i)
			if err != nil {
				return nil, err
			}
			out.AppendFrom(values.Cols[0], at)
		}
		return out.Build(), nil
	}
	if f.w.distinct && agg.Lookup(f.w.spec.Name).Counts && f.w.call.Frame.Exclude == plan.ExcludeNothing {
		return f.slideValues(ctx, b, lo, hi)
	}
	for from := 0; from < hi-lo; {
		s, n, err := f.room(min(slidingGroups, hi-lo-from))
		if err != nil {
			return nil, err
		}
		v, err := f.sliding(ctx, s, b, lo, span{from, from + n})
		if err != nil {
			return nil, err
		}
		for i := range n {
			out.AppendFrom(v, i)
		}
		from += n
	}
	return out.Build(), nil
}

// slideValues counts the different values of frames that slide.
func (f *longAggregate) slideValues(ctx context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := make([]int64, hi-lo)
	for i := range out {
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
		from, to, err := f.frames.bounds(b, lo+i, i)
		if err != nil {
			return nil, err
		}
		if out[i], err = f.first.slide(from, to); err != nil {
			return nil, err
		}
	}
	return vector.FromLongs(out), nil
}

// slidingGroups is how many groups there are at once, where there is memory for them: those of
// sketches are large.
const slidingGroups = 256

// room returns a state with n groups, or with fewer if memory is short.
func (f *longAggregate) room(n int) (agg.State, int, error) {
	for {
		s, err := f.newState(n)
		if err != nil || n <= spill.LeastPageRows || f.groups.TrySet(s.Bytes()) {
			return s, n, err
		}
		n = max(n/4, spill.LeastPageRows)
	}
}

func (f *longAggregate) growing(ctx context.Context, b *vector.Batch, lo, hi int) (*vector.Vector, error) {
	out := vector.NewBuilder(f.w.call.Type.Runtime(), hi-lo)
	for i := range hi - lo {
		_, to, err := f.frames.bounds(b, lo+i, i)
		if err != nil {
			return nil, err
		}
		if f.value == nil || to > f.to {
			if err := f.add(ctx, span{f.to, to}); err != nil {
				return nil, err
			}
			f.to = max(f.to, to)
		}
		out.AppendFrom(f.value, 0)
	}
	return out.Build(), nil
}

// add folds rows into the one state and takes its value.
func (f *longAggregate) add(ctx context.Context, run span) error {
	for run.lo < run.hi {
		if err := scheduler.Yield(ctx); err != nil {
			return err
		}
		part := span{run.lo, min(run.hi, run.lo+f.p.rows.PerPage())}
		if err := f.fold.rows(f.state, part, 0, &f.whole); err != nil {
			return err
		}
		run.lo = part.hi
	}
	if err := f.fold.flush(f.state); err != nil {
		return err
	}
	if err := f.groups.Set(f.state.Bytes()); err != nil {
		return err
	}
	var err error
	f.value, err = f.state.Final(0, 1)
	return err
}

// sliding makes a group of each of some rows of a page that begins with row first.
func (f *longAggregate) sliding(ctx context.Context, s agg.State, b *vector.Batch, first int, run span) (*vector.Vector, error) {
	for i := run.lo; i < run.hi; i++ {
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
			if err := f.groups.Set(s.Bytes()); err != nil {
				return nil, err
			}
		}
		rows, err := f.frames.rows(b, first+i, i)
		if err != nil {
			return nil, err
		}
		for _, part := range rows.parts[:rows.n] {
			if f.blocks != nil {
				err = f.blocks.fold(s, part, i-run.lo)
			} else {
				err = f.fold.rows(s, part, i-run.lo, &rows)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := f.fold.flush(s); err != nil {
		return nil, err
	}
	if f.blocks != nil {
		if err := f.blocks.flush(s); err != nil {
			return nil, err
		}
	}
	return s.Final(0, run.hi-run.lo)
}

// shrink computes the values of frames up to the last row, from that row to the first.
func (f *longAggregate) shrink(ctx context.Context) error {
	starts, err := spill.NewPages([]vector.Type{vector.Long}, f.p.rows.PerPage(), f.p.res)
	if err != nil {
		return err
	}
	defer starts.Close()
	if err := f.p.each(ctx, func(b *vector.Batch, lo int) error {
		from := make([]int64, b.N)
		for i := range from {
			start, _, err := f.frames.bounds(b, lo+i, i)
			if err != nil {
				return err
			}
			from[i] = int64(start)
		}
		return starts.Add(&vector.Batch{N: b.N, Cols: []*vector.Vector{vector.FromLongs(from)}})
	}); err != nil {
		return err
	}
	if err := starts.Finish(); err != nil {
		return err
	}
	if f.state, err = f.newState(1); err != nil {
		return err
	}
	typ := f.w.call.Type.Runtime()
	if f.backwards, err = spill.NewPages([]vector.Type{typ}, f.p.rows.PerPage(), f.p.res); err != nil {
		return err
	}
	f.to = f.p.n() // rows from here on are in the state
	for k := starts.Count() - 1; k >= 0; k-- {
		from, err := starts.Page(k)
		if err != nil {
			return err
		}
		values := vector.NewBuilder(typ, from.N)
		for i := from.N - 1; i >= 0; i-- {
			if start := int(from.Cols[0].LongAt(i)); f.value == nil || start < f.to {
				if err := f.add(ctx, span{start, f.to}); err != nil {
					return err
				}
				f.to = start
			}
			values.AppendFrom(f.value, 0)
		}
		if err := f.backwards.Add(&vector.Batch{N: from.N, Cols: []*vector.Vector{values.Build()}}); err != nil {
			return err
		}
	}
	return f.backwards.Finish()
}

func (f *longAggregate) close() {
	f.backwards.Close()
	f.groups.Close()
	if f.blocks != nil {
		f.blocks.close()
	}
	if f.first != nil {
		f.first.close()
	}
}
