package avatica

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret"
)

// Engine plans and executes statements.
type Engine interface {
	query.Engine
	// Describe returns the columns and parameters of a statement without executing it. The parameters
	// have no values.
	Describe(ctx context.Context, req *query.Request) (*query.Description, error)
}

// Options are the settings of the endpoints.
type Options struct {
	// Audit records rejected logins; may be nil.
	Audit *audit.Log
	// MaxConnections is the maximum number of connections, MaxStatements the maximum number of
	// statements of a connection.
	MaxConnections, MaxStatements int
	// MinRows and MaxRows limit the number of rows of a frame; MaxRows 0: the number that the driver
	// requests.
	MinRows, MaxRows int
	// IdleTimeout is how long an unused connection is kept. FetchTimeout is how long a request for
	// rows waits for the first row.
	IdleTimeout, FetchTimeout time.Duration
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to queries; 0: none.
	DefaultTimeout, MaxTimeout int64
	// Security authenticates the users of connections; nil: everything is permitted.
	Security *auth.Security
	// Address returns the host:port of this process, which responses contain.
	Address func() string
	Clock   clock.Clock
}

// API serves the endpoints.
type API struct {
	engine  Engine
	running *query.Running
	o       Options
	log     *slog.Logger

	mu          sync.Mutex
	connections map[string]*connection
}

// New returns the endpoints of engine.
func New(engine Engine, running *query.Running, o Options, log *slog.Logger) *API {
	return &API{engine: engine, running: running, o: o, log: log, connections: map[string]*connection{}}
}

// The paths that drivers connect to.
const (
	JSONPath     = "/service/v2/sql/avatica/"
	ProtobufPath = "/service/v2/sql/avatica-protobuf/"
)

// Routes adds the endpoints to mux, with and without a trailing slash.
func (a *API) Routes(mux *edge.Mux) {
	for _, path := range []string{JSONPath + "{$}", JSONPath[:len(JSONPath)-1]} {
		mux.On("POST "+path, a.answerJSON)
	}
	for _, path := range []string{ProtobufPath + "{$}", ProtobufPath[:len(ProtobufPath)-1]} {
		mux.On("POST "+path, a.answerProtobuf)
	}
}

// Run closes unused connections until ctx is done, and then closes all connections.
func (a *API) Run(ctx context.Context) error {
	ticker := a.o.Clock.NewTicker(max(a.o.IdleTimeout/10, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			a.mu.Lock()
			a.expireLocked()
			a.mu.Unlock()
		case <-ctx.Done():
			a.mu.Lock()
			all := a.connections
			a.connections = map[string]*connection{}
			a.mu.Unlock()
			for _, c := range all {
				c.end()
			}
			return nil
		}
	}
}

func (a *API) metadata() *metadata { return &metadata{Kind: "rpcMetadata", Address: a.o.Address()} }

// body reads the body of a request.
func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return nil, &refusal{"The request could not be read, or is larger than service.server.http.maxRequestBytes"}
	}
	secret.Hold(r.Context(), string(body))
	return body, nil
}

// answer answers a request of one encoding. What fails is an answer, too, of status 500: drivers
// read it.
func (a *API) answer(w http.ResponseWriter, r *http.Request, media string, read func(body []byte) (*request, error),
	write func(out response) ([]byte, error)) error {
	body, err := a.body(w, r)
	var req *request
	if err == nil {
		req, err = read(body)
	}
	edge.Decoded(r.Context())
	var out response
	if err == nil {
		out, err = a.do(r.Context(), req, auth.RequestOf(r, http.Header{}))
	}
	status := http.StatusOK
	if err != nil {
		if r.Context().Err() != nil {
			return err // nobody listens
		}
		status, out = http.StatusInternalServerError, a.failed(r.Context(), err)
	}
	text, err := write(out)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the driver may be gone
	return nil
}

