package cluster

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A process opens what its roles need: a Router has no cache of segments, no tasks and no timeline,
// and passes everything on all the same.
func TestProcessesOpenWhatTheirRolesNeed(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"historical"}, {"broker"}, {"router"},
	}})
	days(t, c, "wiki", 0, 3)
	for role, want := range map[string]struct {
		services string
		folders  []string // that are not there
	}{
		"router":     {services: "rules routing", folders: []string{"cache", "tasks"}},
		"historical": {services: "timeline lookups storage segments inventory live queries", folders: []string{"tasks"}},
	} {
		i := slices.IndexFunc(c.Nodes, func(p *server.Process) bool { return p.Roles[0] == role })
		p := c.Nodes[i]
		if got := strings.Join(p.Services(), " "); got != want.services {
			t.Errorf("a %s has opened %s, want %s", role, got, want.services)
		}
		folders, err := p.Folders()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want.folders {
			if slices.Contains(folders, name) {
				t.Errorf("a %s has made the folder %s", role, name)
			}
		}
	}
	for _, path := range []string{
		"/status/health", "/metrics", "/service/coordinator/v1/datasources", "/service/indexer/v1/tasks", "/service/v2/datasources",
		"/service/router/v1/brokers",
	} {
		if err := c.Call(t.Context(), http.MethodGet, path, nil, nil); err != nil {
			t.Errorf("GET %s of a Router: %v", path, err)
		}
	}
	rows, err := c.Query(t.Context(), "SELECT COUNT(*) FROM wiki")
	if err != nil || len(rows) != 1 {
		t.Errorf("a query by the Router: %v, %v", rows, err)
	}
}
