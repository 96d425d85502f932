package role

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/why"
)

// assignedPath is where a Coordinator tells what it has told servers to load.
const assignedPath = "/service-internal/v1/assigned"

// queues implements coordinator.Options.Queues.
func (s *services) queues() map[string]coordinator.Queue {
	out := map[string]coordinator.Queue{}
	for server, q := range s.assigner.Queues() {
		out[server] = coordinator.Queue{Load: slices.Collect(maps.Keys(q.Load)), Drop: slices.Collect(maps.Keys(q.Drop)), Kbps: q.Kbps}
	}
	return out
}

// assigned implements why.Options.Assigned: the leading Coordinator knows it, wherever it is. While
// it does not answer nothing is known.
func (s *services) assigned(ctx context.Context) (out why.Assigned) {
	l := s.n.peers.leaders[cluster.Coordinator]
	if l.Leads() {
		return s.assignedHere()
	}
	if leader := l.Leader(); leader != "" {
		if err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, leader+assignedPath, nil, &out); err != nil && ctx.Err() == nil {
			s.n.o.Log.WarnContext(ctx, "failed to read the load queues of the Coordinator", "error", err)
		}
	}
	return out
}

// assignedHere is what this process has told servers.
func (s *services) assignedHere() why.Assigned {
	out := why.Assigned{Told: map[string][]string{}, Failed: s.assigner.Failures()}
	for server, q := range s.assigner.Queues() {
		for id := range q.Load {
			out.Told[id] = append(out.Told[id], server)
		}
	}
	for _, servers := range out.Told {
		slices.Sort(servers)
	}
	return out
}

// assignedRoutes tells it to other processes.
func (s *services) assignedRoutes(mux *edge.Mux) {
	mux.On("GET "+assignedPath, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, s.assignedHere())
		return nil
	})
}
