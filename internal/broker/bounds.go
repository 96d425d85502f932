package broker

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// The timeline knows how many rows a segment has, and of those that were published with them the
// times of the rows. Segments of which a scan wants no more are not opened, wherever they are.

// knownRows returns a segment of which a scan wants only the number of rows, since it reads no
// column and all rows count; nil: it wants more, or the number is not known.
func knownRows(scan *plan.Scan, s *timeline.Segment, visible chrono.Interval) segment.Reader {
	if len(scan.Out) > 0 || scan.Filter != nil || s.Rows < 0 {
		return nil
	}
	times := s.Times
	if times.IsEmpty() {
		times = s.ID.Interval // they lie in it somewhere
	}
	if !allCount(scan, times, visible) {
		return nil
	}
	return segment.NewBounds(int(s.Rows), times.Start, times.End-1)
}

// allCount reports whether all rows of a segment count, which lie within some times.
func allCount(scan *plan.Scan, times, visible chrono.Interval) bool {
	return visible.Contains(times) && (scan.Intervals == nil ||
		slices.ContainsFunc(scan.Intervals, func(iv chrono.Interval) bool { return iv.Contains(times) }))
}

// bounds are what a scan wants that wants no more than plan.Scan's Bounds: those of many segments
// as of one for each interval of the scan in which there are any. One across a gap between
// intervals would have times that the scan does not want.
type bounds struct {
	segments int
	parts    []intervalBounds
}

// intervalBounds are those of the segments within one interval of a scan.
type intervalBounds struct {
	within, times chrono.Interval
	rows          int
}

// take adds a segment; false: it has to be opened.
func (b *bounds) take(scan *plan.Scan, s *timeline.Segment, visible chrono.Interval) bool {
	if !scan.Bounds || scan.Filter != nil || s.Rows < 0 || s.Times.IsEmpty() || !visible.Contains(s.Times) {
		return false
	}
	if last := len(b.parts) - 1; last >= 0 && b.parts[last].within.Contains(s.Times) { // segments come by time
		p := &b.parts[last]
		p.rows += int(s.Rows)
		p.times = chrono.Interval{Start: min(p.times.Start, s.Times.Start), End: max(p.times.End, s.Times.End)}
	} else {
		intervals := intervalsOf(scan)
		at := slices.IndexFunc(intervals, func(iv chrono.Interval) bool { return iv.Contains(s.Times) })
		if at < 0 {
			return false
		}
		b.parts = append(b.parts, intervalBounds{intervals[at], s.Times, int(s.Rows)})
	}
	b.segments++
	return true
}

// put adds leaves for the segments that were taken to others. They have no ids, as each is of
// several segments.
func (b *bounds) put(segments []*timeline.Segment, leaves []exec.Leaf) ([]*timeline.Segment, []exec.Leaf) {
	for _, p := range b.parts {
		segments = append(segments, nil)
		leaves = append(leaves, exec.Leaf{Reader: segment.NewBounds(p.rows, p.times.Start, p.times.End-1), Visible: p.times})
	}
	return segments, leaves
}
