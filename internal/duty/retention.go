package duty

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/timeline"
)

// Store is what the duties need of the metastore.
type Store interface {
	AllRules(ctx context.Context) (map[string]json.RawMessage, error)
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
	MarkUnused(ctx context.Context, fence metastore.Fence, dataSource string, selection metastore.Selection, entry *metastore.AuditEntry) (metastore.Marked, error)
}

// Options are the settings of the duties.
type Options struct {
	// Period is the time between two rounds.
	Period time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
}

// Retention marks segments unused that rules drop or that are overshadowed for good. Their bytes stay until a kill task deletes them.
type Retention struct {
	store     Store
	published *timeline.Published
	o         Options
	// started is when the duty began, in milliseconds. Overshadowed segments are left alone for a while after it.
	started int64
}

// NewRetention returns the duty.
func NewRetention(store Store, published *timeline.Published, o Options) *Retention {
	return &Retention{store: store, published: published, o: o, started: clock.Millis(o.Clock)}
}

// Run makes a round each period until ctx is done. A round that fails is logged, and the next one tries again.
func (d *Retention) Run(ctx context.Context) error {
	for d.o.Clock.Sleep(ctx, d.o.Period) == nil {
		if _, err := d.Round(ctx); err != nil && ctx.Err() == nil {
			d.o.Log.ErrorContext(ctx, "retention rules could not be applied; the next round tries again", "error", err)
		}
	}
	return nil
}

// Outcome counts the segments of a round.
type Outcome struct {
	// Dropped and Overshadowed were marked unused.
	Dropped, Overshadowed int
	// Unmatched are those that no rule is about: they stay as they are.
	Unmatched int
}

// settings are those of the Coordinator that a round obeys.
type settings struct {
	Pause bool `json:"pauseCoordination"`
	// Wait is how long after the start overshadowed segments stay in use, in milliseconds: a Coordinator that has just begun may not yet
	// know of all that happened before.
	Wait int64 `json:"millisToWaitBeforeDeleting"`
}

// Round looks at all used segments once.
func (d *Retention) Round(ctx context.Context) (Outcome, error) {
	var out Outcome
	set := settings{Wait: 900_000}
	text, found, err := d.store.Setting(ctx, "coordinator.config")
	if err != nil {
		return out, err
	}
	if found {
		if err := json.Unmarshal(text, &set); err != nil {
			return out, fmt.Errorf("reading the Coordinator's settings: %w", err)
		}
	}
	if set.Pause {
		return out, nil
	}
	lists, err := d.rules(ctx)
	if err != nil {
		return out, err
	}
	state, now := d.published.Pin(), clock.Millis(d.o.Clock)
	for _, dataSource := range state.DataSources() {
		if err := d.sweep(ctx, state, dataSource, lists, now, now-d.started >= set.Wait, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// rules reads the lists of all datasources. One that can't be read stops the round: to drop by part of the rules would lose data.
func (d *Retention) rules(ctx context.Context) (map[string]rule.List, error) {
	stored, err := d.store.AllRules(ctx)
	if err != nil {
		return nil, err
	}
	lists := make(map[string]rule.List, len(stored))
	for name, text := range stored {
		if lists[name], err = rule.Parse(text); err != nil {
			return nil, fmt.Errorf("reading the rules of datasource [%s]: %w", name, err)
		}
	}
	return lists, nil
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
	// Segments of one interval share their rule: what decides is looked up once for each.
	verdicts := make(map[chrono.Interval]verdict)
	for s := range tl.All() {
		if hidden[s.ID] {
			overshadowed = append(overshadowed, s.ID.String())
			continue
		}
		v, ok := verdicts[s.ID.Interval]
		if !ok {
			match, found := rule.Find(s.ID.Interval, now, lists[dataSource], lists[rule.Default])
			v = verdict{match.Action, found}
			verdicts[s.ID.Interval] = v
		}
		switch {
		case !v.found:
			unmatched++
		case v.action == rule.Drop:
			dropped = append(dropped, s.ID.String())
		}
	}
	if unmatched > 0 {
		d.o.Log.WarnContext(ctx, "no retention rule matches some segments; they stay as they are", "datasource", dataSource, "segments", unmatched)
		out.Unmatched += unmatched
	}
	n, err := d.mark(ctx, dataSource, dropped)
	out.Dropped += n
	if err != nil || !settled {
		return err
	}
	n, err = d.mark(ctx, dataSource, overshadowed)
	out.Overshadowed += n
	return err
}

// verdict is what the rules say of an interval.
type verdict struct {
	action rule.Action
	found  bool
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
