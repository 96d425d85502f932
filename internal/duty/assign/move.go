package assign

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// uneven is the difference of fill from which segments are moved, in parts of a server: less is not worth the traffic.
const uneven = 0.05

// move is a segment on its way from one server to another.
type move struct{ from, to string }

// even moves segments from the fullest server of each tier to the emptiest, up to a number, as long as that makes them more alike. Fill is
// compared in relation to the fullest, so that a nearly empty cluster is evened out too.
func (d *Duty) even(f *fleet, state *timeline.State, limit int, out commands) {
	d.mu.Lock()
	defer d.mu.Unlock()
	limit -= len(d.mu.moves)
	for _, servers := range f.tiers {
		open := slices.DeleteFunc(slices.Clone(servers), func(s *ship) bool { return s.closed || s.Down })
		if len(open) < 2 {
			continue
		}
		for limit > 0 {
			byFill := func(a, b *ship) int { return cmp.Compare(a.fill(0), b.fill(0)) }
			from, to := slices.MaxFunc(open, byFill), slices.MinFunc(open, byFill)
			if from.fill(0)-to.fill(0) <= uneven*from.fill(0) {
				break
			}
			s, id := d.movableLocked(f, state, from, to)
			if s == nil {
				break
			}
			limit--
			from.bytes -= s.Size
			to.take(s)
			d.mu.moves[id] = move{from.address, to.address}
			out.load(to.address, s, id, "server ["+from.address+"] is fuller")
		}
	}
}

// movableLocked returns a segment that one server has and another has not, and that makes the two more alike.
func (d *Duty) movableLocked(f *fleet, state *timeline.State, from, to *ship) (*timeline.Segment, string) {
	gap := from.bytes - to.bytes
	for len(from.IDs) > 0 { // each is looked at once in a round
		last := len(from.IDs) - 1
		id := from.IDs[last]
		from.IDs = from.IDs[:last]
		if len(f.pending[id]) > 0 || len(f.leaving[id]) > 0 || holds(d.o.Inventory.Holders(id), to.address) {
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
