package query

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/result"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Options are the settings of the endpoints.
type Options struct {
	// MaxRequestBytes bounds request bodies.
	MaxRequestBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to a query's `timeout`; 0: none.
	DefaultTimeout, MaxTimeout int64
}

// API serves the endpoints.
type API struct {
	engine  Engine
	running *Running
	o       Options
	log     *slog.Logger
}

// New returns the endpoints on engine.
func New(engine Engine, running *Running, o Options, log *slog.Logger) *API {
	return &API{engine: engine, running: running, o: o, log: log}
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
}

// admitsJSON says whether an Accept header lets us answer at all.
func admitsJSON(accept []string) bool {
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for _, part := range strings.Split(line, ",") {
			media, _, _ := strings.Cut(strings.TrimSpace(part), ";")
			switch strings.TrimSpace(media) {
			case "*/*", "application/json", "application/*", "":
				return true
			}
		}
	}
	return false
}

func (a *API) run(w http.ResponseWriter, r *http.Request) error {
	if !admitsJSON(r.Header.Values("Accept")) {
		w.WriteHeader(http.StatusNotAcceptable)
		return nil
	}
	dialect := edge.DialectOf(r.Context())
	req, err := ReadRequest(w, r, a.o.MaxRequestBytes, dialect.Name)
	if err != nil {
		return err
	}
	SetHeaders(w.Header(), dialect, req)
	ctx, done, err := a.deadline(r.Context(), req)
	if err != nil {
		return err
	}
	defer done()
	ctx, leave, err := a.running.Enter(ctx, req.ID, req.SQL, "")
	if err != nil {
		return err
	}
	defer leave()
	rows, err := a.engine.Start(ctx, req)
	if err != nil {
		return explain(ctx, err)
	}
	defer rows.Close()
	return a.stream(ctx, w, req, rows)
}

// SetHeaders writes the response headers that identify a query.
func SetHeaders(h http.Header, dialect edge.Dialect, req *Request) {
	h.Set(dialect.Header("SQL-Query-Id"), req.ID)
	h.Set(dialect.Header("Query-Id"), req.ID)
	if req.Header {
		h.Set(dialect.Header("SQL-Header-Included"), "yes")
	}
}

// deadline applies the query's timeout.
func (a *API) deadline(ctx context.Context, req *Request) (context.Context, context.CancelFunc, error) {
	ms, err := Long(req.Context, "timeout", a.o.DefaultTimeout)
	if err != nil {
		return nil, nil, err
	}
	if ms < 0 {
		return nil, nil, fault.BadContext("Timeout must be a non negative value, but was [%d]", ms)
	}
	if a.o.MaxTimeout > 0 && ms > a.o.MaxTimeout {
		return nil, nil, fault.BadContext("Configured timeout = %d is more than enforced limit of %d.", ms, a.o.MaxTimeout)
	}
	if ms == 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return ctx, func() {}, nil
	}
	late := fault.Timeout("Query did not complete within configured timeout period. You can increase query timeout or tune the performance of query.")
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, late)
	return ctx, cancel, nil
}

// explain prefers why the context ended to what its end did to an operator.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}

// firstBytes are gathered before the status goes out, so that an early failure still gets a real one.
const firstBytes = 64 << 10

func (a *API) stream(ctx context.Context, w http.ResponseWriter, req *Request, rows Rows) error {
	asRow, err := Bool(req.Context, "writeExceptionBodyAsResponseRow", false)
	if err != nil {
		return err
	}
	out := &heldWriter{w: w, limit: firstBytes}
	writer := result.NewWriter(out, rows.Columns(), result.Options{
		Format: req.Format, Header: req.Header, TypesHeader: req.TypesHeader, SQLTypesHeader: req.SQLTypesHeader,
		Zone: rows.Zone(), StringifyArrays: rows.StringifyArrays(),
	})
	h := w.Header()
	h.Set("Content-Type", req.Format.ContentType())
	h.Set(edge.DialectOf(ctx).Header("Response-Context"), "{}")
	for {
		var b *vector.Batch
		b, err = rows.Next(ctx)
		if err != nil {
			break
		}
		if err := writer.Batch(b); err != nil {
			return abort(a.log, ctx, err) // the client is gone
		}
	}
	if err == io.EOF {
		if err := writer.Close(); err != nil {
			return abort(a.log, ctx, err)
		}
		if err := out.release(); err != nil {
			return abort(a.log, ctx, err)
		}
		return nil
	}
	err = explain(ctx, err)
	if !out.released && !asRow {
		h.Del(edge.DialectOf(ctx).Header("Response-Context"))
		return err
	}
	if asRow {
		errorRow(ctx, writer, err)
		if writer.Close() == nil && out.release() == nil {
			return nil
		}
	}
	return abort(a.log, ctx, err)
}

// errorRow appends the error object as a last row.
func errorRow(ctx context.Context, w *result.Writer, err error) {
	body, encodeErr := edge.MarshalJSON(edge.ErrorsOf(ctx).Body(edge.Classify(err)))
	if encodeErr == nil {
		w.Raw(body)
	}
}

// abort breaks the connection off: the client must not take what it has for the whole.
func abort(log *slog.Logger, ctx context.Context, err error) error {
	log.WarnContext(ctx, "answer broken off", "error", err)
	panic(http.ErrAbortHandler)
}

// heldWriter keeps the first bytes back until there are limit of them or release is called.
type heldWriter struct {
	w        io.Writer
	limit    int
	held     []byte
	released bool
}

func (h *heldWriter) Write(p []byte) (int, error) {
	if h.released {
		return h.w.Write(p)
	}
	h.held = append(h.held, p...)
	if len(h.held) >= h.limit {
		if err := h.release(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (h *heldWriter) release() error {
	if h.released {
		return nil
	}
	h.released = true
	_, err := h.w.Write(h.held)
	h.held = nil
	return err
}

func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusAccepted
	if a.running.Cancel(r.PathValue("id")) == 0 {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return nil
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) error {
	type entry struct {
		ID        string `json:"sqlQueryId"`
		SQL       string `json:"sql"`
		State     string `json:"state"`
		Engine    string `json:"engine"`
		StartTime string `json:"startTime"`
	}
	queries := []entry{}
	for _, q := range a.running.List() {
		queries = append(queries, entry{q.ID, q.SQL, "RUNNING", "native", q.Started.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	edge.WriteJSON(w, http.StatusOK, map[string]any{"queries": queries})
	return nil
}
