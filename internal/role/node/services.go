package node

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/query"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/role/broker"
	"github.com/hengedb/henge/internal/role/historical"
	"github.com/hengedb/henge/internal/segment/cache"
)

// services are the parts of the roles that endpoints talk to.
type services struct {
	n          *Node
	deep       deepstore.Store
	historical *historical.Historical
	broker     *broker.Broker
	running    *query.Running
	query      *query.API
}

// openServices makes the roles' parts and starts what runs in them.
func (n *Node) openServices(ctx context.Context) (*services, error) {
	s := &services{n: n, running: query.NewRunning(n.o.Clock, int(n.settings.Int("service.query.scheduler.numThreads")))}
	if err := s.openStorage(); err != nil {
		return nil, err
	}
	n.roles.Go(func() error { return s.historical.Keep(ctx, n.published) })
	if err := s.openBroker(); err != nil {
		return nil, err
	}
	return s, nil
}

// path returns a configured directory, or its default in the data directory.
func (s *services) path(key, name string) (string, error) {
	if p := s.n.settings.Text(key); p != "" {
		return filepath.Abs(p)
	}
	p, err := s.n.dir.sub(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(p)
}

func (s *services) openStorage() error {
	if kind := s.n.settings.Text("service.storage.type"); kind != "local" {
		return fault.InvalidInput("Deep storage [%s] is unknown; use local", kind)
	}
	dir, err := s.path("service.storage.storageDirectory", "segments")
	if err != nil {
		return err
	}
	if s.deep, err = deepstore.OpenLocal(dir); err != nil {
		return err
	}
	s.n.onClose(s.deep.Close)
	if dir, err = s.path("service.segmentCache.directory", "cache"); err != nil {
		return err
	}
	c, err := cache.Open(cache.Options{Dir: dir, Store: s.deep, MaxBytes: s.n.settings.Bytes("service.server.maxSize", 0)})
	if err != nil {
		return err
	}
	s.n.onClose(c.Close)
	s.historical = historical.New(c, s.n.o.Clock, s.n.o.Log)
	return nil
}

func (s *services) openBroker() error {
	set := s.n.settings
	zone, err := chrono.LoadZone(set.Text("service.sql.planner.sqlTimeZone"))
	if err != nil {
		return err
	}
	defaults := map[string]any{}
	for k, v := range set.WithPrefix("service.query.default.context.") {
		defaults[k] = v
	}
	s.broker = broker.New(s.n.published, s.historical, s.systemTables(), nil, broker.Options{
		Threads: int(set.Int("service.processing.numThreads")), Memory: s.n.memory, Spill: s.n.spill, Defaults: defaults,
		Zone: zone, Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	s.query = query.New(s.broker, s.running, query.Options{
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
	}, s.n.o.Log)
	return nil
}

// routes adds the endpoints of a role to a port's mux. The Router serves those of all roles.
func (s *services) routes(role string, mux *edge.Mux) {
	if !s.n.settings.Bool("service.sql.enable") && (role == "router" || role == "broker") {
		mux.On("POST /service/v2/sql", func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusNotFound)
			return nil
		})
	}
	if role == "router" || role == "broker" {
		s.query.Routes(mux)
	}
}

func (s *services) systemTables() map[string]broker.SystemTable { return nil }
