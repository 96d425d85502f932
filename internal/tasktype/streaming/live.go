package streaming

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/live"
)

// LiveSegments returns the segments of a live set.
func LiveSegments(set *live.Set) Segments { return liveSegments{set} }

type liveSegments struct{ set *live.Set }

// Open implements Segments.
func (l liveSegments) Open(o SegmentOptions) (Segment, error) {
	g, err := l.set.Open(live.SegmentOptions{ID: o.ID, Shard: o.Shard, TaskID: o.TaskID, Priority: o.Priority, Segment: o.Write})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Publish implements Segments.
func (l liveSegments) Publish(segments []Segment, commit func() (int64, error)) error {
	own := make([]*live.Segment, len(segments))
	for i, s := range segments {
		g, ok := s.(*live.Segment)
		if !ok {
			return fault.Defensive("A segment of another kind is to be published")
		}
		own[i] = g
	}
	return live.Publish(own, commit)
}
