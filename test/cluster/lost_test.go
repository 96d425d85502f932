package cluster

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A PostgreSQL that comes back from a crash without its last commits has forgotten what was
// acknowledged: rows, rules, ends of tasks, who leads. From then on the cluster is as it says, in
// every answer: what was loaded meanwhile is as if it had not been, can be loaded again, with other
// rows under the same segment ids, and no task that began before writes twice.
func TestAMetastoreThatLosesItsLastMoments(t *testing.T) {
	store := postgres.URL(t)
	c := server.StartCluster(t, server.ClusterOptions{
		Metastore: metastore.Options{URL: store}, Links: true, Settings: []string{"service.ingest.http.allowPrivate=true"},
		Processes: [][]string{
			{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"router", "broker"},
		},
	})
	days(t, c, "wiki", 0, 4)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	// One task has begun before, and one begins in the moments that are lost.
	before, within := server.NewGate(t, 100), server.NewGate(t, 100)
	early := submit(t, c, before.Statement("INSERT INTO early"))
	<-before.Reading
	putBack := postgres.Remember(t, store)
	add := func(n int) {
		t.Helper()
		if err := c.Ingest(t.Context(), fmt.Sprintf("INSERT INTO wiki SELECT TIMESTAMP '2024-01-01' AS __time, %d AS n PARTITIONED BY DAY", n), nil); err != nil {
			t.Fatal(err)
		}
	}
	// newest is the id of what was appended to the first day last.
	newest := func() string {
		t.Helper()
		return ask(t, c, "SELECT segment_id FROM sys.segments WHERE datasource = 'wiki' AND \"start\" LIKE '2024-01-01%' ORDER BY partition_num DESC LIMIT 1")
	}
	add(1000)
	forgotten := newest()
	add(20000)
	if err := c.Ingest(t.Context(), "REPLACE INTO wiki OVERWRITE WHERE __time >= TIMESTAMP '2024-01-04' AND __time < TIMESTAMP '2024-01-05' SELECT TIMESTAMP '2024-01-04' AS __time, 7 AS n PARTITIONED BY DAY", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/rules/wiki", []any{map[string]any{"type": "loadForever",
		"tieredReplicants": map[string]any{"_default_tier": 1}}}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := ask(t, c, "SELECT SUM(n) FROM wiki"), "21142"; got != want {
		t.Fatalf("the sum is [%s] instead of [%s]", got, want)
	}
	c.Until("what was replaced is gone", func() bool { return ask(t, c, "SELECT COUNT(*) FROM sys.server_segments") == "6" })
	lost := submit(t, c, within.Statement("INSERT INTO within"))
	<-within.Reading
	c.Kill(c.Nodes[0]) // the other leads, with an epoch that is lost too
	c.Until("another leads", func() bool {
		status, text, err := c.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/leader", "")
		return err == nil && status == http.StatusOK && string(text) == c.Nodes[1].Addresses["coordinator"]
	})
	for _, p := range c.Nodes {
		c.CutStore(p)
	}
	putBack()
	c.Heal()
	c.Start("coordinator", "overlord")

	c.Until("every Broker answers from what the metastore has", func() bool {
		for _, b := range []*server.Process{c.Nodes[6], c.Nodes[7]} {
			client := server.Client{Addresses: map[string]string{"router": b.Addresses["broker"]}}
			rows, err := client.Query(t.Context(), "SELECT SUM(n), COUNT(*) FROM wiki")
			if err != nil || fmt.Sprint(rows) != "[[180 40]]" {
				return false
			}
		}
		return true
	})
	add(300000)
	if again := newest(); again != forgotten {
		t.Errorf("the rows are in segment [%s], and would show more in [%s]", again, forgotten)
	}
	for range 20 {
		if got, want := ask(t, c, "SELECT SUM(n) FROM wiki"), "300180"; got != want {
			t.Fatalf("after rows were added again the sum is [%s] instead of [%s]", got, want)
		}
	}
	var rules []map[string]any
	if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/rules/wiki", nil, &rules); err != nil || len(rules) != 0 {
		t.Errorf("the rules are %v, %v", rules, err)
	}
	within.Release()
	before.Release()
	if task := await(t, c, early); task.StatusCode != "SUCCESS" {
		t.Errorf("the task that ran before: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) || '/' || COUNT(DISTINCT n) FROM early"); got != "100/100" {
		t.Errorf("rows of the task that ran before: %s", got)
	}
	c.Until("the cluster has come to rest", func() bool {
		return ask(t, c, "SELECT COUNT(*) FROM sys.segments WHERE is_active = 1 AND num_replicas < 2") == "0" && ask(t, c, "SELECT COUNT(*) FROM sys.tasks WHERE status = 'RUNNING'") == "0"
	})
	if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "300180" {
		t.Errorf("in the end the sum is [%s]", got)
	}
	// The task that nobody remembers has left nothing, and can be submitted again.
	if got := ask(t, c, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'within'"); got != "0" {
		t.Errorf("the forgotten task [%s] has published", lost)
	}
	if task := await(t, c, submit(t, c, within.Statement("INSERT INTO within"))); task.StatusCode != "SUCCESS" {
		t.Errorf("submitted again: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) || '/' || COUNT(DISTINCT n) FROM within"); got != "100/100" {
		t.Errorf("rows of the task that was submitted again: %s", got)
	}
}

// Where no Coordinator drops what a metastore has forgotten, Historicals still hold its segments
// when their ids are given again. Not one query sees the forgotten rows, also with the groups of
// single segments kept, and the Coordinator that comes back has the new files loaded.
func TestIDsThatAreGivenAgainWhileNobodyDrops(t *testing.T) {
	t.Parallel()
	store := postgres.URL(t)
	c := server.StartCluster(t, server.ClusterOptions{
		Metastore: metastore.Options{URL: store}, Links: true,
		Settings: []string{
			"service.historical.cache.useCache=true", "service.historical.cache.populateCache=true",
			"service.broker.cache.useCache=true", "service.broker.cache.populateCache=true",
		},
		Processes: [][]string{{"coordinator"}, {"overlord"}, {"historical"}, {"historical"}, {"worker"}, {"broker", "router"}},
	})
	days(t, c, "wiki", 0, 4)
	held := func(copies string) {
		t.Helper()
		c.Until("two copies of each segment", func() bool {
			return ask(t, c, "SELECT MIN(num_replicas) || '/' || SUM(num_replicas) FROM sys.segments WHERE is_active = 1") == copies
		})
	}
	held("2/8")
	putBack := postgres.Remember(t, store)
	add := func(n int) (id string) {
		t.Helper()
		if err := c.Ingest(t.Context(), fmt.Sprintf(
			"INSERT INTO wiki SELECT TIMESTAMP '2024-01-01' AS __time, %d AS n PARTITIONED BY DAY", n), nil); err != nil {
			t.Fatal(err)
		}
		return ask(t, c, "SELECT segment_id FROM sys.segments WHERE datasource = 'wiki' "+
			"AND \"start\" LIKE '2024-01-01%' ORDER BY partition_num DESC LIMIT 1")
	}
	forgotten := add(1000)
	held("2/10")
	for range 4 { // both Historicals and the Broker keep what they made of it
		if got, want := ask(t, c, "SELECT SUM(n) FROM wiki"), "1180"; got != want {
			t.Fatalf("the sum is [%s] instead of [%s]", got, want)
		}
	}
	c.Kill(c.Nodes[0])
	for _, p := range c.Nodes {
		c.CutStore(p)
	}
	putBack()
	c.Heal()
	c.Until("the Broker answers from what the metastore has", func() bool {
		rows, err := c.Query(t.Context(), "SELECT SUM(n), COUNT(*) FROM wiki")
		return err == nil && fmt.Sprint(rows) == "[[180 40]]"
	})
	if got := ask(t, c, "SELECT COUNT(*) FROM sys.server_segments WHERE segment_id = '"+forgotten+"'"); got != "2" {
		t.Fatalf("[%s] servers still hold the forgotten segment: nothing is shown", got)
	}
	if again := add(300000); again != forgotten {
		t.Fatalf("the rows are in segment [%s] instead of [%s]", again, forgotten)
	}
	for i := range 20 {
		if got, want := ask(t, c, "SELECT SUM(n) FROM wiki"), "300180"; got != want {
			t.Fatalf("query [%d] says [%s] instead of [%s]", i, got, want)
		}
	}
	c.Start("coordinator")
	held("2/10")
	for range 4 {
		if got, want := ask(t, c, "SELECT SUM(n) FROM wiki"), "300180"; got != want {
			t.Fatalf("in the end the sum is [%s] instead of [%s]", got, want)
		}
	}
}
