package sql

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// Options are the settings of the endpoints.
type Options struct {
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to a query's `timeout`; 0: none.
	DefaultTimeout, MaxTimeout int64
	Clock                      clock.Clock
	// Known, if not nil, returns the queries of all Brokers, like Recent for one Broker; nil: there is
	// only one Broker.
	Known func(ctx context.Context) []query.Info
	// Metrics, if not nil, receives the metrics of queries.
	Metrics prometheus.Registerer
}

// API serves the endpoints.
type API struct {
	engine  query.Engine
	running *query.Running
	o       Options
	log     *slog.Logger
	metrics *metrics
}

// New returns the endpoints on engine.
func New(engine query.Engine, running *query.Running, o Options, log *slog.Logger) *API {
	return &API{engine: engine, running: running, o: o, log: log, metrics: newMetrics(o.Metrics, running)}
}

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	for _, path := range []string{"/service/v2/sql", "/service/v2/sql/{$}"} {
		mux.On("POST "+path, a.run)
	}
	mux.On("DELETE /service/v2/sql/{id}", a.cancel)
	mux.On("GET /service/v2/sql/engines", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]any{"engines": []any{map[string]string{"name": "native"}}})
		return nil
	})
	mux.On("GET /service/v2/sql/queries", a.list)
	mux.On("GET /service/v2/sql/queries/{id}/reports", a.report)
}

func (a *API) run(w http.ResponseWriter, r *http.Request) error {
	if !edge.AdmitsJSON(r) {
		w.WriteHeader(http.StatusNotAcceptable)
		return nil
	}
	began, arrived := a.o.Clock.Now(), clock.Deadline(0)
	dialect := edge.DialectOf(r.Context())
	req, err := ReadRequest(w, r, a.o.MaxRequestBytes, dialect.Name)
	if err != nil {
		a.metrics.ended.WithLabelValues(query.Outcome(err)).Inc()
		return err
	}
	req.User, req.Access = edge.UserOf(r), auth.Of(r.Context())
	SetHeaders(w.Header(), dialect, req)
	err = a.answer(obs.WithQueryID(r.Context(), req.ID), arrived, w, req)
	a.metrics.ended.WithLabelValues(query.Outcome(err)).Inc()
	if err == nil {
		a.metrics.seconds.Observe(a.o.Clock.Now().Sub(began).Seconds())
	}
	return err
}

// answer runs a query and writes its rows. An error after the first byte is returned too; the edge
// then breaks the connection off.
func (a *API) answer(ctx context.Context, arrived time.Time, w http.ResponseWriter, req *query.Request) error {
	if err := checkEngine(req.Context); err != nil {
		return err
	}
	u := Runner{Engine: a.engine, Running: a.running, DefaultTimeout: a.o.DefaultTimeout, MaxTimeout: a.o.MaxTimeout, Door: "sql"}
	return u.Run(ctx, arrived, req, func(ctx context.Context, q *query.Query, rows query.Rows) error {
		return a.stream(ctx, w, q, req, rows)
	})
}

// checkEngine refuses queries for an engine that does not answer here.
func checkEngine(context map[string]any) error {
	name, err := querycontext.Engine.Read(context)
	if err == nil && name != "native" {
		err = fault.InvalidInput("Unsupported engine[%s]", name)
	}
	return err
}

// SetHeaders writes the response headers that identify a query.
func SetHeaders(h http.Header, dialect edge.Dialect, req *query.Request) {
	dialect.SetHeader(h, "SQL-Query-Id", req.ID)
	dialect.SetHeader(h, "Query-Id", req.ID)
	if req.Header {
		dialect.SetHeader(h, "SQL-Header-Included", "yes")
	}
}

// An answer is held back until it has heldBytes or its first row is heldTime old, so that an early
// failure still gets a real status.
const (
	heldBytes = 64 << 10
	heldTime  = 100 * time.Millisecond
)

