package workbench

import (
	"context"
	"log/slog"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
)

// Base is the base path of the endpoints.
const Base = "/service-ext/console"

// Engine is the interface of the endpoints to a Broker.
type Engine interface {
	query.Engine
	// Pin returns a view of the newest state of the timeline.
	Pin(ctx context.Context, q *query.Query, access *auth.Access, settings map[string]any) (query.Session, error)
}

// Options are the settings of the endpoints.
type Options struct {
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to queries.
	DefaultTimeout, MaxTimeout int64
	// Store stores saved queries.
	Store Store
	// Peers sends requests to other processes; nil: there are none.
	Peers Peers
	Clock clock.Clock
	Log   *slog.Logger
}

// API serves the endpoints. It is safe for concurrent use.
type API struct {
	engine  Engine
	running *query.Running
	o       Options
	tails   chan struct{} // one for each live tail of the process
}

// New returns the endpoints on engine. Their queries are registered in running, which SQL queries
// share.
func New(engine Engine, running *query.Running, o Options) *API {
	return &API{engine: engine, running: running, o: o, tails: make(chan struct{}, maxTails)}
}

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("GET "+Base+"/datasources/{dataSource}/columns", a.columns)
	mux.On("GET "+Base+"/datasources/{dataSource}/tail", a.tail)
	mux.On("GET "+Base+"/progress/{id}", a.progress)
	mux.On("POST "+Base+"/export", a.export)
	a.savedRoutes(mux)
}
