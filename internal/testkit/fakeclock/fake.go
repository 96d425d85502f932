// Package fakeclock provides a clock that tests set.
//
// The central type is Clock, a clock.Clock that stands still until Advance or Set moves it.
package fakeclock

import (
	"context"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Clock is a clock for tests which stands still until Advance or Set moves it. Timers fire in the
// order of their times, and while one fires Now is exactly its time. A test that steps goroutines
// first calls BlockUntil, to know that they wait.
type Clock struct {
	mu struct {
		sync.Mutex
		now     time.Time
		waiting []*fakeTimer
		changed chan struct{} // closed and replaced whenever waiting grows
	}
}

// New returns a fake clock that stands at start.
func New(start time.Time) *Clock {
	f := &Clock{}
	f.mu.now = start.Round(0)
	f.mu.changed = make(chan struct{})
	return f
}

// Now returns where the clock stands.
func (f *Clock) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.now
}

// Advance moves the clock by d and fires what falls due on the way.
func (f *Clock) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moveLocked(f.mu.now.Add(d))
}

// Set moves the clock to t. Setting it back fires nothing, as when the clock of a machine is set
// back.
func (f *Clock) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moveLocked(t.Round(0))
}

func (f *Clock) moveLocked(to time.Time) {
	for {
		var next *fakeTimer
		for _, t := range f.mu.waiting {
			if !t.at.After(to) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			f.mu.now = to
			return
		}
		if next.at.After(f.mu.now) {
			f.mu.now = next.at
		}
		select {
		case next.c <- f.mu.now:
		default: // a tick nobody took
		}
		if next.every > 0 {
			next.at = next.at.Add(next.every)
		} else {
			f.dropLocked(next)
		}
	}
}

// BlockUntil waits until at least n timers, tickers and sleepers wait for the clock, or ctx is
// done.
func (f *Clock) BlockUntil(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		enough, changed := len(f.mu.waiting) >= n, f.mu.changed
		f.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Sleep waits until the clock has been moved by d.
func (f *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := f.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewTimer returns a timer that fires when the clock has been moved by d; at once if d <= 0.
func (f *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &fakeTimer{clock: f, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// NewTicker returns a ticker that fires for every d the clock is moved by.
func (f *Clock) NewTicker(d time.Duration) clock.Ticker {
	if d <= 0 {
		panic("clock: ticker of no duration")
	}
	t := &fakeTimer{clock: f, c: make(chan time.Time, 1), every: d}
	t.Reset(d)
	return fakeTicker{t}
}

func (f *Clock) addLocked(t *fakeTimer) {
	f.mu.waiting = append(f.mu.waiting, t)
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
}

func (f *Clock) dropLocked(t *fakeTimer) bool {
	for i, w := range f.mu.waiting {
		if w == t {
			f.mu.waiting = append(f.mu.waiting[:i], f.mu.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// fakeTimer is a timer, or with every > 0 a ticker. Its fields are guarded by the clock's lock.
type fakeTimer struct {
	clock *Clock
	c     chan time.Time
	at    time.Time
	every time.Duration
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stopLocked()
}

func (t *fakeTimer) stopLocked() bool {
	running := t.clock.dropLocked(t)
	select {
	case <-t.c: // no stale value after Stop or Reset
	default:
	}
	return running
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	f := t.clock
	f.mu.Lock()
	defer f.mu.Unlock()
	running := t.stopLocked()
	t.at = f.mu.now.Add(d)
	if d <= 0 {
		t.c <- f.mu.now
		return running
	}
	f.addLocked(t)
	return running
}

type fakeTicker struct{ t *fakeTimer }

func (t fakeTicker) C() <-chan time.Time { return t.t.c }
func (t fakeTicker) Stop()               { t.t.Stop() }
