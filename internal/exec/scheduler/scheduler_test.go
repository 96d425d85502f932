package scheduler

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSchedulerNeverGivesMoreSlotsThanThereAre(t *testing.T) {
	s := New(2, clock.System())
	var computing, most atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		sh := s.Join()
		defer sh.Leave()
		for range 3 {
			wg.Go(func() {
				for range 50 {
					err := sh.Compute(context.Background(), func(ctx context.Context) error {
						n := computing.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						computing.Add(-1)
						err := Wait(ctx, func() error { return nil })
						return errors.Join(err, Yield(ctx))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if most.Load() > 2 || s.mu.free != 2 || len(s.mu.waiting) != 0 {
		t.Errorf("[%d] computed at once, [%d] slots free, [%d] waiting", most.Load(), s.mu.free, len(s.mu.waiting))
	}
}

func TestSmallQueryWaitsForOneBatchOfALargeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := clock.System()
		s := New(1, sys)
		large, small := s.Join(), s.Join()
		defer large.Leave()
		defer small.Leave()
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 4 { // four goroutines of the large query, with batches of a millisecond
			wg.Go(func() {
				err := large.Compute(context.Background(), func(ctx context.Context) error {
					for !done.Load() {
						if err := errors.Join(sys.Sleep(ctx, time.Millisecond), Yield(ctx)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := sys.Sleep(context.Background(), 50*time.Millisecond); err != nil {
			t.Error(err)
		}
		begin := sys.Now()
		if err := small.Compute(context.Background(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if waited := sys.Now().Sub(begin); waited > time.Millisecond {
			t.Errorf("the small query waited %v", waited)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := small.Compute(ctx, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting after cancelling = %v", err)
		}
		done.Store(true)
		wg.Wait()
	})
}

// TestQueriesFinishOnOneSlot runs pipelines whose consumer waits for workers, which must not keep
// the only slot.
func TestSmallQueriesEndInTheOrderTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := clock.System()
		s := New(1, sys)
		const queries, steps = 40, 3
		var mu sync.Mutex
		var ended []int
		var wg sync.WaitGroup
		for i := range queries {
			if err := sys.Sleep(context.Background(), 100*time.Microsecond); err != nil { // they come faster than they are answered
				t.Error(err)
			}
			wg.Go(func() {
				sh := s.Join()
				defer sh.Leave()
				for range steps {
					err := sh.Compute(context.Background(), func(ctx context.Context) error { return sys.Sleep(ctx, 200*time.Microsecond) })
					if err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, i)
			})
		}
		wg.Wait()
		for at, i := range ended {
			if i < at-1 || i > at+1 { // a newer one has begun when an older one asks again
				t.Fatalf("they ended as %v", ended)
			}
		}
	})
}

// Small queries never end to come, and all slots could be theirs; a large one gets its even part
// all the same, also for what it computed before they came.
func TestALargeQueryGetsItsPartBesideSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := clock.System()
		s := New(1, sys)
		large := s.Join()
		defer large.Leave()
		const clients, batch = 4, time.Millisecond
		var done atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			err := large.Compute(context.Background(), func(ctx context.Context) error {
				for !done.Load() {
					if err := errors.Join(sys.Sleep(ctx, batch), Yield(ctx)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		if err := sys.Sleep(context.Background(), 10*time.Second); err != nil { // with all there is
			t.Error(err)
		}
		for range clients {
			wg.Go(func() {
				for !done.Load() {
					sh := s.Join()
					if err := sh.Compute(context.Background(), func(ctx context.Context) error { return sys.Sleep(ctx, batch) }); err != nil {
						t.Error(err)
					}
					sh.Leave()
				}
			})
		}
		if err := sys.Sleep(context.Background(), time.Second); err != nil {
			t.Error(err)
		}
		before := large.Computed()
		if err := sys.Sleep(context.Background(), 10*time.Second); err != nil {
			t.Error(err)
		}
		if got, even := large.Computed()-before, 10*time.Second/(clients+1); got < even*8/10 || got > even*15/10 {
			t.Errorf("the large query computed for %v; its even part is %v", got, even)
		}
		done.Store(true)
		wg.Wait()
	})
}

func TestTheNextSlotGoesByPriority(t *testing.T) {
	s := New(1, clock.System())
	high, plain, low := s.Join(), s.Join(), s.Join()
	high.Prefer(1)
	low.Prefer(-1)
	high.running, high.used = 5, time.Hour // it has had more than its part, and is first all the same
	if !high.before(plain) || !plain.before(low) || low.before(high) {
		t.Error("a lower priority comes first")
	}
	plain.running = 1
	if other := s.Join(); !other.before(plain) || plain.before(other) {
		t.Error("of equals the one that holds more slots comes first")
	}
}
