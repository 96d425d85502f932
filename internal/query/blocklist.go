package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// BlockRule blocks queries. A query is blocked if it matches all conditions of a rule.
type BlockRule struct {
	Type string `json:"type"`
	Name string `json:"ruleName"`
	// DataSources: the query reads one of them. QueryTypes: it is of one of these native types, or
	// "sql". ContextMatches: its context has all of these values.
	DataSources    []string       `json:"dataSources,omitempty"`
	QueryTypes     []string       `json:"queryTypes,omitempty"`
	ContextMatches map[string]any `json:"contextMatches,omitempty"`
}

// Validate rejects rules that would accidentally match no query or every query.
func (r *BlockRule) Validate() error {
	switch {
	case r.Type != "default":
		return fault.InvalidInput("Query blocklist rule [%s] has the type [%s]; only default is known", r.Name, r.Type)
	case r.Name == "":
		return fault.InvalidInput("A query blocklist rule must have a ruleName")
	case len(r.DataSources) == 0 && len(r.QueryTypes) == 0 && len(r.ContextMatches) == 0:
		return fault.InvalidInput("Query blocklist rule [%s] must name dataSources, queryTypes or contextMatches", r.Name)
	}
	return nil
}

// fits reports whether a query is one that the rule blocks.
func (r *BlockRule) fits(kinds, dataSources []string, context map[string]any) bool {
	within := func(list, of []string) bool {
		return len(list) == 0 || slices.ContainsFunc(of, func(s string) bool { return slices.Contains(list, s) })
	}
	for key, want := range r.ContextMatches {
		got, there := context[key]
		if !there || fmt.Sprint(got) != fmt.Sprint(want) {
			return false
		}
	}
	return within(r.DataSources, dataSources) && within(r.QueryTypes, kinds)
}

// Describe records the kind of the query, "sql" or a native type, and its datasources, as soon as
// they are known. It rejects the query if the blocklist matches, or if too many queries read one of
// its datasources. kinds returns the native types of a query whose kind is not native; it is called
// only if a rule needs them.
func (q *Query) Describe(ctx context.Context, kind string, dataSources []string, kinds func() []string) error {
	if q == nil {
		return nil
	}
	q.about.Store(q.aboutOf(ctx, kind, dataSources))
	if err := q.blocked(kind, dataSources, kinds); err != nil {
		return err
	}
	return q.running.read(q, dataSources)
}

// blocked refuses a query that the blocklist keeps from running.
func (q *Query) blocked(kind string, dataSources []string, kinds func() []string) error {
	if q.blocklist == nil {
		return nil
	}
	all := []string{kind}
	asked := kinds == nil
	for _, rule := range q.blocklist() {
		if len(rule.QueryTypes) > 0 && !asked {
			asked = true
			all = append(all, kinds()...)
		}
		if rule.fits(all, dataSources, q.context) {
			return fault.Forbidden("Query [%s] is blocked by rule [%s] of the query blocklist", q.info.ID, rule.Name)
		}
	}
	return nil
}

// read counts the datasources that a query reads, each once, until it leaves.
func (r *Running) read(q *Query, dataSources []string) error {
	reads := slices.Compact(slices.Sorted(slices.Values(dataSources)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.gate.Read(reads); err != nil {
		return err
	}
	q.reads = append(q.reads, reads...)
	return nil
}
