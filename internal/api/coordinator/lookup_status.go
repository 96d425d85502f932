package coordinator

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/lookup"
)

// LookupHolder is the lookups of a process.
type LookupHolder interface {
	// Apply sets the lookups of the process. It does not wait for lookups from external sources.
	Apply(ctx context.Context, want map[string]lookup.Container)
	// Status returns the loaded and the pending lookups.
	Status() lookup.Status
}

// LookupNode is a process that loads lookups.
type LookupNode struct {
	// Host is host:port.
	Host string
	// Tier is the tier of its lookups.
	Tier   string
	Holder LookupHolder
}

func (a *API) lookupStatusRoutes(mux routes, base string) {
	mux.On("GET "+base+"/status", func(w http.ResponseWriter, r *http.Request) error {
		tiers, err := a.lookups(r.Context())
		switch {
		case err != nil:
			return err
		case tiers == nil:
			return refuse(w, http.StatusNotFound, "No lookups found")
		}
		out := map[string]map[string]loadedLookup{}
		for tier, lookups := range tiers {
			out[tier] = a.loadedLookups(r, tier, lookups)
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, out)
	})
	mux.On("GET "+base+"/status/{tier}", func(w http.ResponseWriter, r *http.Request) error {
		tiers, err := a.lookups(r.Context())
		if err != nil {
			return err
		}
		tier := r.PathValue("tier")
		if tiers[tier] == nil {
			return refuse(w, http.StatusNotFound, fmt.Sprintf("No lookups found for tier [%s].", tier))
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, a.loadedLookups(r, tier, tiers[tier]))
	})
	mux.On("GET "+base+"/status/{tier}/{lookup}", func(w http.ResponseWriter, r *http.Request) error {
		tiers, err := a.lookups(r.Context())
		if err != nil {
			return err
		}
		tier, name := r.PathValue("tier"), r.PathValue("lookup")
		c, ok := tiers[tier][name]
		if !ok {
			return refuse(w, http.StatusNotFound, fmt.Sprintf("Lookup [%s] not found for tier [%s].", name, tier))
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, a.loadedLookups(r, tier, map[string]lookup.Container{name: c})[name])
	})
	mux.On("GET "+base+"/nodeStatus", a.lookupNodeStatus)
	mux.On("GET "+base+"/nodeStatus/{tier}", func(w http.ResponseWriter, r *http.Request) error {
		return edge.WriteMasked(r.Context(), w, http.StatusOK, a.lookupNodes(r, r.PathValue("tier")))
	})
	mux.On("GET "+base+"/nodeStatus/{tier}/{node}", func(w http.ResponseWriter, r *http.Request) error {
		node := r.PathValue("node")
		status, ok := a.lookupNodes(r, r.PathValue("tier"))[node]
		if !ok {
			return refuse(w, http.StatusNotFound, fmt.Sprintf("Node [%s] status is unknown.", node))
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, status)
	})
}

// loadedLookup says whether all processes of a tier have a lookup.
type loadedLookup struct {
	Loaded bool `json:"loaded"`
	// Pending are the processes that do not have it yet, in an answer with details.
	Pending []string `json:"pendingNodes,omitzero"`
}

func (a *API) loadedLookups(r *http.Request, tier string, lookups map[string]lookup.Container) map[string]loadedLookup {
	out := map[string]loadedLookup{}
	for name, c := range lookups {
		status := loadedLookup{Pending: []string{}}
		for _, n := range a.o.LookupNodes() {
			if n.Tier != tier {
				continue
			}
			if have, ok := n.Holder.Status().Current[name]; !ok || have.Version < c.Version {
				status.Pending = append(status.Pending, n.Host)
			}
		}
		status.Loaded = len(status.Pending) == 0
		if r.URL.Query().Get("detailed") != "true" {
			status.Pending = nil
		}
		out[name] = status
	}
	return out
}

func (a *API) lookupNodeStatus(w http.ResponseWriter, r *http.Request) error {
	tiers, err := a.lookups(r.Context())
	switch {
	case err != nil:
		return err
	case tiers == nil && !discovers(r):
		return refuse(w, http.StatusNotFound, "No lookups found")
	}
	names := slices.Collect(maps.Keys(tiers))
	if discovers(r) {
		for _, n := range a.o.LookupNodes() {
			names = append(names, n.Tier)
		}
	}
	out := map[string]map[string]object{}
	for _, tier := range names {
		out[tier] = a.lookupNodes(r, tier)
	}
	return edge.WriteMasked(r.Context(), w, http.StatusOK, out)
}

// lookupNodes describes the processes of a tier; without details, only the versions of what they
// have.
func (a *API) lookupNodes(r *http.Request, tier string) map[string]object {
	out := map[string]object{}
	for _, n := range a.o.LookupNodes() {
		if n.Tier == tier {
			out[n.Host] = describeLookups(n.Holder.Status(), r.URL.Query().Get("detailed") != "false")
		}
	}
	return out
}

func describeLookups(s lookup.Status, detailed bool) object {
	if detailed {
		return object{{"current", s.Current}, {"toLoad", s.Next}, {"toDrop", []string{}}}
	}
	versions := func(m map[string]lookup.Container) map[string]string {
		out := make(map[string]string, len(m))
		for name, c := range m {
			out[name] = c.Version
		}
		return out
	}
	return object{{"current", versions(s.Current)}, {"toLoad", versions(s.Next)}, {"toDrop", []string{}}}
}
