package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A lookup is read by every process that answers queries or runs tasks: its status names them all,
// those that come later too, each Broker joins with it, and a new version reaches all of them.
func TestLookupsAreOnAllNodes(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator"}, {"overlord", "worker"}, {"historical"}, {"historical"}, {"router", "broker"}, {"broker"},
	}})
	days(t, c, "wiki", 0, 3)
	put := func(version, name string) {
		t.Helper()
		body := map[string]any{"version": version, "lookupExtractorFactory": map[string]any{"type": "map", "map": map[string]string{"7": name}}}
		if err := c.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/lookups/config/__default/names", body, nil); err != nil {
			t.Fatal(err)
		}
	}
	everywhere := func(want string, count int, readers ...string) {
		t.Helper()
		var status struct {
			Loaded       bool
			PendingNodes []string
		}
		c.Until("all nodes have loaded it", func() bool {
			err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/lookups/status/__default/names?detailed=true", nil, &status)
			return err == nil && status.Loaded && len(status.PendingNodes) == 0
		})
		var nodes []string
		var all map[string]any
		if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/lookups/nodeStatus/__default", nil, &all); err != nil {
			t.Fatal(err)
		}
		for node := range all {
			nodes = append(nodes, node)
		}
		if len(nodes) != count { // the process that is a Coordinator only has no use for it
			t.Errorf("%v have it, want %d", nodes, count)
		}
		for _, r := range readers {
			if !slices.Contains(nodes, strings.TrimPrefix(r, "http://")) {
				t.Errorf("the reader %s is not among %v", r, nodes)
			}
		}
		for _, p := range c.Nodes {
			if p.Addresses["broker"] == "" {
				continue
			}
			client := server.Client{Addresses: map[string]string{"router": p.Addresses["broker"]}}
			c.Until("each Broker has it", func() bool {
				rows, err := client.Query(t.Context(), "SELECT LOOKUP(CAST(n AS VARCHAR), 'names'), COUNT(*) FROM wiki WHERE n = 7 GROUP BY 1")
				return err == nil && fmt.Sprint(rows) == "[["+want+" 3]]"
			})
		}
	}
	put("v1", "seven")
	everywhere("seven", 5, c.Nodes[2].Addresses["historical"], c.Nodes[3].Addresses["historical"], c.Nodes[4].Addresses["broker"], c.Nodes[5].Addresses["broker"])
	late := c.Start("historical")
	put("v2", "siebene")
	everywhere("siebene", 6, late.Addresses["historical"])
}

// The time that a Router waits for an answer ends with a sentence and 504.
func TestARouterDoesNotWaitForEver(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Settings:  []string{"service.router.http.readTimeout=PT1S", "service.ingest.http.allowPrivate=true"},
		Processes: [][]string{{"coordinator", "overlord", "worker", "historical"}, {"broker"}, {"router"}},
	})
	g := server.NewGate(t, 100) // a file whose end does not come
	body, err := json.Marshal(map[string]string{"query": strings.Replace(strings.TrimPrefix(g.Statement(""), " "), " PARTITIONED BY DAY", "", 1)})
	if err != nil {
		t.Fatal(err)
	}
	status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/v2/sql", string(body))
	if err != nil || status != http.StatusGatewayTimeout || !strings.Contains(string(text), "No answer came in time") {
		t.Errorf("%d %s %v", status, text, err)
	}
	if got := ask(t, c, "SELECT 1"); got != "1" {
		t.Errorf("behind it: %s", got)
	}
}

// A segmentMetadata query without intervals looks as far back as
// service.query.segmentMetadata.defaultHistory says.
func TestSegmentMetadataLooksAsFarBackAsItIsTold(t *testing.T) {
	for history, want := range map[string]int{"P1D": 1, "P3D": 3, "P1W": 7, "P1000D": 9} {
		s := server.Start(t, server.Options{Settings: []string{"service.query.segmentMetadata.defaultHistory=" + history}})
		var rows []string
		for d := range 9 {
			rows = append(rows, fmt.Sprintf(`{"t":"2024-01-%02d"}`, d+1))
		}
		data, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(rows, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ingest(t.Context(), fmt.Sprintf("INSERT INTO wiki SELECT TIME_PARSE(t) AS __time, 1 AS n FROM TABLE(EXTERN('%s','{\"type\":\"json\"}')) EXTEND (t VARCHAR) "+
			"PARTITIONED BY DAY", data), nil); err != nil {
			t.Fatal(err)
		}
		var list []any
		if err := s.Call(t.Context(), http.MethodPost, "/service/v2", map[string]any{"queryType": "segmentMetadata", "dataSource": "wiki"}, &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != want {
			t.Errorf("%s: [%d] segments instead of [%d]", history, len(list), want)
		}
	}
}

// Each Broker tells of the queries of all.
func TestQueriesOfAllBrokers(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord", "worker", "historical", "router", "broker"}, {"broker"}}})
	var brokers []server.Client
	for _, p := range c.Nodes {
		brokers = append(brokers, server.Client{Addresses: map[string]string{"router": p.Addresses["broker"]}})
	}
	for i, b := range brokers {
		c.Until("the Broker answers", func() bool {
			_, err := b.Query(t.Context(), fmt.Sprintf("SET sqlQueryId = 'of%d'; SELECT 1", i))
			return err == nil
		})
	}
	for i, b := range brokers {
		c.Until("each knows what the other has run", func() bool {
			rows, err := b.Query(t.Context(), "SELECT id, state, num_rows FROM sys.queries WHERE id LIKE 'of%' ORDER BY id")
			return err == nil && fmt.Sprint(rows) == "[[of0 SUCCESS 1] [of1 SUCCESS 1]]"
		})
		var own struct{ Queries []struct{ SQLQueryID string } }
		if err := b.Call(t.Context(), http.MethodGet, "/service/v2/sql/queries?includeComplete&selfOnly", nil, &own); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(own); !strings.Contains(text, fmt.Sprint("of", i)) || strings.Contains(text, fmt.Sprint("of", 1-i)) {
			t.Errorf("Broker %d alone: %s", i, text)
		}
	}
}
