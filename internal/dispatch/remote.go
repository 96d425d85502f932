package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
)

// Options configure a Dispatcher.
type Options struct {
	// Client sends the requests. It should permit as many connections as there are parts.
	Client *http.Client
	// Pulse detects silent servers; may be nil.
	Pulse *Pulse
	// Meter, if not nil, records the times of servers.
	Meter *obs.Meter
	// Protocol is the newest version of requests that this process supports; 0: Version.
	Protocol int
	// FanIn is the maximum number of parts of a query that are merged in one process, if other
	// processes can merge too; 0: DefaultFanIn, negative: no limit.
	FanIn int
	// Balance chooses among several servers of a segment; empty: LeastRows.
	Balance Balance

	Clock clock.Clock
	Log   *slog.Logger
}

// Dispatcher runs fragments on other servers and tracks the load that it puts on them.
type Dispatcher struct {
	o Options

	mu struct {
		sync.Mutex
		load    map[string]int64     // rows asked of a server and not answered
		open    map[string]int64     // likewise parts
		suspect map[string]time.Time // when a server broke a part
	}
}

// New returns a Dispatcher.
func New(o Options) *Dispatcher {
	if o.FanIn == 0 {
		o.FanIn = DefaultFanIn
	}
	d := &Dispatcher{o: o}
	d.mu.load, d.mu.open, d.mu.suspect = map[string]int64{}, map[string]int64{}, map[string]time.Time{}
	return d
}

// Query contains the properties that the parts of a query share.
type Query struct {
	ID        string
	TimeZone  string
	Now       int64
	BatchRows int
	// Priority, Lane, NoCacheUse and NoCachePopulate are those of Request.
	Priority                    int64
	Lane                        string
	NoCacheUse, NoCachePopulate bool
	// CPUMillis and CPUOver are those of Request, too.
	CPUMillis int64
	CPUOver   string
	// Pinned is the number of the published timeline that the query has pinned.
	Pinned int64
	// Segments caches the results of servers for single segments; nil: no cache.
	Segments *exec.SegmentCache
	// Memory and Spill are for buffered results that wait to be merged.
	Memory *budget.Budget
	Spill  *budget.SpillDir
	// Progress, if not nil, counts the requested and the completed work of servers.
	Progress *progress.Progress
	// Live returns all current servers, Holders the current servers of a segment.
	Live    func() []*Server
	Holders func(id string) []*Server
}

// Split places the segments of a scan. It returns the segments that this process reads; Remote is
// nil if these are all segments.
func (d *Dispatcher) Split(q *Query, segments []Segment) (here []Segment, there exec.Remote, err error) {
	shares, err := d.place(q, segments, nil)
	if err != nil {
		return nil, nil, err
	}
	r := &remote{d: d, q: q}
	for _, s := range shares {
		if s.server.Here {
			here = append(here, s.segments...)
		} else {
			r.shares = append(r.shares, s)
		}
	}
	if len(r.shares) > 0 {
		there = r
	}
	return here, there, nil
}

// place divides segments among the servers that are not in never.
func (d *Dispatcher) place(q *Query, segments []Segment, never map[string]bool) ([]share, error) {
	p := placement{live: q.Live(), balance: d.o.Balance, never: never, avoid: map[string]bool{}}
	d.mu.Lock()
	p.load, p.open = maps.Clone(d.mu.load), maps.Clone(d.mu.open)
	now := d.o.Clock.Now()
	for name, since := range d.mu.suspect {
		if now.Sub(since) < suspectFor {
			p.avoid[name] = true
		} else {
			delete(d.mu.suspect, name)
		}
	}
	d.mu.Unlock()
	for _, s := range p.live {
		if !s.Here && d.o.Pulse.Silent(s.URL) {
			p.avoid[s.Name] = true
		}
	}
	return p.place(segments)
}

// busy counts work that servers are asked for; the result takes it back.
func (d *Dispatcher) busy(s share) (done func()) {
	rows := map[string]int64{}
	for s := range s.all() {
		rows[s.server.Name]++
		for _, of := range s.segments {
			rows[s.server.Name] += max(of.Of.Rows, 0)
		}
	}
	add := func(sign int64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for name, n := range rows {
			if d.mu.load[name] += sign * n; d.mu.load[name] == 0 {
				delete(d.mu.load, name)
			}
			if d.mu.open[name] += sign; d.mu.open[name] == 0 {
				delete(d.mu.open, name)
			}
		}
	}
	add(1)
	return func() { add(-1) }
}

// measure tells how long a server took for its part, until its first byte and in all, and how many
// bytes it sent.
func (d *Dispatcher) measure(q *Query, server *Server, began, first time.Time, bytes int64) {
	about := func(metric string) obs.Occurrence {
		return obs.Occurrence{Service: "broker", Metric: metric, Dims: []string{"server", server.Name}, More: []string{"id", q.ID}}
	}
	if !first.IsZero() {
		d.o.Meter.Time(about("query/node/ttfb"), first.Sub(began))
	}
	d.o.Meter.Time(about("query/node/time"), d.o.Clock.Now().Sub(began))
	d.o.Meter.Size(about("query/node/bytes"), float64(bytes))
}

