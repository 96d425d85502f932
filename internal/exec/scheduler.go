package exec

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

const (
	// slice is how long a goroutine computes before it lets others go first, if any wait. A batch
	// takes far less.
	slice = 4 * time.Millisecond
	// small is what small queries compute at most. It is not tight: a goroutine with a slot may have
	// to wait for a core.
	small = 5 * slice
)

// Scheduler shares the cores of the process between queries. Goroutines that compute hold a slot;
// when more want to compute than there are slots they take turns of a few milliseconds, and the
// next turn goes to the query of the highest priority, among those to the one that holds the fewest
// slots, and then to the one that has computed least; of those that are a few turns apart to one
// that is small so far, and then to the one that came first. So of many small queries none is
// passed by those that come later. A large one gives its turn up when a small one waits, which
// waits for a batch of it and not for its end.
//
// What a query has computed is compared in virtual time, as in weighted fair queueing (Demers,
// Keshav, Shenker: Analysis and simulation of a fair queueing algorithm, 1989): that goes on as
// fast as a query computes which has its even part of the cores, and a query that comes begins with
// it. A large query thus gets its part beside small ones that never end to come.
type Scheduler struct {
	clock clock.Clock
	slots int
	// wanted is how many goroutines wait, so that those that compute need not look at the clock while
	// none does. It is changed with the lock held.
	wanted atomic.Int32
	// urgent is whether a small query is among them.
	urgent atomic.Bool

	mu struct {
		sync.Mutex
		free    int
		waiting []*waiter // in the order they came
		held    []*slot
		shares  int
		busy    int           // shares that hold slots or want some
		virtual time.Duration // what a query has computed that had its even part all the time
		joined  uint64        // shares there have ever been
	}
}

// waiter is a goroutine that wants a slot.
type waiter struct {
	slot    *slot
	granted chan struct{} // closed with the scheduler's lock held
}

// Share is one query's part of the cores.
type Share struct {
	s        *Scheduler
	order    uint64        // of those that came before it is less
	wants    int           // slots held or waited for
	running  int           // slots held
	rank     int64         // its priority
	used     time.Duration // computed, in virtual time
	computed time.Duration
}

// NewScheduler returns a scheduler of so many slots.
func NewScheduler(slots int, c clock.Clock) *Scheduler {
	s := &Scheduler{clock: c, slots: max(slots, 1)}
	s.mu.free = s.slots
	return s
}

// Join adds a query; Leave ends its part. A nil Scheduler gives a nil Share, with which everything
// runs at once.
func (s *Scheduler) Join() *Share {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.shares++
	s.mu.joined++
	return &Share{s: s, order: s.mu.joined, used: s.mu.virtual}
}

// Load returns how many goroutines compute now, and how many wait for their turn.
func (s *Scheduler) Load() (active, pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots - s.mu.free, len(s.mu.waiting)
}

// Prefer gives the query a priority: its goroutines get slots before those of lower ones, and after
// those of higher ones.
func (sh *Share) Prefer(priority int64) {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	sh.rank = priority
}

