package role

import (
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/mcp"
)

// agentRoutes adds the endpoint for agents to a Router. Its tools ask the routes of mux, whatever
// answers them.
func (s *services) agentRoutes(mux *edge.Mux) {
	set, of := s.n.settings, "service.mcp."
	kept := set.Bytes(of+"maxKeptBytes", 0)
	mcp.New(mcp.Options{
		Routes: mux.ServeMux, Lane: set.Text(of + "lane"), Version: s.n.o.Version, Clock: s.n.o.Clock,
		Memory: s.n.memory.Child("results of agents", kept),
		Limits: mcp.Limits{
			Rows: int(set.Int(of + "maxRows")), Bytes: set.Bytes(of+"maxBytes", 0), Timeout: set.Duration(of + "timeout"),
			ScannedBytes: set.Bytes(of+"maxScannedBytes", 0), ResultBytes: set.Bytes(of+"maxResultBytes", 0), KeptBytes: kept,
			KeepFor: set.Duration(of + "keepFor"), Calls: int(set.Int(of + "maxConcurrentCalls")),
		},
	}).Routes(mux)
}
