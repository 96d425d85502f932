package cluster

import (
	"testing"

	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/testkit/server"
)

// Every route of every port has a row in the table of endpoints, and every row a route.
func TestEveryRouteIsInTheTable(t *testing.T) {
	routes := map[string]string{} // by pattern, where it was seen
	s := server.Start(t, server.Options{})
	for _, role := range []string{"router", "coordinator", "overlord", "broker", "historical", "indexer"} {
		for _, pattern := range append(s.Routes(role), s.RoutesBehind(role)...) {
			routes[pattern] = "the port of role [" + role + "] of one process"
		}
	}
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	for _, process := range c.Nodes {
		for role := range process.Addresses {
			for _, pattern := range append(process.Routes(role), process.RoutesBehind(role)...) {
				routes[pattern] = "the port of role [" + role + "] of a cluster"
			}
		}
	}
	listed := map[string]bool{}
	for _, e := range endpoints.Table {
		if listed[e.Pattern] {
			t.Errorf("route [%s] is in the table of endpoints twice", e.Pattern)
		}
		listed[e.Pattern] = true
		if routes[e.Pattern] == "" {
			t.Errorf("route [%s] of the table of endpoints is served by no port: take its row out", e.Pattern)
		}
	}
	for pattern, where := range routes {
		if !listed[pattern] {
			t.Errorf("route [%s], seen on %s, has no row in internal/api/endpoints", pattern, where)
		}
	}
}
