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

// RuleStore keeps retention rules.
type RuleStore interface {
	AllRules(ctx context.Context) (map[string]json.RawMessage, error)
}

// Rules are the retention rules of all datasources as of the last Refresh. All methods are safe for
// use by many goroutines.
type Rules struct {
	store RuleStore

	mu struct {
		sync.Mutex
		stored  map[string]json.RawMessage // what lists were made of
		lists   map[string]rule.List
		changed chan struct{} // closed when lists are replaced
	}
}

// NewRules returns the rules of a store, none before the first Refresh.
func NewRules(store RuleStore) *Rules {
	r := &Rules{store: store}
	r.mu.changed = make(chan struct{})
	return r
}

// Refresh reads the rules anew. One list that can't be read is an error, and then all stay as they
// were: to act by part of the rules would lose data.
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

// Lists returns the rules, which must not be changed, and a channel that is closed when there are
// newer ones.
func (r *Rules) Lists() (lists map[string]rule.List, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.lists, r.mu.changed
}

// Visit is what a follower looks at.
type Visit struct {
	State *timeline.State
	// Rules are those of all datasources.
	Rules map[string]rule.List
	// DataSources are those that may be affected, sorted: with All every one, else those whose
	// segments changed since the visit before, also such as have none any more.
	DataSources []string
	All         bool
}

// Follower acts on the published timeline by the retention rules. Its work is driven by what
// changes; rules that move with the time, and what went wrong, are caught by a look at everything
// once a period.
type Follower struct {
	Published *timeline.Published
	Rules     *Rules
	// Period is the time between two looks at everything; Retry is that after one that failed.
	Period, Retry time.Duration
	// Wake, if not nil, asks for a look at everything.
	Wake  <-chan struct{}
	Clock clock.Clock
	Log   *slog.Logger
	// Meter is told what becomes of segments; nil: nobody wants to know.
	Meter *obs.Meter
}

// Run calls visit until ctx is done: first for everything, then for what changed. visit returns an
// error when something is left to do.
func (f *Follower) Run(ctx context.Context, visit func(context.Context, Visit) error) error {
	group, ctx := errgroup.WithContext(ctx)
	advanced := make(chan struct{}, 1)
	number := f.Published.Pin().Number() // before the first visit: nothing falls between the two
	group.Go(func() error {
		for {
			state, err := f.Published.Wait(ctx, number+1)
			if err != nil {
				return nil // ctx is done
			}
			number = state.Number()
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
				f.Log.ErrorContext(ctx, "retention rules could not be read; the last ones stay in force", "error", err)
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
				f.Log.ErrorContext(ctx, "retention rules could not be followed; it is tried again", "after", f.Retry, "error", err)
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
