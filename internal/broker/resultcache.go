package broker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"weak"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/timeline"
)

// CacheOptions are the settings of the cache of results.
type CacheOptions struct {
	// Use and Populate say whether queries read it and write it, where their context does not say no.
	Use, Populate bool
	// Rows keeps the results; MaxEntry bounds one, in bytes.
	Rows     *exec.RowCache
	MaxEntry int64
	// Not are the native types of queries that it is not for.
	Not []string
}

// results keeps the rows of queries. A result counts as long as none of the datasources that it was
// read from has changed: the timeline of a datasource is replaced by every change of its visible
// segments, so that an entry need only know whether it still is the same. Plans whose rows depend
// on anything else (the time of the query, random numbers, lookups, system tables, external data)
// are not kept.
type results struct {
	o    CacheOptions
	hits atomic.Int64
}

// resultTables are the datasources of a result, by name. They are not kept alive for the cache.
type resultTables []weak.Pointer[timeline.Timeline]

// asked is a query as the cache sees it.
type asked struct {
	use, populate bool
	key           exec.RowKey
	tables        resultTables
}

// withoutResult are the context parameters that have no part in what the rows of a query are.
var withoutResult = querycontext.Keys(
	querycontext.QueryID, querycontext.SQLQueryID, querycontext.Priority, querycontext.Lane, querycontext.Timeout,
	querycontext.Cache, querycontext.Fill, querycontext.ResultCache, querycontext.FillResultCache, querycontext.CloneQueryMode,
)

// ask returns what the cache may do for a query; nil: nothing.
func (r *results) ask(ctx context.Context, p *Prepared, node plan.Node) (*asked, error) {
	if !r.o.Use && !r.o.Populate || !p.reading.published || p.reading.only != nil || p.reading.own != nil {
		return nil, nil
	}
	sent := p.query.Context()
	use, err := querycontext.ResultCache.Read(sent)
	if err != nil {
		return nil, err
	}
	populate, err := querycontext.FillResultCache.Read(sent)
	if err != nil {
		return nil, err
	}
	a := &asked{use: r.o.Use && use, populate: r.o.Populate && populate}
	if !a.use && !a.populate {
		return nil, nil
	}
	names, only := scanned(node)
	growing := func(name string) bool { return p.reading.live && p.live.Table(name) != nil }
	if !only || slices.ContainsFunc(names, growing) {
		return nil, nil
	}
	if kinds := kindsOf(ctx, p, r.o.Not); slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(r.o.Not, k) }) {
		return nil, nil
	}
	bytes, fixed, err := wire.Fingerprint(node)
	if err != nil || !fixed {
		return nil, nil //nolint:nilerr // a plan that can't be told from others is not cached
	}
	settings := maps.Clone(p.Context)
	for _, name := range withoutResult {
		delete(settings, name)
	}
	zone := ""
	if p.Zone != nil {
		zone = p.Zone.Name()
	}
	rest, err := json.Marshal([]any{zone, p.Dialect, settings})
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	a.key = sha256.Sum256(append(append(bytes, 0), rest...))
	for _, name := range names {
		a.tables = append(a.tables, weak.Make(p.State.Timeline(name)))
	}
	return a, nil
}

// kindsOf are the types of the native queries that a query is, as far as somebody looks for any.
func kindsOf(ctx context.Context, p *Prepared, wanted []string) []string {
	if len(wanted) == 0 {
		return nil
	}
	if kind := p.query.Kind(); kind != "" && kind != query.SQLKind {
		return []string{kind}
	}
	return p.nativeTypes(ctx)
}

// scanned are the datasources that a plan reads, by name; false: it reads other things, too.
func scanned(node plan.Node) (list []string, only bool) {
	names := map[string]bool{}
	only = true
	plan.Walk(node, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.Scan:
			names[x.DataSource] = true
		case *plan.System, *plan.External:
			only = false
		}
		return only
	})
	return slices.Sorted(maps.Keys(names)), only
}

// get returns the rows of a query, or nil. Those of another state are forgotten: it is an older
// one, or a query of an older state asks, and one of them is enough.
func (r *results) get(a *asked) exec.Operator {
	if a == nil || !a.use {
		return nil
	}
	op := r.o.Rows.Get(a.key, func(tag any) bool { return slices.Equal(tag.(resultTables), a.tables) })
	if op != nil {
		r.hits.Add(1)
	}
	return op
}

// record returns op, whose rows are kept when it has given all of them.
func (r *results) record(a *asked, op exec.Operator) exec.Operator {
	if a == nil || !a.populate {
		return op
	}
	return r.o.Rows.Record(a.key, a.tables, r.o.MaxEntry, op)
}
