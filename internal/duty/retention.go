package duty

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/timeline"
)

// Store is the part of the metastore that the duties use.
type Store interface {
	SettingStore
	MarkUnused(ctx context.Context, fence metastore.Fence, dataSource string, selection metastore.Selection, entry *metastore.AuditEntry) (metastore.Marked, error)
}

// Retention marks segments unused if rules drop them or if they are permanently overshadowed. Their
// files remain until a kill task deletes them.
type Retention struct {
	store  Store
	follow *Follower
	runs   *Runs
	// started is when the duty began, in milliseconds. Overshadowed segments are left alone for a
	// while after it.
	started int64
}

// NewRetention returns the duty, which acts when the follower triggers it. It records its runs in
// runs, if runs is not nil.
func NewRetention(store Store, follow *Follower, runs *Runs) *Retention {
	return &Retention{store: store, follow: follow, runs: runs, started: clock.Millis(follow.Clock)}
}

// Run applies the rules until ctx is done: immediately to changes, and to all datasources once per
// period.
func (d *Retention) Run(ctx context.Context) error {
	return d.follow.Run(ctx, func(ctx context.Context, v Visit) error {
		defer d.runs.Begin()()
		_, err := d.Round(ctx, v)
		return err
	})
}

// Outcome counts the segments of a round.
type Outcome struct {
	// Dropped and Overshadowed are the numbers of segments that were marked unused.
	Dropped, Overshadowed int
	// Unmatched is the number of segments that match no rule. They are unchanged.
	Unmatched int
}

// Round processes the used segments of the visited datasources once.
func (d *Retention) Round(ctx context.Context, v Visit) (Outcome, error) {
	var out Outcome
	set, err := ReadSettings(ctx, d.store)
	if err != nil {
		return out, err
	}
	if set.PauseCoordination {
		return out, nil
	}
	now := clock.Millis(d.follow.Clock)
	for _, dataSource := range v.DataSources {
		if err := d.sweep(ctx, v.State, dataSource, v.Rules, now, now-d.started >= set.MillisToWaitBeforeDeleting, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// sweep marks segments of a datasource. Rules are not asked about overshadowed ones.
func (d *Retention) sweep(
	ctx context.Context, state *timeline.State, dataSource string, lists map[string]rule.List, now int64, settled bool, out *Outcome,
) error {
	tl := state.Timeline(dataSource)
	hidden := make(map[timeline.SegmentID]bool)
	for _, s := range tl.FindFullyOvershadowed() {
		hidden[s.ID] = true
	}
	var dropped, overshadowed []string
	unmatched := 0
	rules := rule.At(now, lists[dataSource], lists[rule.Default])
	for s := range tl.All() {
		if hidden[s.ID] {
			overshadowed = append(overshadowed, s.ID.String())
			continue
		}
		switch match := rules.Find(s.ID.Interval); {
		case match < 0:
			unmatched++
		case rules.Rule(match).Action == rule.Drop:
			dropped = append(dropped, s.ID.String())
		}
	}
	if unmatched > 0 {
		d.follow.Log.WarnContext(ctx, "segments match no retention rule, and are kept unchanged", "datasource", dataSource, "segments", unmatched)
		out.Unmatched += unmatched
	}
	n, err := d.mark(ctx, dataSource, dropped)
	out.Dropped += n
	if n > 0 {
		d.follow.Meter.Count(obs.Occurrence{Service: "coordinator", Metric: "segment/deleted/count", Dims: []string{"dataSource", dataSource}}, float64(n))
	}
	if err != nil || !settled {
		return err
	}
	n, err = d.mark(ctx, dataSource, overshadowed)
	out.Overshadowed += n
	return err
}

func (d *Retention) mark(ctx context.Context, dataSource string, ids []string) (int, error) {
	if len(ids) == 0 { // an empty selection would be all segments
		return 0, nil
	}
	m, err := d.store.MarkUnused(ctx, metastore.Fence{}, dataSource, metastore.Selection{IDs: ids}, nil)
	if err != nil {
		return 0, fmt.Errorf("marking segments of datasource [%s] unused: %w", dataSource, err)
	}
	return m.Changed, nil
}
