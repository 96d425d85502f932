// Package historical gives the Historical role: it keeps segments near to queries.
//
// The central type is Historical, a segment cache with two ways in: Keep follows the published timeline and loads, ahead of queries, what
// the retention rules want on its tier; Acquire serves a query and fetches what is not loaded yet, which makes room again later. What the
// rules keep in deep storage only can so be asked too; it takes longer.
package historical

import (
	"context"
	"log/slog"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/timeline"
)

// Historical serves segments from a cache.
type Historical struct {
	cache *cache.Cache
	tier  string
	log   *slog.Logger
}

// New returns a Historical of a tier on a cache that its owner closes.
func New(c *cache.Cache, tier string, log *slog.Logger) *Historical {
	return &Historical{cache: c, tier: tier, log: log}
}

// Acquire returns a segment that the caller releases.
func (h *Historical) Acquire(ctx context.Context, s *timeline.Segment) (segment.Reader, error) {
	return h.cache.Fetch(ctx, s.ID.String(), s.LoadSpec)
}

// Load makes segments local and keeps them.
func (h *Historical) Load(ctx context.Context, s *timeline.Segment) error {
	if s.IsTombstone() {
		return nil
	}
	return h.cache.Load(ctx, s.ID.String(), s.LoadSpec)
}

// Loaded returns the ids of the segments held, sorted.
func (h *Historical) Loaded() []string { return h.cache.Loaded() }

// Used returns the bytes of the segments held.
func (h *Historical) Used() int64 { return h.cache.Used() }