func (a *API) stream(ctx context.Context, w http.ResponseWriter, q *query.Query, req *query.Request, rows query.Rows) error {
	asRow, err := querycontext.ErrorAsRow.Read(req.Context)
	if err != nil {
		return err
	}
	dialect := edge.DialectOf(ctx)
	whole := dialect.Header("Response-Complete")
	var responseContext string // as they were sent
	out := &heldWriter{w: w, clock: a.o.Clock, begin: func() {
		h := w.Header()
		h.Set("Content-Type", req.Format.ContentType())
		responseContext = rows.ResponseContext()
		dialect.SetHeader(h, "Response-Context", responseContext)
		h.Add("Trailer", whole)
	}}
	writer := result.NewWriter(out, rows.Columns(), result.Options{
		Format: req.Format, Header: req.Header, TypesHeader: req.TypesHeader, SQLTypesHeader: req.SQLTypesHeader,
		Zone: rows.Zone(), StringifyArrays: rows.StringifyArrays(),
	})
	defer func() {
		a.metrics.bytes.Add(float64(writer.Bytes()))
		q.Wrote(writer.Bytes())
	}()
	for {
		var b *vector.Batch
		if b, err = rows.Next(ctx); err != nil {
			break
		}
		if err := writer.Batch(b); err != nil {
			return gone(ctx, err)
		}
		if out.late() {
			if err := errors.Join(writer.Flush(), out.flush()); err != nil {
				return gone(ctx, err)
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		if err = query.Cause(ctx, err); !out.released || !asRow || req.Format == result.Arrow {
			return err
		}
		errorRow(ctx, writer, err)
	}
	if closeErr := errors.Join(writer.Close(), out.release()); closeErr != nil {
		return gone(ctx, closeErr)
	}
	w.Header().Set(whole, strconv.FormatBool(errors.Is(err, io.EOF)))
	if now := rows.ResponseContext(); now != responseContext { // what came with the rows follows them
		w.Header()[http.TrailerPrefix+dialect.Header("Response-Context")] = []string{now}
	}
	return nil
}

// gone is for an answer that could not be written: the client is not there any more, or does not
// read. Then the query may have ended in time.
func gone(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); fault.Find(ended) != nil {
		return ended
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.Canceled("The client did not read the answer").WithCause(err)
	}
	return fault.Canceled("The client closed the connection").WithCause(err)
}

// errorRow appends the error object as a last row.
func errorRow(ctx context.Context, w *result.Writer, err error) {
	body, encodeErr := jsontext.Marshal(edge.ErrorsOf(ctx).Body(fault.Classify(err)))
	if encodeErr == nil {
		w.Raw(body)
	}
}

// heldWriter keeps the beginning of an answer back.
type heldWriter struct {
	w        http.ResponseWriter
	clock    clock.Clock
	begin    func() // called before the first byte goes out
	held     []byte
	sent     time.Time // when something was last sent, before that when the first byte came
	released bool
}

// Write takes a part of the answer.
func (h *heldWriter) Write(p []byte) (int, error) {
	if h.released {
		return h.w.Write(p)
	}
	h.held = append(h.held, p...)
	if len(h.held) >= heldBytes {
		if err := h.release(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// late reports whether rows wait longer than they should, and is asked once per batch.
func (h *heldWriter) late() bool {
	now := h.clock.Now()
	if h.sent.IsZero() {
		h.sent = now
	}
	return now.Sub(h.sent) >= heldTime
}

// flush sends all that was written.
func (h *heldWriter) flush() error {
	h.sent = h.clock.Now()
	if err := h.release(); err != nil {
		return err
	}
	if err := http.NewResponseController(h.w).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (h *heldWriter) release() error {
	if h.released {
		return nil
	}
	h.released = true
	h.begin()
	_, err := h.w.Write(h.held)
	h.held = nil
	return err
}

func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	id, access, status := r.PathValue("id"), auth.Of(r.Context()), http.StatusAccepted
	list := a.running.Find(id)
	if len(list) == 0 {
		status = http.StatusNotFound
	}
	for _, q := range list {
		err := q.MayCancel(r.Context(), access, auth.Read)
		if auth.IsRefusal(err) {
			w.WriteHeader(http.StatusForbidden) // the interface gives no body here
			return nil
		}
		if err != nil {
			return err
		}
	}
	a.running.Cancel(id)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return nil
}
