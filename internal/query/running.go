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

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
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

// Running knows the queries that run now, by id, and the last ones that ended. Ids need not be
// unique: cancelling an id ends all that have it.
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
	}
}

// Info describes a query that runs or ran.
type Info struct {
	ID       string    `json:"id"`
	SQL      string    `json:"sql"`
	Identity string    `json:"identity,omitempty"`
	Started  time.Time `json:"started"`
	// Took is how long it ran, or runs so far. Rows is how many it has given, Memory the most bytes it
	// held at once.
	Took   time.Duration `json:"took"`
	Rows   int64         `json:"rows"`
	Memory int64         `json:"memory"`
	// Kind is the native type of the query, or "sql"; DataSources are those that it reads, as far as
	// it came to be known; Bytes are those of its answer.
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

// Query is a query while it runs: Enter gives it, and its owner passes it to all who plan and run
// it. Methods of a nil Query do nothing and return zero values: it is a query that no registry
// knows, such as that of a task.
type Query struct {
	info      Info // its Lane is guarded by the registry's lock
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

// RunningOptions say which queries may run, and who is told of them. The zero value lets all run
// and tells nobody.
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
	r.mu.queries = map[int64]*Query{}
	return r
}

// Arrival is a query that wants to run. Identity is whose it is, "" if nobody says.
type Arrival struct {
	ID, SQL, Identity string
	// Context is the query's.
	Context map[string]any
}

// Enter registers a query, or refuses it when too many run. The returned context ends when the
// query is cancelled; End must be called at its end.
func (r *Running) Enter(ctx context.Context, a Arrival) (context.Context, *Query, error) {
	priority, err := Priority(a.Context)
	if err != nil {
		return nil, nil, err
	}
	lane, err := r.o.Limits.lane(a.Context, priority)
	if err != nil {
		return nil, nil, err
	}
	if err := r.gate.Enter(a.Identity, lane); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(secret.WithHeld(ctx, a.SQL))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.next++
	q := &Query{
		info:    Info{ID: a.ID, SQL: a.SQL, Identity: a.Identity, Started: r.clock.Now(), Lane: lane, serial: r.mu.next},
		running: r, context: a.Context, blocklist: r.o.Blocklist, cancel: cancel,
	}
	q.priority.Store(priority)
	r.mu.queries[q.info.serial] = q
	return ctx, q, nil
}

// End takes the query off the list of those that run. err is why it failed, nil if it did not; ctx,
// the context that Enter returned, knows why it was cancelled.
func (q *Query) End(ctx context.Context, err error) {
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && fault.Find(cause) != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		err = secret.MaskError(ctx, err)
		q.err.Store(&err)
	}
	q.cancel(nil)
	r := q.running
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.queries, q.info.serial)
	r.gate.Leave(q.info.Identity, q.info.Lane)
	r.gate.Unread(q.reads)
	r.keep(q)
}

// Context returns the context parameters of the query as they were sent; the caller does not change
// them.
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

// Lane returns the lane of the query; "" is none.
func (q *Query) Lane() string {
	if q == nil {
		return ""
	}
	q.running.mu.Lock()
	defer q.running.mu.Unlock()
	return q.info.Lane
}

// Kind returns what the query is, as Describe was told; "" if that is not known.
func (q *Query) Kind() string {
	if q != nil {
		if about := q.about.Load(); about != nil {
			return about.kind
		}
	}
	return ""
}

// keep remembers a query that has ended.
func (r *Running) keep(q *Query) {
	info := q.present(r.clock.Now())
	info.Ended = true
	if err := q.err.Load(); err != nil {
		info.Err = *err
	}
	measure(r.o.Meter, &info, q.priority.Load())
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

// Wrote notes how many bytes the answer of the query has, before compression.
func (q *Query) Wrote(bytes int64) {
	if q != nil {
		q.bytes.Store(bytes)
	}
}

// Counted returns rows whose number, and the most bytes that they took, show in the description of
// the query.
func (q *Query) Counted(rows Rows, memory func() int64) Rows {
	if q == nil {
		return rows
	}
	q.memory.Store(&memory)
	return &counted{rows, q}
}

type counted struct {
	Rows
	query *Query
}

func (c *counted) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := c.Rows.Next(ctx)
	if err == nil {
		c.query.rows.Add(int64(b.Rows()))
	}
	return b, err
}

// Cancel ends all queries with an id and returns how many there were.
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
	return n
}

// Find returns the queries with an id that run.
func (r *Running) Find(id string) (out []*Query) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.mu.queries {
		if q.info.ID == id {
			out = append(out, q)
		}
	}
	return out
}

// MayCancel refuses to let somebody cancel the query who neither sent it nor has the permission for
// an action on all its datasources.
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

// Interrupt ends all queries, because the process stops.
func (r *Running) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.mu.queries {
		q.cancel(fault.Runtime("Query was interrupted because the server stops [%s]", q.info.ID).WithCode("legacyQueryException").WithLegacy(fault.LegacyInterrupted))
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

// Recent returns the last queries that ended, in the order in which they did, and then what runs
// now.
func (r *Running) Recent() []Info {
	r.mu.Lock()
	ended := slices.Concat(r.mu.ended[r.mu.oldest:], r.mu.ended[:r.mu.oldest])
	r.mu.Unlock()
	return append(ended, r.List()...)
}