// Computed returns how long the query's goroutines have held slots, all together: about the time
// that cores had for it.
func (sh *Share) Computed() time.Duration {
	if sh == nil {
		return 0
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	return sh.computed
}

// Leave ends the query's part. None of its goroutines may compute any more.
func (sh *Share) Leave() {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	sh.s.mu.shares--
}

// crowded reports whether there are more queries than slots: several goroutines of a short one
// would only get in each other's way.
func (sh *Share) crowded() bool {
	if sh == nil {
		return false
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	return sh.s.mu.shares > sh.s.slots
}

// count adds up what was computed until now. The lock is held.
func (s *Scheduler) count(now time.Time) {
	for _, t := range s.mu.held {
		took := now.Sub(t.counted)
		t.counted = now
		t.share.used += took
		t.share.computed += took
		s.mu.virtual += took / time.Duration(s.mu.busy)
	}
}

// want notes that one more goroutine wants a slot or has one, and rest that one does no longer. The
// lock is held.
func (sh *Share) want() {
	if sh.wants++; sh.wants == 1 {
		sh.s.count(sh.s.clock.Now()) // it was computed without this one
		sh.s.mu.busy++
		sh.used = max(sh.used, sh.s.mu.virtual-small) // of what it did not want in the meantime little is made up for
	}
}

func (sh *Share) rest() {
	if sh.wants--; sh.wants == 0 {
		sh.s.mu.busy--
	}
}

// slot is the right of one goroutine to compute.
type slot struct {
	share   *Share
	since   time.Time
	held    bool
	large   bool      // the query was not small any more when it got the slot
	counted time.Time // up to when its time is part of what the share has computed; with the scheduler's lock held
}

type slotKey struct{}

// Compute runs f, which is to wait for nothing but stop(ctx), with a slot of the share. Panics
// become faults.
func (sh *Share) Compute(ctx context.Context, f func(ctx context.Context) error) error {
	return Protect(func() error { return sh.compute(ctx, f) })
}

// compute runs f with a slot of the share, which f's context carries: every stop(ctx) is a place to
// let others go first.
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

// yield lets others go first when the goroutine has had its slice, or is a large query's and a
// small one waits.
func yield(ctx context.Context) error {
	t, _ := ctx.Value(slotKey{}).(*slot)
	if t == nil || !t.held {
		return nil
	}
	s := t.share.s
	if s.wanted.Load() == 0 {
		return nil
	}
	held := s.clock.Now().Sub(t.since)
	if urgent := s.urgent.Load() && (t.large || held >= small); held < slice && !urgent {
		return nil
	}
	t.release()
	return t.acquire(ctx)
}

// acquire waits for a slot. When it fails none is held.
func (t *slot) acquire(ctx context.Context) error {
	s := t.share.s
	s.mu.Lock()
	t.share.want()
	if s.mu.free > 0 && ctx.Err() == nil { // then nobody waits
		s.give(t)
		s.mu.Unlock()
		t.since, t.held = s.clock.Now(), true
		return nil
	}
	w := &waiter{slot: t, granted: make(chan struct{})}
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
			s.take(t)
			s.grant()
		default:
			s.mu.waiting = without(s.mu.waiting, w)
			s.tell()
		}
		t.share.rest()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(t)
	t.share.rest()
	s.grant()
}

// give notes that t holds a slot that was free, and take that it is free again. The lock is held.
func (s *Scheduler) give(t *slot) {
	s.mu.free--
	t.share.running++
	t.large = !t.share.small()
	t.counted = s.clock.Now()
	s.mu.held = append(s.mu.held, t)
}

func (s *Scheduler) take(t *slot) {
	s.count(s.clock.Now())
	t.share.running--
	s.mu.held = slices.DeleteFunc(s.mu.held, func(o *slot) bool { return o == t })
	s.mu.free++
}

// grant gives free slots to waiters. The lock is held.
func (s *Scheduler) grant() {
	for s.mu.free > 0 && len(s.mu.waiting) > 0 {
		best := s.mu.waiting[0]
		for _, w := range s.mu.waiting[1:] {
			if w.slot.share.before(best.slot.share) {
				best = w
			}
		}
		s.mu.waiting = without(s.mu.waiting, best)
		s.give(best.slot)
		close(best.granted)
	}
	s.tell()
}

// tell lets those that compute know who waits. The lock is held.
func (s *Scheduler) tell() {
	s.wanted.Store(int32(len(s.mu.waiting)))
	s.urgent.Store(slices.ContainsFunc(s.mu.waiting, func(w *waiter) bool { return w.slot.share.small() }))
}

// small reports whether the query is small so far. The lock is held.
func (sh *Share) small() bool { return sh.computed < small }

// before reports whether the next slot is that of sh rather than that of o. The lock is held.
func (sh *Share) before(o *Share) bool {
	switch {
	case sh.rank != o.rank:
		return sh.rank > o.rank
	case sh.running != o.running:
		return sh.running < o.running
	}
	if apart := sh.used - o.used; apart <= -small || apart >= small {
		return apart < 0
	}
	if sh.small() != o.small() {
		return sh.small()
	}
	return sh.order < o.order
}

func without(ws []*waiter, w *waiter) []*waiter {
	for i := range ws {
		if ws[i] == w {
			return append(ws[:i], ws[i+1:]...)
		}
	}
	return ws
}
