// Package historical implements the Historical role: it stores segments close to queries.
//
// The central type is Historical, a segment cache that is filled in two ways. The leading
// Coordinator commands which segments to load and to drop (Command; Run executes the queue of
// commands). Acquire serves a query and fetches a missing segment, which can be evicted later;
// queries can thus read segments that the rules keep only in deep storage, though more slowly.
// Segments that are loaded and dropped by command are announced in a cluster.Log, which Brokers and
// Coordinators follow.
//
// Elsewhere: the choice of segments (duty/assign), fragments of queries over them (api/fragments),
// the endpoints (api/data).
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

// Threads is the number of segments that are loaded concurrently; at most maxThreads.
type Threads struct {
	// Loading is the normal number; 0: usualThreads.
	Loading int
	// Turbo is the number while the Coordinator requests turbo loading; 0: the value of Loading.
	Turbo int
}

// maxThreads bounds what is set.
const maxThreads = 1024

// usualThreads is for the wait for deep storage, which is longer than any other.
const usualThreads = 4

// New returns a Historical on a cache, which its owner closes.
func New(c *cache.Cache, threads Threads, times clock.Clock, log *slog.Logger) *Historical {
	threads.Loading = cmp.Or(min(max(threads.Loading, 0), maxThreads), usualThreads)
	threads.Turbo = cmp.Or(min(max(threads.Turbo, 0), maxThreads), threads.Loading)
	h := &Historical{cache: c, threads: threads, clock: times, log: log, wake: make(chan struct{}, 1)}
	h.changes = cluster.NewLog(clock.Millis(times), func() ([]string, int64) { return c.Loaded(), c.Used() })
	h.mu.loading, h.mu.failed = map[string]context.CancelFunc{}, map[string]string{}
	h.mu.asked, h.mu.news = map[string]*Outcome{}, make(chan struct{})
	return h
}

// Changes is the log of announcements of the Historical.
func (h *Historical) Changes() *cluster.Log { return h.changes }

// LoadingThreads returns the number of segments that are loaded concurrently: normally, and in
// turbo mode.
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
	h.log.WarnContext(ctx, "segment was loaded from an outdated file; dropping it", "segment", id,
		"fingerprint", fingerprint)
	h.drop(ctx, id)
	return true
}

// Loaded returns the sorted ids of the loaded segments.
func (h *Historical) Loaded() []string { return h.cache.Loaded() }

// Used returns the total size of the loaded segments in bytes.
func (h *Historical) Used() int64 { return h.cache.Used() }

// Named supplies segments by name to the fragments of other processes (fragments.Segments).
type Named struct{ *Historical }

// Acquire returns a segment that the caller releases: a loaded segment or, with a load spec, any
// segment.
func (n Named) Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error) {
	if loadSpec == nil {
		return n.cache.Acquire(ctx, id)
	}
	n.leaveOther(ctx, id, segment.FingerprintAt(string(loadSpec)))
	return n.cache.Fetch(ctx, id, func() json.RawMessage { return loadSpec })
}

// Held returns a loaded segment, from the file with a fingerprint if it exists.
func (n Named) Held(ctx context.Context, id, fingerprint string) (segment.Reader, error) {
	if n.leaveOther(ctx, id, fingerprint) {
		return nil, fault.NotFound("Segment [%s] is not loaded on this node: it had another file of this id", id)
	}
	return n.cache.Acquire(ctx, id)
}
