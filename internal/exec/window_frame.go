package exec

import (
	"sort"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// windowFrames finds the frame of each row.
type windowFrames struct {
	p *partitionSet
	f plan.Frame
	// key is the one order column of a RANGE frame with offsets.
	key *vector.Vector
	// groups has, for GROUPS frames, the first row of each run of peers, and by row the number of its run.
	groups  []int32
	groupOf []int32
}

func newFrames(p *partitionSet, f plan.Frame) (*windowFrames, error) {
	w := &windowFrames{p: p, f: f}
	offsets := f.FromColumn >= 0 || f.ToColumn >= 0 || !f.FromUnbounded && f.FromOffset != 0 || !f.ToUnbounded && f.ToOffset != 0
	switch {
	case f.Groups:
		w.groupOf = make([]int32, p.rows.N)
		for i := range p.rows.N {
			if int(p.peerLo[i]) == i {
				w.groups = append(w.groups, int32(i))
			}
			w.groupOf[i] = int32(len(w.groups) - 1)
		}
	case f.Range && offsets:
		if len(p.order) != 1 {
			return nil, fault.InvalidInput("A RANGE frame with an offset needs exactly one ORDER BY column")
		}
		w.key = p.rows.Cols[p.order[0].Column]
		if !w.key.Type.IsNumeric() {
			return nil, fault.InvalidInput("A RANGE frame with an offset needs a number or a time to order by")
		}
	}
	return w, nil
}

// bounds returns the frame of row i: rows lo up to, not including, hi.
func (w *windowFrames) bounds(i int) (lo, hi int) {
	start, end := w.p.start(i), w.p.end(i)
	lo, hi = start, end
	if !w.f.FromUnbounded {
		n, ok := w.offset(w.f.FromColumn, w.f.FromOffset, i)
		if !ok {
			return start, start
		}
		lo = w.edge(i, n, start, end, false)
	}
	if !w.f.ToUnbounded {
		n, ok := w.offset(w.f.ToColumn, w.f.ToOffset, i)
		if !ok {
			return start, start
		}
		hi = w.edge(i, n, start, end, true)
	}
	lo, hi = max(lo, start), min(hi, end)
	return lo, max(lo, hi)
}

// span is a run of rows: lo up to, not including, hi.
type span struct{ lo, hi int }

// frame are the rows of a frame in order: what EXCLUDE left of its bounds.
type frame struct {
	parts [3]span
	n     int
}

func (f *frame) add(lo, hi int) {
	if lo < hi {
		f.parts[f.n] = span{lo, hi}
		f.n++
	}
}

// rows returns the frame of row i.
func (w *windowFrames) rows(i int) frame {
	lo, hi := w.bounds(i)
	var f frame
	from, to, keep := i, i, false
	switch w.f.Exclude {
	case plan.ExcludeNothing:
		f.add(lo, hi)
		return f
	case plan.ExcludeCurrentRow:
		to = i + 1
	case plan.ExcludeGroup:
		from, to = int(w.p.peerLo[i]), int(w.p.peerHi[i])
	case plan.ExcludeTies:
		from, to, keep = int(w.p.peerLo[i]), int(w.p.peerHi[i]), lo <= i && i < hi
	}
	f.add(lo, min(hi, from))
	if keep {
		f.add(i, i+1)
	}
	f.add(max(lo, to), hi)
	return f
}

func (w *windowFrames) offset(column int, constant int64, i int) (n int64, ok bool) {
	if column < 0 {
		return constant, true
	}
	v := w.p.rows.Cols[column]
	if v.IsNull(i) {
		return 0, false
	}
	return v.LongAt(i), true
}

// edge returns the first row of the frame, or with upper the row after its last, when it lies n units from row i.
func (w *windowFrames) edge(i int, n int64, start, end int, upper bool) int {
	switch {
	case w.f.Groups:
		return w.groupEdge(i, n, start, end, upper)
	case w.f.Range:
		if w.key == nil || n == 0 || w.key.IsNull(i) {
			if upper {
				return int(w.p.peerHi[i])
			}
			return int(w.p.peerLo[i])
		}
		return w.rangeEdge(i, n, start, end, upper)
	}
	n = min(max(n, int64(start-i-1)), int64(end-i)) // far enough to be outside, near enough not to overflow
	if upper {
		return i + int(n) + 1
	}
	return i + int(n)
}

func (w *windowFrames) groupEdge(i int, n int64, start, end int, upper bool) int {
	first, last := int64(w.groupOf[start]), int64(w.groupOf[end-1])
	n = min(max(n, -int64(len(w.groups))), int64(len(w.groups)))
	switch g := int64(w.groupOf[i]) + n; {
	case g < first:
		return start
	case g > last:
		return end
	case upper:
		return int(w.p.peerHi[w.groups[g]])
	default:
		return int(w.groups[g])
	}
}

// rangeEdge looks for the row by its value. Nulls lie together at one end and are never within an offset of a value.
func (w *windowFrames) rangeEdge(i int, n int64, start, end int, upper bool) int {
	desc := w.p.order[0].Desc
	for start < end && w.key.IsNull(start) {
		start = int(w.p.peerHi[start])
	}
	for start < end && w.key.IsNull(end-1) {
		end = int(w.p.peerLo[end-1])
	}
	if desc {
		n = -n
	}
	// beyond tells rows that lie after the edge, in the order of the rows; equal values lie before an upper edge and after a lower.
	var beyond func(j int) bool
	if w.key.Type.Kind == vector.KindLong {
		limit := saturate(w.key.LongAt(i), n)
		beyond = func(j int) bool { return after(compareLongs(w.key.LongAt(j), limit), desc, upper) }
	} else {
		limit := w.key.DoubleAt(i) + float64(n)
		beyond = func(j int) bool { return after(vector.CompareDoubles(w.key.DoubleAt(j), limit), desc, upper) }
	}
	return start + sort.Search(end-start, func(k int) bool { return beyond(start + k) })
}

func after(c int, desc, upper bool) bool {
	if desc {
		c = -c
	}
	if upper {
		return c > 0
	}
	return c >= 0
}

func compareLongs(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// saturate adds without wrapping around.
func saturate(x, n int64) int64 {
	s := x + n
	if n > 0 && s < x {
		return 1<<63 - 1
	}
	if n < 0 && s > x {
		return -1 << 63
	}
	return s
}
