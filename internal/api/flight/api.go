package flight

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret/seal"
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
	// Key encrypts the handles that clients store. Its length is KeyBytes, and all processes of a
	// cluster have the same key.
	Key []byte
	// MaxRequestBytes is the maximum size of a message without rows, MaxRowsBytes of a message with
	// rows.
	MaxRequestBytes, MaxRowsBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to queries; 0: none.
	DefaultTimeout, MaxTimeout int64
	// Security authenticates callers; nil: everything is permitted.
	Security *auth.Security
	// Ingest ingests rows like the push endpoint, for the user in the context of the request; nil:
	// this process does not ingest rows.
	Ingest http.Handler
	// Cancel cancels a query on the other Brokers and returns the number of canceled queries; nil:
	// there are no other Brokers.
	Cancel func(ctx context.Context, credentials http.Header, id string) int
	// Memory is the budget of messages. Idle is how long a call waits for its client.
	Memory  *budget.Budget
	Idle    time.Duration
	Version string
	Clock   clock.Clock
}

// API serves the endpoints.
type API struct {
	engine  Engine
	running *query.Running
	o       Options
	seal    *seal.Sealer
	log     *slog.Logger
}

// New returns the endpoints of engine.
func New(engine Engine, running *query.Running, o Options, log *slog.Logger) (*API, error) {
	sealer, err := seal.New(o.Key, o.Clock)
	if err != nil {
		return nil, err
	}
	return &API{engine: engine, running: running, o: o, seal: sealer, log: log}, nil
}

// Path is the common prefix of the paths of calls.
const Path = "/arrow.flight.protocol.FlightService/"

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	small := &grpc.Options{MaxMessage: a.o.MaxRequestBytes, Memory: a.o.Memory, Idle: a.o.Idle, Log: a.log}
	large := *small
	large.MaxMessage = a.o.MaxRowsBytes
	answer := grpc.Serve(small, a.call)
	put := grpc.Serve(&large, a.call)
	// Messages have limits of their own, so that the body of a call has none.
	mux.Handle("POST "+Path+"{method}", mux.Errors.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if r.PathValue("method") == "DoPut" {
			return put(w, r)
		}
		return answer(w, r)
	}))
}

// call answers a call.
func (a *API) call(ctx context.Context, s *grpc.Stream) error {
	method := s.Request().PathValue("method")
	if method == "Handshake" {
		return a.handshake(ctx, s)
	}
	who, err := a.identify(ctx, s.Request())
	if err != nil {
		return err
	}
	ctx = auth.With(ctx, who.access)
	c := &call{api: a, who: who, stream: s}
	switch method {
	case "GetFlightInfo":
		return c.info(ctx)
	case "PollFlightInfo":
		return c.poll(ctx)
	case "GetSchema":
		return c.schema(ctx)
	case "DoGet":
		return c.get(ctx)
	case "DoPut":
		err := c.put(ctx)
		if err != nil {
			s.Drain()
		}
		return err
	case "DoAction":
		return c.action(ctx)
	case "ListActions":
		return c.actions()
	case "ListFlights": // there are no flights that nobody has asked for
		if _, err := s.Recv(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return s.Flush()
	}
	return &grpc.Error{Code: grpc.Unimplemented, Message: "Method [" + method[:min(len(method), maxNamed)] + "] is not supported"}
}

// call is one call of a client.
type call struct {
	api    *API
	who    *caller
	stream *grpc.Stream
}

// encapsulated is a message in the frame of a stream, as schemas are sent.
func encapsulated(s *arrow.Schema) []byte { return arrow.Encapsulate(arrow.EncodeSchema(s)) }
