package exec

import (
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longAggregate is an aggregate over the frames of a partition on disk. Frames from the first row on have one state that grows. For
// others a page of rows makes as many groups, and what lies in their frames is folded into them: rows, or whole blocks of rows that were
// folded before.
type longAggregate struct {
	p      *longPartition
	w      *windowAggregate
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
}

func newLongAggregate(ctx context.Context, p *longPartition, c *plan.WindowCall, earlier windowFunction) (_ longFunction, err error) {
	f := &longAggregate{p: p, groups: budget.NewAccount(p.env.Budget)}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.w, err = newWindowAggregate(c); err != nil {
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
	short := !frame.Range && !frame.Groups && !frame.FromUnbounded && !frame.ToUnbounded && frame.FromColumn < 0 && frame.ToColumn < 0 &&
		frame.ToOffset-frame.FromOffset < 2*frameBlock
	if !short && !f.w.distinct && !agg.Lookup(f.w.spec.Name).InOrder {
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

// slidingGroups is how many groups there are at once, where there is memory for them: those of sketches are large.
const slidingGroups = 256

// room returns a state with n groups, or with fewer if memory is short.
func (f *longAggregate) room(n int) (agg.State, int, error) {
	for {
		s, err := f.newState(n)
		if err != nil || n <= leastPageRows || f.groups.TrySet(s.Bytes()) {
			return s, n, err
		}
		n = max(n/4, leastPageRows)
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
			if err := f.grow(ctx, to); err != nil {
				return nil, err
			}
		}
		out.AppendFrom(f.value, 0)
	}
	return out.Build(), nil
}

// grow adds the rows up to row to.
func (f *longAggregate) grow(ctx context.Context, to int) error {
	for f.to < to {
		if err := stop(ctx); err != nil {
			return err
		}
		end := min(to, f.to+f.p.rows.per)
		if err := f.fold.rows(f.state, span{f.to, end}, 0, &f.whole); err != nil {
			return err
		}
		f.to = end
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
			if err := stop(ctx); err != nil {
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

func (f *longAggregate) close() {
	f.groups.Close()
	if f.blocks != nil {
		f.blocks.close()
	}
	if f.first != nil {
		f.first.close()
	}
}
