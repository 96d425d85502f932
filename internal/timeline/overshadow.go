package timeline

import "github.com/hengedb/henge/internal/chrono"

// IsOvershadowed reports whether rule R4 holds for a chunk of this interval and version, whether or
// not the timeline has such a chunk.
func (t *Timeline) IsOvershadowed(iv chrono.Interval, version string) bool {
	at := iv.Start
	for _, h := range t.Lookup(iv) {
		if h.Interval.Start != at || h.Chunk.Version <= version {
			return false
		}
		at = h.Interval.End
	}
	return at == iv.End
}

// SegmentIsOvershadowed reports whether the segment is permanently hidden: by newer versions (R4),
// or by a minor version within its chunk.
func (t *Timeline) SegmentIsOvershadowed(s *Segment) bool {
	if t.IsOvershadowed(s.ID.Interval, s.ID.Version) {
		return true
	}
	c := t.tree().find(s.ID.Interval, s.ID.Version)
	return c != nil && len(c.visible) < len(c.segments) && replaced(c, s)
}

// replaced reports whether a complete group of a higher minor version hides a member.
func replaced(c *Chunk, s *Segment) bool {
	var groups overwrites
	for _, m := range c.segments {
		if spec, ok := m.Shard.(NumberedOverwrite); ok {
			groups.add(spec)
		}
	}
	if own, ok := s.Shard.(NumberedOverwrite); ok {
		own.Partition = 0
		if groups[own] < own.GroupSize {
			return false // incomplete is not yet visible, and not hidden for good
		}
	}
	return groups.hide(s.Shard)
}

// FindFullyOvershadowed returns the permanently hidden segments that overlap the intervals, or all
// of them if there are no intervals. Marking them unused does not change any result.
func (t *Timeline) FindFullyOvershadowed(intervals ...chrono.Interval) []*Segment {
	if len(intervals) == 0 {
		intervals = []chrono.Interval{{Start: chrono.MinInstant - 1, End: chrono.MaxInstant + 1}}
	}
	var hidden []*Segment
	seen := make(map[*Chunk]bool)
	for _, iv := range chrono.Condense(intervals) {
		chunks := t.tree().overlapping(iv, nil)
		// One sweep finds the chunks that win somewhere in iv: those are not hidden. The few others are
		// looked at one by one.
		wins := make(map[*Chunk]bool, len(chunks))
		complete := make([]*Chunk, 0, len(chunks))
		for _, c := range chunks {
			if c.complete {
				complete = append(complete, c)
			}
		}
		sweep(complete, iv, func(c *Chunk, _ chrono.Interval) { wins[c] = true })
		for _, c := range chunks {
			if seen[c] {
				continue
			}
			seen[c] = true
			if !wins[c] && t.IsOvershadowed(c.Interval, c.Version) {
				hidden = append(hidden, c.segments...)
				continue
			}
			if len(c.visible) < len(c.segments) {
				for _, s := range c.segments {
					if replaced(c, s) {
						hidden = append(hidden, s)
					}
				}
			}
		}
	}
	return hidden
}
