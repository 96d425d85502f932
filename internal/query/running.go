package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// keptQueries is how many queries are remembered after their end, and keptSQL how many bytes of
	// the text of each: a megabyte or two.
	keptQueries = 500
	keptSQL     = 4096
)

// The states of queries that not only State knows.
const stateRunning, stateCanceled, stateFailed = "RUNNING", "CANCELED", "FAILED"

// Running is the registry of running queries, by id, and of the last finished ones. Ids need not be
// unique: cancelling an id ends all queries with it.
type Running struct {
	clock clock.Clock
	o     RunningOptions
	gate  *Gate

	mu struct {
		sync.Mutex
		next    int64
		queries map[int64]*Query
		ended   []Info // a ring once it is full: the first to end is at oldest
		oldest  int
		left    []left
	}
}

// Info describes a running or finished query.
type Info struct {
	ID       string    `json:"id"`
	SQL      string    `json:"sql"`
	Identity string    `json:"identity,omitempty"`
	Started  time.Time `json:"started"`
	// Took is its duration so far. Rows is the number of returned rows, Memory its peak memory in
	// bytes.
	Took   time.Duration `json:"took"`
	Rows   int64         `json:"rows"`
	Memory int64         `json:"memory"`
	// Kind is the native type of the query, or "sql"; DataSources are its datasources, if they were
	// determined; Bytes is the size of its result.
	Kind        string   `json:"kind"`
	DataSources []string `json:"dataSources,omitempty"`
	Bytes       int64    `json:"bytes"`
	// Lane is the lane it runs in, or "".
	Lane string `json:"lane,omitempty"`
	// Ended is true if the query has ended; Err is then its failure, or nil.
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

// Query is a running query: Enter returns it, and its owner passes it to all code that plans and
// runs it. A nil Query is a query without a registry, such as the query of a task; its methods do
// nothing and return zero values.
type Query struct {
	info      Info // its Lane is guarded by the registry's lock
	running   *Running
	reads     []string // the datasources that it counts for, guarded likewise
	context   map[string]any
	priority  atomic.Int64
	blocklist func() []BlockRule
	// bounds are the limits of the user, and key is the name that its queries are counted under.
	bounds *auth.Bounds
	key    string
	access *auth.Access
	// auditEntry is what the audit log records at its end, as far as it is known at its begin; nil:
	// nothing.
	auditEntry *audit.Entry

	cancel context.CancelCauseFunc
	rows   atomic.Int64
	bytes  atomic.Int64
	about  atomic.Pointer[about]
	memory atomic.Pointer[func() int64]
	// progress is that of the operators, which began; nil: nothing has.
	progress atomic.Pointer[progress.Progress]
	err      atomic.Pointer[error]
}

// about is what a query turned out to be.
type about struct {
	kind        string
	dataSources []string
	// policies are the rules that apply, as the audit tells them.
	policies []string
}

// RunningOptions are the limits and the observers of queries. The zero value has no limits and no
// observers.
type RunningOptions struct {
	Limits Limits
	// Blocklist returns the current rules; nil: there are none.
	Blocklist func() []BlockRule
	Meter     *obs.Meter
	// Logging logs failed and slow queries.
	Logging Logging
	// Audit, if not nil, records each query.
	Audit *audit.Log
	// Thresholds lower the priority of queries that read much data; nil: the priority is that of their
	// context.
	Thresholds *Thresholds
}

// NewRunning returns an empty registry.
func NewRunning(c clock.Clock, o RunningOptions) *Running {
	r := &Running{clock: c, o: o, gate: NewGate(o.Limits, "broker", o.Meter)}
	r.mu.queries = map[int64]*Query{}
	return r
}

// Arrival is a query that requests admission. Identity is its user, "" if unknown.
type Arrival struct {
	ID, SQL, Identity string
	// Context is the query's.
	Context map[string]any
	// Access contains the permissions of its user; nil: all permissions without limits.
	Access *auth.Access
	// Door is the protocol of the request in the audit, and Address the client address, if the context
	// of the request does not contain it.
	Door, Address string
}

// Enter registers a query, or rejects it if too many are running. The returned context ends when
// the query is cancelled. The caller must call End at the end of the query.
func (r *Running) Enter(ctx context.Context, a Arrival) (context.Context, *Query, error) {
	priority, err := Priority(a.Context)
	if err != nil {
		return nil, nil, err
	}
	lane, err := r.o.Limits.lane(a.Context, priority)
	if err != nil {
		return nil, nil, err
	}
	auditEntry, bounds := r.tellOf(ctx, &a), a.Access.Bounds()
	if err := r.admit(ctx, &a, lane, bounds, auditEntry); err != nil {
		r.refused(auditEntry, err)
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(secret.WithHeld(ctx, a.SQL))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.next++
	q := &Query{
		info:    Info{ID: a.ID, SQL: a.SQL, Identity: a.Identity, Started: r.clock.Now(), Lane: lane, serial: r.mu.next},
		running: r, context: a.Context, blocklist: r.o.Blocklist, cancel: cancel, bounds: bounds, key: a.Access.Key(),
		access: a.Access, auditEntry: auditEntry,
	}
	q.priority.Store(priority)
	r.mu.queries[q.info.serial] = q
	return ctx, q, nil
}

// admit lets a query in by the limits of the process and of its user, and where nothing may be done
// of which the audit is not told, when it is.
func (r *Running) admit(ctx context.Context, a *Arrival, lane string, bounds *auth.Bounds, auditEntry *audit.Entry) error {
	if err := r.gate.Enter(a.Identity, lane); err != nil {
		return err
	}
	err := r.gate.EnterBound(a.Access.Key(), bounds)
	if err == nil && auditEntry != nil {
		if err = r.o.Audit.Begin(ctx, *auditEntry); err == nil {
			return nil
		}
		r.gate.LeaveBound(a.Access.Key(), bounds)
	}
	if err != nil {
		r.gate.Leave(a.Identity, lane)
	}
	return err
}

// End removes the query from the running queries. err is its failure or nil; ctx, the context that
// Enter returned, contains the reason of a cancellation.
func (q *Query) End(ctx context.Context, err error) {
	gone := false
	if err != nil {
		gone = errors.Is(context.Cause(ctx), context.Canceled) && fault.Find(context.Cause(ctx)) == nil
		if cause := context.Cause(ctx); cause != nil && fault.Find(cause) != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		err = secret.MaskError(ctx, err)
		q.err.Store(&err)
	}
	q.cancel(nil)
	r := q.running
	q.tell(err)
	r.o.Logging.ended(ctx, r.ended(q, gone))
}

// ended takes a query off the list and returns what is known of it.
func (r *Running) ended(q *Query, gone bool) *Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.queries, q.info.serial)
	r.gate.Leave(q.info.Identity, q.info.Lane)
	r.gate.LeaveBound(q.key, q.bounds)
	r.gate.Unread(q.reads)
	if gone {
		r.leave(q)
	}
	return r.keep(q)
}

