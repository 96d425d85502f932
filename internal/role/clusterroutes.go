package role

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/cluster"
)

// clusterRoutes adds the endpoints of a role to a port's mux where there are other processes. What belongs to a leader is answered here while
// this process leads. Otherwise the Router passes it on, and others say where the leader is.
func (s *services) clusterRoutes(role string, mux *edge.Mux) {
	s.publishedRoutes(mux)
	switch role {
	case cluster.Router:
		s.routerRoutes(mux)
	case cluster.Broker:
		mux.On("/", through(s.overlordPassages(mux.Errors, s.n.toLeader(cluster.Overlord).ServeHTTP), s.handler(mux.Errors, s.brokerRoutes)))
	case cluster.Historical:
		s.lookupRoutes(mux)
		s.dataRoutes(mux)
	case cluster.Indexer:
		s.lookupRoutes(mux)
		s.tasks.WorkerRoutes(mux)
		workers.Routes(mux, s.worker, s.files)
		s.parts.Routes(mux)
	case cluster.Coordinator, cluster.Overlord:
		s.coordinator.LeaderRoutes(mux)
		s.assignedRoutes(mux)
		here := s.handler(mux.Errors, s.managementRoutes)
		mux.On("/", through(append(s.overlordPassages(mux.Errors, s.n.redirect(cluster.Overlord)),
			ownedPassages(func(role string) edge.Handler { return s.n.led(role, here, s.n.redirect(role)) })...), nil))
	}
}

// passage is where requests of a path and all below it go.
type passage struct {
	prefix string
	to     edge.Handler
}

// through serves requests by the first passage that fits, and others by otherwise; nil: there are no others.
func through(passages []passage, otherwise http.Handler) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		for _, p := range passages {
			if rest, ok := strings.CutPrefix(r.URL.Path, p.prefix); ok && (rest == "" || rest[0] == '/') {
				return p.to(w, r)
			}
		}
		if otherwise == nil {
			w.WriteHeader(http.StatusNotFound)
			return nil
		}
		otherwise.ServeHTTP(w, r)
		return nil
	}
}

// ownedPassages are those of the two leaders. What is about automatic compaction, which is work of tasks, is the Overlord's.
func ownedPassages(to func(role string) edge.Handler) []passage {
	const base = "/service/coordinator/v1"
	overlord := to(cluster.Overlord)
	return []passage{
		{base + "/compaction", overlord}, {base + "/config/compaction", overlord}, {base + "/why", overlord},
		{"/service/coordinator", to(cluster.Coordinator)}, {"/service/indexer", overlord},
	}
}

// overlordPassages are those of the statements that become tasks: the Overlord's, though their paths are beside those of queries.
func (s *services) overlordPassages(errors *edge.Errors, elsewhere edge.Handler) []passage {
	if !s.n.settings.Bool("service.sql.enable") {
		return nil
	}
	to := s.n.led(cluster.Overlord, s.handler(errors, s.managementRoutes), elsewhere)
	return []passage{{"/service/v2/sql/task", to}, {"/service/v2/sql/statements", to}}
}

// handler makes a handler of routes of their own.
func (s *services) handler(errors *edge.Errors, routes func(*edge.Mux)) http.Handler {
	mux := edge.NewMux(errors)
	routes(mux)
	return mux.Handler(s.n.settings.Aliases(), s.n.o.Clock, nil)
}

// managementRoutes are those of the leaders of both roles, with the statements that become tasks.
func (s *services) managementRoutes(mux *edge.Mux) {
	s.n.process().Routes(mux)
	s.overlordRoutes(mux)
	if s.n.settings.Bool("service.sql.enable") {
		s.statements.Routes(mux)
	}
}

// brokerRoutes are those of a Broker.
func (s *services) brokerRoutes(mux *edge.Mux) {
	s.lookupRoutes(mux)
	s.native.Routes(mux)
	s.coordinator.BrokerRoutes(mux)
	s.query.KnownRoute(mux)
	if s.n.settings.Bool("service.sql.enable") {
		s.query.Routes(mux)
	}
}

// routerRoutes pass requests on: queries to Brokers, and what belongs to leaders to them.
func (s *services) routerRoutes(mux *edge.Mux) {
	to := &brokers{n: s.n, choice: s.choice, rules: s.rules, limit: s.n.settings.Bytes("service.server.http.maxRequestBytes", 0)}
	if s.n.has(cluster.Broker) {
		to.here = s.handler(mux.Errors, s.brokerRoutes)
	}
	toBroker := to.ServeHTTP
	if s.choice.Chooses() { // by what the body says
		toBroker = edge.Metered("/service/v2/sql", toBroker)
	}
	toLeader := func(role string) edge.Handler {
		return s.n.led(role, s.handler(mux.Errors, s.managementRoutes), s.n.toLeader(role).ServeHTTP)
	}
	passages := append(s.overlordPassages(mux.Errors, s.n.toLeader(cluster.Overlord).ServeHTTP),
		passage{"/service/v2", func(w http.ResponseWriter, r *http.Request) error {
			if r.Method == http.MethodDelete {
				return s.cancelEverywhere(w, r)
			}
			return toBroker(w, r)
		}},
		passage{"/service/v1/lookups", toBroker})
	mux.On("GET /service/router/v1/brokers", to.listed)
	if s.n.settings.Bool("service.router.managementProxy.enabled") {
		passages = append(passages, ownedPassages(toLeader)...)
		for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
			to := toLeader(role)
			mux.On("/proxy/"+role+"/", func(w http.ResponseWriter, r *http.Request) (err error) {
				http.StripPrefix("/proxy/"+role, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = to(w, r) })).ServeHTTP(w, r)
				return err
			})
		}
		s.proxyEnds(mux)
	}
	mux.On("/", through(passages, nil))
}

// cancelEverywhere asks every Broker to cancel a query, and answers that it was cancelled if one has.
func (s *services) cancelEverywhere(w http.ResponseWriter, r *http.Request) error {
	var mu sync.Mutex
	status := http.StatusNotFound
	var asked sync.WaitGroup
	for _, m := range s.n.peers.members.Members(cluster.Broker) {
		asked.Go(func() {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodDelete, m.URL()+r.URL.RequestURI(), nil)
			if err != nil {
				return
			}
			resp, err := s.n.peers.client.Do(req)
			if err != nil {
				return // it runs nothing any more
			}
			_, _ = io.Copy(io.Discard, resp.Body) // only its status counts
			_ = resp.Body.Close()                 // it was only read
			mu.Lock()
			defer mu.Unlock()
			if resp.StatusCode < http.StatusBadRequest || status == http.StatusNotFound {
				status = resp.StatusCode
			}
		})
	}
	asked.Wait()
	w.WriteHeader(status)
	return nil
}
