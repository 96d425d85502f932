package duty

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/timeline"
)

// RuleStore stores retention rules.
type RuleStore interface {
	AllRules(ctx context.Context) (map[string]json.RawMessage, error)
}

// Rules contains the retention rules of all datasources as of the last Refresh. All methods are
// safe for use by many goroutines.
type Rules struct {
	store RuleStore

	mu struct {
		sync.Mutex
		stored  map[string]json.RawMessage // what lists were made of
		lists   map[string]rule.List
		changed chan struct{} // closed when lists are replaced
	}
}

// NewRules returns the rules of a store. It has no rules before the first Refresh.
func NewRules(store RuleStore) *Rules {
	r := &Rules{store: store}
	r.mu.changed = make(chan struct{})
	return r
}

// Refresh reads the rules again. If one list can't be read, Refresh returns an error and keeps the
// old rules of all datasources, because applying part of the rules would lose data.
func (r *Rules) Refresh(ctx context.Context) error {
	stored, err := r.store.AllRules(ctx)
	if err != nil {
		return fmt.Errorf("reading the retention rules: %w", err)
	}
	lists := make(map[string]rule.List, len(stored))
	for name, text := range stored {
		if lists[name], err = rule.Parse(text); err != nil {
			return fmt.Errorf("reading the rules of datasource [%s]: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.lists != nil && maps.EqualFunc(r.mu.stored, stored, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return nil // nobody needs to look again
	}
	r.mu.stored, r.mu.lists = stored, lists
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
	return nil
}

// Lists returns the rules, which must not be changed, and a channel that is closed when the rules
// change.
func (r *Rules) Lists() (lists map[string]rule.List, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.lists, r.mu.changed
}

// Visit is the scope of one visit of a follower.
type Visit struct {
	State *timeline.State
	// Rules are the rules of all datasources.
	Rules map[string]rule.List
	// DataSources are the datasources that may be affected, sorted. If All is set, these are all
	// datasources; otherwise the datasources whose segments changed since the previous visit,
	// including datasources that have no segments any more.
	DataSources []string
	All         bool
}

// Follower applies the retention rules to the published timeline. It acts on changes. A periodic
// visit of all datasources handles rules that depend on the time, and errors.
type Follower struct {
	Published *timeline.Published
	Rules     *Rules
	// Period is the time between two visits of all datasources. Retry is the time until the next one
	// if a visit failed.
	Period, Retry time.Duration
	// Wake, if not nil, triggers a visit of all datasources.
	Wake  <-chan struct{}
	Clock clock.Clock
	Log   *slog.Logger
	// Meter counts what happens to segments; may be nil.
	Meter *obs.Meter
}

// Run calls visit until ctx is done: first for all datasources, then for changed ones. visit
// returns an error if work is left to do.
func (f *Follower) Run(ctx context.Context, visit func(context.Context, Visit) error) error {
	group, ctx := errgroup.WithContext(ctx)
	advanced := make(chan struct{}, 1)
	state := f.Published.Pin() // before the first visit: nothing falls between the two
	group.Go(func() error {
		for {
			var err error
			if state, err = f.Published.Next(ctx, state); err != nil {
				return nil // ctx is done
			}
			select {
			case advanced <- struct{}{}:
			default:
			}
		}
	})
	group.Go(func() error { f.visits(ctx, advanced, visit); return nil })
	return group.Wait()
}

func (f *Follower) visits(ctx context.Context, advanced <-chan struct{}, visit func(context.Context, Visit) error) {
	seen := map[string]*timeline.Timeline{}
	timer := f.Clock.NewTimer(f.Period)
	defer timer.Stop()
	for all := true; ctx.Err() == nil; {
		wait := f.Period
		if all { // what another process wrote is found here
			if err := f.Rules.Refresh(ctx); err != nil && ctx.Err() == nil {
				f.Log.ErrorContext(ctx, "failed to read retention rules; using the last ones", "error", err)
				wait = min(wait, f.Retry)
			}
		}
		lists, changed := f.Rules.Lists()
		v := Visit{State: f.Published.Pin(), Rules: lists, All: all}
		v.DataSources, seen = affected(v.State, seen, all)
		if len(v.DataSources) > 0 || all {
			if err := visit(ctx, v); err != nil {
				if ctx.Err() != nil {
					return
				}
				f.Log.ErrorContext(ctx, "failed to apply retention rules; retrying", "after", f.Retry, "error", err)
				wait = min(wait, f.Retry)
			}
			if all || wait < f.Period {
				timer.Reset(wait)
			}
		}
		select {
		case <-ctx.Done():
		case <-advanced:
			all = false
		case <-changed:
			all = true
		case <-f.Wake:
			all = true
		case <-timer.C():
			all = true
		}
	}
}

// affected returns the datasources whose timeline is not the one that was seen, and all timelines
// as they are. States share the timelines of datasources that did not change.
func affected(state *timeline.State, seen map[string]*timeline.Timeline, all bool) ([]string, map[string]*timeline.Timeline) {
	now := make(map[string]*timeline.Timeline, len(seen))
	names := map[string]bool{}
	for _, name := range state.DataSources() {
		now[name] = state.Timeline(name)
		if all || seen[name] != now[name] {
			names[name] = true
		}
	}
	for name := range seen {
		if now[name] == nil {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), now
}
