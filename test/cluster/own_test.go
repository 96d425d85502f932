package cluster

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A Historical answers native queries from the segments that it holds, a worker from those that its
// tasks fill: all Historicals together have what the Broker answers.
func TestNativeQueriesOfOneProcess(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	one := `[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`
	if status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/rules/_default", one); err != nil ||
		status != 200 {
		t.Fatal(status, string(text), err)
	}
	const load = `REPLACE INTO t OVERWRITE ALL SELECT TIMESTAMPADD(DAY, x, TIMESTAMP '2024-01-01') AS __time, x ` +
		`FROM UNNEST(ARRAY[0,1,2,3,4,5,6,7,8]) AS u(x) PARTITIONED BY DAY`
	if err := c.Ingest(t.Context(), load, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	ask := func(address, body string) (status int, text string) {
		client := server.Client{Addresses: map[string]string{"it": address}}
		status, answer, err := client.Send(t.Context(), "it", http.MethodPost, "/service/v2", body)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	sum := func(address string) (rows float64) {
		t.Helper()
		status, text := ask(address, `{"queryType":"timeseries","dataSource":"t","intervals":["2024/2025"],"granularity":"all",`+
			`"aggregations":[{"type":"count","name":"n"}]}`)
		var answer []struct{ Result struct{ N float64 } }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
			t.Fatal(status, text, err)
		}
		if len(answer) == 1 {
			rows = answer[0].Result.N
		}
		return rows
	}
	if got := sum(c.Addresses["broker"]); got != 9 {
		t.Errorf("the Broker counts %v rows", got)
	}
	server.Until(t, "the Historicals have all rows together", func() bool {
		all := 0.0
		for _, p := range c.Nodes {
			if address := p.Addresses["historical"]; address != "" {
				rows := sum(address)
				if rows == 9 {
					t.Error("one Historical answers for the others")
				}
				described := 0
				_, text := ask(address, `{"queryType":"segmentMetadata","dataSource":"t","intervals":["2024/2025"],"analysisTypes":[]}`)
				var list []any
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					t.Fatal(text, err)
				}
				if described = len(list); float64(described) != rows {
					t.Errorf("it describes %d segments and has %v rows", described, rows)
				}
				all += rows
			}
		}
		return all == 9
	})
	for _, p := range c.Nodes {
		if address := p.Addresses["indexer"]; address != "" {
			if status, text := ask(address, `{"queryType":"scan","dataSource":"t","intervals":["2024/2025"],"columns":["x"]}`); status != 200 ||
				text != "[]" {
				t.Errorf("a worker without tasks: %d %s", status, text)
			}
			if status, text := ask(address, `{"queryType":"moon"}`); status != http.StatusBadRequest {
				t.Errorf("a query that is none: %d %s", status, text)
			}
		}
	}
}
