package nativequery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/secret"
)

// Engine is the interface of the endpoints to a Broker.
type Engine interface {
	// Pin returns a view of the newest state of the timeline, which a query uses throughout,
	// restricted to the segments that its context selects.
	Pin(ctx context.Context, q *query.Query, access *auth.Access, settings map[string]any) (query.Session, error)
}

// Options are the settings of the endpoints.
type Options struct {
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to a query's `timeout`; 0: none.
	DefaultTimeout, MaxTimeout int64
	// History is the interval before the end of the data, in milliseconds, that a segmentMetadata
	// query without intervals covers; 0: a week.
	History int64
}

// API serves the endpoints.
type API struct {
	engine  Engine
	running *query.Running
	o       Options
}

// New returns the endpoints on engine. Queries are registered in running, which SQL queries share.
func New(engine Engine, running *query.Running, o Options) *API {
	return &API{engine: engine, running: running, o: o}
}

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	for _, path := range []string{"/service/v2", "/service/v2/{$}"} {
		mux.On("POST "+path, a.run)
	}
	mux.On("DELETE /service/v2/{id}", a.cancel)
	// Names of endpoints are no ids.
	for name, allowed := range map[string]string{"sql": http.MethodPost, "candidates": http.MethodPost, "datasources": http.MethodGet} {
		mux.HandleFunc("DELETE /service/v2/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allowed)
			w.WriteHeader(http.StatusMethodNotAllowed)
		})
	}
	// Without this, a POST to an endpoint that is turned off would be 405 because of the DELETE.
	mux.HandleFunc("POST /service/v2/{id}", mux.Nothing)
}

// read returns the body of a request for a query.
func (a *API) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return nil, edge.UnsupportedMedia("Missing Content-Type header")
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil || media != "application/json" {
		return nil, edge.UnsupportedMedia("Unsupported Content-Type: %s. Only application/json is supported.", header)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, fault.Malformed("Request body is larger than [%d] bytes, the limit set by service.server.http.maxRequestBytes", a.o.MaxRequestBytes)
		}
		return nil, fault.Malformed("Request body could not be read: %v", err)
	}
	secret.Hold(r.Context(), string(body))
	return edge.WithoutMark(body), nil
}

func (a *API) run(w http.ResponseWriter, r *http.Request) (err error) {
	if !edge.AdmitsJSON(r) {
		w.WriteHeader(http.StatusNotAcceptable)
		return nil
	}
	arrived := clock.Deadline(0)
	body, err := a.read(w, r)
	if err != nil {
		return err
	}
	text, err := lang.Open(r.Context(), body)
	if err != nil {
		return query.Cause(r.Context(), err)
	}
	settings, err := text.Context(r.Context())
	if err != nil {
		return query.Cause(r.Context(), err)
	}
	id, err := querycontext.QueryID.Read(settings)
	if err != nil {
		return err
	}
	if id == "" {
		id = query.NewID()
	}
	dialect := edge.DialectOf(r.Context())
	identified := func() { dialect.SetHeader(w.Header(), "Query-Id", id) } // not where the query can't be read
	ctx, done, err := query.Deadline(r.Context(), arrived, settings, a.o.DefaultTimeout, a.o.MaxTimeout)
	if err != nil {
		identified()
		return err
	}
	defer done()
	// The query can be cancelled from here on: large ones take time to read.
	ctx, entered, err := a.running.Enter(ctx, query.Arrival{
		ID: id, SQL: string(body), Identity: edge.UserOf(r), Context: settings, Access: auth.Of(ctx), Door: "native",
	})
	if err != nil {
		identified()
		return err
	}
	defer func() { entered.End(ctx, err) }()
	q, err := text.Query(ctx)
	if err != nil {
		return query.Cause(ctx, err)
	}
	identified()
	if err := checkSettings(q, settings); err != nil {
		return err
	}
	tables := lang.TablesOf(q.Parts().DataSource.DataSource)
	if err := permit(ctx, auth.Of(ctx), tables, settings); err != nil {
		return err
	}
	defer edge.Tie(ctx)()
	if err := entered.Describe(ctx, lang.TypeOf(q), tables, nil); err != nil {
		return err
	}
	only, err := lang.OnlySegments(q)
	if err != nil {
		return err
	}
	session, err := a.engine.Pin(ctx, entered, auth.Of(ctx), settings)
	if err != nil {
		return err
	}
	session.Only(only)
	facts, err := responseContext(session, q.Parts(), settings)
	if err != nil {
		return err
	}
	out := &answer{w: w, before: func() {
		w.Header().Set("Content-Type", "application/json")
		dialect.SetHeader(w.Header(), "Response-Context", facts)
	}}
	if r.URL.Query().Has("pretty") {
		out.pretty = &bytes.Buffer{}
	}
	x := &execution{session: session, id: id, settings: settings, out: out, history: cmp.Or(a.o.History, defaultHistory)}
	if x.longTimes, err = x.bool(querycontext.LongTimes); err != nil {
		return err
	}
	answer := x.answer
	if by, err := x.bool(querycontext.BySegment); err != nil {
		return err
	} else if by {
		answer = x.bySegment
	}
	if err = answer(ctx, q); err == nil {
		err = out.close()
	}
	entered.Wrote(out.bytes)
	if err != nil && ctx.Err() != nil && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}

