package cluster

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/timeline"
)

// TestPrioritiesOfReplicasSayWhoIsAsked: workers tell the priorities of their tasks, and a process
// asks those that its settings want.
func TestPrioritiesOfReplicasSayWhoIsAsked(t *testing.T) {
	id := timeline.SegmentID{DataSource: "d", Interval: chrono.Interval{End: 3_600_000}, Version: "v"}
	priority := func(n int) *int { return &n }
	// Rows of the task on each worker, by its priority.
	type replica struct {
		name     string
		priority *int
		rows     int64
		down     bool
	}
	ranked := []replica{{"low", priority(-1), 90, false}, {"high", priority(2), 10, false}, {"high2", priority(2), 20, false}}
	for name, tc := range map[string]struct {
		o        dispatch.TierOptions
		replicas []replica
		want     string
	}{
		"no priorities: the one that was there before": {dispatch.TierOptions{Select: "highestPriority"},
			[]replica{{"b", nil, 5, false}, {"a", nil, 9, false}}, "b a"},
		"no priorities: the one that has more for sure": {dispatch.TierOptions{Select: "highestPriority"},
			[]replica{{"a", nil, 5, false}, {"b", nil, 7, false}, {"c", nil, 10, false}}, "c a b"},
		"the highest":         {dispatch.TierOptions{Select: "highestPriority"}, ranked, "high2 high"},
		"the lowest":          {dispatch.TierOptions{Select: "lowestPriority"}, ranked, "low"},
		"one only":            {dispatch.TierOptions{Select: "strict", Strict: []int{-1}}, ranked, "low"},
		"one that nobody has": {dispatch.TierOptions{Select: "strict", Strict: []int{7}}, ranked, "not asked"},
		"all alike":           {dispatch.TierOptions{Select: "pooled", Pooled: []int{-1, 2}}, ranked, "low high high2"},
		"without one: always": {dispatch.TierOptions{Select: "strict", Strict: []int{7}}, []replica{{"a", nil, 5, false}}, "a"},
		"the first does not live": {dispatch.TierOptions{Select: "highestPriority"},
			[]replica{{"a", priority(1), 5, true}, {"b", priority(0), 5, false}}, "b"},
		"none of them lives":       {dispatch.TierOptions{Select: "highestPriority"}, []replica{{"a", priority(1), 5, true}}, "a"},
		"its order, and then high": {dispatch.TierOptions{Select: "custom", Custom: []int{-1}}, ranked, "low"},
	} {
		tiers, err := dispatch.NewTiers(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		i := NewLiveInventory(LiveOptions{Tiers: tiers, Clock: clock.System(), Log: quiet})
		for _, r := range tc.replicas {
			s := &liveServer{as: &dispatch.Server{Name: r.name}, has: map[string]timeline.SegmentID{}}
			sent, err := loaded(&live.Announcement{ID: id, Shard: timeline.Numbered{}, TaskID: r.name, Priority: r.priority, Rows: r.rows})
			if err != nil {
				t.Fatal(err)
			}
			i.mu.servers[r.name] = s
			i.note(s, &Delta{Changes: []Change{sent}})
			s.as.SetDown(r.down)
		}
		got := "not asked"
		if s := i.View().Find(id); s.Asked() {
			var names []string
			for _, server := range s.Servers() {
				names = append(names, server.Name)
			}
			got = strings.Join(names, " ")
		}
		if got != tc.want {
			t.Errorf("%s: asked are [%s], want [%s]", name, got, tc.want)
		}
	}
}
