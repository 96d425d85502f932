// Package fragments runs the parts of queries that other processes request. It is the server side
// of package dispatch.
//
// The central type is API. It opens the segments that a request names, runs the operators of the
// fragment over them, and sends their rows. It does not know the query that the fragment belongs
// to.
package fragments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// Engine supplies the resources for the operators of fragments.
type Engine interface {
	// AdmitPart waits until memory for a fragment is available, or rejects it; leave is called at its
	// end.
	AdmitPart(ctx context.Context, req *dispatch.Request, f *exec.Fragment) (leave func(), err error)
	// FragmentEnv returns memory, a share of the cores and the lookups for a fragment of a query. done
	// releases them.
	FragmentEnv(zone *chrono.Zone, now int64, name string) (env *exec.Env, done func())
	// SegmentCache returns the cache of single segments, as far as the query may use and populate it;
	// nil: not at all.
	SegmentCache(use, populate bool) *exec.SegmentCache
	// Relay returns those who read what a request has other servers read; what they give waits in the
	// memory of env.
	Relay(req *dispatch.Request, env *exec.Env) (exec.Remote, error)
	// Part returns the progress counter of a fragment of a query; end is called at its end.
	Part(id string) (progress *progress.Progress, end func())
	// SegmentTimes returns the measurement of the segments of a query, or nil.
	SegmentTimes(id string) *exec.SegmentTimes
}

// Gate limits the number of queries whose parts run concurrently.
type Gate interface {
	// EnterPart admits a part of a query, or rejects it; leave is called at its end.
	EnterPart(id, lane string) (leave func(), err error)
}

// Segments makes segments readable.
type Segments interface {
	// Acquire returns a segment that the caller releases, and reads it from deep storage if this
	// server does not have it.
	Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error)
	// Held returns a segment of this server. If a fingerprint is given, the file must have it; a
	// segment with another file counts as missing.
	Held(ctx context.Context, id, fingerprint string) (segment.Reader, error)
}

// Live makes live segments readable.
type Live interface {
	// Acquire returns the rows of a live segment that are visible to a query that has pinned a number
	// of the change stream. The caller releases the readers.
	Acquire(ctx context.Context, id string, pinned int64) ([]segment.Reader, error)
}

// API serves fragments.
type API struct {
	engine   Engine
	segments Segments
	live     Live // nil: there are none here
	gate     Gate
	meter    *obs.Meter
	clock    clock.Clock
	log      *slog.Logger
	protocol int
}

// New returns an API. Failures of this server are logged to log, because the requester does not get
// causes. meter may be nil. protocol is the newest version of requests that it supports; 0:
// dispatch.Version. If live is nil, live segments are rejected.
func New(engine Engine, segments Segments, live Live, gate Gate, meter *obs.Meter, c clock.Clock, log *slog.Logger, protocol int) *API {
	return &API{engine, segments, live, gate, meter, c, log, protocol}
}

// Routes adds the endpoint to mux.
func (a *API) Routes(mux *edge.Mux) { mux.On("POST "+dispatch.Path, a.answer) }

// answer runs a fragment. A failure before the first byte is a block of the stream too: the asker
// reads faults in one place.
func (a *API) answer(w http.ResponseWriter, r *http.Request) error {
	req, err := dispatch.ReadRequest(r.Body, a.protocol)
	if errors.Is(err, dispatch.ErrCorrupt) {
		return fault.Malformed("The body is not a valid query fragment").WithCause(err)
	}
	if err != nil {
		return err
	}
	ctx := r.Context()
	if req.TimeoutMillis > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond, fault.QueryTimeout())
		defer cancel()
	}
	defer edge.Tie(ctx)()
	edge.Decoded(ctx)
	w.Header().Set("Content-Type", dispatch.ContentType)
	flush := func() { _ = http.NewResponseController(w).Flush() } // the asker may be gone
	out := dispatch.NewStreamWriter(w, req.Version, req.Skip, flush)
	failed := exec.Protect(func() error {
		did, err := a.run(ctx, req, out)
		if err == nil && did != nil {
			err = out.Profile(did)
		}
		return err
	})
	obs.SpanOf(ctx).Fail(failed)
	if r.Context().Err() != nil {
		return nil // nobody listens
	}
	if f := fault.Find(failed); failed != nil && (f == nil || f.Category == fault.CategoryDefensive) {
		a.log.ErrorContext(ctx, "query fragment failed", "query", req.QueryID, "error", failed)
	}
	if err := out.End(failed); err != nil {
		return nil // likewise
	}
	return nil
}

