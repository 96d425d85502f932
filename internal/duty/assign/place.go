package assign

import (
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/timeline"
)

// place gives a segment as many copies on each tier as its rule wants. It returns whether the segment stays anywhere, and whether copies
// lack for which there is no room.
func (f *fleet) place(s *timeline.Segment, id string, r rule.Rule, holders []*cluster.Server, out commands) (stays, lacks bool) {
	held := func(o *ship) bool { return holds(holders, o.address) && !slices.Contains(f.leaving[id], o.address) }
	coming := func(o *ship) bool { return slices.Contains(f.pending[id], o.address) }
	for tier, servers := range f.tiers {
		want := min(r.Copies(tier, len(servers)), len(servers))
		if want > 0 {
			stays = true
		}
		var have, there []*ship // copies that count, and those of them that answer queries
		for _, o := range servers {
			if (held(o) || coming(o)) && !o.closed {
				have = append(have, o)
			}
			if held(o) {
				there = append(there, o)
				o.chunks[chunk{s.ID.DataSource, s.ID.Interval}]++
			}
		}
		for n := len(have); n < want; n++ {
			o := cheapest(servers, s, func(o *ship) bool { return o.fits(s) && !slices.Contains(have, o) && !held(o) })
			if o == nil {
				if !slices.ContainsFunc(servers, func(o *ship) bool { return o.Down }) { // it may come back with what it has
					lacks = true
				}
				break
			}
			o.take(s)
			have = append(have, o)
			out.load(o.address, s, id, fmt.Sprintf("rule [%s] wants [%d] copies on tier [%s]", r.Type(), want, tier))
		}
		f.dropExcess(s, id, want, there, out)
	}
	return stays, lacks
}

// dropExcess drops copies beyond those wanted, first from servers that are to give all they have, then where they cost most. A move under
// way is not in excess: it ends by itself.
func (f *fleet) dropExcess(s *timeline.Segment, id string, want int, there []*ship, out commands) {
	if want > 0 && (len(f.pending[id]) > 0 || f.moving[id]) {
		return
	}
	for len(there) > want {
		most := slices.MaxFunc(there, func(a, b *ship) int {
			switch {
			case a.closed != b.closed:
				if a.closed {
					return 1
				}
				return -1
			case a.cost(s) > b.cost(s):
				return 1
			}
			return -1
		})
		there = slices.DeleteFunc(there, func(o *ship) bool { return o == most })
		most.bytes -= s.Size
		reason := "there are more copies than the rules want"
		if want == 0 {
			reason = "the rules want no copy on this tier"
		}
		out.drop(most.address, id, reason)
	}
}
