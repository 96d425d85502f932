package assign

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// TestWhatIsSeenFollowsTheTimeline changes a timeline in every way and compares what was kept of
// the looks before with a first look.
func TestWhatIsSeenFollowsTheTimeline(t *testing.T) {
	segment := func(from, days, version, partition int) *timeline.Segment {
		return &timeline.Segment{
			ID: timeline.SegmentID{DataSource: "wiki", Version: fmt.Sprintf("v%d", version), Partition: partition,
				Interval: chrono.Interval{Start: int64(from) * chrono.Day, End: int64(from+days) * chrono.Day}},
			Shard: timeline.Numbered{Partition: partition},
		}
	}
	removed := func(s *timeline.Segment) []timeline.Change { return []timeline.Change{{ID: s.ID}} }
	ids := func(k *known) (out []string) {
		for _, s := range k.chunks {
			out = append(out, s.ids...)
		}
		return out
	}
	k := &known{}
	var line *timeline.Timeline
	for _, step := range []struct {
		name    string
		changes []timeline.Change
		gone    []string
	}{
		{"nothing", nil, nil},
		{"a week and two days", timeline.Added(segment(0, 7, 1, 0), segment(7, 1, 1, 0), segment(7, 1, 1, 1), segment(8, 1, 1, 0)), nil},
		{"a day interrupts the week", timeline.Added(segment(2, 1, 2, 0)), nil},
		{"a day is replaced", timeline.Added(segment(7, 1, 2, 0)), []string{segment(7, 1, 1, 0).ID.String(), segment(7, 1, 1, 1).ID.String()}},
		{"more of a day", timeline.Added(segment(8, 1, 1, 1)), nil},
		{"less of it", removed(segment(8, 1, 1, 0)), []string{segment(8, 1, 1, 0).ID.String()}},
		{"the replacement goes", removed(segment(7, 1, 2, 0)), []string{segment(7, 1, 2, 0).ID.String()}},
		{"a tombstone hides it", timeline.Added(timeline.NewTombstone(segment(7, 1, 3, 0).ID)), []string{segment(7, 1, 1, 0).ID.String(), segment(7, 1, 1, 1).ID.String()}},
		{"the week goes", removed(segment(0, 7, 1, 0)), []string{segment(0, 7, 1, 0).ID.String()}},
	} {
		line = line.Apply(step.changes)
		gone := k.see("wiki", line)
		slices.Sort(gone)
		if d := cmp.Diff(step.gone, gone); d != "" {
			t.Errorf("%s: gone: %s", step.name, d)
		}
		first := &known{}
		first.see("wiki", line)
		if d := cmp.Diff(ids(first), ids(k)); d != "" {
			t.Errorf("%s: seen: %s", step.name, d)
		}
		if again := k.see("wiki", line); again != nil {
			t.Errorf("%s: with the same timeline [%s] are gone", step.name, again)
		}
	}
}
