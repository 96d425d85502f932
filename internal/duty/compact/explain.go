package compact

import (
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// Explain returns the outcome of the last round for the group of a segment. It returns false if the
// datasource has no settings, no round has processed it yet, or the segment is not visible.
func (s *Scheduler) Explain(id timeline.SegmentID) (Outcome, bool) {
	for _, o := range s.Outcomes(id.DataSource) {
		if slices.ContainsFunc(o.Group.Segments, func(segment *timeline.Segment) bool { return segment.ID == id }) {
			return o, true
		}
	}
	return Outcome{}, false
}

// Outcomes returns the outcomes of the last round for the groups of a datasource, latest first.
func (s *Scheduler) Outcomes(dataSource string) []Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.outcomes[dataSource]
}
