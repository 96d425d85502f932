package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// Queries of three Brokers need far more memory at once than the only Historical has. Each is
// answered, or refused because it waited for memory for too long; no other one fails, and none is
// left waiting. Half of them come when the Historical lets them wait for a moment only.
func TestManyHeavyQueriesAtOneHistorical(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"broker"}, {"broker"}, {"broker"}, {"router"},
	}})
	brokers := c.Nodes[1:4]
	const side = 500 // a datasource of its square
	var numbers []string
	for n := range side {
		numbers = append(numbers, fmt.Sprintf(`{\"c\":1,\"n\":%d}`, n))
	}
	table := `(SELECT c, n FROM TABLE(EXTERN('{"type":"inline","data":"` + strings.Join(numbers, `\n`) +
		`"}','{"type":"json"}')) EXTEND (c BIGINT, n BIGINT))`
	statement := fmt.Sprintf("INSERT INTO big SELECT TIME_PARSE('2024-01-01') AS __time, a.n * %d + b.n AS k FROM %s a "+
		"JOIN %s b ON a.c = b.c PARTITIONED BY DAY", side, table, table)
	for _, patience := range []string{"PT0.2S", "PT5M"} {
		historical := c.StartWith([]string{"service.memory.limit=64MiB", "service.query.maxMemoryWait=" + patience}, "historical")
		if patience == "PT0.2S" {
			loads(t, c, "big", map[string]int{"_default_tier": 1})
			if err := c.Ingest(t.Context(), statement, nil); err != nil {
				t.Fatal(err)
			}
		}
		at := strings.TrimPrefix(historical.Addresses["historical"], "http://")
		c.Until("the Historical has the datasource, and all Brokers know", func() bool {
			for _, b := range brokers {
				rows, err := (&server.Client{Addresses: map[string]string{"router": b.Addresses["broker"]}}).Query(t.Context(),
					"SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+at+"'")
				if err != nil || fmt.Sprint(rows) != "[[1]]" {
					return false
				}
			}
			return true
		})
		var mu sync.Mutex
		answered, refused := 0, 0
		var all sync.WaitGroup
		for n := range 24 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				asked := server.Client{Addresses: brokers[n%len(brokers)].Addresses}
				status, answer, err := asked.Send(ctx, "broker", http.MethodPost, "/service/v2/sql",
					`{"query":"SELECT k, COUNT(*), SUM(k + 1) FROM big GROUP BY 1 ORDER BY 1 DESC LIMIT 2","resultFormat":"array"}`)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Errorf("query [%d]: %v", n, err)
				case status == http.StatusOK && strings.TrimSpace(string(answer)) == "[[249999,1,250000],[249998,1,249999]]":
					answered++
				case status == http.StatusTooManyRequests &&
					strings.Contains(string(answer), "The query waited [200] ms"):
					refused++
				default:
					t.Errorf("query [%d]: status [%d]: %s", n, status, answer)
				}
			})
		}
		all.Wait()
		t.Logf("patience %s: [%d] answered, [%d] refused", patience, answered, refused)
		if answered == 0 || patience == "PT5M" && refused > 0 {
			t.Errorf("patience %s: [%d] were answered, [%d] refused", patience, answered, refused)
		}
		if err := c.Stop(historical); err != nil {
			t.Fatal(err)
		}
	}
}
