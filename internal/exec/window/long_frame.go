package window

import (
	"sort"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longFrames finds the frames of a partition's rows, one row after the other. It is to a
// longPartition what frames is to partitions in memory.
type longFrames struct {
	p     *longPartition
	f     plan.Frame
	peers longPeers
	// key is the one order column of a RANGE frame with offsets, -1: none. Rows from known.lo up to
	// known.hi have a value in it.
	key   int
	known span
	// near is where the edges of the frame before were, and those of the next are not far from.
	near span
}

func newLongFrames(p *longPartition, f plan.Frame) (*longFrames, error) {
	w := &longFrames{p: p, f: f, peers: p.peersBefore(), key: -1}
	if !f.Range || !f.HasOffsets() {
		return w, nil
	}
	first, err := p.rows.Page(0)
	if err != nil {
		return nil, err
	}
	key, err := rangeKey(first, p.order)
	if err != nil {
		return nil, err
	}
	w.key, w.known = p.order[0].Column, span{0, p.n()}
	if key.IsNull(0) {
		if w.known.lo, err = p.groupStart(1); err != nil {
			return nil, err
		}
		return w, nil
	}
	last, at, err := p.rows.At(p.n() - 1)
	if err == nil && last.Cols[w.key].IsNull(at) {
		w.known.hi, err = p.groupStart(p.groups() - 1)
	}
	return w, err
}

// bounds returns the frame of row i, which is row r of the page b: rows lo up to, not including,
// hi.
func (w *longFrames) bounds(b *vector.Batch, i, r int) (lo, hi int, err error) {
	if err := w.peers.move(i); err != nil {
		return 0, 0, err
	}
	lo, hi = 0, w.p.n()
	ok := true
	if !w.f.FromUnbounded {
		lo, ok, err = w.bound(b, i, r, w.f.FromColumn, w.f.FromOffset, false)
	}
	if ok && err == nil && !w.f.ToUnbounded {
		hi, ok, err = w.bound(b, i, r, w.f.ToColumn, w.f.ToOffset, true)
	}
	if !ok || err != nil {
		return 0, 0, err
	}
	lo, hi = max(lo, 0), min(hi, w.p.n())
	return lo, max(lo, hi), nil
}

// bound returns the first row of the frame, or with upper the row after its last; ok is false if
// what says how far it is is NULL.
func (w *longFrames) bound(b *vector.Batch, i, r, column int, constant int64, upper bool) (at int, ok bool, err error) {
	if w.f.Values && column >= 0 {
		limit := b.Cols[column]
		switch {
		case b.Cols[w.key].IsNull(r):
			return w.peerEdge(upper), true, nil
		case limit.IsNull(r):
			return 0, false, nil
		}
		at, err = w.search(valueLimit(limit, r, w.p.order[0].Desc, upper), upper)
		return at, true, err
	}
	n, ok := offsetAt(b, column, constant, r)
	if !ok {
		return 0, false, nil
	}
	at, err = w.edge(b, i, r, n, upper)
	return at, true, err
}

// rows returns what EXCLUDE leaves of the frame of row i.
func (w *longFrames) rows(b *vector.Batch, i, r int) (frame, error) {
	lo, hi, err := w.bounds(b, i, r)
	return newFrame(w.f.Exclude, lo, hi, i, w.peers.lo, w.peers.hi), err
}

// edge returns the first row of the frame, or with upper the row after its last, when it lies n
// units from row i.
func (w *longFrames) edge(b *vector.Batch, i, r int, n int64, upper bool) (int, error) {
	switch {
	case w.f.Groups:
		return w.groupEdge(n, upper)
	case !w.f.Range:
		return rowEdge(i, n, 0, w.p.n(), upper), nil
	case w.key >= 0 && n != 0 && !b.Cols[w.key].IsNull(r):
		return w.search(rangeLimit(b.Cols[w.key], r, n, w.p.order[0].Desc, upper), upper)
	}
	return w.peerEdge(upper), nil
}

func (w *longFrames) peerEdge(upper bool) int {
	if upper {
		return w.peers.hi
	}
	return w.peers.lo
}

func (w *longFrames) groupEdge(n int64, upper bool) (int, error) {
	n = min(max(n, -int64(w.p.groups())), int64(w.p.groups()))
	switch g := w.peers.group + int(n); {
	case g < 0:
		return 0, nil
	case g >= w.p.groups():
		return w.p.n(), nil
	case upper:
		return w.p.groupStart(g + 1)
	default:
		return w.p.groupStart(g)
	}
}

// search looks for the first row beyond a value, near the edge of the frame before.
func (w *longFrames) search(beyond func(key *vector.Vector, j int) bool, upper bool) (int, error) {
	near := &w.near.lo
	if upper {
		near = &w.near.hi
	}
	at, err := searchNear(w.known.lo, w.known.hi, *near, func(j int) (bool, error) {
		b, k, err := w.p.rows.At(j)
		if err != nil {
			return false, err
		}
		return beyond(b.Cols[w.key], k), nil
	})
	*near = at
	return at, err
}

// searchNear returns the first of lo up to, not including, hi for which holds is true, hi if there
// is none. Once true it stays so. It looks about a position first, ever farther away.
func searchNear(lo, hi, near int, holds func(int) (bool, error)) (int, error) {
	near = min(max(near, lo), hi)
	up := false
	if near < hi {
		ok, err := holds(near)
		if err != nil {
			return 0, err
		}
		up = !ok
	}
	for step := 1; ; step *= 2 {
		if up {
			lo = near + 1
			if near = lo - 1 + step; near >= hi {
				break
			}
		} else {
			hi = near
			if near = hi - step; near < lo {
				break
			}
		}
		ok, err := holds(near)
		if err != nil {
			return 0, err
		}
		if ok == up { // passed it
			if up {
				hi = near
			} else {
				lo = near + 1
			}
			break
		}
	}
	var failed error
	at := lo + sort.Search(hi-lo, func(k int) bool {
		if failed != nil {
			return true
		}
		ok, err := holds(lo + k)
		failed = err
		return ok
	})
	return at, failed
}
