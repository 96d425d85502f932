package query

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// keptQueries is how many queries are remembered after their end, and keptSQL how many bytes of the text of each: a megabyte or two.
	keptQueries = 500
	keptSQL     = 4096
)

// Running knows the queries that run now, by id, and the last ones that ended. Ids need not be unique: cancelling an id ends all that
// have it.
type Running struct {
	clock clock.Clock
	// limit is how many may run at once; 0: any number.
	limit int

	mu struct {
		sync.Mutex
		next    int64
		queries map[int64]*entry
		ended   []Info // a ring once it is full: the first to end is at oldest
		oldest  int
	}
}

// Info describes a query that runs or ran.
type Info struct {
	ID, SQL, Identity string
	Started           time.Time
	// Took is how long it ran, or runs so far. Rows is how many it has given, Memory the most bytes it held at once.
	Took         time.Duration
	Rows, Memory int64
	// Ended says that it does not run any more, and Err then why it failed, nil if it did not.
	Ended bool
	Err   error

	serial int64
}

// State returns RUNNING, SUCCESS, FAILED or CANCELED.
func (i *Info) State() string {
	switch f := fault.Find(i.Err); {
	case !i.Ended:
		return "RUNNING"
	case i.Err == nil:
		return "SUCCESS"
	case f != nil && f.Category == fault.CategoryCanceled:
		return "CANCELED"
	}
	return "FAILED"
}

// entry is a query while it runs.
type entry struct {
	Info
	cancel context.CancelCauseFunc
	rows   atomic.Int64
	memory atomic.Pointer[func() int64]
	err    atomic.Pointer[error]
}

// NewRunning returns an empty registry.
func NewRunning(c clock.Clock, limit int) *Running {
	r := &Running{clock: c, limit: limit}
	r.mu.queries = map[int64]*entry{}
	return r
}

type entryKey struct{}

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
	e := &entry{Info: Info{ID: id, SQL: sql, Identity: identity, Started: r.clock.Now(), serial: r.mu.next}, cancel: cancel}
	r.mu.queries[e.serial] = e
	return context.WithValue(ctx, entryKey{}, e), func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.mu.queries, e.serial)
		r.keep(e)
	}, nil
}

// keep remembers a query that has ended.
func (r *Running) keep(e *entry) {
	info := e.present(r.clock.Now())
	info.Ended = true
	if err := e.err.Load(); err != nil {
		info.Err = *err
	}
	info.SQL = edge.RedactSQL(info.SQL) // before it is cut, so that no secret loses its end
	if len(info.SQL) > keptSQL {
		info.SQL = strings.ToValidUTF8(info.SQL[:keptSQL], "") + " ..."
	}
	if len(r.mu.ended) < keptQueries {
		r.mu.ended = append(r.mu.ended, info)
		return
	}
	r.mu.ended[r.mu.oldest] = info
	r.mu.oldest = (r.mu.oldest + 1) % keptQueries
}

func (e *entry) present(now time.Time) Info {
	info := e.Info
	info.Took, info.Rows = now.Sub(info.Started), e.rows.Load()
	if memory := e.memory.Load(); memory != nil {
		info.Memory = (*memory)()
	}
	return info
}

// Failed notes why the query that ctx belongs to fails; a nil err is none.
func Failed(ctx context.Context, err error) {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok && err != nil {
		if cause := context.Cause(ctx); cause != nil && fault.Find(cause) != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		e.err.Store(&err)
	}
}

// Watched returns rows whose number, and the most bytes that they took, show in the description of the query that ctx belongs to.
func Watched(ctx context.Context, rows Rows, memory func() int64) Rows {
	e, ok := ctx.Value(entryKey{}).(*entry)
	if !ok {
		return rows
	}
	e.memory.Store(&memory)
	return &watched{rows, e}
}

type watched struct {
	Rows
	entry *entry
}

func (w *watched) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := w.Rows.Next(ctx)
	if err == nil {
		w.entry.rows.Add(int64(b.Rows()))
	}
	return b, err
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
	now := r.clock.Now()
	out := make([]Info, 0, len(r.mu.queries))
	for _, q := range r.mu.queries {
		out = append(out, q.present(now))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].serial < out[j].serial })
	return out
}

// Recent returns the last queries that ended, in the order in which they did, and then what runs now.
func (r *Running) Recent() []Info {
	r.mu.Lock()
	ended := slices.Concat(r.mu.ended[r.mu.oldest:], r.mu.ended[:r.mu.oldest])
	r.mu.Unlock()
	return append(ended, r.List()...)
}
