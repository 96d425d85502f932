package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
)

// settingLookups is where lookups are stored, and their kind and key in the audit history.
const settingLookups = "lookupsConfig"

// lookupTiers are the lookups of all tiers by name. Nil: they were never set, which clients tell
// from an empty set.
type lookupTiers map[string]map[string]lookup.Container

func (a *API) lookupRoutes(mux routes) {
	const base = coordinatorBase + "/lookups"
	mux.On("GET "+base+"/config", a.lookupTierNames)
	mux.On("GET "+base+"/config/all", func(w http.ResponseWriter, r *http.Request) error {
		tiers, err := a.lookups(r.Context())
		switch {
		case err != nil:
			return err
		case tiers == nil:
			return empty(w, http.StatusNotFound)
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, tiers)
	})
	mux.On("POST "+base+"/config", a.setLookups)
	mux.On("GET "+base+"/config/{tier}", a.lookupTier)
	mux.On("DELETE "+base+"/config/{tier}", a.deleteLookups)
	mux.On("GET "+base+"/config/{tier}/{lookup}", func(w http.ResponseWriter, r *http.Request) error {
		tiers, err := a.lookups(r.Context())
		if err != nil {
			return err
		}
		name := r.PathValue("lookup")
		c, ok := tiers[r.PathValue("tier")][name]
		if !ok {
			return refuse(w, http.StatusNotFound, "lookup ["+name+"] not found")
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, c)
	})
	mux.On("POST "+base+"/config/{tier}/{lookup}", a.setLookup)
	mux.On("DELETE "+base+"/config/{tier}/{lookup}", a.deleteLookups)
	a.lookupStatusRoutes(mux, base)
}

// lookups reads what is stored.
func (a *API) lookups(ctx context.Context) (lookupTiers, error) {
	return storedLookups(ctx, a.store)
}

func storedLookups(ctx context.Context, store *metastore.Store) (lookupTiers, error) {
	text, found, err := store.Setting(ctx, settingLookups)
	if err != nil || !found {
		return nil, err
	}
	return parseLookups(text)
}

// ApplyLookups applies the stored lookups of its tier to one process, so that it has them before a
// Coordinator sends them.
func ApplyLookups(ctx context.Context, store *metastore.Store, tier string, holder LookupHolder) error {
	tiers, err := storedLookups(ctx, store)
	if err != nil {
		return fmt.Errorf("reading the lookups: %w", err)
	}
	holder.Apply(ctx, tiers[tier])
	return nil
}

func parseLookups(text json.RawMessage) (lookupTiers, error) {
	tiers := lookupTiers{}
	if err := json.Unmarshal(text, &tiers); err != nil {
		return nil, fmt.Errorf("reading setting [%s]: %w", settingLookups, err)
	}
	return tiers, nil
}

// discovers reports whether a request asks for the tiers of running processes too. Unlike most
// flags this one is a boolean.
func discovers(r *http.Request) bool { return r.URL.Query().Get("discover") == "true" }

func (a *API) lookupTierNames(w http.ResponseWriter, r *http.Request) error {
	tiers, err := a.lookups(r.Context())
	switch {
	case err != nil:
		return err
	case tiers == nil && !discovers(r):
		return empty(w, http.StatusNotFound)
	}
	names := slices.Collect(maps.Keys(tiers))
	if discovers(r) {
		for _, n := range a.o.LookupNodes() {
			names = append(names, n.Tier)
		}
	}
	slices.Sort(names)
	return write(w, append([]string{}, slices.Compact(names)...))
}

func (a *API) lookupTier(w http.ResponseWriter, r *http.Request) error {
	tiers, err := a.lookups(r.Context())
	if err != nil {
		return err
	}
	name := r.PathValue("tier")
	tier, ok := tiers[name]
	switch {
	case tiers == nil:
		return refuse(w, http.StatusNotFound, "No lookups found")
	case !ok:
		return refuse(w, http.StatusNotFound, "Tier ["+name+"] not found")
	case r.URL.Query().Get("detailed") == "true":
		return edge.WriteMasked(r.Context(), w, http.StatusOK, tier)
	}
	return write(w, append([]string{}, slices.Sorted(maps.Keys(tier))...))
}

// lookupConflict is an update that may not replace what is there: the client's mistake.
type lookupConflict string

// Error implements error.
func (c lookupConflict) Error() string { return string(c) }

