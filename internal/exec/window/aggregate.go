package window

import (
	"cmp"
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// aggregate is an aggregate over frames.
//
// Four shapes are told apart, per set of partitions: every frame is its whole partition (one group
// per partition); every frame starts where the partition does, or ends there (one state that only
// grows, from row to row or backwards); anything else, for which each row is a group and the rows
// of its frame are folded into it, whole blocks at once where frames are long.
type aggregate struct {
	call     *plan.WindowCall
	spec     agg.Spec
	distinct bool
}

func newAggregate(c *plan.WindowCall) (*aggregate, error) {
	w := &aggregate{call: c, spec: c.Agg, distinct: c.Distinct}
	if f := agg.Lookup(c.Agg.Name); c.Distinct && f != nil {
		w.distinct = !f.Duplicates && f.DistinctForm == ""
		w.spec.Name = cmp.Or(f.DistinctForm, f.SortedForm, c.Agg.Name)
	}
	_, err := w.spec.New() // check it now and not with the first row
	return w, err
}

func (w *aggregate) compute(ctx context.Context, p *partitionSet) (*vector.Vector, error) {
	fr, err := newFrames(p, w.call.Frame)
	if err != nil {
		return nil, err
	}
	f := &framed{w: w, p: p, frames: fr, counts: w.rowsThatCount(p), lo: make([]int, p.rows.N), hi: make([]int, p.rows.N)}
	for _, a := range w.call.Args {
		f.args = append(f.args, p.rows.Cols[a])
	}
	whole := w.call.Frame.Exclude == plan.ExcludeNothing
	growing, shrinking := whole, whole && !agg.Lookup(w.spec.Name).InOrder
	for i := 0; i < p.rows.N && (whole || growing || shrinking); i++ {
		f.lo[i], f.hi[i] = fr.bounds(i)
		first := i == p.start(i)
		whole = whole && f.lo[i] == p.start(i) && f.hi[i] == p.end(i)
		growing = growing && f.lo[i] == p.start(i) && (first || f.hi[i] >= f.hi[i-1])
		shrinking = shrinking && f.hi[i] == p.end(i) && (first || f.lo[i] >= f.lo[i-1])
	}
	if w.distinct {
		switch {
		case whole || growing:
			f.countOncePerPartition(false)
		case shrinking:
			f.countOncePerPartition(true)
		case agg.Lookup(w.spec.Name).Counts:
			return f.countSliding(ctx)
		default:
			return f.distinct(ctx)
		}
	}
	switch {
	case whole:
		return f.whole()
	case growing:
		return f.growing(ctx)
	case shrinking:
		return f.shrinking(ctx)
	}
	return f.sliding(ctx)
}

// rowsThatCount returns by row whether FILTER lets it through; nil: all.
func (w *aggregate) rowsThatCount(p *partitionSet) []bool {
	if w.call.Filter < 0 {
		return nil
	}
	counts := make([]bool, p.rows.N)
	for _, r := range operator.TrueRows(p.rows.Cols[w.call.Filter], p.rows.N) {
		counts[r] = true
	}
	return counts
}

// framed is one call over one set of partitions.
type framed struct {
	w      *aggregate
	p      *partitionSet
	args   []*vector.Vector
	frames *frames
	counts []bool
	lo, hi []int // the frames by row, as long as they are whole, growing or shrinking

	// rows to fold and the groups they go to, until there are enough
	rows, groups []uint32
}

// flushRows is how many rows are folded at once.
const flushRows = 4 * vector.BatchRows

// fold puts row r into a group, now or soon.
func (f *framed) fold(s agg.State, r, group int) error {
	if f.counts != nil && !f.counts[r] {
		return nil
	}
	f.rows, f.groups = append(f.rows, uint32(r)), append(f.groups, uint32(group))
	if len(f.rows) >= flushRows {
		return f.flush(s)
	}
	return nil
}

func (f *framed) flush(s agg.State) error {
	if len(f.rows) == 0 {
		return nil
	}
	args := make([]*vector.Vector, len(f.args))
	for i, a := range f.args {
		args[i] = a.Gather(f.rows)
	}
	err := s.Update(args, f.groups, len(f.rows))
	f.rows, f.groups = f.rows[:0], f.groups[:0]
	return err
}

func (f *framed) state(groups int) (agg.State, error) {
	s, err := f.w.spec.New()
	if err == nil {
		s.Grow(groups)
	}
	return s, err
}

// whole folds each partition once.
func (f *framed) whole() (*vector.Vector, error) {
	n := len(f.p.bounds) - 1
	s, err := f.state(n)
	if err != nil {
		return nil, err
	}
	of := make([]uint32, f.p.rows.N)
	for i, k := range f.p.partition {
		of[i] = uint32(k)
		if err := f.fold(s, i, int(k)); err != nil {
			return nil, err
		}
	}
	if err := f.flush(s); err != nil {
		return nil, err
	}
	v, err := s.Final(0, n)
	if err != nil {
		return nil, err
	}
	return v.Gather(of), nil
}

// growing keeps one group per partition and reads it after each step of the frame's end.
func (f *framed) growing(ctx context.Context) (*vector.Vector, error) {
	s, err := f.state(len(f.p.bounds) - 1)
	if err != nil {
		return nil, err
	}
	out := vector.NewBuilder(f.w.call.Type.Runtime(), f.p.rows.N)
	var value *vector.Vector
	for i := range f.p.rows.N {
		first := i == f.p.start(i)
		from := f.p.start(i)
		if !first {
			from = f.hi[i-1]
		}
		k := int(f.p.partition[i])
		if first || from < f.hi[i] {
			if value, err = f.more(s, from, f.hi[i], k); err != nil {
				return nil, err
			}
		}
		out.AppendFrom(value, 0)
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
	}
	return out.Build(), nil
}

// more folds rows lo up to, not including, hi into group k of s, and returns the group's result.
func (f *framed) more(s agg.State, lo, hi, k int) (*vector.Vector, error) {
	for r := lo; r < hi; r++ {
		if err := f.fold(s, r, k); err != nil {
			return nil, err
		}
	}
	if err := f.flush(s); err != nil {
		return nil, err
	}
	return s.Final(k, k+1)
}

// shrinking is growing from the last row to the first: what a row's frame has more than the next
// row's is added.
func (f *framed) shrinking(ctx context.Context) (*vector.Vector, error) {
	s, err := f.state(len(f.p.bounds) - 1)
	if err != nil {
		return nil, err
	}
	n := f.p.rows.N
	values := vector.NewBuilder(f.w.call.Type.Runtime(), n) // of the last row first
	forwards := make([]uint32, n)
	var value *vector.Vector
	for i := n - 1; i >= 0; i-- {
		last := i == f.p.end(i)-1
		to := f.p.end(i)
		if !last {
			to = f.lo[i+1]
		}
		k := int(f.p.partition[i])
		if last || f.lo[i] < to {
			if value, err = f.more(s, f.lo[i], to, k); err != nil {
				return nil, err
			}
		}
		values.AppendFrom(value, 0)
		forwards[i] = uint32(n - 1 - i)
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
	}
	return values.Build().Gather(forwards), nil
}

// sliding makes a group of each row.
func (f *framed) sliding(ctx context.Context) (*vector.Vector, error) {
	n, total := f.p.rows.N, 0
	for i := range n {
		lo, hi := f.frames.bounds(i)
		total += hi - lo
	}
	s, err := f.state(n)
	if err != nil {
		return nil, err
	}
	blocks := &foldedRows{f: f}
	if total > n*2*frameBlock && !agg.Lookup(f.w.spec.Name).InOrder {
		if err := blocks.build(); err != nil {
			return nil, err
		}
	}
	for i := range n {
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
		rows := f.frames.rows(i)
		for _, part := range rows.parts[:rows.n] {
			if err := byBlocks(part, len(blocks.levels), func(level int, run span) error { return blocks.fold(s, level, run, i) }); err != nil {
				return nil, err
			}
		}
	}
	if err := f.flush(s); err != nil {
		return nil, err
	}
	if err := blocks.flush(s); err != nil {
		return nil, err
	}
	return f.results(ctx, s)
}

// results are those of groups that are one for each row. Lists and texts may be as long as there
// are rows, and take their time.
func (f *framed) results(ctx context.Context, s agg.State) (*vector.Vector, error) {
	t, n := f.w.call.Type.Runtime(), f.p.rows.N
	if t.IsNumeric() {
		return s.Final(0, n)
	}
	out := vector.NewBuilder(t, n)
	for lo := 0; lo < n; lo += frameBlock {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		v, err := s.Final(lo, min(lo+frameBlock, n))
		if err != nil {
			return nil, err
		}
		for i := range v.Len {
			out.AppendFrom(v, i)
		}
	}
	return out.Build(), nil
}

// distinct looks at each frame on its own.
func (f *framed) distinct(ctx context.Context) (*vector.Vector, error) {
	s, err := f.state(f.p.rows.N)
	if err != nil {
		return nil, err
	}
	ids, values := f.values()
	seen := make([]int, values) // row+1 that saw the value last
	for i := range f.p.rows.N {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		rows := f.frames.rows(i)
		for _, part := range rows.parts[:rows.n] {
			for r := part.lo; r < part.hi; r++ {
				if f.counts != nil && !f.counts[r] || seen[ids[r]] == i+1 {
					continue
				}
				seen[ids[r]] = i + 1
				if err := f.fold(s, r, i); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := f.flush(s); err != nil {
		return nil, err
	}
	return f.results(ctx, s)
}
