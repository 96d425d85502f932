package historical

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
)

// Command executes a command of the leading Coordinator, and returns the remaining work. Drops are
// complete when it returns; loads are queued in order. A command of an earlier leader is rejected.
func (h *Historical) Command(ctx context.Context, c cluster.Command) (cluster.QueueState, error) {
	h.mu.Lock()
	if c.Epoch < h.mu.epoch {
		newer := h.mu.epoch
		h.mu.Unlock()
		return cluster.QueueState{}, fault.Conflict("Commands of epoch [%d] are not obeyed any more: a Coordinator of epoch [%d] leads", c.Epoch, newer)
	}
	h.mu.epoch, h.mu.turbo = c.Epoch, c.Turbo
	for _, id := range c.Drop {
		h.leaveLocked(id)
	}
	for _, l := range c.Load {
		h.enqueueLocked(l)
	}
	h.mu.Unlock()
	for _, id := range c.Drop {
		h.drop(ctx, id)
	}
	h.nudge()
	return h.state(), nil
}

// leave ends the loading of a segment, or what waits for it.
func (h *Historical) leave(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaveLocked(id)
}

func (h *Historical) leaveLocked(id string) {
	h.mu.queue = slices.DeleteFunc(h.mu.queue, func(l cluster.LoadItem) bool { return l.ID == id })
	if cancel := h.mu.loading[id]; cancel != nil {
		cancel()
	}
	if h.mu.asked[id] != nil {
		h.endedLocked(id, "it was dropped in the meantime")
	}
}

// enqueueLocked has a segment loaded, unless it waits or is being loaded already.
func (h *Historical) enqueueLocked(l cluster.LoadItem) {
	waits := slices.ContainsFunc(h.mu.queue, func(o cluster.LoadItem) bool { return o.ID == l.ID })
	if !waits && h.mu.loading[l.ID] == nil {
		h.mu.queue = append(h.mu.queue, l)
	}
}

func (h *Historical) drop(ctx context.Context, id string) {
	if err := h.cache.Drop(id); err != nil {
		h.log.ErrorContext(ctx, "failed to drop a segment", "segment", id, "error", err)
		return
	}
	h.changes.Dropped(id)
}

// state returns what is left to do, and what failed since it was asked last.
func (h *Historical) state() cluster.QueueState {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := cluster.QueueState{Pending: []string{}, Failed: h.mu.failed}
	h.mu.failed = map[string]string{}
	h.countLocked(len(h.mu.loading))
	s.LoadedBytes, s.LoadingMicros = h.mu.loaded, h.mu.busy.Microseconds()
	h.mu.loaded, h.mu.busy = 0, 0
	for id := range h.mu.loading {
		s.Pending, s.Loading = append(s.Pending, id), append(s.Loading, id)
	}
	for _, l := range h.mu.queue {
		s.Pending = append(s.Pending, l.ID)
	}
	return s
}

// countLocked counts the time in which so many segments were being loaded, up to now.
func (h *Historical) countLocked(loading int) {
	now := h.clock.Now()
	if loading > 0 {
		h.mu.busy += now.Sub(h.mu.since)
	}
	h.mu.since = now
}

func (h *Historical) nudge() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run loads the queued segments until ctx is done.
func (h *Historical) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	for range max(h.threads.Loading, h.threads.Turbo) {
		working.Go(func() { h.work(ctx) })
	}
	<-ctx.Done()
	return nil
}

// work is one loader.
func (h *Historical) work(ctx context.Context) {
	for {
		item, loading, done := h.take(ctx)
		if loading == nil {
			select {
			case <-h.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := h.cache.Load(loading, item.ID, item.LoadSpec)
		if loading.Err() != nil && err == nil && ctx.Err() == nil { // it came when nobody wanted it any more, and who said so did not find it yet
			_ = h.cache.Drop(item.ID) // the next command to drop it finds it
		}
		if done(err) && err != nil {
			h.log.ErrorContext(ctx, "failed to load a segment", "segment", item.ID, "error", err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// reason is what the Coordinator is told of a failure: which object it was of, and why, without the
// private cause.
func reason(err error) string {
	f := fault.Find(err)
	if f == nil {
		return fault.Words(err)
	}
	if about, whole := strings.CutSuffix(err.Error(), f.Error()); whole {
		return about + f.Message
	}
	return f.Message
}

// take takes the first of the queue. Its context ends when it is to be dropped; done says how it
// ended, and whether it is wanted still. Nothing to do, or not now, is a nil context: who is at
// something looks again behind it.
//
// What done announces is no longer pending in the same moment, and no command to drop it comes
// between: its drop is announced after it, or it is not announced at all.
func (h *Historical) take(ctx context.Context) (item cluster.LoadItem, loading context.Context, done func(err error) (wanted bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	most := h.threads.Loading
	if h.mu.turbo {
		most = h.threads.Turbo
	}
	if len(h.mu.queue) == 0 || len(h.mu.loading) >= most {
		return item, nil, nil
	}
	item, h.mu.queue = h.mu.queue[0], h.mu.queue[1:]
	if len(h.mu.queue) > 0 {
		h.nudge() // another loader has something to do, too
	}
	loading, cancel := context.WithCancel(ctx)
	h.countLocked(len(h.mu.loading))
	h.mu.loading[item.ID] = cancel
	return item, loading, func(err error) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		wanted := loading.Err() == nil
		cancel()
		h.countLocked(len(h.mu.loading))
		delete(h.mu.loading, item.ID)
		switch {
		case wanted && err != nil:
			h.mu.failed[item.ID] = reason(err)
			h.endedLocked(item.ID, reason(err))
		case wanted:
			h.mu.loaded += item.Size
			h.changes.Loaded(item.ID)
			h.endedLocked(item.ID, "")
		}
		return wanted
	}
}
