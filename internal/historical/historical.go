// Package historical gives the Historical role: it keeps segments near to queries.
//
// The central type is Historical, a segment cache with two ways in: the leading Coordinator
// commands what to load and what to drop (Command, and Run, which works on the queue of it);
// Acquire serves a query and fetches what is not loaded yet, which makes room again later. What the
// rules keep in deep storage only can so be asked too; it takes longer. All that comes and goes by
// command is announced in a cluster.Log, which Brokers and Coordinators follow.
//
// Elsewhere: which segments those are (duty/assign), fragments of queries over them
// (api/fragments), the endpoints (api/data).
package historical

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/timeline"
)

// Historical serves segments from a cache.
type Historical struct {
	cache   *cache.Cache
	changes *cluster.Log
	clock   clock.Clock
	log     *slog.Logger
	threads Threads
	wake    chan struct{}

	mu struct {
		sync.Mutex
		epoch   int64 // of the last command
		turbo   bool  // likewise
		queue   []cluster.LoadItem
		loading map[string]context.CancelFunc // what loaders are at
		failed  map[string]string             // why segments could not be loaded, since the last command
		loaded  int64                         // bytes, likewise
		busy    time.Duration                 // how long something was being loaded, likewise, as far as it has ended
		since   time.Time                     // from when on something is being loaded, or counted
		asked   map[string]*Outcome           // by id, of loads that others than the Coordinator want and were not told the end of
		news    chan struct{}                 // closed when something has been loaded, or failed to be
	}
}

// Threads is how many segments are loaded at once; maxThreads at most.
type Threads struct {
	// Loading is the number for usual; 0: usualThreads.
	Loading int
	// Turbo is the number while the Coordinator says to load as at a start; 0: that of Loading.
	Turbo int
}

// maxThreads bounds what is set.
const maxThreads = 1024

// usualThreads is for the wait for deep storage, which is longer than any other.
const usualThreads = 4

// New returns a Historical on a cache that its owner closes.
func New(c *cache.Cache, threads Threads, times clock.Clock, log *slog.Logger) *Historical {
	threads.Loading = cmp.Or(min(max(threads.Loading, 0), maxThreads), usualThreads)
	threads.Turbo = cmp.Or(min(max(threads.Turbo, 0), maxThreads), threads.Loading)
	h := &Historical{cache: c, threads: threads, clock: times, log: log, wake: make(chan struct{}, 1)}
	h.changes = cluster.NewLog(clock.Millis(times), func() ([]string, int64) { return c.Loaded(), c.Used() })
	h.mu.loading, h.mu.failed = map[string]context.CancelFunc{}, map[string]string{}
	h.mu.asked, h.mu.news = map[string]*Outcome{}, make(chan struct{})
	return h
}

// Changes is what the Historical announces.
func (h *Historical) Changes() *cluster.Log { return h.changes }

// LoadingThreads returns how many segments are loaded at once: for usual, and while the Coordinator
// says to load as at a start.
func (h *Historical) LoadingThreads() (usual, turbo int) { return h.threads.Loading, h.threads.Turbo }

// Acquire returns a segment that the caller releases.
func (h *Historical) Acquire(ctx context.Context, s *timeline.Segment) (segment.Reader, error) {
	id := s.ID.String()
	h.leaveOther(ctx, id, segment.FingerprintOf(s))
	return h.cache.Fetch(ctx, id, s.LoadSpec)
}

// leaveOther drops a segment that is loaded from another file than that with a fingerprint, and
// reports whether there was one. Only a metastore that has lost its last moments gives an id again;
// the Coordinator then has it loaded anew.
func (h *Historical) leaveOther(ctx context.Context, id, fingerprint string) bool {
	if !h.cache.HoldsOther(id, fingerprint) {
		return false
	}
	h.log.WarnContext(ctx, "a segment was loaded from another file than the one it has now, and is dropped", "segment", id,
		"fingerprint", fingerprint)
	h.drop(ctx, id)
	return true
}

// Loaded returns the ids of the segments held, sorted.
func (h *Historical) Loaded() []string { return h.cache.Loaded() }

// Used returns the bytes of the segments held.
func (h *Historical) Used() int64 { return h.cache.Used() }

// Named gives segments to the fragments of other processes, which name them (fragments.Segments).
type Named struct{ *Historical }

// Acquire returns a segment that the caller releases: one that is loaded, or with a load
// specification any.
func (n Named) Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error) {
	if loadSpec == nil {
		return n.cache.Acquire(ctx, id)
	}
	n.leaveOther(ctx, id, segment.FingerprintAt(string(loadSpec)))
	return n.cache.Fetch(ctx, id, func() json.RawMessage { return loadSpec })
}

// Held returns a segment that is loaded, from the file with a fingerprint if there is one.
func (n Named) Held(ctx context.Context, id, fingerprint string) (segment.Reader, error) {
	if n.leaveOther(ctx, id, fingerprint) {
		return nil, fault.NotFound("Segment [%s] is not loaded on this node: it had another file of this id", id)
	}
	return n.cache.Acquire(ctx, id)
}
