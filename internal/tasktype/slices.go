package tasktype

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// OpenSegment makes a segment readable until the caller releases it, and loads it from deep storage
// if necessary (fragments.Segments.Acquire).
type OpenSegment func(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error)

// slices are the segments of datasources in the words of package msq.
type slices struct {
	visible func(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment]
	open    OpenSegment
}

// NewSlices returns the msq.Segments with which the workers of a job read segments one by one. If
// visible is nil, it only opens segments that others name.
func NewSlices(visible func(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment], open OpenSegment) msq.Segments {
	return &slices{visible, open}
}

// Visible implements msq.Segments.
func (s *slices) Visible(scan *plan.Scan) []msq.Slice {
	var out []msq.Slice
	for visible, seg := range s.visible(scan) {
		out = append(out, msq.Slice{Of: seg, Visible: visible})
	}
	return out
}

// Open implements msq.Segments.
func (s *slices) Open(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error) {
	return s.open(ctx, id, loadSpec)
}
