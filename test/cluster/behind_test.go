package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// counted asks a process, which has a moment for it, how many rows a table has. A process that is
// behind may be late: then refused is true.
func counted(t *testing.T, p *server.Process, table string, millis int) (count string, refused bool) {
	t.Helper()
	client := server.Client{Addresses: map[string]string{"router": p.Addresses["broker"]}}
	var rows [][]any
	err := client.Call(t.Context(), http.MethodPost, "/service/v2/sql", map[string]any{
		"query": "SELECT COUNT(*) FROM " + table, "resultFormat": "array", "context": map[string]any{"timeout": millis},
	}, &rows)
	if r, ok := errors.AsType[*server.Refusal](err); ok && r.Status == http.StatusGatewayTimeout {
		return "", true
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(rows[0][0]), false
}

const (
	aMoment = 300
	long    = 60_000
)

// loadTen loads ten rows; all queries that begin later have them.
func loadTen(t *testing.T, c *server.Cluster, table string) {
	t.Helper()
	values := ""
	for i := range 10 {
		values += fmt.Sprintf(",(%d)", i)
	}
	sql := fmt.Sprintf("INSERT INTO %s SELECT TIMESTAMP '2024-01-01' AS __time, n FROM (VALUES %s) AS x (n) PARTITIONED BY DAY",
		table, values[1:])
	if err := c.Ingest(t.Context(), sql, nil); err != nil {
		t.Error(err)
	}
}

var lagging = [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"broker"}, {"router"}}

// A load that is done while a Broker starts did not wait for it: nobody had heard of it. Once
// others have, its answers have the load, even if what it follows is late.
func TestABrokerThatStartsAnswersWithAllLoads(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: lagging})
	loadTen(t, c, "t")
	lag := &server.Lag{First: func() { loadTen(t, c, "t") }}
	lag.Hold()
	defer lag.Release()
	p := c.StartLagging(lag, nil, "broker")
	if got, late := counted(t, p, "t", aMoment); !late && got != "20" {
		t.Errorf("a Broker that is behind answers [%s] rows", got)
	}
	lag.Release()
	if got, _ := counted(t, p, "t", long); got != "20" {
		t.Errorf("then it answers [%s] rows", got)
	}
}

// A load does not wait for a Broker that has withdrawn. What still reaches it is answered with the
// load.
func TestABrokerThatStopsAnswersWithAllLoads(t *testing.T) {
	t.Parallel()
	clock := server.NewStepped(t)
	c := server.StartCluster(t, server.ClusterOptions{Processes: lagging, Clock: clock})
	loadTen(t, c, "t")
	lag := &server.Lag{}
	p := c.StartLagging(lag, []string{"service.server.http.unannouncePropagationDelay=PT1H"}, "broker")
	if got, _ := counted(t, p, "t", long); got != "10" {
		t.Fatalf("before it answers [%s] rows", got)
	}
	holder := c.HolderOf(p)
	lag.Hold()
	stopped := make(chan error, 1)
	go func() { stopped <- c.Stop(p) }()
	c.Until("it has withdrawn", func() bool { return !c.Announced(holder) })
	loadTen(t, c, "t")
	if got, late := counted(t, p, "t", aMoment); !late && got != "20" {
		t.Errorf("a Broker that is behind answers [%s] rows", got)
	}
	lag.Release()
	if got, _ := counted(t, p, "t", long); got != "20" {
		t.Errorf("then it answers [%s] rows", got)
	}
	clock.Advance(2 * time.Hour)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
