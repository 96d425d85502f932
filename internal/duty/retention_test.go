package duty

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// store is a metastore that only remembers.
type store struct {
	rules   map[string]json.RawMessage
	setting json.RawMessage
	marked  []string
	err     error
}

func (s *store) AllRules(context.Context) (map[string]json.RawMessage, error) { return s.rules, s.err }

func (s *store) Setting(context.Context, string) (json.RawMessage, bool, error) {
	return s.setting, s.setting != nil, nil
}

func (s *store) MarkUnused(
	_ context.Context, _ metastore.Fence, _ string, selection metastore.Selection, _ *metastore.AuditEntry,
) (metastore.Marked, error) {
	s.marked = append(s.marked, selection.IDs...)
	return metastore.Marked{Changed: len(selection.IDs)}, nil
}

func follower(s *store, published *timeline.Published, c clock.Clock) *Follower {
	return &Follower{
		Published: published, Rules: NewRules(s), Period: time.Minute, Retry: time.Second, Clock: c, Log: slog.New(slog.DiscardHandler),
	}
}

func segment(t *testing.T, interval, version string) *timeline.Segment {
	t.Helper()
	iv, err := chrono.ParseInterval(interval)
	if err != nil {
		t.Fatal(err)
	}
	return &timeline.Segment{
		ID: timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: version}, Shard: timeline.Numbered{Core: 1}, Size: 1,
	}
}

func TestRound(t *testing.T) {
	old, kept := segment(t, "2020-01-01/P1D", "1"), segment(t, "2026-03-01/P1D", "1")
	replaced, replacement := segment(t, "2026-03-02/P1D", "1"), segment(t, "2026-03-02/P1D", "2")
	state := timeline.NewState(1, slices.Values([]*timeline.Segment{old, kept, replaced, replacement}))
	published := timeline.NewPublished()
	published.Reset(state)
	dropOld := map[string]json.RawMessage{
		"wiki": json.RawMessage(`[{"type":"dropBeforeByPeriod","period":"P1Y"}]`), "_default": json.RawMessage(`[{"type":"loadForever"}]`),
	}
	for _, test := range []struct {
		name  string
		store store
		after time.Duration
		want  Outcome
		mark  []string
		fails bool
	}{
		{name: "at first only rules decide", store: store{rules: dropOld}, want: Outcome{Dropped: 1}, mark: []string{old.ID.String()}},
		{
			name: "overshadowed segments go after a while", store: store{rules: dropOld}, after: time.Hour,
			want: Outcome{Dropped: 1, Overshadowed: 1}, mark: []string{old.ID.String(), replaced.ID.String()},
		},
		{
			name: "the wait is a setting", store: store{rules: dropOld, setting: json.RawMessage(`{"millisToWaitBeforeDeleting":0}`)},
			want: Outcome{Dropped: 1, Overshadowed: 1}, mark: []string{old.ID.String(), replaced.ID.String()},
		},
		{name: "a pause stops everything", store: store{rules: dropOld, setting: json.RawMessage(`{"pauseCoordination":true}`)}, after: time.Hour},
		{name: "without rules nothing is dropped", store: store{}, want: Outcome{Unmatched: 3}},
		{name: "a list that can't be read stops everything", store: store{rules: map[string]json.RawMessage{"wiki": json.RawMessage(`{}`)}}, fails: true},
		{name: "so does a store that fails", store: store{err: errors.New("down")}, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
			f := follower(&test.store, published, c)
			d := NewRetention(&test.store, f, nil)
			c.Advance(test.after)
			err := f.Rules.Refresh(t.Context())
			var got Outcome
			if err == nil {
				lists, _ := f.Rules.Lists()
				got, err = d.Round(t.Context(), Visit{State: state, Rules: lists, DataSources: state.DataSources(), All: true})
			}
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.mark, test.store.marked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	s := &store{}
	d := NewRetention(s, follower(s, timeline.NewPublished(), c), nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	if err := c.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
