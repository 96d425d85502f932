package historical

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/cluster"
)

// Change is a request to load or to drop a segment from a client other than the leading
// Coordinator.
type Change struct {
	Drop bool
	cluster.LoadItem
}

// Outcome is the outcome of a Change.
type Outcome struct {
	// Done is true if the change has ended; Failed is the reason of a failure.
	Done   bool
	Failed string
}

// maxUntold is how many ends of loads are kept until somebody asks for them.
const maxUntold = 100_000

// Change executes changes. It returns the outcome of each when one of them has ended, or nil if
// none has within wait. A repeated call continues the unfinished changes. Reported outcomes are
// forgotten: a failed load is retried when it is requested again. The Coordinator eventually drops
// segments that no rule assigns to this server.
func (h *Historical) Change(ctx context.Context, changes []Change, turbo bool, wait time.Duration) []Outcome {
	for _, c := range changes {
		if c.Drop {
			h.leave(c.ID)
			h.drop(ctx, c.ID)
		}
	}
	timer := h.clock.NewTimer(wait)
	defer timer.Stop()
	for {
		out, news := h.outcomes(changes, turbo)
		if slices.ContainsFunc(out, func(o Outcome) bool { return o.Done }) {
			return out
		}
		h.nudge()
		select {
		case <-news:
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// outcomes has loaded what is not, and returns what became of changes. The channel is closed when
// something more has been loaded, or failed to be.
func (h *Historical) outcomes(changes []Change, turbo bool) ([]Outcome, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.turbo = turbo
	out := make([]Outcome, len(changes))
	for i, c := range changes {
		a := h.mu.asked[c.ID]
		switch {
		case c.Drop:
			out[i].Done = !h.cache.Holds(c.ID)
			if !out[i].Done {
				out[i] = Outcome{true, "its entry in the segment cache could not be removed; the log says why"}
			}
		case a != nil && a.Done:
			out[i] = *a
			delete(h.mu.asked, c.ID)
		case h.cache.Holds(c.ID) && h.mu.loading[c.ID] == nil:
			out[i].Done = true
			delete(h.mu.asked, c.ID)
		case a == nil:
			if len(h.mu.asked) >= maxUntold { // those who asked have gone
				maps.DeleteFunc(h.mu.asked, func(_ string, a *Outcome) bool { return a.Done })
			}
			h.mu.asked[c.ID] = &Outcome{}
			h.enqueueLocked(c.LoadItem)
		}
	}
	return out, h.mu.news
}

// endedLocked tells those who have asked for a segment what became of it.
func (h *Historical) endedLocked(id, failed string) {
	if a := h.mu.asked[id]; a != nil {
		*a = Outcome{true, failed}
	}
	close(h.mu.news)
	h.mu.news = make(chan struct{})
}
