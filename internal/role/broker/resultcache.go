package broker

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/hengedb/henge/internal/api/query"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// CacheOptions are the settings of the cache of results.
type CacheOptions struct {
	// Use and Populate say whether queries read it and write it, where their context does not say no.
	Use, Populate bool
	// MaxBytes bounds all results, MaxEntry one.
	MaxBytes, MaxEntry int64
}

// CacheStats count since the start, but for Entries and Bytes, which are those of now.
type CacheStats struct {
	Entries, Bytes          int64
	Hits, Misses, Evictions int64
	Puts, Oversized         int64
}

// results keeps the rows of queries. A result counts as long as none of the datasources that it was read from has changed: the timeline of a
// datasource is replaced by every change of its visible segments, so that an entry need only know whether it still is the same. Plans
// whose rows depend on anything else (the time of the query, random numbers, lookups, system tables, external data) are not kept.
type results struct {
	o      CacheOptions
	memory *budget.Budget

	mu struct {
		sync.Mutex
		entries map[resultKey]*list.Element // of *resultEntry
		recent  *list.List                  // the last used first
		stats   CacheStats
	}
}

// resultKey is the SHA-256 of all that a result depends on but the rows of datasources.
type resultKey [sha256.Size]byte

// resultEntry is the rows of one query, as frames.
type resultEntry struct {
	key    resultKey
	tables []weak.Pointer[timeline.Timeline] // of the datasources, by name; they are not kept alive for the cache
	frames [][]byte
	size   int64
}

// entryOverhead is about what an entry takes beside its frames.
const entryOverhead = 512

func newResults(memory *budget.Budget, o CacheOptions) *results {
	r := &results{o: o, memory: memory}
	r.mu.entries, r.mu.recent = map[resultKey]*list.Element{}, list.New()
	return r
}

// asked is a query as the cache sees it.
type asked struct {
	use, populate bool
	key           resultKey
	tables        []weak.Pointer[timeline.Timeline]
}

// withoutResult are the context parameters that have no part in what the rows of a query are.
var withoutResult = []string{
	"queryId", "sqlQueryId", "priority", "lane", "timeout", "useCache", "populateCache", "useResultLevelCache", "populateResultLevelCache",
}

// ask returns what the cache may do for a query; nil: nothing.
func (r *results) ask(ctx context.Context, p *Prepared, node plan.Node) (*asked, error) {
	if !r.o.Use && !r.o.Populate {
		return nil, nil
	}
	wishes := query.ContextOf(ctx)
	use, err := query.Bool(wishes, "useResultLevelCache", true)
	if err != nil {
		return nil, err
	}
	populate, err := query.Bool(wishes, "populateResultLevelCache", true)
	if err != nil {
		return nil, err
	}
	a := &asked{use: r.o.Use && use, populate: r.o.Populate && populate}
	if !a.use && !a.populate {
		return nil, nil
	}
	names, only := scanned(node)
	if !only {
		return nil, nil
	}
	bytes, fixed, err := wire.Fingerprint(node)
	if err != nil || !fixed {
		return nil, nil //nolint:nilerr // a plan that can't be told from others is not cached
	}
	context := maps.Clone(p.Context)
	for _, name := range withoutResult {
		delete(context, name)
	}
	zone := ""
	if p.Zone != nil {
		zone = p.Zone.Name()
	}
	rest, err := json.Marshal([]any{zone, p.Dialect, context})
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	a.key = sha256.Sum256(append(append(bytes, 0), rest...))
	for _, name := range names {
		a.tables = append(a.tables, weak.Make(p.State.Timeline(name)))
	}
	return a, nil
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

// get returns the rows of a query, or nil.
func (r *results) get(a *asked) exec.Operator {
	if a == nil || !a.use {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := r.mu.entries[a.key]
	if found && !slices.Equal(at.Value.(*resultEntry).tables, a.tables) {
		r.drop(at) // it is of an older state, or a query of an older state asks: one of them is enough
		found = false
	}
	if !found {
		r.mu.stats.Misses++
		return nil
	}
	r.mu.stats.Hits++
	r.mu.recent.MoveToFront(at)
	return &cachedRows{frames: at.Value.(*resultEntry).frames}
}

// record returns op, whose rows are kept when it has given all of them.
func (r *results) record(a *asked, op exec.Operator) exec.Operator {
	if a == nil || !a.populate {
		return op
	}
	return &recording{Operator: op, cache: r, entry: &resultEntry{key: a.key, tables: a.tables, size: entryOverhead}}
}

// put keeps an entry, if there is memory for it, and forgets those that were not used for long.
func (r *results) put(e *resultEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, found := r.mu.entries[e.key]; found {
		r.drop(at)
	}
	for r.mu.stats.Bytes+e.size > r.o.MaxBytes && r.mu.recent.Len() > 0 {
		r.drop(r.mu.recent.Back())
		r.mu.stats.Evictions++
	}
	if e.size > r.o.MaxBytes || !r.memory.TryReserve(e.size) {
		r.mu.stats.Oversized++
		return
	}
	r.mu.entries[e.key] = r.mu.recent.PushFront(e)
	r.mu.stats.Puts++
	r.mu.stats.Bytes += e.size
}

// drop forgets an entry. The lock is held.
func (r *results) drop(at *list.Element) {
	e := r.mu.recent.Remove(at).(*resultEntry)
	delete(r.mu.entries, e.key)
	r.mu.stats.Bytes -= e.size
	r.memory.Release(e.size)
}

// Stats returns the counts.
func (r *results) Stats() CacheStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.mu.stats
	out.Entries = int64(len(r.mu.entries))
	return out
}

// oversized counts a result that was too large.
func (r *results) oversized() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.stats.Oversized++
}

// cachedRows gives the rows of an entry.
type cachedRows struct {
	frames [][]byte
}

// Next implements exec.Operator.
func (c *cachedRows) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.frames) == 0 {
		return nil, io.EOF
	}
	b, _, err := vector.DecodeFrame(c.frames[0])
	c.frames = c.frames[1:]
	return b, err
}

// Close implements exec.Operator.
func (c *cachedRows) Close() { c.frames = nil }

// recording copies the rows of a query on their way.
type recording struct {
	exec.Operator
	cache *results
	entry *resultEntry // nil: the result is too large, or was kept
}

// Next implements exec.Operator.
func (r *recording) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.Operator.Next(ctx)
	switch {
	case r.entry == nil:
	case errors.Is(err, io.EOF):
		r.cache.put(r.entry)
		r.entry = nil
	case err != nil:
		r.entry = nil
	default:
		frame, bad := vector.AppendFrame(nil, b)
		r.entry.size += int64(cap(frame))
		if r.entry.frames = append(r.entry.frames, frame); bad != nil || r.entry.size > r.cache.o.MaxEntry {
			r.cache.oversized()
			r.entry = nil
		}
	}
	return b, err
}
