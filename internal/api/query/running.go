package query

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Running knows the queries that run now, by id. Ids need not be unique: cancelling an id ends all that have it.
type Running struct {
	clock clock.Clock
	// limit is how many may run at once; 0: any number.
	limit int

	mu struct {
		sync.Mutex
		next    int64
		queries map[int64]*Info
	}
}

// Info describes a running query.
type Info struct {
	ID, SQL, Identity string
	Started           time.Time

	serial int64
	cancel context.CancelCauseFunc
}

// NewRunning returns an empty registry.
func NewRunning(c clock.Clock, limit int) *Running {
	r := &Running{clock: c, limit: limit}
	r.mu.queries = map[int64]*Info{}
	return r
}

// Enter registers a query. The returned context ends when it is cancelled; leave must be called at its end.
func (r *Running) Enter(ctx context.Context, id, sql, identity string) (_ context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit > 0 && len(r.mu.queries) >= r.limit {
		cancel(nil)
		return nil, nil, fault.Capacity("Too many concurrent queries, total query capacity of %d exceeded. Please try your query again later.", r.limit)
	}
	r.mu.next++
	info := &Info{ID: id, SQL: sql, Identity: identity, Started: r.clock.Now(), serial: r.mu.next, cancel: cancel}
	r.mu.queries[info.serial] = info
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		delete(r.mu.queries, info.serial)
		r.mu.Unlock()
	}, nil
}

// Cancel ends all queries with an id and returns how many there were.
func (r *Running) Cancel(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.mu.queries {
		if q.ID == id {
			q.cancel(fault.Canceled("Query is canceled [%s]", id))
			n++
		}
	}
	return n
}

// Interrupt ends all queries, because the process stops.
func (r *Running) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.mu.queries {
		q.cancel(fault.Runtime("Query was interrupted because the server stops [%s]", q.ID).WithCode("legacyQueryException").WithLegacy(fault.LegacyInterrupted))
	}
}

// Count returns how many queries run now.
func (r *Running) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.queries)
}

// List returns what runs now, oldest first.
func (r *Running) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Info, 0, len(r.mu.queries))
	for _, q := range r.mu.queries {
		out = append(out, *q)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].serial < out[j].serial })
	return out
}
