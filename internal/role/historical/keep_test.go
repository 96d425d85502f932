package historical

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// newHistorical returns a server of the tier hot, and a maker of segments of a day that are in its deep storage.
func newHistorical(t *testing.T) (*Historical, func(date, version string) *timeline.Segment) {
	t.Helper()
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(cache.Options{Dir: t.TempDir(), Store: deep, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := deep.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(c, "hot", slog.New(slog.DiscardHandler)), func(date, version string) *timeline.Segment {
		iv, err := chrono.ParseInterval(date + "/P1D")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := segment.NewWriter(&out, segment.Options{Columns: []segment.ColumnSpec{{Name: "x", Type: vector.Long}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		key := "wiki/" + date + version + "/index"
		if err := deep.Put(t.Context(), key, &out); err != nil {
			t.Fatal(err)
		}
		return &timeline.Segment{
			ID: timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: version}, Shard: timeline.Numbered{Core: 1}, LoadSpec: deep.LoadSpec(key),
		}
	}
}

// A server holds what the rules want on its tier, of the visible segments, and follows when either changes.
func TestKeepFollowsTheRules(t *testing.T) {
	h, day := newHistorical(t)
	old, recent, replaced, gone := day("2026-03-01", "1"), day("2026-03-09", "1"), day("2026-03-08", "1"), day("2026-03-07", "1")
	next := day("2026-03-08", "2")
	now, err := chrono.ParseInstant("2026-03-10T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{h, map[string]map[string]bool{}}
	visit := func(what string, all bool, segments []*timeline.Segment, rules string, want ...*timeline.Segment) {
		t.Helper()
		list, err := rule.Parse([]byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		v := duty.Visit{
			State: timeline.NewState(1, slices.Values(segments)), Rules: map[string]rule.List{rule.Default: list}, DataSources: []string{"wiki"}, All: all,
		}
		if err := k.visit(t.Context(), v, now); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		ids := []string{}
		for _, s := range want {
			ids = append(ids, s.ID.String())
		}
		slices.Sort(ids)
		if diff := cmp.Diff(ids, append([]string{}, h.Loaded()...)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	const forever = `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`
	first, second := []*timeline.Segment{old, recent, replaced, gone}, []*timeline.Segment{old, recent, replaced, next}
	visit("all are wanted here", true, first, forever, first...)
	visit("newer versions hide older ones", false, second, forever, old, recent, next)
	visit("what no rule is about stays", true, second, `[{"type":"loadByPeriod","period":"P3D","tieredReplicants":{"hot":1}}]`, old, recent, next)
	visit("another tier's are dropped", true, second,
		`[{"type":"loadByPeriod","period":"P3D","tieredReplicants":{"hot":1}},{"type":"loadForever","tieredReplicants":{"cold":2}}]`, recent, next)
	visit("no rule is about what is not here", true, second, `[{"type":"dropByInterval","interval":"2000/2001"}]`, recent, next)
	visit("no copies: deep storage only", false, second, `[{"type":"loadForever","tieredReplicants":{"hot":0}}]`)
	r, err := h.Acquire(t.Context(), old)
	if err != nil {
		t.Fatalf("a segment in deep storage can't be read: %v", err)
	}
	r.Release()
	visit("broadcast", true, second, `[{"type":"broadcastForever"}]`, old, recent, next)
	visit("dropped", true, second, `[{"type":"dropForever"}]`)

	k = &keeper{h, map[string]map[string]bool{}}
	visit("loaded again", true, second, forever, old, recent, next)
	k = &keeper{h, map[string]map[string]bool{}} // as after a restart
	visit("a restart without rules drops nothing that is visible", true, second, `[]`, old, recent, next)
	visit("a datasource that is gone", false, nil, forever)

	missing := *old
	missing.LoadSpec = []byte(`{"type":"local","path":"/nowhere"}`)
	v := duty.Visit{
		State: timeline.NewState(1, slices.Values([]*timeline.Segment{&missing})), DataSources: []string{"wiki"},
		Rules: map[string]rule.List{rule.Default: {{Action: rule.Broadcast, When: rule.Forever{}}}},
	}
	if err := k.visit(t.Context(), v, now); err == nil {
		t.Error("a segment that could not be loaded was not reported")
	}
}
