package exec

import (
	"cmp"
	"context"
	"sync"

	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
)

// Group owns the goroutines of one operator. The first failure ends the context of the group; Wait
// returns it when all goroutines have ended.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

// NewGroup returns a group below ctx.
func NewGroup(ctx context.Context) *Group {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{ctx: ctx, cancel: cancel}
}

// Context is done when a member failed, the group was stopped, or the context above is done.
func (g *Group) Context() context.Context { return g.ctx }

// Go starts f. A panic in f, including a failed read of a mapped file, becomes the failure of the
// group.
func (g *Group) Go(f func(ctx context.Context) error) {
	g.wg.Go(func() {
		if err := Protect(func() error { return f(g.ctx) }); err != nil {
			g.once.Do(func() { g.err = err })
			g.cancel(err)
		}
	})
}

// Stop ends the group's context and waits for its members.
func (g *Group) Stop() {
	g.cancel(context.Canceled)
	g.wg.Wait()
}

// Wait waits for all members and returns the first failure.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(nil)
	return g.err
}

// atOnce runs f n times, each time with another number from 0 on, on goroutines that take part in
// the query's share of the cores. One alone runs on the goroutine that asks.
func (e *Env) atOnce(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	g := NewGroup(scheduler.WithoutSlot(ctx))
	for i := range n {
		g.Go(func(ctx context.Context) error {
			return e.Share.Compute(ctx, func(ctx context.Context) error { return f(ctx, i) })
		})
	}
	return scheduler.Wait(ctx, g.Wait)
}

// Protect runs f and converts a panic into an error: a failed read of a mapped file becomes a
// corruption fault, any other panic becomes a defensive fault with the stack for the log. All code
// of query goroutines runs inside Protect.
func Protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("The query met an unexpected condition; the server's log says more").WithPanic(p)
		}
	}()
	return segment.Guard(f)
}

// manyGroups says how many groups are many, so that they are found and merged in other ways than
// few. Zeros stand for what is measured to be best; tests say less.
type manyGroups struct {
	// near is from how many groups on keys are looked at for being near each other (keys/index.go):
	// fewer are found in the first caches anyway.
	near int
	// cache is how many bytes of an array by word and of values are found in a core's second cache,
	// however many groups there are.
	cache int
	// partition is the number of groups from which rows may be partitioned (partitioner.go): fewer fit
	// in the second cache together.
	partition int
	// merge is from how many groups on workers' tables are merged on several cores (mergegroups.go,
	// indexedparts.go).
	merge int
}

// complete sets what is zero.
func (m *manyGroups) complete() {
	m.near = cmp.Or(m.near, 1<<12)
	m.cache = cmp.Or(m.cache, 1<<22)
	m.partition = cmp.Or(m.partition, 1<<15)
	m.merge = cmp.Or(m.merge, 1<<15)
}
