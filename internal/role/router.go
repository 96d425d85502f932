package role

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/api/access"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/flight"
	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/console"
	"github.com/hengedb/henge/internal/router"
)

// readinessRoutes adds what load balancers ask of a role.
func (s *services) readinessRoutes(role string, mux *edge.Mux) {
	ready := func(w http.ResponseWriter, _ *http.Request) error {
		if !s.n.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return nil
	}
	add := func(role, member string) {
		mux.On("GET /service/"+role+"/v1/readiness", ready)
		mux.On("GET /service/"+role+"/v1/loadstatus", func(w http.ResponseWriter, _ *http.Request) error {
			edge.WriteJSON(w, http.StatusOK, map[string]bool{member: s.n.ready.Load()})
			return nil
		})
	}
	switch role {
	case "broker":
		add("broker", "inventoryInitialized")
		add("historical", "cacheInitialized") // a Broker may hold segments of broadcast rules
	case "historical", "indexer":
		add("historical", "cacheInitialized")
	}
}

// proxyRoutes adds the Router's own paths: the Brokers it knows, and the Coordinator and Overlord
// below /proxy.
func (s *services) proxyRoutes(mux *edge.Mux) {
	mux.On("GET /service/router/v1/brokers", func(w http.ResponseWriter, r *http.Request) error {
		brokers := []string{}
		if slices.Contains(s.n.ownRoles(), cluster.Broker) {
			brokers = append(brokers, s.n.member(cluster.Broker).Address())
		}
		edge.WriteJSON(w, http.StatusOK, map[string][]string{edge.DialectOf(r.Context()).Name + "/broker": brokers})
		return nil
	})
	if !s.n.settings.Bool("service.router.managementProxy.enabled") {
		return
	}
	leader := edge.NewMux(mux.Errors)
	s.n.process().Routes(leader)
	s.overlordRoutes(leader)
	s.userRoutes(leader, true)
	s.n.nested = append(s.n.nested, leader.Patterns()...)
	behind := leader.Handler(s.n.settings.Aliases(), s.n.o.Clock, nil)
	for _, role := range []string{"coordinator", "overlord"} {
		mux.Handle("/proxy/"+role+"/", http.StripPrefix("/proxy/"+role, behind))
	}
	s.proxyEnds(mux)
}

// proxyEnds adds what the Router says below /proxy itself.
func (s *services) proxyEnds(mux *edge.Mux) {
	for _, role := range []string{"coordinator", "overlord"} {
		mux.On("/proxy/"+role, func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusNotFound)
			return nil
		})
	}
	mux.On("GET /proxy/enabled", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]bool{"enabled": true})
		return nil
	})
	mux.On("/proxy/{rest...}", func(w http.ResponseWriter, r *http.Request) error {
		edge.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": "Unsupported proxy destination [" + r.URL.RequestURI() + "]"})
		return nil
	})
}

// routerRoutes pass requests on: queries to Brokers, and what belongs to leaders to them.
func (s *services) routerRoutes(mux *edge.Mux) {
	console.Routes(mux)
	to := &brokers{n: s.n, choice: s.choice, rules: s.rules, limit: s.n.settings.Bytes("service.server.http.maxRequestBytes", 0)}
	if s.n.has(cluster.Broker) {
		to.here = s.handler(mux.Errors, s.brokerRoutes)
	}
	toBroker := to.ServeHTTP
	if s.choice.Chooses() { // by what the body says
		toBroker = edge.Metered("/service/v2/sql", toBroker)
	}
	toLeader := func(role string) edge.Handler {
		return s.n.led(role, s.management(mux.Errors), s.n.toLeader(role).ServeHTTP)
	}
	passages := append(s.overlordPassages(mux.Errors, s.n.toLeader(cluster.Overlord).ServeHTTP),
		passage{"/service/v2", func(w http.ResponseWriter, r *http.Request) error {
			if r.Method == http.MethodDelete {
				return s.cancelEverywhere(w, r)
			}
			return toBroker(w, r)
		}},
		passage{strings.TrimSuffix(flight.Path, "/"), to.ServeHTTP},
		passage{"/service/v1/lookups", toBroker}, passage{access.Base + "/preview", toBroker},
		passage{workbench.Base, toBroker})
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

// credentials are the headers by which a request says who sends it.
var credentials = []string{"Authorization", "Cookie"}

// cancelEverywhere asks every Broker to cancel a query, and answers that it was cancelled if one
// has.
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
			for _, name := range credentials {
				if values := r.Header.Values(name); len(values) > 0 {
					req.Header[name] = values
				}
			}
			passIdentity(r, req)
			s.n.passClient(r, req)
			resp, err := s.n.peers.passing.Do(req)
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

// openRouter reads which Brokers the Router of this process gives queries to, and if that goes by
// retention rules, follows these.
func (s *services) openRouter(ctx context.Context) (err error) {
	const of = "service.router."
	set := s.n.settings
	s.choice, err = router.New(router.Options{
		Default: set.Text(of + "defaultBrokerServiceName"), DefaultRule: set.Text(of + "defaultRule"), Tiers: set.Text(of + "tierToBrokerMap"),
		Strategies: set.Text(of + "strategies"), SQL: set.Bool(of + "sql.enable"), Aliases: set.Aliases(),
	})
	if err != nil || !s.choice.Chooses() {
		return err
	}
	s.n.roles.Go(func() error {
		for s.n.o.Clock.Sleep(ctx, set.Duration(of+"pollPeriod")) == nil {
			if err := s.rules.Refresh(ctx); err != nil && ctx.Err() == nil {
				s.n.o.Log.WarnContext(ctx, "failed to read retention rules; using the last ones", "error", err)
			}
		}
		return nil
	})
	return nil
}
