package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
)

// instants is the length of the oracle's world: it looks at every millisecond of it.
const instants = 24

// oracle answers by brute force over a plain list of segments.
type oracle []*Segment

// visibleAt returns the names of the segments that a query of one instant sees.
func (o oracle) visibleAt(at int64) string {
	best := ""
	for version, group := range o.groups(at) {
		if o.complete(group) && version > best {
			best = version
		}
	}
	if best == "" {
		return ""
	}
	var names []string
	for _, s := range o.groups(at)[best] {
		names = append(names, name(s))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// groups returns the segments that contain an instant by version; the test never gives one version
// two intervals that overlap.
func (o oracle) groups(at int64) map[string][]*Segment {
	groups := map[string][]*Segment{}
	for _, s := range o {
		if s.ID.Interval.ContainsInstant(at) {
			groups[s.ID.Version] = append(groups[s.ID.Version], s)
		}
	}
	return groups
}

func (o oracle) complete(group []*Segment) bool {
	core := 0
	for _, s := range group {
		core = max(core, s.Shard.CorePartitions())
	}
	for p := range core {
		if !slices.ContainsFunc(group, func(s *Segment) bool { return s.ID.Partition == p }) {
			return false
		}
	}
	return true
}

func (o oracle) overshadowed(s *Segment) bool {
	for at := s.ID.Interval.Start; at < s.ID.Interval.End; at++ {
		newer := false
		for version, group := range o.groups(at) {
			newer = newer || version > s.ID.Version && o.complete(group)
		}
		if !newer {
			return false
		}
	}
	return true
}

// TestTimelineAgainstOracle applies random batches of changes and compares every instant, every
// overshadowed segment and every earlier timeline with brute force.
func TestTimelineAgainstOracle(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		used := map[SegmentID]*Segment{}
		var tl *Timeline
		type moment struct {
			tl    *Timeline
			shown string
		}
		var past []moment
		for step := range 12 {
			var changes []Change
			for range 1 + rnd.IntN(8) {
				if len(used) > 0 && rnd.IntN(3) == 0 {
					for id := range used { // any
						changes = append(changes, Change{ID: id})
						delete(used, id)
						break
					}
					continue
				}
				s := randomSegment(rnd, used)
				used[s.ID] = s
				changes = append(changes, Change{ID: s.ID, Segment: s})
			}
			tl = tl.Apply(changes)
			var o oracle
			for _, s := range used {
				o = append(o, s)
			}
			where := fmt.Sprintf("seed %d, step %d", seed, step)
			compareWithOracle(t, where, tl, o, rnd)
			past = append(past, moment{tl, show(tl.Lookup(chrono.Eternity))})
			if t.Failed() {
				return
			}
		}
		for i, m := range past {
			if got := show(m.tl.Lookup(chrono.Eternity)); got != m.shown {
				t.Fatalf("seed %d: the timeline of step %d changed from %q to %q", seed, i, m.shown, got)
			}
		}
	}
}

// randomSegment returns a segment whose version does not have another interval that overlaps its
// own.
func randomSegment(rnd *rand.Rand, used map[SegmentID]*Segment) *Segment {
	for {
		length := []int64{2, 4, 6, 12}[rnd.IntN(4)]
		start := rnd.Int64N(instants/2) * 2
		id := SegmentID{
			DataSource: "d", Interval: chrono.Interval{Start: start, End: min(start+length, instants)},
			Version: string(rune('a' + rnd.IntN(5))), Partition: rnd.IntN(3),
		}
		clash := false
		for other := range used {
			clash = clash || other.Version == id.Version && other.Interval != id.Interval && other.Interval.Overlaps(id.Interval)
		}
		if !clash {
			return &Segment{ID: id, Shard: Numbered{Partition: id.Partition, Core: rnd.IntN(3)}, Size: 1}
		}
	}
}

func compareWithOracle(t *testing.T, where string, tl *Timeline, o oracle, rnd *rand.Rand) {
	t.Helper()
	if tl.Len() != len(o) {
		t.Errorf("%s: %d segments, want %d", where, tl.Len(), len(o))
	}
	asked := chrono.Interval{Start: rnd.Int64N(instants), End: instants}
	if rnd.IntN(2) == 0 {
		asked = chrono.Interval{Start: 0, End: instants}
	}
	seen := map[int64]string{}
	last := asked.Start
	for _, h := range tl.Lookup(asked) {
		if h.Interval.Start < last || h.Interval.IsEmpty() || !asked.Contains(h.Interval) {
			t.Errorf("%s: holders overlap or are out of order at %v", where, h.Interval)
		}
		last = h.Interval.End
		var names []string
		for _, s := range h.Segments() {
			names = append(names, name(s))
		}
		slices.Sort(names)
		for at := h.Interval.Start; at < h.Interval.End; at++ {
			seen[at] = strings.Join(names, " ")
		}
	}
	for at := asked.Start; at < asked.End; at++ {
		if want := o.visibleAt(at); seen[at] != want {
			t.Errorf("%s: at %d got %q, want %q", where, at, seen[at], want)
		}
	}
	hidden := map[SegmentID]bool{}
	for _, s := range tl.FindFullyOvershadowed() {
		hidden[s.ID] = true
	}
	for _, s := range o {
		if want := o.overshadowed(s); hidden[s.ID] != want || tl.SegmentIsOvershadowed(s) != want {
			t.Errorf("%s: %s overshadowed: got %v, want %v", where, name(s), hidden[s.ID], want)
		}
	}
}

// TestShapeDoesNotDependOnOrder holds trees built at once and step by step to the same answers and
// balance.
func TestShapeDoesNotDependOnOrder(t *testing.T) {
	const n = 20000
	var list []*Segment
	for i := range int64(n) {
		id := SegmentID{DataSource: "d", Interval: chrono.Interval{Start: i * 10, End: i*10 + 10}, Version: "a"}
		list = append(list, &Segment{ID: id, Shard: Numbered{Core: 1}})
	}
	var atOnce, oneByOne *Timeline
	atOnce = atOnce.Apply(Added(list...))
	for _, s := range list {
		oneByOne = oneByOne.Apply(Added(s))
	}
	var depth func(*node) int
	depth = func(n *node) int {
		if n == nil {
			return 0
		}
		return 1 + max(depth(n.left), depth(n.right))
	}
	if a, b := depth(atOnce.root), depth(oneByOne.root); a != b || a > 50 {
		t.Errorf("depths %d and %d for %d chunks", a, b, n)
	}
	if len(oneByOne.Lookup(chrono.Interval{Start: 100, End: 200})) != 10 || len(oneByOne.Lookup(chrono.Eternity)) != n {
		t.Error("lookup misses chunks")
	}
}

func BenchmarkLookupOneOfMillion(b *testing.B) {
	const n = 1_000_000
	var list []*Segment
	for i := range int64(n) {
		id := SegmentID{DataSource: "d", Interval: chrono.Interval{Start: i * 10, End: i*10 + 10}, Version: "a"}
		list = append(list, &Segment{ID: id, Shard: Numbered{Core: 1}})
	}
	var tl *Timeline
	tl = tl.Apply(Added(list...))
	b.Run("lookup", func(b *testing.B) {
		for i := range b.N {
			at := int64(i*7919%n) * 10
			if len(tl.Lookup(chrono.Interval{Start: at, End: at + 10})) != 1 {
				b.Fatal("not found")
			}
		}
	})
	b.Run("apply", func(b *testing.B) {
		for i := range b.N {
			id := SegmentID{DataSource: "d", Interval: chrono.Interval{Start: int64(i%n) * 10, End: int64(i%n)*10 + 10}, Version: "b"}
			tl.Apply([]Change{{ID: id, Segment: &Segment{ID: id, Shard: Numbered{Core: 1}}}})
		}
	})
	b.Run("overshadowed", func(b *testing.B) {
		for range b.N {
			tl.FindFullyOvershadowed()
		}
	})
}

// All of ten thousand chunks, one after the other.
func BenchmarkLookupAllOfTenThousand(b *testing.B) {
	var all []*Segment
	for hour := range int64(10_000) {
		iv := chrono.Interval{Start: hour * chrono.Hour, End: (hour + 1) * chrono.Hour}
		all = append(all, &Segment{ID: SegmentID{DataSource: "d", Interval: iv, Version: "2026-01-01T00:00:00.000Z"}, Shard: Numbered{}})
	}
	var none *Timeline
	t := none.Apply(Added(all...))
	for b.Loop() {
		if got := t.Lookup(chrono.Eternity); len(got) != len(all) {
			b.Fatal(len(got))
		}
	}
}
