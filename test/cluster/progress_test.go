package cluster

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// How far a query has come is told through any Router, wherever it runs, and a server's columns are
// described where they are.
func TestProgressAndColumnsThroughTheRouter(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"historical"}, {"broker"}, {"router", "broker"},
	}})
	days(t, c, "wiki", 0, 9)
	c.Until("all segments are loaded", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "1" })

	// Five of its sides are read soon; of the sixth each row is paired with all of those until the
	// query is cancelled.
	const id = "followed"
	const slow = `SELECT COUNT(*) FROM wiki a, wiki b, wiki c, wiki d, wiki e, wiki f WHERE a.n + b.n + c.n + d.n + e.n + f.n < 0`
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		body := map[string]any{"query": slow, "context": map[string]any{"sqlQueryId": id}}
		_ = c.Call(t.Context(), http.MethodPost, "/service/v2/sql", body, nil) // it is cancelled
	}()
	path := "/service-ext/console/progress/" + id
	for range 4 { // the Router asks both Brokers in turn
		c.Until("the servers have read their parts", func() bool {
			status, text, err := c.Send(t.Context(), "router", http.MethodGet, path, "")
			var p struct {
				SQLQueryID, State                      string
				Segments, Rows, SegmentsRead, RowsRead int64
				Percent                                *float64
			}
			return err == nil && status == http.StatusOK && json.Unmarshal(text, &p) == nil && p.SQLQueryID == id && p.State == "RUNNING" &&
				p.Rows == 6*90 && p.RowsRead >= 5*90 && p.Segments == 6*9 && p.SegmentsRead >= 5*9 &&
				p.Percent != nil && *p.Percent > 80
		})
	}
	status, text, err := c.Send(t.Context(), "router", http.MethodDelete, "/service/v2/sql/"+id, "")
	if err != nil || status != http.StatusAccepted {
		t.Errorf("cancelling: %d %s, %v", status, text, err)
	}
	<-ended
	c.Until("it is not followed any more", func() bool {
		status, _, err := c.Send(t.Context(), "router", http.MethodGet, path, "")
		return err == nil && status == http.StatusNotFound
	})

	var told struct {
		DescribedSegments, DescribedRows int
		Columns                          []struct{ Name, Min, Max any }
	}
	const columns = "/service-ext/console/datasources/wiki/columns?column=__time"
	if err := c.Call(t.Context(), http.MethodGet, columns, nil, &told); err != nil {
		t.Fatal(err)
	}
	if told.DescribedSegments != 9 || told.DescribedRows != 90 || len(told.Columns) != 1 || told.Columns[0].Max != "2024-01-09T00:00:00.000Z" {
		t.Errorf("%+v", told)
	}
}
