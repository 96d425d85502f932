package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// slice is how long a goroutine computes before it lets others go first, if any wait. A batch takes far less.
const slice = 4 * time.Millisecond

// Scheduler shares the cores of the process between queries. Goroutines that compute hold a slot; when more want to compute than there
// are slots they take turns of a few milliseconds, and the next turn goes to the query of the highest priority, among those to the one
// that holds the fewest slots, and then to the one that has computed least. So a small query waits for one turn of a large one, not for its end.
type Scheduler struct {
	clock clock.Clock
	slots int
	// wanted is how many goroutines wait, so that those that compute need not look at the clock while none does. It is changed with the lock
	// held.
	wanted atomic.Int32

	mu struct {
		sync.Mutex
		free    int
		waiting []*waiter // in the order they came
		shares  map[*Share]struct{}
	}
}

// waiter is a goroutine that wants a slot.
type waiter struct {
	share   *Share
	granted chan struct{} // closed with the scheduler's lock held
}

// Share is one query's part of the cores.
type Share struct {
	s       *Scheduler
	running int           // slots held
	rank    int64         // its priority
	used    time.Duration // computed, counted from that of the query that had computed least when this one began
	began   time.Duration // used when this one began
}

// NewScheduler returns a scheduler of so many slots.
func NewScheduler(slots int, c clock.Clock) *Scheduler {
	s := &Scheduler{clock: c, slots: max(slots, 1)}
	s.mu.free = s.slots
	s.mu.shares = map[*Share]struct{}{}
	return s
}

// Join adds a query; Leave ends its part. A nil Scheduler gives a nil Share, with which everything runs at once.
func (s *Scheduler) Join() *Share {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := &Share{s: s}
	first := true
	for o := range s.mu.shares {
		if first || o.used < sh.used {
			sh.used, first = o.used, false
		}
	}
	sh.began = sh.used
	s.mu.shares[sh] = struct{}{}
	return sh
}

// Load returns how many goroutines compute now, and how many wait for their turn.
func (s *Scheduler) Load() (active, pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots - s.mu.free, len(s.mu.waiting)
}

// Prefer gives the query a priority: its goroutines get slots before those of lower ones, and after those of higher ones.
func (sh *Share) Prefer(priority int64) {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	sh.rank = priority
}

// Computed returns how long the query's goroutines have held slots, all together: about the time that cores had for it.
func (sh *Share) Computed() time.Duration {
	if sh == nil {
		return 0
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	return sh.used - sh.began
}

// Leave ends the query's part. None of its goroutines may compute any more.
func (sh *Share) Leave() {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	delete(sh.s.mu.shares, sh)
}

// crowded reports whether there are more queries than slots: several goroutines of a short one would only get in each other's way.
func (sh *Share) crowded() bool {
	if sh == nil {
		return false
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	return len(sh.s.mu.shares) > sh.s.slots
}

// slot is the right of one goroutine to compute.
type slot struct {
	share *Share
	since time.Time
	held  bool
}

type slotKey struct{}

// compute runs f with a slot of the share, which f's context carries: every stop(ctx) is a place to let others go first.
func (sh *Share) compute(ctx context.Context, f func(ctx context.Context) error) error {
	if sh == nil || ctx.Value(slotKey{}) != nil {
		return f(ctx)
	}
	t := &slot{share: sh}
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	return f(context.WithValue(ctx, slotKey{}, t))
}

// withoutSlot returns a context for other goroutines, which need slots of their own.
func withoutSlot(ctx context.Context) context.Context {
	if ctx.Value(slotKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, slotKey{}, nil)
}

// idle runs f, which waits for other goroutines, without a slot.
func idle(ctx context.Context, f func() error) error {
	t, _ := ctx.Value(slotKey{}).(*slot)
	if t == nil {
		return f()
	}
	t.release()
	err := f()
	if again := t.acquire(ctx); err == nil {
		err = again
	}
	return err
}

// yield lets others go first when the goroutine has had its slice.
func yield(ctx context.Context) error {
	t, _ := ctx.Value(slotKey{}).(*slot)
	if t == nil || !t.held {
		return nil
	}
	s := t.share.s
	if s.wanted.Load() == 0 || s.clock.Now().Sub(t.since) < slice {
		return nil
	}
	t.release()
	return t.acquire(ctx)
}

// acquire waits for a slot. When it fails none is held.
func (t *slot) acquire(ctx context.Context) error {
	s := t.share.s
	s.mu.Lock()
	if s.mu.free > 0 && ctx.Err() == nil { // then nobody waits
		s.mu.free--
		t.share.running++
		s.mu.Unlock()
		t.since, t.held = s.clock.Now(), true
		return nil
	}
	w := &waiter{share: t.share, granted: make(chan struct{})}
	s.mu.waiting = append(s.mu.waiting, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-w.granted: // in the same moment: give it back
			t.share.running--
			s.mu.free++
			s.grant()
		default:
			s.mu.waiting = without(s.mu.waiting, w)
			s.wanted.Store(int32(len(s.mu.waiting)))
		}
		return context.Cause(ctx)
	}
	t.since, t.held = s.clock.Now(), true
	return nil
}

// release gives the slot back, if it is held.
func (t *slot) release() {
	if !t.held {
		return
	}
	t.held = false
	s := t.share.s
	used := s.clock.Now().Sub(t.since)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.share.used += used
	t.share.running--
	s.mu.free++
	s.grant()
}

// grant gives free slots to waiters. The lock is held.
func (s *Scheduler) grant() {
	for s.mu.free > 0 && len(s.mu.waiting) > 0 {
		best := s.mu.waiting[0]
		for _, w := range s.mu.waiting[1:] {
			a, b := w.share, best.share
			if a.before(b) {
				best = w
			}
		}
		s.mu.waiting = without(s.mu.waiting, best)
		s.mu.free--
		best.share.running++
		close(best.granted)
	}
	s.wanted.Store(int32(len(s.mu.waiting)))
}

// before reports whether the next slot is that of sh rather than that of o. The lock is held.
func (sh *Share) before(o *Share) bool {
	switch {
	case sh.rank != o.rank:
		return sh.rank > o.rank
	case sh.running != o.running:
		return sh.running < o.running
	}
	return sh.used < o.used
}

func without(ws []*waiter, w *waiter) []*waiter {
	for i := range ws {
		if ws[i] == w {
			return append(ws[:i], ws[i+1:]...)
		}
	}
	return ws
}