// run sends the rows of a fragment, and returns what its operators did if the asker wants to know.
func (a *API) run(ctx context.Context, req *dispatch.Request, out *dispatch.StreamWriter) (*exec.PartProfile, error) {
	zone, err := chrono.LoadZone(req.TimeZone)
	if err != nil {
		return nil, err
	}
	f, err := req.Fragment()
	if err != nil {
		return nil, err
	}
	leave, err := a.gate.EnterPart(req.QueryID, req.Lane)
	if err != nil {
		return nil, dispatch.Elsewhere(err) // a server that has less to do, if there is one
	}
	defer leave()
	given, err := a.engine.AdmitPart(ctx, req, f)
	if err != nil {
		return nil, dispatch.Elsewhere(err) // likewise
	}
	defer given()
	a.meter.Note(obs.Occurrence{Service: "historical", Metric: "query/priority", More: []string{"id", req.QueryID, "lane", req.Lane}}, float64(req.Priority))
	env, done := a.engine.FragmentEnv(zone, req.Now, "fragment of query "+req.QueryID)
	defer func() {
		about := obs.Occurrence{Service: "historical", Metric: "query/cpu/time", More: []string{"id", req.QueryID}}
		a.meter.Micros(about, env.Share.Computed())
		done()
	}()
	env.Share.Prefer(req.Priority)
	if req.CPUMillis > 0 {
		env.Share.Bound(time.Duration(req.CPUMillis)*time.Millisecond, fault.ResourceLimit("%s", req.CPUOver))
	}
	env.Segments, env.Times = a.engine.SegmentCache(!req.NoCacheUse, !req.NoCachePopulate), a.engine.SegmentTimes(req.QueryID)
	if span := obs.SpanOf(ctx); span != nil {
		span.Text("henge.query.id", req.QueryID)
		span.Number("henge.segments", int64(len(req.Segments)))
		env.Times = env.Times.In(span, a.clock)
	}
	env.BatchRows = req.BatchRows
	progress, ended := a.engine.Part(req.QueryID)
	defer ended()
	env.Progress = progress
	own := &leaves{a.segments, a.live, req.Pinned, req.Segments}
	env.Tables = own
	if len(req.Others) > 0 {
		relay, err := a.engine.Relay(req, env)
		if err != nil {
			return nil, dispatch.Elsewhere(err)
		}
		env.Cluster = &merging{own, relay}
	}
	if req.BySegment {
		return nil, sendEach(ctx, f, env, own, out)
	}
	if !req.Profile {
		return nil, send(ctx, f, env, out)
	}
	env.Profile = exec.NewProfile(a.clock)
	if err := send(ctx, f, env, out); err != nil {
		return nil, err
	}
	did := env.Profile.Part(f.Plan)
	exec.Computed(did.Did, env.Share.Computed())
	return &did, nil
}

func send(ctx context.Context, f *exec.Fragment, env *exec.Env, out *dispatch.StreamWriter) error {
	op, err := exec.BuildFragment(ctx, f, env)
	if err != nil {
		return err
	}
	defer op.Close()
	if err := out.Begin(); err != nil {
		return err
	}
	return operator.Drain(ctx, op, func(b *vector.Batch) error {
		if err := out.Rows(b); err != nil {
			return fmt.Errorf("sending rows: %w", err)
		}
		return nil
	})
}

// merging are the segments of a request, and those that it has other servers read. It implements
// exec.Cluster.
type merging struct {
	own   *leaves
	relay exec.Remote
}

// Split implements exec.Cluster.
func (m *merging) Split(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, exec.Remote, error) {
	leaves, err := m.own.Leaves(ctx, scan, columns)
	return leaves, m.relay, err
}

// leaves are the segments of a request.
type leaves struct {
	segments Segments
	live     Live
	pinned   int64
	wanted   []dispatch.SentSegment
}

// Leaves implements exec.Tables. What can't be read here may be read elsewhere.
func (l *leaves) Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, error) {
	out := make([]exec.Leaf, 0, len(l.wanted))
	of := make([]*dispatch.SentSegment, 0, len(l.wanted))
	for i := range l.wanted {
		w := &l.wanted[i]
		if !w.Live {
			out, of = append(out, exec.Leaf{ID: w.ID, Visible: w.Interval()}), append(of, w)
			continue
		}
		readers, err := l.acquireLive(ctx, w.ID)
		if err != nil {
			exec.ReleaseLeaves(out)
			return nil, err
		}
		for _, r := range readers {
			out, of = append(out, exec.Leaf{Reader: r, Visible: w.Interval()}), append(of, w)
		}
	}
	err := exec.AcquireLeaves(ctx, scan, columns, out, func(ctx context.Context, i int) (segment.Reader, error) {
		if of[i].LoadSpec == nil {
			return l.segments.Held(ctx, of[i].ID, of[i].File)
		}
		return l.segments.Acquire(ctx, of[i].ID, of[i].LoadSpec)
	})
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, dispatch.Elsewhere(err)
}

func (l *leaves) acquireLive(ctx context.Context, id string) ([]segment.Reader, error) {
	if l.live == nil {
		return nil, dispatch.Elsewhere(fault.Unavailable("Segment [%s] can't be read here: this process has no live segments", id))
	}
	readers, err := l.live.Acquire(ctx, id, l.pinned)
	if err != nil && ctx.Err() == nil {
		return nil, dispatch.Elsewhere(err)
	}
	return readers, err
}