// permit refuses a query of datasources that its user may not read.
func permit(ctx context.Context, access *auth.Access, tables []string, settings map[string]any) error {
	needs := query.ContextNeeds(access.Options(), slices.Collect(maps.Keys(settings)))
	for _, name := range tables {
		needs = append(needs, auth.Reads(auth.Datasource, name))
	}
	return access.CheckStatement(ctx, needs...)
}

// checkSettings refuses parameters of the query context that can't be read, also those that have no
// effect here.
func checkSettings(q lang.Query, settings map[string]any) error {
	if err := querycontext.Check(querycontext.CheckedByNative, settings); err != nil {
		return err
	}
	if _, ok := q.(*lang.Timeseries); ok {
		if _, err := querycontext.SkipEmptyBuckets.Read(settings); err != nil {
			return err
		}
	}
	if v, ok := querycontext.Vectorize.In(settings).(string); ok && !slices.Contains([]string{"true", "false", "force"}, strings.ToLower(v)) {
		return fault.BadContext("Expected key [vectorize] to be one of [true, false, force], but got [%s]", v)
	}
	// Old releases had two ways to group, with the same answers; both names stand for ours.
	if _, groups := q.(*lang.GroupBy); !groups || querycontext.GroupBy.In(settings) == nil {
		return nil
	}
	switch v := querycontext.GroupBy.In(settings); v {
	case "v1", "v2":
	default:
		return fault.BadContext("Expected key [groupByStrategy] to be [v2], but got [%v]", v)
	}
	return nil
}

// cancel ends a query. An id that nothing has is answered alike: the query may just have ended.
func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	id, access := r.PathValue("id"), auth.Of(r.Context())
	access.Pass() // unless there is something to ask about
	for _, q := range a.running.Find(id) {
		if err := q.MayCancel(r.Context(), access, auth.Write); err != nil {
			return err
		}
	}
	a.running.Cancel(id)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// heldBytes are kept back, so that an early failure still gets a status and a body of its own.
const heldBytes = 64 << 10

// answer gathers the body. A pretty one is gathered whole.
type answer struct {
	w      http.ResponseWriter
	before func()
	buf    []byte
	begun  bool
	bytes  int64 // handed on so far
	pretty *bytes.Buffer
}

// flushed hands on what there is, if that is enough.
func (a *answer) flushed() error {
	if len(a.buf) < heldBytes || a.pretty != nil {
		return nil
	}
	return a.flush()
}

func (a *answer) flush() error {
	if !a.begun {
		a.begun = true
		a.before()
	}
	_, err := a.w.Write(a.buf)
	a.bytes += int64(len(a.buf))
	a.buf = a.buf[:0]
	if err != nil {
		return fault.Canceled("The client closed the connection").WithCause(err)
	}
	return nil
}

func (a *answer) close() error {
	if a.pretty != nil {
		if err := json.Indent(a.pretty, a.buf, "", "  "); err != nil {
			return fault.Defensive("The response is not JSON").WithCause(err)
		}
		a.buf = a.pretty.Bytes()
	}
	return a.flush()
}