// Context returns the context parameters in the request. The caller must not change them.
func (q *Query) Context() map[string]any {
	if q == nil {
		return nil
	}
	return q.context
}

// Priority returns the priority of the query.
func (q *Query) Priority() int64 {
	if q == nil {
		return 0
	}
	return q.priority.Load()
}

// Lane returns the lane of the query, or "".
func (q *Query) Lane() string {
	if q == nil {
		return ""
	}
	q.running.mu.Lock()
	defer q.running.mu.Unlock()
	return q.info.Lane
}

// Kind returns the kind that Describe recorded; "" if it is not known yet.
func (q *Query) Kind() string {
	if q != nil {
		if about := q.about.Load(); about != nil {
			return about.kind
		}
	}
	return ""
}

// keep remembers a query that has ended, and returns it with its whole text.
func (r *Running) keep(q *Query) *Info {
	info := q.present(r.clock.Now())
	info.Ended = true
	if err := q.err.Load(); err != nil {
		info.Err = *err
	}
	measure(r.o.Meter, &info, q.priority.Load())
	whole := info
	info.SQL = secret.MaskSQL(info.SQL) // before it is cut, so that no secret loses its end
	if len(info.SQL) > keptSQL {
		info.SQL = strings.ToValidUTF8(info.SQL[:keptSQL], "") + " ..."
	}
	if len(r.mu.ended) < keptQueries {
		r.mu.ended = append(r.mu.ended, info)
		return &whole
	}
	r.mu.ended[r.mu.oldest] = info
	r.mu.oldest = (r.mu.oldest + 1) % keptQueries
	return &whole
}

func (q *Query) present(now time.Time) Info {
	info := q.info
	info.Took, info.Rows, info.Bytes = now.Sub(info.Started), q.rows.Load(), q.bytes.Load()
	if about := q.about.Load(); about != nil {
		info.Kind, info.DataSources = about.kind, about.dataSources
	}
	if memory := q.memory.Load(); memory != nil {
		info.Memory = (*memory)()
	}
	return info
}

// Wrote records the size of the result in bytes, before compression.
func (q *Query) Wrote(bytes int64) {
	if q != nil {
		q.bytes.Store(bytes)
	}
}

// Progress returns a new counter for the progress of the operators of the query, which replaces the
// previous one.
func (q *Query) Progress() *progress.Progress {
	if q == nil {
		return nil
	}
	p := &progress.Progress{}
	q.progress.Store(p)
	return p
}

