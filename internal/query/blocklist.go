package query

import (
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// BlockRule keeps queries from running (spec/cluster.md, section 14.3). A query is blocked when it
// fits all that a rule names.
type BlockRule struct {
	Type string `json:"type"`
	Name string `json:"ruleName"`
	// DataSources: the query reads one of them. QueryTypes: it is of one of these native types, or
	// "sql". ContextMatches: its context has all of these values.
	DataSources    []string       `json:"dataSources,omitempty"`
	QueryTypes     []string       `json:"queryTypes,omitempty"`
	ContextMatches map[string]any `json:"contextMatches,omitempty"`
}

// Validate refuses rules that no query or every query would fit by mistake.
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

// Describe notes what the query is, as soon as that is known: "sql" or a native type, and the
// datasources that it reads. It refuses one that the blocklist keeps from running, or that reads a
// datasource which too many read; kinds are its native types where the kind is not one, and only
// called when a rule is about them.
func (q *Query) Describe(kind string, dataSources []string, kinds func() []string) error {
	if q == nil {
		return nil
	}
	q.about.Store(&about{kind, dataSources})
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
