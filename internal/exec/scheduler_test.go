package exec

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/plan"
)

func TestSchedulerNeverGivesMoreSlotsThanThereAre(t *testing.T) {
	s := NewScheduler(2, clock.System())
	var computing, most atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		sh := s.Join()
		defer sh.Leave()
		for range 3 {
			wg.Go(func() {
				for range 50 {
					err := sh.compute(context.Background(), func(ctx context.Context) error {
						n := computing.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						computing.Add(-1)
						err := idle(ctx, func() error { return nil })
						return errors.Join(err, stop(ctx))
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
		s := NewScheduler(1, sys)
		large, small := s.Join(), s.Join()
		defer large.Leave()
		defer small.Leave()
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 4 { // four goroutines of the large query, with batches of a millisecond
			wg.Go(func() {
				err := large.compute(context.Background(), func(ctx context.Context) error {
					for !done.Load() {
						if err := errors.Join(sys.Sleep(ctx, time.Millisecond), stop(ctx)); err != nil {
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
		if err := small.compute(context.Background(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if waited := sys.Now().Sub(begin); waited > time.Millisecond {
			t.Errorf("the small query waited %v", waited)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := small.compute(ctx, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting after cancelling = %v", err)
		}
		done.Store(true)
		wg.Wait()
	})
}

// TestQueriesFinishOnOneSlot runs pipelines whose consumer waits for workers, which must not keep
// the only slot.
func TestQueriesFinishOnOneSlot(t *testing.T) {
	s := &store{t: t}
	rows := events(rand.New(rand.NewPCG(12, 1)), 0, 500)
	for i := range 4 {
		s.addSegment(chrono.Interval{Start: int64(i) * 125_000, End: int64(i+1) * 125_000}, eventSchema, true, rows[i*125:(i+1)*125])
	}
	sched := NewScheduler(1, clock.System())
	scan := scanOf(nil, "s", "k", "__time")
	dim := inline(testTypes[1:2], []any{"a"}, []any{"b"})
	for _, node := range []plan.Node{
		scan,
		&plan.Aggregate{Input: scan, Keys: []int{0, 2}, Aggs: typed(testTypes, call("COUNT", long))},
		&plan.Sort{Input: scan, Keys: []plan.SortKey{{Column: 1}}, Limit: -1},
		&plan.Join{Kind: plan.Right, Left: scan, Right: dim, Keys: []plan.EquiKey{{}}},
		&plan.Aggregate{Input: &plan.Join{Left: scan, Right: dim, Keys: []plan.EquiKey{{}}}, Keys: []int{0}, Aggs: typed(testTypes, call("COUNT", long))},
	} {
		want := mustRows(t, node, envOf(t, s))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				env := envOf(t, s)
				env.Share = sched.Join()
				defer env.Share.Leave()
				got, err := rowsOf(t, node, env)
				if err != nil {
					t.Error(err)
				}
				sameRows(t, want, got)
			})
		}
		wg.Wait()
	}
}

func envOf(t *testing.T, s *store) *Env {
	env := configs[2].env(t)
	env.Tables = s
	return env
}

// A query that has to wait for slots several times is not passed by those that come later, each of
// which has computed less.
func TestSmallQueriesEndInTheOrderTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := clock.System()
		s := NewScheduler(1, sys)
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
					if err := sh.compute(context.Background(), func(ctx context.Context) error { return sys.Sleep(ctx, 200*time.Microsecond) }); err != nil {
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
		s := NewScheduler(1, sys)
		large := s.Join()
		defer large.Leave()
		const clients, batch = 4, time.Millisecond
		var done atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			err := large.compute(context.Background(), func(ctx context.Context) error {
				for !done.Load() {
					if err := errors.Join(sys.Sleep(ctx, batch), stop(ctx)); err != nil {
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
					if err := sh.compute(context.Background(), func(ctx context.Context) error { return sys.Sleep(ctx, batch) }); err != nil {
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
	s := NewScheduler(1, clock.System())
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
