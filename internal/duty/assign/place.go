package assign

import (
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// place gives a segment of the chunk, which servers were found to hold, as many copies on each tier
// as its rule wants. It returns whether copies lack for which there is no room.
func (f *clusterState) place(s *timeline.Segment, id string, v *verdict, out commands) (lacks bool) {
	f.coming = f.coming[:0]
	if gone := f.leaving[id]; len(gone) > 0 {
		f.there = slices.DeleteFunc(f.there, func(o *server) bool { return slices.Contains(gone, o.address) })
	}
	for _, address := range f.pending[id] {
		if o := f.by[address]; o != nil && !slices.Contains(f.there, o) {
			f.coming = append(f.coming, o)
		}
	}
	for i, t := range f.tiers {
		have := 0 // copies that count: those of servers that give all they have do not
		for _, list := range [][]*server{f.there, f.coming} {
			for _, o := range list {
				if o.tier == t && !o.closed {
					have++
				}
			}
		}
		for ; have < v.copies[i]; have++ {
			if have > 0 && t.replicas <= 0 {
				f.postponed = true
				break
			}
			o := f.cheapest(t, s, f.there, f.coming, f.refusing(id))
			if o == nil {
				o = f.cheapest(t, s, f.there, f.coming)
			}
			if o == nil && slices.ContainsFunc(t.servers, (*server).busy) {
				f.postponed = true
				break
			}
			if o == nil {
				// One that does not answer may come back with what it has.
				lacks = lacks || !slices.ContainsFunc(t.servers, func(o *server) bool { return o.Down })
				break
			}
			if have > 0 {
				t.replicas--
			}
			o.queue++
			f.give(o, s.Size, 1)
			o.meet(f.number)
			f.coming = append(f.coming, o)
			out.load(o.address, s, id, fmt.Sprintf("rule [%s] wants [%d] copies on tier [%s]", v.rule.Type(), v.copies[i], t.name))
		}
	}
	if len(f.there) > v.sum || len(f.there) > 0 && len(f.coming) > 0 {
		f.dropExcess(s, id, v, out)
	}
	return lacks
}

// dropExcess drops copies beyond those wanted on their tier, first from servers that are to give
// all they have, then where they cost most. What answers queries stays until there are as many
// copies as are wanted anywhere: a segment that changes its tier is loaded there first. A move
// under way is not in excess: it ends by itself.
func (f *clusterState) dropExcess(s *timeline.Segment, id string, v *verdict, out commands) {
	if v.sum > 0 && f.moving[id] {
		return
	}
	spare := len(f.there) - v.sum
	for i, t := range f.tiers {
		n := 0
		for _, o := range f.there {
			if o.tier == t {
				n++
			}
		}
		for ; n > v.copies[i]; n-- {
			if spare <= 0 {
				f.postponed = f.postponed || len(f.coming) > 0
				return
			}
			spare--
			f.neighbours()
			var most *server
			for _, o := range f.there {
				if o.tier == t && (most == nil || f.dearer(o, most, s.Size)) {
					most = o
				}
			}
			f.there = slices.DeleteFunc(f.there, func(o *server) bool { return o == most })
			f.give(most, s.Size, -1)
			reason := "there are more copies than the rules want"
			if v.copies[i] == 0 {
				reason = "the rules want no copy on this tier"
			}
			out.drop(most.address, id, reason)
		}
	}
}

// dearer reports whether a copy is given up by a rather than by b.
func (f *clusterState) dearer(a, b *server, size int64) bool {
	if a.closed != b.closed {
		return a.closed
	}
	return f.cost(a, size) > f.cost(b, size)
}