// broke notes that a server did not do its part.
func (d *Dispatcher) broke(ctx context.Context, q *Query, server *Server, err error) {
	d.mu.Lock()
	d.mu.suspect[server.Name] = d.o.Clock.Now()
	d.mu.Unlock()
	d.o.Log.WarnContext(ctx, "fragment failed; retrying on another server", "server", server.Name, "query", q.ID, "error", err)
}

// remote are the segments of one scan that other servers read. It implements exec.Remote.
type remote struct {
	d      *Dispatcher
	q      *Query
	shares []share
	// formed says that the shares are a tree already.
	formed bool
}

// Open implements exec.Remote.
func (r *remote) Open(ctx context.Context, f *exec.Fragment) ([]exec.Operator, error) {
	encoded, err := wire.Encode(f.Plan)
	if err != nil {
		return nil, err
	}
	shares := r.shares
	var out []exec.Operator
	kept := r.q.Segments.Fragment(f, r.q.TimeZone)
	if kept != nil {
		out, shares = r.takeKnown(kept, shares)
	}
	if !r.formed && mergeable(f) && !kept.Populates() { // what servers have merged is of no single segment
		whole := slices.DeleteFunc(slices.Clone(shares), func(s share) bool { return s.isLive() })
		growing := slices.DeleteFunc(slices.Clone(shares), func(s share) bool { return !s.isLive() })
		shares = append(tree(whole, r.d.o.FanIn, r.d.merges), growing...)
	}
	run := &running{d: r.d, q: r.q, f: f, plan: encoded, kept: kept, parts: len(shares), began: r.d.o.Clock.Now()}
	for _, s := range shares {
		f.Remote.Ask(s.servers())
		if f.Streamed {
			out = append(out, startStreamed(ctx, run, s))
		} else {
			out = append(out, startWhole(ctx, run, s))
		}
	}
	return out, nil
}

// running is a fragment under way.
type running struct {
	d     *Dispatcher
	q     *Query
	f     *exec.Fragment
	plan  []byte
	kept  *exec.KeptFragment // nil: nothing is kept of single segments
	parts int
	began time.Time

	mu struct {
		sync.Mutex
		done    int
		slowest time.Duration // of the parts that were done
	}
}

// finished notes that a part is whole.
func (r *running) finished() {
	took := r.d.o.Clock.Now().Sub(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.done++
	r.mu.slowest = max(r.mu.slowest, took)
}

// late reports whether a part takes so much longer than the others that its server must be ill.
func (r *running) late() bool {
	took := r.d.o.Clock.Now().Sub(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	return 2*r.mu.done >= r.parts && took > hedgeFactor*r.mu.slowest+hedgeLeast
}

// request returns what a server is asked for its share.
func (r *running) request(ctx context.Context, s share, skip int64) *Request {
	req := &Request{
		QueryID: r.q.ID, TimeZone: r.q.TimeZone, Now: r.q.Now, BatchRows: r.q.BatchRows, Skip: skip, Need: r.f.Need,
		Priority: r.q.Priority, Lane: r.q.Lane, NoCacheUse: r.q.NoCacheUse, NoCachePopulate: r.q.NoCachePopulate,
		CPUMillis: r.q.CPUMillis, CPUOver: r.q.CPUOver,
		Groups: r.f.Groups, Streamed: r.f.Streamed, Profile: r.f.Remote != nil, Plan: r.plan,
		Places: plan.SubqueryPositions(r.f.Plan), Segments: s.sent(nil),
		BySegment: r.kept.Populates() && !s.isLive(), Pinned: r.q.Pinned,
	}
	if len(s.others) > 0 {
		req.Servers, req.Others = s.sentOthers()
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = max(1, deadline.Sub(clock.System().Now()).Milliseconds()) // contexts end by the system's clock
	}
	return req
}

func holds(holders []*Server, server *Server) bool {
	for _, h := range holders {
		if h.Name == server.Name {
			return true
		}
	}
	return false
}

// again looks up who holds segments now.
func (r *running) again(segments []Segment) []Segment {
	out := make([]Segment, len(segments))
	for i, s := range segments {
		s.Holders = r.q.Holders(s.ID)
		out[i] = s
	}
	return out
}

// given returns the failure of a part as the query's: what a server could not do, and no other
// either.
func given(server *Server, err error) error {
	var b *broken
	if !errors.As(err, &b) {
		return err
	}
	if f := fault.Find(b.cause); f != nil && !errors.Is(f, ErrCorrupt) {
		return f
	}
	return fault.Unavailable("Historical [%s] did not answer its part of the query, and no other could", server.Name).WithCause(err)
}
