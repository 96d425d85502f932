package assign

import (
	"slices"

	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/timeline"
)

// uneven is the difference of fill from which segments are moved, in parts of the fullest server:
// less is not worth the traffic.
const uneven = 0.05

// move is a segment on its way from one server to another.
type move struct{ from, to string }

// leastMoves is the number of segments that may move at the same time in a small cluster. In larger
// clusters the limit is a fiftieth of their segments, but at most movesEach per server.
const (
	leastMoves = 100
	movesEach  = 50
)

// maxMoves returns how many segments may be on their way at once on a tier.
func maxMoves(c *duty.Settings, t *tier) int {
	if !c.SmartSegmentLoading {
		return c.MaxSegmentsToMove
	}
	held := 0
	for _, s := range t.servers {
		held += s.Segments
	}
	return max(leastMoves, min(held/50, movesEach*len(t.servers)))
}

// even moves segments from the fullest server of each tier to the emptiest, up to a number, as long
// as that makes them more alike. Fill is compared in relation to the fullest, so that a nearly
// empty cluster is evened out too.
func (d *Duty) even(f *clusterState, state *timeline.State, c duty.Settings, out commands) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range f.tiers {
		limit := maxMoves(&c, t)
		for _, m := range d.mu.moves {
			if o := f.by[m.to]; o != nil && o.tier == t {
				limit--
			}
		}
		open := func(s *server) bool { return !s.closed && !s.Down }
		for limit > 0 {
			first := slices.IndexFunc(t.servers, open)
			if first < 0 {
				break
			}
			to, from := t.servers[first], t.servers[first]
			for _, o := range t.servers[first:] {
				if open(o) {
					from = o
				}
			}
			if from.full-to.full <= uneven*from.full {
				break
			}
			s, id := d.movableLocked(f, state, from, to)
			if s == nil {
				break
			}
			limit--
			f.give(from, s.Size, -1)
			f.give(to, s.Size, 1)
			d.mu.moves[id] = move{from.address, to.address}
			out.load(to.address, s, id, "server ["+from.address+"] is fuller")
		}
	}
}

// movableLocked returns a segment that one server has and another has not, and that makes the two
// more alike.
func (d *Duty) movableLocked(f *clusterState, state *timeline.State, from, to *server) (*timeline.Segment, string) {
	if from.rest == nil {
		from.rest = slices.Clone(f.held(from))
	}
	gap := from.bytes - to.bytes
	for len(from.rest) > 0 { // each is looked at once in a round
		last := len(from.rest) - 1
		id := from.rest[last]
		from.rest = from.rest[:last]
		if len(f.pending[id]) > 0 || len(f.leaving[id]) > 0 || slices.Contains(f.refused[id], to.address) || holds(d.o.Inventory.Holders(id), to.address) {
			continue
		}
		s := find(state, id)
		if s == nil || s.Size <= 0 || s.Size >= gap || !to.fits(s) {
			continue
		}
		if _, twice := d.mu.moves[id]; twice {
			continue
		}
		return s, id
	}
	return nil, ""
}

// find returns the used segment with an id.
func find(state *timeline.State, text string) *timeline.Segment {
	for _, id := range timeline.ParseAnyID(text) {
		if s := state.Timeline(id.DataSource).Segment(id); s != nil {
			return s
		}
	}
	return nil
}
