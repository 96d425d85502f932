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

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// keptQueries is how many queries are remembered after their end, and keptSQL how many bytes of the text of each: a megabyte or two.
	keptQueries = 500
	keptSQL     = 4096
)

// The states of queries that not only State knows.
const stateRunning, stateCanceled, stateFailed = "RUNNING", "CANCELED", "FAILED"

// Running knows the queries that run now, by id, and the last ones that ended. Ids need not be unique: cancelling an id ends all that
// have it.
type Running struct {
	clock clock.Clock
	o     RunningOptions
	gate  *Gate

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
	ID       string    `json:"id"`
	SQL      string    `json:"sql"`
	Identity string    `json:"identity,omitempty"`
	Started  time.Time `json:"started"`
	// Took is how long it ran, or runs so far. Rows is how many it has given, Memory the most bytes it held at once.
	Took   time.Duration `json:"took"`
	Rows   int64         `json:"rows"`
	Memory int64         `json:"memory"`
	// Kind is the native type of the query, or "sql"; DataSources are those that it reads, as far as it came to be known; Bytes are those of
	// its answer.
	Kind        string   `json:"kind"`
	DataSources []string `json:"dataSources,omitempty"`
	Bytes       int64    `json:"bytes"`
	// Lane is the lane it runs in, or "".
	Lane string `json:"lane,omitempty"`
	// Ended says that it does not run any more, and Err then why it failed, nil if it did not.
	Ended bool  `json:"-"`
	Err   error `json:"-"`

	serial int64
}

// State returns RUNNING, SUCCESS, FAILED or CANCELED.
func (i *Info) State() string {
	switch f := fault.Find(i.Err); {
	case !i.Ended:
		return stateRunning
	case i.Err == nil:
		return "SUCCESS"
	case f != nil && f.Category == fault.CategoryCanceled:
		return stateCanceled
	}
	return stateFailed
}

// entry is a query while it runs.
type entry struct {
	Info      // Lane is guarded by the registry's lock
	running   *Running
	reads     []string // the datasources that it counts for, guarded likewise
	context   map[string]any
	priority  atomic.Int64
	blocklist func() []BlockRule

	cancel context.CancelCauseFunc
	rows   atomic.Int64
	bytes  atomic.Int64
	about  atomic.Pointer[about]
	memory atomic.Pointer[func() int64]
	err    atomic.Pointer[error]
}

// about is what a query turned out to be.
type about struct {
	kind        string
	dataSources []string
}

// RunningOptions say which queries may run, and who is told of them. The zero value lets all run and tells nobody.
type RunningOptions struct {
	Limits Limits
	// Blocklist returns the rules as they are now; nil: there are none.
	Blocklist func() []BlockRule
	Meter     *obs.Meter
	// Thresholds lower the priority of queries that read much; nil: it is what their context says.
	Thresholds *Thresholds
}

// NewRunning returns an empty registry.
func NewRunning(c clock.Clock, o RunningOptions) *Running {
	r := &Running{clock: c, o: o, gate: NewGate(o.Limits, "broker", o.Meter)}
	r.mu.queries = map[int64]*entry{}
	return r
}

type entryKey struct{}

// Arrival is a query that wants to run. Identity is whose it is, "" if nobody says.
type Arrival struct {
	ID, SQL, Identity string
	// Context is the query's.
	Context map[string]any
}

// Enter registers a query, or refuses it when too many run. The returned context ends when it is cancelled; leave must be called at its end.
func (r *Running) Enter(ctx context.Context, q Arrival) (_ context.Context, leave func(), err error) {
	priority, err := Priority(q.Context)
	if err != nil {
		return nil, nil, err
	}
	lane, err := r.o.Limits.lane(q.Context, priority)
	if err != nil {
		return nil, nil, err
	}
	if err := r.gate.Enter(q.Identity, lane); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.next++
	e := &entry{
		Info:    Info{ID: q.ID, SQL: q.SQL, Identity: q.Identity, Started: r.clock.Now(), Lane: lane, serial: r.mu.next},
		running: r, context: q.Context, blocklist: r.o.Blocklist, cancel: cancel,
	}
	e.priority.Store(priority)
	r.mu.queries[e.serial] = e
	return context.WithValue(ctx, entryKey{}, e), func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.mu.queries, e.serial)
		r.gate.Leave(e.Identity, e.Lane)
		r.gate.Unread(e.reads)
		r.keep(e)
	}, nil
}

// ContextOf returns the context parameters of the query that ctx belongs to, as they were sent; the caller does not change them.
func ContextOf(ctx context.Context) map[string]any {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e.context
	}
	return nil
}

// PriorityOf returns the priority of the query that ctx belongs to.
func PriorityOf(ctx context.Context) int64 {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e.priority.Load()
	}
	return 0
}

// LaneOf returns the lane of the query that ctx belongs to; "" is none.
func LaneOf(ctx context.Context) string {
	e, ok := ctx.Value(entryKey{}).(*entry)
	if !ok {
		return ""
	}
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	return e.Lane
}

// KindOf returns what the query that ctx belongs to is, as Describe was told; "" if that is not known.
func KindOf(ctx context.Context) string {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		if about := e.about.Load(); about != nil {
			return about.kind
		}
	}
	return ""
}

// keep remembers a query that has ended.
func (r *Running) keep(e *entry) {
	info := e.present(r.clock.Now())
	info.Ended = true
	if err := e.err.Load(); err != nil {
		info.Err = *err
	}
	measure(r.o.Meter, &info, e.priority.Load())
	info.SQL = secret.MaskSQL(info.SQL) // before it is cut, so that no secret loses its end
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
	info.Took, info.Rows, info.Bytes = now.Sub(info.Started), e.rows.Load(), e.bytes.Load()
	if about := e.about.Load(); about != nil {
		info.Kind, info.DataSources = about.kind, about.dataSources
	}
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

// Wrote notes how many bytes the answer has of the query that ctx belongs to, before compression.
func Wrote(ctx context.Context, bytes int64) {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		e.bytes.Store(bytes)
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
