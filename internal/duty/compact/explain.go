package compact

import (
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// Explain returns what the last round made of the group that a segment is in; false if the
// datasource has no settings, no round has looked at it yet, or the segment is not visible.
func (s *Scheduler) Explain(id timeline.SegmentID) (Outcome, bool) {
	for _, o := range s.Outcomes(id.DataSource) {
		if slices.ContainsFunc(o.Group.Segments, func(segment *timeline.Segment) bool { return segment.ID == id }) {
			return o, true
		}
	}
	return Outcome{}, false
}

// Outcomes returns what the last round made of a datasource's groups, the newest first.
func (s *Scheduler) Outcomes(dataSource string) []Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.outcomes[dataSource]
}
