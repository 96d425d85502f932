package duty

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// look is what a test keeps of a visit.
type look struct {
	All         bool
	DataSources []string
	Rules       int
}

// Visits follow what changed: a datasource, the rules, the time, or a failure.
func TestFollowerVisitsWhatChanged(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	s, published := &store{}, timeline.NewPublished()
	f := follower(s, published, c)
	ctx, stop := context.WithCancel(t.Context())
	visits, fails, ended := make(chan look), make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- f.Run(ctx, func(ctx context.Context, v Visit) error {
			select {
			case visits <- look{v.All, v.DataSources, len(v.Rules)}:
			case <-ctx.Done():
			}
			select {
			case err := <-fails:
				return err
			default:
				return nil
			}
		})
	}()
	expect := func(what string, want look) {
		t.Helper()
		if diff := cmp.Diff(want, <-visits); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	advance := func(number int64, changes ...timeline.Change) {
		t.Helper()
		if err := published.Advance(number, changes); err != nil {
			t.Fatal(err)
		}
	}
	expect("first", look{All: true})
	wiki := segment(t, "2026-03-01/P1D", "1")
	other := segment(t, "2026-03-01/P1D", "1")
	other.ID.DataSource = "other"
	advance(1, timeline.Added(wiki)...)
	expect("a new datasource", look{DataSources: []string{"wiki"}})
	advance(2, timeline.Added(other)...)
	expect("another one", look{DataSources: []string{"other"}})
	advance(3, timeline.Change{ID: wiki.ID})
	fails <- errors.New("no room")
	expect("one that is gone", look{DataSources: []string{"wiki"}})
	if err := c.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	advance(4, timeline.Added(wiki)...) // shows that the failed visit is over
	expect("it is back", look{DataSources: []string{"wiki"}})
	c.Advance(time.Second)
	expect("after a failure", look{All: true, DataSources: []string{"other", "wiki"}})
	s.rules = map[string]json.RawMessage{"wiki": json.RawMessage(`[]`)}
	if err := f.Rules.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("new rules", look{All: true, DataSources: []string{"other", "wiki"}, Rules: 1})
	// A metastore that was restored goes on with lower numbers.
	published.Reset(timeline.NewState(1, slices.Values([]*timeline.Segment{wiki})))
	expect("the metastore was restored", look{DataSources: []string{"other", "wiki"}, Rules: 1})
	advance(2, timeline.Added(other)...)
	expect("a change after it", look{DataSources: []string{"other"}, Rules: 1})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
