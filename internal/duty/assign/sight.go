package assign

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// known is what the duty knows of a datasource: its visible segments, as of one timeline. A look at
// the same timeline goes through the list, and at another one finds again what is of chunks that
// are in both: the texts of ids, by which everything else is found, are made once.
type known struct {
	timeline *timeline.Timeline
	chunks   []sight // the newest first
}

// sight is a visible chunk with the ids of its visible segments.
type sight struct {
	chunk *timeline.Chunk
	ids   []string
}

// see returns what is visible now, and the ids that were visible and are not.
func (k *known) see(dataSource string, now *timeline.Timeline) (gone []string) {
	if k.timeline == now {
		return nil
	}
	before := make(map[*timeline.Chunk][]string, len(k.chunks))
	for _, s := range k.chunks {
		before[s.chunk] = s.ids
	}
	holders := now.Lookup(chrono.Eternity)
	k.timeline, k.chunks = now, make([]sight, 0, len(holders))
	met := make(map[*timeline.Chunk]bool, len(holders)) // a newer version interrupts its chunk, which then is met again
	fresh := map[string]bool{}
	for _, holder := range slices.Backward(holders) {
		c := holder.Chunk
		if met[c] {
			continue
		}
		met[c] = true
		ids, old := before[c]
		if !old {
			ids = idsOf(dataSource, c)
			for _, id := range ids {
				fresh[id] = true
			}
		}
		k.chunks = append(k.chunks, sight{c, ids})
	}
	for c, ids := range before {
		if met[c] {
			continue
		}
		for _, id := range ids {
			if id != "" && !fresh[id] {
				gone = append(gone, id)
			}
		}
	}
	return gone
}

// idsOf returns the ids of a chunk's visible segments; tombstones, which nobody loads, have none.
func idsOf(dataSource string, c *timeline.Chunk) []string {
	segments := c.Segments()
	ids := make([]string, len(segments))
	text := timeline.SegmentID{DataSource: dataSource, Interval: c.Interval, Version: c.Version}.Append(nil)
	common := len(text)
	for i, s := range segments {
		if !s.IsTombstone() {
			ids[i] = string(s.ID.AppendPartition(text[:common]))
		}
	}
	return ids
}

// verdict is what a rule says of its segments.
type verdict struct {
	rule rule.Rule
	// copies are how many are wanted on each tier of the cluster, sum on all together, with those that
	// are absent: tiers that have no server.
	copies []int
	sum    int
	absent []string
}

// follow decides on the segments of a datasource.
func (d *Duty) follow(f *clusterState, v duty.Visit, dataSource string, now int64, out commands) error {
	k := d.known[dataSource]
	if k == nil {
		k = &known{}
		d.known[dataSource] = k
	}
	for _, id := range k.see(dataSource, v.State.Timeline(dataSource)) {
		for _, s := range d.o.Inventory.Holders(id) {
			out.drop(s.Name, id, unwanted)
		}
	}
	rules := rule.At(now, v.Rules[dataSource], v.Rules[rule.Default])
	verdicts := make([]*verdict, rules.Len()) // as far as they were asked for
	missing, unserved := 0, 0
	var absent []string
	for _, seen := range k.chunks {
		segments := seen.chunk.Segments()
		f.look(seen.ids)
		var decided *verdict // nil: what no rule is about stays where it is
		if n := rules.Find(seen.chunk.Interval); n >= 0 {
			if verdicts[n] == nil {
				verdicts[n] = f.verdict(rules.Rule(n))
			}
			decided = verdicts[n]
		}
		for i, id := range seen.ids {
			if id == "" {
				continue
			}
			f.find(d.o.Inventory.Holders(id))
			if decided == nil {
				continue
			}
			if f.place(segments[i], id, decided, out) {
				missing++
			}
			if len(decided.absent) > 0 {
				unserved++
				absent = decided.absent
			}
		}
	}
	if len(k.chunks) == 0 {
		delete(d.known, dataSource)
	}
	if unserved > 0 {
		d.count("segment/assignSkipped/count", unserved, "dataSource", dataSource, "description", "No servers in tier")
		if v.All {
			d.o.Log.Warn("load rules name tiers without servers; replicas in other tiers "+
				"are kept", "datasource", dataSource, "tiers", absent, "segments", unserved)
		}
	}
	if missing > 0 {
		d.count("segment/assignSkipped/count", missing, "dataSource", dataSource, "description", "No server has room")
		return fault.Runtime("[%d] segments of datasource [%s] have fewer copies than the rules want: no server has room", missing, dataSource)
	}
	return nil
}

// unwanted is why segments are dropped that are not visible.
const unwanted = "no rule wants it"

// dropOthers drops what is held and visible in no datasource. Only servers that hold more than was
// seen to be visible have such.
func (d *Duty) dropOthers(f *clusterState, state *timeline.State, out commands) {
	for _, t := range f.tiers {
		for _, o := range t.servers {
			if o.known == o.Segments {
				continue
			}
			for _, id := range f.held(o) {
				if !visible(state, id) {
					out.drop(o.address, id, unwanted)
				}
			}
		}
	}
}

// visible reports whether queries see the segment with an id.
func visible(state *timeline.State, text string) bool {
	for _, id := range timeline.ParseAnyID(text) {
		t := state.Timeline(id.DataSource)
		s := t.Segment(id)
		if s == nil || s.IsTombstone() {
			continue
		}
		for _, h := range t.Lookup(id.Interval) {
			if slices.Contains(h.Segments(), s) {
				return true
			}
		}
	}
	return false
}
