package cluster

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A segmentMetadata query is answered by the Historicals that hold the segments; one that is gone
// is replaced.
func TestSegmentMetadataIsAnsweredWhereTheSegmentsAre(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Links: true, Metastore: metastore.Options{URL: postgres.URL(t)}, // segments that are read are fetched
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"historical"}, {"router", "broker"}},
	})
	days(t, c, "wiki", 0, 9)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	check := func(when string) {
		t.Helper()
		for merge, want := range map[string]int{"true": 1, "false": 9} {
			status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/v2", `{"queryType":"segmentMetadata","dataSource":"wiki",`+
				`"intervals":["2024-01-01/2024-02-01"],"merge":`+merge+`,"analysisTypes":["interval","size"]}`)
			if err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %s %v", when, status, text, err)
			}
			var list []struct {
				ID        string
				NumRows   int
				Intervals []string
				Columns   map[string]struct{ Type string }
			}
			if err := json.Unmarshal(text, &list); err != nil {
				t.Fatal(err)
			}
			rows, last := 0, ""
			for _, a := range list {
				rows += a.NumRows
				if len(a.Columns) != 2 || a.Columns["n"].Type != "LONG" || a.Intervals[0] <= last {
					t.Errorf("%s: %+v", when, a)
				}
				last = a.Intervals[0]
			}
			if len(list) != want || rows != 90 || merge == "true" && list[0].Intervals[0] != "2024-01-01T00:00:00.000Z/2024-01-10T00:00:00.000Z" {
				t.Errorf("%s, merge %s: %s", when, merge, text)
			}
		}
	}
	native := func(when, query, want string) {
		t.Helper()
		status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/v2", query)
		if err != nil || status != http.StatusOK || string(text) != want {
			t.Errorf("%s: %d %s %v", when, status, text, err)
		}
	}
	broker := c.Nodes[4]
	times := func(when string) { // whose segments are looked into for the times of their rows
		t.Helper()
		native(when, `{"queryType":"dataSourceMetadata","dataSource":"wiki","intervals":["2024-01-02T12:00:00Z/2024-01-05T06:00:00Z"]}`,
			`[{"timestamp":"2024-01-05T00:00:00.000Z","result":{"maxIngestedEventTime":"2024-01-05T00:00:00.000Z"}}]`)
		native(when, `{"queryType":"topN","dataSource":"wiki","intervals":["2024-01-03/2024-01-05"],"granularity":"day","dimension":"n","metric":"c","threshold":2,`+
			`"filter":{"type":"selector","dimension":"n","value":"77"},"aggregations":[{"type":"count","name":"c"}]}`,
			`[{"timestamp":"2024-01-03T00:00:00.000Z","result":[]},{"timestamp":"2024-01-04T00:00:00.000Z","result":[]}]`)
		if files, err := broker.Fetched(); err != nil || len(files) > 0 {
			t.Errorf("%s: the Broker has fetched %v, %v", when, files, err)
		}
	}
	if files, err := c.Nodes[1].Fetched(); err != nil || len(files) == 0 {
		t.Fatalf("a Historical has fetched %v, %v", files, err)
	}
	check("all are there")
	times("all are there")
	c.Kill(c.Nodes[1])
	check("one is gone")
	times("one is gone")
}
