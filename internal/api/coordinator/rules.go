package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/timeline"
)

// auditRules is the kind of a rule change in the audit history; its key is the datasource.
const auditRules = "rules"

func (a *API) ruleRoutes(mux routes) {
	const base = coordinatorBase + "/rules"
	mux.On("GET "+base, func(w http.ResponseWriter, r *http.Request) error {
		all, err := a.store.AllRules(r.Context())
		if err != nil {
			return err
		}
		return write(w, all)
	})
	mux.On("GET "+base+"/{dataSource}", a.rules)
	mux.On("POST "+base+"/{dataSource}", a.setRules)
	mux.On("GET "+base+"/history", func(w http.ResponseWriter, r *http.Request) error { return a.history(w, r, auditRules, "") })
	mux.On("GET "+base+"/{dataSource}/history", func(w http.ResponseWriter, r *http.Request) error {
		return a.history(w, r, auditRules, r.PathValue("dataSource"))
	})
}

func (a *API) now() int64 { return clock.Millis(a.o.Clock) }

// ruleLists are the rules of all datasources.
type ruleLists map[string]rule.List

func (a *API) allRules(ctx context.Context) (ruleLists, error) {
	stored, err := a.store.AllRules(ctx)
	if err != nil {
		return nil, err
	}
	lists := make(ruleLists, len(stored))
	for name, text := range stored {
		if lists[name], err = rule.Parse(text); err != nil {
			return nil, fmt.Errorf("reading the rules of datasource [%s]: %w", name, err)
		}
	}
	return lists, nil
}

// find returns the rule that decides about segments of an interval.
func (l ruleLists) find(dataSource string, iv chrono.Interval, now int64) (rule.Rule, bool) {
	return rule.Find(iv, now, l[dataSource], l[rule.Default])
}

// copies is how many copies of a segment the rules want in all; nil if no rule is about it.
func (l ruleLists) copies(dataSource string, iv chrono.Interval, now int64, tiers map[string]int) *int {
	match, ok := l.find(dataSource, iv, now)
	if !ok {
		return nil
	}
	sum := 0
	if match.Action == rule.Broadcast {
		for _, servers := range tiers {
			sum += servers
		}
	}
	for _, n := range match.Replicas {
		sum += n
	}
	return &sum
}

func (a *API) rules(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("dataSource")
	names := []string{name}
	if has(r, "full") && name != rule.Default {
		names = append(names, rule.Default)
	}
	out := []json.RawMessage{}
	for _, n := range names {
		text, found, err := a.store.Rules(r.Context(), n)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return fmt.Errorf("reading the rules of datasource [%s]: %w", n, err)
		}
		out = append(out, list...)
	}
	return write(w, out)
}

// warnOfTiers warns of tiers that rules want copies on and that have no servers. They may start
// later, so that the rules are taken.
func (a *API) warnOfTiers(w http.ResponseWriter, dataSource string, list rule.List) {
	servers := a.view().tiers()
	known := slices.Sorted(maps.Keys(servers))
	lacking := map[string]bool{}
	for _, r := range list {
		for tier, copies := range r.Replicas {
			if copies > 0 && servers[tier] == 0 {
				lacking[tier] = true
			}
		}
	}
	for _, tier := range slices.Sorted(maps.Keys(lacking)) {
		a.warn(w, "Tier [%s] has no servers; tiers with servers are %v. Segments of datasource [%s] "+
			"are not loaded there until a server of the tier starts",
			tier, known, dataSource)
	}
}

func (a *API) setRules(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("dataSource")
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case text == nil:
		text = []byte("null")
	}
	list, err := rule.Parse(text)
	if err != nil {
		return refuseInput(w, err)
	}
	if name == rule.Default && len(list) == 0 {
		return refuse(w, http.StatusBadRequest, "Cluster-level rules cannot be empty.")
	}
	// Rules that a name of old has may still be removed.
	if refusal := timeline.DataSourceRefusal("dataSource", name); refusal != "" && len(list) > 0 {
		return refuse(w, http.StatusBadRequest, refusal)
	}
	stored, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if _, err := a.store.SetRules(r.Context(), metastore.Fence{}, name, stored, Audit(r, auditRules, name)); err != nil {
		return err
	}
	a.warnOfTiers(w, name, list)
	if a.o.RulesChanged != nil {
		if err := a.o.RulesChanged(r.Context()); err != nil {
			return err
		}
	}
	return empty(w, http.StatusOK)
}
