package compact

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// Group is a set of visible segments that one task would compact together.
type Group struct {
	DataSource string
	// Interval is the interval that the task would rewrite: the time chunk, extended to cover every
	// segment.
	Interval chrono.Interval
	Segments []*timeline.Segment
	Bytes    int64
	// intervals is how many different intervals the segments have.
	intervals int64
	// reason is why the group needs compaction, "" if it does not; skipped is why it is left alone all
	// the same, by what only the segments and the settings say.
	reason, skipped string
	// empty is whether there is nothing to compact and nothing to count.
	empty bool
}

// survey is what the segments and settings of a datasource say, whatever else goes on in the
// cluster.
type survey struct {
	timeline *timeline.Timeline
	key      string
	config   *Config
	groups   []*Group
	// rest is what a round made of the groups when there was nothing to do and nothing but segments
	// and settings decided that, and snapshot its sum: as long as they stay, so does the outcome.
	rest     []Outcome
	snapshot Snapshot
	// unbounded counts visible segments without bounds in time, which nothing compacts.
	unbounded []*timeline.Segment
}

// take groups the visible segments of a datasource. The newest group is first.
func take(config *Config, key string, tl *timeline.Timeline) (*survey, error) {
	t, err := newTarget(config)
	if err != nil {
		return nil, err
	}
	s := &survey{timeline: tl, key: key, config: config}
	var visible []*timeline.Segment
	seen := map[timeline.SegmentID]bool{}
	for _, holder := range tl.Lookup(chrono.Eternity) {
		for _, segment := range holder.Segments() {
			switch {
			case seen[segment.ID]:
			case segment.ID.Interval.Start <= chrono.MinInstant || segment.ID.Interval.End >= chrono.MaxInstant:
				seen[segment.ID] = true
				s.unbounded = append(s.unbounded, segment)
			default:
				seen[segment.ID] = true
				visible = append(visible, segment)
			}
		}
	}
	s.groups = gather(config, visible)
	if len(s.groups) == 0 {
		return s, nil
	}
	end := s.groups[0].Segments[0].ID.Interval.End
	for _, segment := range visible {
		end = max(end, segment.ID.Interval.End)
	}
	fresh := widen(config, chrono.Interval{Start: config.SkipOffsetFromLatest.Add(end, chrono.UTC, -1), End: end})
	for _, g := range s.groups {
		g.reason = t.reason(g.Segments)
		g.skipped = skipped(config, g, fresh)
	}
	return s, nil
}

// skipped returns why a group is left alone even if it needs compaction.
func skipped(config *Config, g *Group, fresh chrono.Interval) string {
	switch {
	case g.Bytes == 0 || len(g.Segments) == 1 && g.Segments[0].IsTombstone():
		g.empty = true
		return "has no rows"
	case !fresh.IsEmpty() && g.Interval.Overlaps(fresh):
		return "overlaps the skip offset of [" + config.SkipOffsetFromLatest.String() + "] from the latest segment"
	}
	for _, iv := range config.SkipIntervals {
		if g.Interval.Overlaps(widen(config, iv)) {
			return "overlaps interval [" + iv.String() + "], which the settings skip"
		}
	}
	if g.Bytes > config.InputSegmentSizeBytes {
		return "its total bytes are more than 'inputSegmentSizeBytes'"
	}
	return ""
}

// widen makes whole time chunks of an interval.
func widen(config *Config, iv chrono.Interval) chrono.Interval {
	g := config.segmentGranularity()
	if g == nil || g.IsAll() || g.IsNone() || iv.IsEmpty() {
		return iv
	}
	return chrono.Interval{Start: g.Floor(iv.Start), End: g.Ceil(iv.End)}
}

// gather puts segments together whose time chunks, as they are or as they are wanted, have time in
// common.
func gather(config *Config, visible []*timeline.Segment) []*Group {
	slices.SortFunc(visible, func(a, b *timeline.Segment) int { return a.ID.Compare(b.ID) })
	var groups []*Group
	for _, s := range visible {
		wide := widen(config, s.ID.Interval)
		n := len(groups)
		if n == 0 || !groups[n-1].Interval.Overlaps(wide) {
			groups = append(groups, &Group{DataSource: s.ID.DataSource, Interval: wide})
			n++
		}
		g := groups[n-1]
		if k := len(g.Segments); k == 0 || g.Segments[k-1].ID.Interval != s.ID.Interval {
			g.intervals++
		}
		g.Interval = g.Interval.Span(wide)
		g.Segments = append(g.Segments, s)
		if !s.IsTombstone() { // whose size is a formality
			g.Bytes += s.Size
		}
	}
	slices.Reverse(groups)
	return groups
}
