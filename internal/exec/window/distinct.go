package window

import (
	"context"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/vector"
)

// values numbers the different values of the arguments, and gives the number of each row's and how
// many there are.
func (f *framed) values() (ids []uint32, n int) {
	types := make([]vector.Type, len(f.args))
	for i, a := range f.args {
		types[i] = a.Type
	}
	all := keys.NewTable(types, nil)
	ids = append(ids, all.Find(f.args, f.p.rows.N)...)
	return ids, all.Len()
}

// countOncePerPartition lets of the rows of a partition that have the same value only one count:
// the first, or the last.
func (f *framed) countOncePerPartition(last bool) {
	ids, n := f.values()
	seen := make([]int32, n) // partition+1 in which the value was seen
	once := make([]bool, f.p.rows.N)
	for k := range f.p.rows.N {
		i := k
		if last {
			i = f.p.rows.N - 1 - k
		}
		if f.counts != nil && !f.counts[i] {
			continue
		}
		if part := f.p.partition[i] + 1; seen[ids[i]] != part {
			seen[ids[i]], once[i] = part, true
		}
	}
	f.counts = once
}

// countSliding is COUNT(DISTINCT ..) over frames that slide: it keeps how many rows of the frame
// have each value, so that a row costs what its frame has more or less than that of the row before.
func (f *framed) countSliding(ctx context.Context) (*vector.Vector, error) {
	ids, n := f.values()
	counts := make([]bool, f.p.rows.N)
	for i := range counts {
		counts[i] = f.counts == nil || f.counts[i]
		for _, a := range f.args {
			counts[i] = counts[i] && !a.IsNull(i)
		}
	}
	s := &frameValues{ids: ids, counts: counts, rows: make([]int32, n)}
	out := make([]int64, f.p.rows.N)
	for i := range out {
		if i%frameBlock == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
		rows := f.frames.rows(i)
		out[i] = s.in(&rows)
	}
	return vector.FromLongs(out), nil
}

// frameValues are the values of a frame and how many of its rows have each.
type frameValues struct {
	ids    []uint32 // by row: its value
	counts []bool   // by row: whether it counts
	rows   []int32  // by value: rows of the frame that have it
	at     span     // the frame
	n      int64    // values that a row of it has
}

// in moves to a frame and returns how many values it has.
func (s *frameValues) in(f *frame) int64 {
	if f.n == 0 {
		return 0
	}
	s.move(span{f.parts[0].lo, f.parts[f.n-1].hi})
	for k := 1; k < f.n; k++ { // what is excluded
		for r := f.parts[k-1].hi; r < f.parts[k].lo; r++ {
			s.drop(r)
		}
	}
	n := s.n
	for k := 1; k < f.n; k++ {
		for r := f.parts[k-1].hi; r < f.parts[k].lo; r++ {
			s.add(r)
		}
	}
	return n
}

func (s *frameValues) move(to span) {
	if to.lo >= s.at.hi || to.hi <= s.at.lo { // nothing in common
		for r := s.at.lo; r < s.at.hi; r++ {
			s.drop(r)
		}
		s.at = span{to.lo, to.lo}
	}
	for s.at.lo > to.lo {
		s.at.lo--
		s.add(s.at.lo)
	}
	for s.at.hi < to.hi {
		s.add(s.at.hi)
		s.at.hi++
	}
	for s.at.lo < to.lo {
		s.drop(s.at.lo)
		s.at.lo++
	}
	for s.at.hi > to.hi {
		s.at.hi--
		s.drop(s.at.hi)
	}
}

func (s *frameValues) add(row int) {
	if !s.counts[row] {
		return
	}
	if s.rows[s.ids[row]]++; s.rows[s.ids[row]] == 1 {
		s.n++
	}
}

func (s *frameValues) drop(row int) {
	if !s.counts[row] {
		return
	}
	if s.rows[s.ids[row]]--; s.rows[s.ids[row]] == 0 {
		s.n--
	}
}