// do answers a request, which came as from says.
func (a *API) do(ctx context.Context, r *request, from *auth.Request) (response, error) {
	id := r.connection()
	switch r.Kind {
	case "openConnection":
		if err := a.open(ctx, id, r.Info, edge.DialectOf(ctx), from); err != nil {
			return nil, err
		}
		return &plain{Kind: r.Kind, Metadata: a.metadata()}, nil
	case "closeConnection":
		if c, release, err := a.find(id); err == nil {
			err = c.admit(ctx, from)
			release()
			if err != nil {
				return nil, err
			}
		}
		a.close(id)
		return &plain{Kind: r.Kind, Metadata: a.metadata()}, nil
	case "commit", "rollback": // there is nothing to do: each statement sees all that was published before it
		return &plain{Kind: r.Kind}, nil
	}
	c, release, err := a.find(id)
	if err != nil && r.Kind == "closeStatement" { // it went with its connection
		return &plain{Kind: r.Kind, Metadata: a.metadata()}, nil
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if err := c.admit(ctx, from); err != nil {
		return nil, err
	}
	switch r.Kind {
	case "connectionSync":
		return &synced{Kind: r.Kind, Props: c.sync(r.Props), Metadata: a.metadata()}, nil
	case "databaseProperties":
		return &properties{Kind: r.Kind, Map: map[string]any{}, Metadata: a.metadata()}, nil
	case "createStatement":
		s, err := c.create()
		if err != nil {
			return nil, err
		}
		return &created{Kind: r.Kind, ConnectionID: id, StatementID: s.id, Metadata: a.metadata()}, nil
	case "closeStatement":
		c.drop(r.statement())
		return &plain{Kind: r.Kind, Metadata: a.metadata()}, nil
	case "prepare":
		return a.prepare(ctx, c, r)
	case "prepareAndExecute", "execute":
		return a.execute(ctx, c, r)
	case "fetch":
		return a.fetch(ctx, c, r)
	case "syncResults":
		return a.resume(ctx, c, r)
	case "prepareAndExecuteBatch", "executeBatch":
		return nil, &refusal{"Batch statements not supported"}
	}
	return a.catalog(ctx, c, r) // what names no request asks for schemas
}

func (a *API) prepare(ctx context.Context, c *connection, r *request) (response, error) {
	s, err := c.create()
	if err != nil {
		return nil, err
	}
	signature, err := s.describe(ctx, r.SQL)
	if err != nil {
		c.drop(s.id)
		return nil, err
	}
	return &prepared{Kind: r.Kind, Statement: &handle{ConnectionID: c.id, ID: s.id, Signature: signature}, Metadata: a.metadata()}, nil
}

// execute runs a statement anew and returns its first rows.
func (a *API) execute(ctx context.Context, c *connection, r *request) (response, error) {
	out := &executed{Kind: "executeResults", Metadata: a.metadata()}
	s := c.statement(r.statement())
	if s == nil {
		out.Missing = true
		return out, nil
	}
	sql, style := r.SQL, styleList
	if r.Kind == "execute" {
		if sql, style = s.prepared(), styleArray; sql == "" {
			out.Missing = true
			return out, nil
		}
	}
	set, err := a.result(ctx, c, s, sql, r.Values, limit(r.MaxRowsTotal, r.MaxRowCount), rowsOf(r.RowsInFirstFrame, r.FirstFrameSize), style)
	if err != nil {
		return nil, err
	}
	out.Results = []*resultSet{set}
	return out, nil
}

// result runs a query and returns its first rows. A failure closes the result.
func (a *API) result(ctx context.Context, c *connection, s *statement, sql string, values []value, most int64, first int,
	style string) (*resultSet, error) {
	signature, err := s.run(sql, values, most, style)
	if err != nil {
		return nil, err
	}
	rows, err := s.frame(ctx, 0, a.rows(first))
	if err != nil {
		return nil, err
	}
	return &resultSet{Kind: "resultSet", ConnectionID: c.id, StatementID: s.id, Signature: signature, First: rows,
		Updates: -1, Metadata: a.metadata()}, nil
}

func (a *API) fetch(ctx context.Context, c *connection, r *request) (response, error) {
	out := &fetched{Kind: r.Kind, Metadata: a.metadata()}
	s := c.statement(r.statement())
	if s == nil {
		out.MissingStatement = true
		return out, nil
	}
	f, err := s.frame(ctx, r.Offset, a.rows(rowsOf(r.FetchRows, r.FrameSize)))
	if err != nil {
		return nil, err
	}
	out.Frame, out.MissingResults = f, f == nil
	return out, nil
}

// resume runs a statement again for a driver that lost its result, up to the row that it wants
// next.
func (a *API) resume(ctx context.Context, c *connection, r *request) (response, error) {
	out := &resumed{Kind: r.Kind, Metadata: a.metadata()}
	s := c.statement(r.statement())
	if s == nil || r.State == nil || r.State.SQL == "" {
		out.MissingStatement = true
		return out, nil
	}
	if _, err := s.run(r.State.SQL, nil, -1, styleList); err != nil {
		return nil, err
	}
	for at := int64(0); at < r.Offset; {
		f, err := s.frame(ctx, -1, int(min(r.Offset-at, 10_000)))
		if err != nil {
			return nil, err
		}
		if f.Done {
			return out, nil
		}
		at = s.position()
	}
	out.More = true
	return out, nil
}

// catalog answers a request for metadata, as a result of a statement of its own.
func (a *API) catalog(ctx context.Context, c *connection, r *request) (response, error) {
	s, err := c.create()
	if err != nil {
		return nil, err
	}
	sql, values := catalogQuery(r)
	set, err := a.result(ctx, c, s, sql, values, -1, -1, styleList)
	if err != nil {
		c.drop(s.id)
		return nil, err
	}
	set.Own = true
	if set.First != nil && set.First.Done {
		c.drop(s.id)
	}
	return set, nil
}

// limit returns the least of what two members say how many rows are wanted at all; below 0: all.
func limit(total, count *int64) int64 {
	most := int64(-1)
	for _, n := range []*int64{total, count} {
		if n != nil && *n >= 0 && (most < 0 || *n < most) && (n != count || *n > 0) {
			most = *n
		}
	}
	return most
}

// rowsOf returns how many rows a frame is to have, by the member of new drivers or that of old
// ones; below 0: any.
func rowsOf(members ...*int64) int {
	for _, n := range members {
		if n != nil {
			return int(min(*n, 1<<30))
		}
	}
	return -1
}

// rows bounds the rows of a frame.
func (a *API) rows(wanted int) int {
	most := a.o.MaxRows
	if most <= 0 {
		most = 100_000
	}
	if wanted < 0 {
		return most
	}
	return min(max(wanted, a.o.MinRows, 1), most)
}