// Following is the progress of a running query, and the servers that currently read parts of it.
type Following struct {
	Info  Info
	Done  progress.Done
	Asked []string
}

// Follow returns the last running query with an id in this process.
func (r *Running) Follow(id string) (f Following, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last *Query
	for _, q := range r.mu.queries {
		if q.info.ID == id && (last == nil || q.info.serial > last.info.serial) {
			last = q
		}
	}
	if last == nil {
		return f, false
	}
	p := last.progress.Load()
	return Following{Info: last.present(r.clock.Now()), Done: p.Done(), Asked: p.Asked()}, true
}

// Counted wraps rows so that their number and peak memory are in the description of the query.
func (q *Query) Counted(rows Rows, memory func() int64) Rows {
	if q == nil {
		return rows
	}
	q.memory.Store(&memory)
	c := &counted{Rows: rows, query: q, most: math.MaxInt64}
	if limit, limited := q.bounds.Find(auth.ReturnedRows); limited {
		c.most = int64(limit.Most)
	}
	return c
}

type counted struct {
	Rows
	query *Query
	most  int64 // rows that the limits of the user allow
}

func (c *counted) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := c.Rows.Next(ctx)
	if err == nil && c.query.rows.Add(int64(b.Rows())) > c.most {
		return nil, c.query.bounds.TooLarge(auth.ReturnedRows)
	}
	return b, err
}

// Reads rejects a query that would read more bytes than the limits of the user allow. bytes is
// called only if there is a limit.
func (q *Query) Reads(bytes func() int64) error {
	if q == nil {
		return nil
	}
	if limit, limited := q.bounds.Find(auth.ScannedBytes); limited && float64(bytes()) > limit.Most {
		return q.bounds.TooLarge(auth.ScannedBytes)
	}
	return nil
}

// CPU returns the limit of the CPU time of the query, and the fault for exceeding it; 0: no limit.
func (q *Query) CPU() (most time.Duration, over error) {
	if q == nil {
		return 0, nil
	}
	limit, limited := q.bounds.Find(auth.CPUSeconds)
	if !limited {
		return 0, nil
	}
	return max(1, time.Duration(min(limit.Most, maxCPUSeconds)*float64(time.Second))), q.bounds.TooLarge(auth.CPUSeconds)
}

// maxCPUSeconds keeps a limit within what a duration can hold.
const maxCPUSeconds = 1 << 32

// Cancel cancels all queries with an id and returns their number.
func (r *Running) Cancel(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.mu.queries {
		if q.info.ID == id {
			q.cancel(fault.Canceled("Query is canceled [%s]", id))
			n++
		}
	}
	r.mu.left = slices.DeleteFunc(r.mu.left, func(l left) bool { return l.query.info.ID == id })
	return n
}

// Find returns the running queries with an id, including those whose clients have just
// disconnected.
func (r *Running) Find(id string) (out []*Query) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.mu.queries {
		if q.info.ID == id {
			out = append(out, q)
		}
	}
	return append(out, r.leftLocked(id)...)
}

// MayCancel returns an error if the user neither sent the query nor has the permission for an
// action on all its datasources.
func (q *Query) MayCancel(ctx context.Context, access *auth.Access, action auth.Action) error {
	if q.info.Identity != "" && q.info.Identity == access.Name() {
		access.Pass()
		return nil
	}
	about := q.about.Load()
	if about == nil { // nobody knows yet what it reads
		return access.Check(ctx, auth.Need{Resource: auth.Resource{Name: string(auth.State), Kind: auth.State}, Action: auth.Write})
	}
	var needs []auth.Need
	for _, name := range about.dataSources {
		needs = append(needs, auth.Need{Resource: auth.Resource{Name: name, Kind: auth.Datasource}, Action: action})
	}
	if len(needs) == 0 { // it reads no datasource, which does not make it everybody's
		needs = []auth.Need{{Resource: auth.Resource{Name: string(auth.State), Kind: auth.State}, Action: action}}
	}
	return access.Check(ctx, needs...)
}

// Interrupt cancels all queries because the process stops.
func (r *Running) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.mu.queries {
		q.cancel(fault.Runtime("Query was interrupted because the server stops [%s]", q.info.ID).WithCode("legacyQueryException").WithLegacy(fault.LegacyInterrupted))
	}
}

// Count returns the number of running queries.
func (r *Running) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.queries)
}

// List returns the running queries, oldest first.
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

// Recent returns the last finished queries in the order of their end, followed by the running
// queries.
func (r *Running) Recent() []Info {
	r.mu.Lock()
	ended := slices.Concat(r.mu.ended[r.mu.oldest:], r.mu.ended[:r.mu.oldest])
	r.mu.Unlock()
	return append(ended, r.List()...)
}
