package role

import (
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/api/uploads"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/stream/chat"
)

// clusterRoutes adds the endpoints of a role to a port's mux where there are other processes. What
// belongs to a leader is answered here while this process leads. Otherwise the Router passes it on,
// and others say where the leader is.
func (s *services) clusterRoutes(role string, mux *edge.Mux) {
	if s.n.opens(timelineService) {
		s.publishedRoutes(mux)
	}
	s.sentRoutes(mux)
	switch role {
	case cluster.Router:
		s.routerRoutes(mux)
	case cluster.Broker:
		mux.On("/", through(s.overlordPassages(mux.Errors, s.n.toLeader(cluster.Overlord).ServeHTTP), s.handler(mux.Errors, s.brokerRoutes)))
	case cluster.Historical:
		s.lookupRoutes(mux)
		s.dataRoutes(mux)
		s.nativeHeld.Routes(mux)
	case cluster.Indexer:
		s.lookupRoutes(mux)
		s.nativeLive.Routes(mux)
		s.tasks.WorkerRoutes(mux)
		workers.Routes(mux, s.worker, s.files)
		workers.ChatRoutes(mux, s.chats)
		s.parts.Routes(mux)
		s.liveRoutes(mux)
		api.WorkerRoutes(mux, s.sent.keeper, s.n.ready.Load)
	case cluster.Coordinator, cluster.Overlord:
		s.coordinator.LeaderRoutes(mux)
		s.assignedRoutes(mux)
		if s.given != nil {
			uploads.New(s.given).LeaderRoutes(mux)
		}
		here := s.management(mux.Errors)
		mux.On("/", through(append(s.overlordPassages(mux.Errors, s.n.redirect(cluster.Overlord)),
			ownedPassages(func(role string) edge.Handler { return s.n.led(role, here, s.n.redirect(role)) })...), nil))
	}
}

// passage is where requests of a path and all below it go.
type passage struct {
	prefix string
	to     edge.Handler
}

// through serves requests by the first passage that fits, and others by otherwise; nil: there are
// no others.
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

// ownedPassages are those of the two leaders. What is about automatic compaction, which is work of
// tasks, is the Overlord's.
func ownedPassages(to func(role string) edge.Handler) []passage {
	const base = "/service/coordinator/v1"
	overlord := to(cluster.Overlord)
	return []passage{
		{base + "/compaction", overlord}, {base + "/config/compaction", overlord}, {base + "/why", overlord},
		{"/service/coordinator", to(cluster.Coordinator)}, {"/service/indexer", overlord}, {chat.CheckpointPath, overlord},
	}
}

// handler makes a handler of routes of their own.
func (s *services) handler(errors *edge.Errors, routes func(*edge.Mux)) http.Handler {
	mux := edge.NewMux(errors)
	routes(mux)
	s.n.nested = append(s.n.nested, mux.Patterns()...)
	return mux.Handler(s.n.settings.Aliases(), s.n.o.Clock, nil)
}
