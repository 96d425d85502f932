package window

import (
	"sort"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// frames finds the frame of each row.
type frames struct {
	p *partitionSet
	f plan.Frame
	// key is the one order column of a RANGE frame with offsets.
	key *vector.Vector
	// groups has, for GROUPS frames, the first row of each run of peers, and by row the number of its
	// run.
	groups  []int32
	groupOf []int32
}

func newFrames(p *partitionSet, f plan.Frame) (*frames, error) {
	w := &frames{p: p, f: f}
	switch {
	case f.Groups:
		w.groupOf = make([]int32, p.rows.N)
		for i := range p.rows.N {
			if int(p.peerLo[i]) == i {
				w.groups = append(w.groups, int32(i))
			}
			w.groupOf[i] = int32(len(w.groups) - 1)
		}
	case f.Range && f.HasOffsets():
		var err error
		if w.key, err = rangeKey(p.rows, p.order); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// rangeKey returns the column that the offsets of a RANGE frame are measured in.
func rangeKey(b *vector.Batch, order []plan.SortKey) (*vector.Vector, error) {
	if len(order) != 1 {
		return nil, fault.InvalidInput("A RANGE frame with an offset needs exactly one ORDER BY column")
	}
	key := b.Cols[order[0].Column]
	if !key.Type.IsNumeric() {
		return nil, fault.InvalidInput("A RANGE frame with an offset needs a number or a time to order by")
	}
	return key, nil
}

// bounds returns the frame of row i: rows lo up to, not including, hi.
func (w *frames) bounds(i int) (lo, hi int) {
	start, end := w.p.start(i), w.p.end(i)
	lo, hi = start, end
	ok := true
	if !w.f.FromUnbounded {
		lo, ok = w.bound(i, w.f.FromColumn, w.f.FromOffset, start, end, false)
	}
	if ok && !w.f.ToUnbounded {
		hi, ok = w.bound(i, w.f.ToColumn, w.f.ToOffset, start, end, true)
	}
	if !ok {
		return start, start
	}
	lo, hi = max(lo, start), min(hi, end)
	return lo, max(lo, hi)
}

// bound returns the first row of row i's frame, or with upper the row after its last; ok is false
// if what says how far it is is NULL.
func (w *frames) bound(i, column int, constant int64, start, end int, upper bool) (at int, ok bool) {
	if w.f.Values && column >= 0 {
		if w.key.IsNull(i) {
			return w.peerEdge(i, upper), true
		}
		limit := w.p.rows.Cols[column]
		if limit.IsNull(i) {
			return 0, false
		}
		return w.search(start, end, valueLimit(limit, i, w.p.order[0].Desc, upper)), true
	}
	n, ok := offsetAt(w.p.rows, column, constant, i)
	if !ok {
		return 0, false
	}
	return w.edge(i, n, start, end, upper), true
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
func (w *frames) rows(i int) frame {
	lo, hi := w.bounds(i)
	return newFrame(w.f.Exclude, lo, hi, i, int(w.p.peerLo[i]), int(w.p.peerHi[i]))
}

// newFrame returns what is left of rows lo up to hi when some are excluded: row i, or those of its
// peers.
func newFrame(exclude plan.FrameExclusion, lo, hi, i, peerLo, peerHi int) frame {
	var f frame
	from, to, keep := i, i, false
	switch exclude {
	case plan.ExcludeNothing:
		f.add(lo, hi)
		return f
	case plan.ExcludeCurrentRow:
		to = i + 1
	case plan.ExcludeGroup:
		from, to = peerLo, peerHi
	case plan.ExcludeTies:
		from, to, keep = peerLo, peerHi, lo <= i && i < hi
	}
	f.add(lo, min(hi, from))
	if keep {
		f.add(i, i+1)
	}
	f.add(max(lo, to), hi)
	return f
}

// offsetAt returns the offset of a bound for row i; ok is false if it is NULL.
func offsetAt(b *vector.Batch, column int, constant int64, i int) (n int64, ok bool) {
	if column < 0 {
		return constant, true
	}
	v := b.Cols[column]
	if v.IsNull(i) {
		return 0, false
	}
	return v.LongAt(i), true
}

// edge returns the first row of the frame, or with upper the row after its last, when it lies n
// units from row i.
func (w *frames) edge(i int, n int64, start, end int, upper bool) int {
	switch {
	case w.f.Groups:
		return w.groupEdge(i, n, start, end, upper)
	case w.f.Range:
		if w.key == nil || n == 0 || w.key.IsNull(i) {
			return w.peerEdge(i, upper)
		}
		return w.search(start, end, rangeLimit(w.key, i, n, w.p.order[0].Desc, upper))
	}
	return rowEdge(i, n, start, end, upper)
}

func (w *frames) peerEdge(i int, upper bool) int {
	if upper {
		return int(w.p.peerHi[i])
	}
	return int(w.p.peerLo[i])
}

// rowEdge is the edge of a ROWS frame.
func rowEdge(i int, n int64, start, end int, upper bool) int {
	n = min(max(n, int64(start-i-1)), int64(end-i)) // far enough to be outside, near enough not to overflow
	if upper {
		return i + int(n) + 1
	}
	return i + int(n)
}

func (w *frames) groupEdge(i int, n int64, start, end int, upper bool) int {
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

// search looks for the first row beyond a value. Nulls lie together at one end and are never within
// an offset of a value.
func (w *frames) search(start, end int, beyond func(key *vector.Vector, j int) bool) int {
	for start < end && w.key.IsNull(start) {
		start = int(w.p.peerHi[start])
	}
	for start < end && w.key.IsNull(end-1) {
		end = int(w.p.peerLo[end-1])
	}
	return start + sort.Search(end-start, func(k int) bool { return beyond(w.key, start+k) })
}

// rangeLimit tells the rows that lie after an edge n units from row i, in the order of the rows:
// equal values lie before an upper edge and after a lower.
func rangeLimit(key *vector.Vector, i int, n int64, desc, upper bool) func(key *vector.Vector, j int) bool {
	if desc {
		n = -n
	}
	if key.Type.Kind == vector.KindLong {
		limit := saturate(key.LongAt(i), n)
		return func(key *vector.Vector, j int) bool { return after(compareLongs(key.LongAt(j), limit), desc, upper) }
	}
	limit := key.DoubleAt(i) + float64(n)
	return func(key *vector.Vector, j int) bool {
		return after(vector.CompareDoubles(key.DoubleAt(j), limit), desc, upper)
	}
}

// valueLimit is rangeLimit where the edge is a value, row i of limit.
func valueLimit(limit *vector.Vector, i int, desc, upper bool) func(key *vector.Vector, j int) bool {
	if limit.Type.Kind == vector.KindLong {
		at := limit.LongAt(i)
		return func(key *vector.Vector, j int) bool { return after(compareLongs(key.LongAt(j), at), desc, upper) }
	}
	at := limit.DoubleAt(i)
	return func(key *vector.Vector, j int) bool {
		return after(vector.CompareDoubles(key.DoubleAt(j), at), desc, upper)
	}
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
