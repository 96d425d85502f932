package server

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/timeline"
)

// Lag lets a process fall behind the published timeline, and reach the metastore nevertheless. The
// first state passes; later ones do while it is not held.
type Lag struct {
	// First, if not nil, is called when the process has read its first state and does not have it
	// yet.
	First func()

	mu   sync.Mutex
	held chan struct{} // closed when the process goes on; nil: it is not held
}

// StartLagging adds a process with a lag and properties of its own, as key=value.
func (c *Cluster) StartLagging(l *Lag, settings []string, roles ...string) *Process {
	c.t.Helper()
	c.lag = l
	defer func() { c.lag = nil }()
	return c.StartWith(settings, roles...)
}

// Hold lets the process stay behind until Release.
func (l *Lag) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(chan struct{})
}

// Release lets the process come to the newest state.
func (l *Lag) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// pass waits until the process is not held.
func (l *Lag) pass(ctx context.Context) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow is role.Options.Follow.
func (l *Lag) follow(ctx context.Context, store *metastore.Store, p *timeline.Published) error {
	newest := timeline.NewPublished()
	last := newest.Pin()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return store.Follow(ctx, newest) })
	group.Go(func() error {
		for first := true; ; first = false {
			var err error
			if last, err = newest.Next(ctx, last); err != nil {
				return err
			}
			switch {
			case !first:
				err = l.pass(ctx)
			case l.First != nil:
				l.First()
			}
			if err != nil {
				return err
			}
			p.Reset(last)
		}
	})
	return group.Wait()
}
