// Package historical gives the Historical role: it keeps segments near to queries.
//
// The central type is Historical, a segment cache with two ways in: Keep follows the published timeline and loads what is visible, ahead
// of queries; Acquire serves a query and fetches what is not loaded yet. Which segments ought to be here is the Coordinator's decision;
// with one Historical and the default rules that is all of them.
package historical

import (
	"context"
	"log/slog"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/timeline"
)

// Historical serves segments from a cache.
type Historical struct {
	cache *cache.Cache
	clock clock.Clock
	log   *slog.Logger
}

// New returns a Historical on a cache that its owner closes.
func New(c *cache.Cache, clk clock.Clock, log *slog.Logger) *Historical {
	return &Historical{cache: c, clock: clk, log: log}
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

// retry is how long Keep waits after a segment could not be loaded.
const retry = 30 * time.Second

// Keep loads the visible segments of every state of the timeline and drops those that no state holds any more, until ctx is done.
func (h *Historical) Keep(ctx context.Context, published *timeline.Published) error {
	for ctx.Err() == nil {
		state := published.Pin()
		if !h.follow(ctx, state) {
			if h.clock.Sleep(ctx, retry) != nil {
				return nil
			}
			continue
		}
		if _, err := published.Wait(ctx, state.Number()+1); err != nil {
			return nil // ctx is done
		}
	}
	return nil
}

// follow brings the cache in line with a state; false if something could not be loaded.
func (h *Historical) follow(ctx context.Context, state *timeline.State) (whole bool) {
	whole = true
	wanted := map[string]bool{}
	for _, dataSource := range state.DataSources() {
		for _, holder := range state.Timeline(dataSource).Lookup(chrono.Eternity) {
			for _, s := range holder.Segments() {
				id := s.ID.String()
				if s.IsTombstone() || wanted[id] {
					continue
				}
				wanted[id] = true
				if err := h.Load(ctx, s); err != nil {
					if ctx.Err() != nil {
						return true
					}
					h.log.ErrorContext(ctx, "a segment could not be loaded", "segment", id, "error", err)
					whole = false
				}
			}
		}
	}
	for _, id := range h.cache.Loaded() {
		if wanted[id] {
			continue
		}
		if err := h.cache.Drop(id); err != nil {
			h.log.ErrorContext(ctx, "a segment could not be dropped", "segment", id, "error", err)
		}
	}
	return whole
}