// put adds lookups to those of a tier; each must have a version above that of the one it replaces.
// One that is as it was is no change. A tier is there also without lookups.
func (t lookupTiers) put(tier string, lookups map[string]lookup.Container) error {
	if t[tier] == nil {
		t[tier] = map[string]lookup.Container{}
	}
	for name, c := range lookups {
		if c.Version == "" {
			return lookupConflict(fmt.Sprintf("lookup [%s]:[%s] does not have version.", tier, name))
		}
		old, ok := t[tier][name]
		if secret.Check(c.Factory) != nil { // it was shown, changed and sent back
			if ok {
				if whole, err := secret.Restore(c.Factory, old.Factory); err == nil {
					c.Factory = whole
				}
			}
			if err := secret.Check(c.Factory); err != nil {
				return lookupConflict(fmt.Sprintf("given update for lookup [%s]:[%s] can't be used: %s", tier, name, fault.Find(err).Message))
			}
		}
		if err := lookup.Check(c.Factory); err != nil && !(ok && c.Same(old)) { // one that an old release took may stay
			if f := fault.Find(err); f != nil {
				return lookupConflict(fmt.Sprintf("given update for lookup [%s]:[%s] can't be used: %s", tier, name, f.Message))
			}
			return err
		}
		if ok && !c.Replaces(old) && !c.Same(old) {
			return lookupConflict(fmt.Sprintf("given update for lookup [%s]:[%s] can't replace existing spec [%s].", tier, name,
				lookup.Container{Version: old.Version, Factory: json.RawMessage(secret.MaskJSONText(string(old.Factory)))}))
		}
		t[tier][name] = c
	}
	return nil
}

// changeLookups edits what is stored and tells the processes that hold lookups.
func (a *API) changeLookups(r *http.Request, edit func(lookupTiers) error) error {
	_, err := a.store.UpdateSetting(r.Context(), metastore.Fence{}, settingLookups, Audit(r, settingLookups, settingLookups),
		func(stored json.RawMessage) (json.RawMessage, error) {
			tiers := lookupTiers{}
			if stored != nil {
				var err error
				if tiers, err = parseLookups(stored); err != nil {
					return nil, err
				}
			}
			if err := edit(tiers); err != nil {
				return nil, err
			}
			return json.Marshal(tiers)
		})
	if err != nil {
		return err
	}
	return a.PushLookups(r.Context())
}

// setLookups merges lookups of any tiers into what is stored. An empty object makes the first,
// empty set.
func (a *API) setLookups(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case isNothing(text):
		return refuse(w, http.StatusBadRequest, "The body must be an object of tiers with their lookups")
	}
	var posted lookupTiers
	if err := decode(text, &posted); err != nil {
		return refuseInput(w, err)
	}
	for tier, lookups := range posted {
		if lookups == nil {
			return refuse(w, http.StatusBadRequest, "Tier ["+tier+"] must be an object of lookups")
		}
	}
	err = a.changeLookups(r, func(tiers lookupTiers) error {
		for tier, lookups := range posted {
			if err := tiers.put(tier, lookups); err != nil {
				return err
			}
		}
		return nil
	})
	return a.lookupsSet(w, r, err, posted)
}

func (a *API) setLookup(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case isNothing(text):
		return refuse(w, http.StatusBadRequest, "The body must be a lookup")
	}
	var posted lookup.Container
	if err := decode(text, &posted); err != nil {
		return refuseInput(w, err)
	}
	err = a.changeLookups(r, func(tiers lookupTiers) error {
		return tiers.put(r.PathValue("tier"), map[string]lookup.Container{r.PathValue("lookup"): posted})
	})
	return a.lookupsSet(w, r, err, nil)
}

// lookupsSet answers a write: 202, with the posted tiers if there are any.
func (a *API) lookupsSet(w http.ResponseWriter, r *http.Request, err error, posted lookupTiers) error {
	var conflict lookupConflict
	switch {
	case errors.As(err, &conflict):
		return refuse(w, http.StatusBadRequest, conflict.Error())
	case err != nil:
		return err
	}
	if posted == nil {
		return empty(w, http.StatusAccepted)
	}
	return edge.WriteMasked(r.Context(), w, http.StatusAccepted, posted)
}

var errNoLookup = errors.New("there is no such lookup")

// deleteLookups forgets one lookup, or all of a tier. The last lookup takes its tier along.
func (a *API) deleteLookups(w http.ResponseWriter, r *http.Request) error {
	tier, name := r.PathValue("tier"), r.PathValue("lookup")
	err := a.changeLookups(r, func(tiers lookupTiers) error {
		if _, ok := tiers[tier][name]; !ok && (name != "" || tiers[tier] == nil) {
			return errNoLookup
		}
		delete(tiers[tier], name)
		if name == "" || len(tiers[tier]) == 0 {
			delete(tiers, tier)
		}
		return nil
	})
	switch {
	case errors.Is(err, errNoLookup):
		return empty(w, http.StatusNotFound)
	case err != nil:
		return err
	}
	return empty(w, http.StatusAccepted)
}

// PushLookups sends the stored lookups of its tier to every process.
func (a *API) PushLookups(ctx context.Context) error {
	a.pushing.Lock() // what was read later is pushed later
	defer a.pushing.Unlock()
	tiers, err := a.lookups(ctx)
	if err != nil {
		return fmt.Errorf("reading the lookups: %w", err)
	}
	for _, n := range a.o.LookupNodes() {
		n.Holder.Apply(ctx, tiers[n.Tier])
	}
	return nil
}

// KeepLookups pushes lookups every period until ctx is done, as a safety net; changes are pushed
// immediately.
func (a *API) KeepLookups(ctx context.Context, period time.Duration) error {
	for a.o.Clock.Sleep(ctx, period) == nil {
		if err := a.PushLookups(ctx); err != nil && ctx.Err() == nil {
			a.o.Log.ErrorContext(ctx, "failed to push lookups; retrying", "error", err)
		}
	}
	return nil
}
