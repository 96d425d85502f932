package timeline

import (
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
)

// Timeline is the used segments of one datasource. It is immutable; nil is the empty one. All
// methods are safe for use by many goroutines.
type Timeline struct {
	root     *node
	segments int
	bytes    int64
}

// Holder is a chunk and a part of its interval in which it is visible. A chunk that a newer chunk
// interrupts has several holders.
type Holder struct {
	// Interval is the visible interval, clipped to the requested intervals. Rows outside it must not
	// be read.
	Interval chrono.Interval
	Chunk    *Chunk
}

// Version is the version of the chunk.
func (h Holder) Version() string { return h.Chunk.Version }

// Segments returns the visible segments, tombstones included, by partition number. The caller must
// not change the slice.
func (h Holder) Segments() []*Segment { return h.Chunk.Segments() }

// Len returns the number of segments; Bytes the sum of their sizes.
func (t *Timeline) Len() int {
	if t == nil {
		return 0
	}
	return t.segments
}

// Bytes returns the sum of the sizes of the segments.
func (t *Timeline) Bytes() int64 {
	if t == nil {
		return 0
	}
	return t.bytes
}

func (t *Timeline) tree() *node {
	if t == nil {
		return nil
	}
	return t.root
}

// Apply returns the timeline after changes. Of several changes of one id, the last wins. Adding an
// existing segment replaces its descriptor; removing a missing one has no effect. The cost is O(log
// n) for each chunk touched, plus the size of those chunks.
func (t *Timeline) Apply(changes []Change) *Timeline {
	if len(changes) == 0 {
		return t
	}
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b Change) int { return a.ID.Compare(b.ID) })
	next := Timeline{}
	if t != nil {
		next = *t
	}
	var fresh []*Chunk // for an empty tree: built at once
	for len(sorted) > 0 {
		first := sorted[0].ID
		n := 1
		for n < len(sorted) && compareKey(sorted[n].ID.Interval, sorted[n].ID.Version, first.Interval, first.Version) == 0 {
			n++
		}
		old := next.root.find(first.Interval, first.Version)
		now := next.edit(old, sorted[:n])
		switch {
		case now == nil && old != nil:
			next.root = next.root.drop(first.Interval, first.Version)
		case now != nil && t.tree() == nil:
			fresh = append(fresh, now)
		case now != nil && now != old:
			next.root = next.root.put(now)
		}
		sorted = sorted[n:]
	}
	if t.tree() == nil {
		next.root = build(fresh)
	}
	return &next
}

// edit returns a chunk (nil: there is none) after changes to its members, sorted by partition, and
// keeps the sums of t.
func (t *Timeline) edit(c *Chunk, changes []Change) *Chunk {
	var members []*Segment
	if c != nil {
		members = c.segments
	}
	out := make([]*Segment, 0, len(members)+len(changes))
	for i, change := range changes {
		if i+1 < len(changes) && changes[i+1].ID.Partition == change.ID.Partition {
			continue
		}
		for len(members) > 0 && members[0].ID.Partition < change.ID.Partition {
			out, members = append(out, members[0]), members[1:]
		}
		if len(members) > 0 && members[0].ID.Partition == change.ID.Partition {
			t.segments--
			t.bytes -= members[0].Size
			members = members[1:]
		}
		if change.Segment != nil {
			t.segments++
			t.bytes += change.Segment.Size
			out = append(out, change.Segment)
		}
	}
	out = append(out, members...)
	if len(out) == 0 {
		return nil
	}
	return newChunk(changes[0].ID.Interval, changes[0].ID.Version, out)
}

// Segment returns the descriptor of an id, or nil.
func (t *Timeline) Segment(id SegmentID) *Segment {
	c := t.tree().find(id.Interval, id.Version)
	if c == nil {
		return nil
	}
	if i, found := c.find(id.Partition); found {
		return c.segments[i]
	}
	return nil
}

// All yields every segment, visible or not, by interval, version and partition.
func (t *Timeline) All() iter.Seq[*Segment] {
	return func(yield func(*Segment) bool) {
		t.tree().each(func(c *Chunk) bool {
			for _, s := range c.segments {
				if !yield(s) {
					return false
				}
			}
			return true
		})
	}
}

// Chunks returns every chunk that overlaps the interval, visible or not, complete or not, by
// interval and version.
func (t *Timeline) Chunks(iv chrono.Interval) []*Chunk { return t.tree().overlapping(iv, nil) }

// Lookup returns the visible chunks for a query over the intervals, by time (rules R1 to R3). The
// holders do not overlap. Intervals may be in any order and overlap each other; each instant is
// returned once.
func (t *Timeline) Lookup(intervals ...chrono.Interval) []Holder {
	return t.lookup(intervals, (*Chunk).IsComplete)
}

// LookupIncomplete is Lookup under the assumption that every chunk is complete.
func (t *Timeline) LookupIncomplete(intervals ...chrono.Interval) []Holder {
	return t.lookup(intervals, func(*Chunk) bool { return true })
}

func (t *Timeline) lookup(intervals []chrono.Interval, eligible func(*Chunk) bool) []Holder {
	if t.tree() == nil {
		return nil
	}
	if len(intervals) > 1 {
		intervals = chrono.Condense(intervals)
	}
	var holders []Holder
	for _, iv := range intervals {
		chunks := slices.DeleteFunc(t.tree().overlapping(iv, nil), func(c *Chunk) bool { return !eligible(c) })
		first := len(holders)
		holders = slices.Grow(holders, len(chunks)) // each has one, but for those that others hide or interrupt
		sweep(chunks, iv, func(c *Chunk, part chrono.Interval) {
			if n := len(holders); n > first && holders[n-1].Chunk == c && holders[n-1].Interval.End == part.Start {
				holders[n-1].Interval.End = part.End
				return
			}
			holders = append(holders, Holder{Interval: part, Chunk: c})
		})
	}
	return holders
}

// sweep walks over the chunks, which are sorted by start and overlap iv, and tells for each part of
// iv which chunk wins there (rule R2). Parts come by time; one chunk may come in several adjoining
// parts.
func sweep(chunks []*Chunk, iv chrono.Interval, emit func(*Chunk, chrono.Interval)) {
	var open contenders
	for at := iv.Start; at < iv.End; {
		// What has ended leaves before others come: below them it would stay, and chunks one after the
		// other would all be open in the end.
		for len(open) > 0 && open[0].Interval.End <= at {
			open.pop()
		}
		for len(chunks) > 0 && chunks[0].Interval.Start <= at {
			open.push(chunks[0])
			chunks = chunks[1:]
		}
		to := iv.End
		if len(chunks) > 0 {
			to = min(to, chunks[0].Interval.Start)
		}
		if len(open) > 0 {
			to = min(to, open[0].Interval.End)
			emit(open[0], chrono.Interval{Start: at, End: to})
		}
		at = to
	}
}

// contenders is a heap of chunks with the winner on top. Losers that have ended stay until they get
// to the top.
type contenders []*Chunk

func (h *contenders) push(c *Chunk) {
	s := append(*h, c)
	*h = s
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].beats(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *contenders) pop() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s); child++ {
			if s[child].beats(s[best]) {
				best = child
			}
		}
		if best == i {
			return
		}
		s[i], s[best] = s[best], s[i]
		i = best
	}
}
