// Package scheduler shares the cores of the process between queries.
//
// The central type is Scheduler. A query joins it and gets a Share; its goroutines compute within
// Share.Compute, call Yield once per batch, and call Wait while they wait for other goroutines.
//
// Elsewhere: starting goroutines and catching their panics (exec.Group, exec.Protect), admission of
// queries (package query).
package scheduler

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

// Scheduler shares the cores of the process between queries. Goroutines that compute hold a slot.
// If more goroutines compute than there are slots, they take turns of a few milliseconds. The next
// turn goes to the query with the highest priority, then to the query with the fewest slots, then
// to the query with the least CPU time; if these differ by only a few turns, to a query that is
// small so far, then to the oldest query. Later queries therefore never overtake earlier small
// queries. A large query yields its turn when a small one waits, which then waits for one batch and
// not for the end of the large query.
//
// The CPU time of queries is compared in virtual time, as in weighted fair queueing (Demers,
// Keshav, Shenker: Analysis and simulation of a fair queueing algorithm, 1989). Virtual time
// advances at the rate of a query with an equal share of the cores, and a new query starts with the
// current virtual time. A large query thus gets its share even beside an endless sequence of small
// queries.
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

// Share is the share of one query of the cores.
type Share struct {
	s        *Scheduler
	order    uint64        // of those that came before it is less
	wants    int           // slots held or waited for
	running  int           // slots held
	rank     int64         // its priority
	used     time.Duration // computed, in virtual time
	computed time.Duration
	most     time.Duration // it may compute; 0: any time
	over     error         // what the goroutines of one that has computed more end with
}

// New returns a scheduler with so many slots.
func New(slots int, c clock.Clock) *Scheduler {
	s := &Scheduler{clock: c, slots: max(slots, 1)}
	s.mu.free = s.slots
	return s
}

// Join adds a query; Leave removes it. A nil Scheduler returns a nil Share, which does not limit
// goroutines.
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

// Load returns the number of goroutines that compute, and of those that wait for their turn.
func (s *Scheduler) Load() (active, pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots - s.mu.free, len(s.mu.waiting)
}

// Prefer sets the priority of the query: its goroutines get slots before those of lower priorities,
// and after those of higher ones.
func (sh *Share) Prefer(priority int64) {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	sh.rank = priority
}

// Computed returns the total time for which the goroutines of the query have held slots, which
// approximates its CPU time.
func (sh *Share) Computed() time.Duration {
	if sh == nil {
		return 0
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	return sh.computed
}

// Bound fails the goroutines of the query when their total time exceeds most; 0: no limit. It is
// called before they start.
func (sh *Share) Bound(most time.Duration, over error) {
	if sh != nil {
		sh.most, sh.over = most, over
	}
}

// exceeded returns the error of a query that has computed for as long as it may.
func (sh *Share) exceeded() error {
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	if sh.s.count(sh.s.clock.Now()); sh.computed > sh.most {
		return sh.over
	}
	return nil
}

// Leave removes the query. Its goroutines must not compute afterwards.
func (sh *Share) Leave() {
	if sh == nil {
		return
	}
	sh.s.mu.Lock()
	defer sh.s.mu.Unlock()
	sh.s.mu.shares--
}

// Crowded reports whether there are more queries than slots, so that several goroutines for a short
// query are not worthwhile.
func (sh *Share) Crowded() bool {
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

// Compute runs f with a slot of the share, which is in the context of f. f must not wait except in
// Yield, which lets other queries run first. The caller handles panics of f.
func (sh *Share) Compute(ctx context.Context, f func(ctx context.Context) error) error {
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

// WithoutSlot returns a context for other goroutines, which need slots of their own.
func WithoutSlot(ctx context.Context) context.Context {
	if ctx.Value(slotKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, slotKey{}, nil)
}

// Wait runs f, which waits for other goroutines, without a slot.
func Wait(ctx context.Context, f func() error) error {
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

// Yield returns the cause of the end of ctx, or nil. Computing goroutines call it once per batch.
// It lets other goroutines run first if the goroutine has used its time slice, or if it belongs to
// a large query and a small one waits.
func Yield(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, _ := ctx.Value(slotKey{}).(*slot)
	if t == nil || !t.held {
		return nil
	}
	s := t.share.s
	if t.share.most > 0 {
		if err := t.share.exceeded(); err != nil {
			return err
		}
	}
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
