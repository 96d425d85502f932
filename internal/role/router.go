package role

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
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

// proxyRoutes adds the Router's own paths: the Brokers it knows, and the Coordinator and Overlord below /proxy.
func (s *services) proxyRoutes(mux *edge.Mux) {
	mux.On("GET /service/router/v1/brokers", func(w http.ResponseWriter, r *http.Request) error {
		brokers := []string{}
		for _, l := range s.n.listeners {
			if l.role == "broker" {
				brokers = append(brokers, s.n.hostPort(l))
			}
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
	s.coordinator.SecurityRoutes(leader)
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
