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

// tiered starts a cluster with two tiers, each of which is to have all segments of wiki, and
// returns its two Historicals by their addresses.
func tiered(t *testing.T) (c *server.Cluster, hot, cold string) {
	t.Helper()
	c = server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord", "worker"}, {"router", "broker"}}})
	one := func(tier, priority string) string {
		p := c.StartWith([]string{"service.server.tier=" + tier, "service.server.priority=" + priority}, "historical")
		return strings.TrimPrefix(p.Addresses["historical"], "http://")
	}
	hot, cold = one("hot", "5"), one("cold", "-3")
	loads(t, c, "wiki", map[string]int{"hot": 1, "cold": 1})
	days(t, c, "wiki", 0, 4)
	c.Until("both tiers hold all", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	return c, hot, cold
}

// loads has a datasource loaded for ever by so many servers of each tier.
func loads(t *testing.T, c *server.Cluster, table string, copies map[string]int) {
	t.Helper()
	rules := []map[string]any{{"type": "loadForever", "tieredReplicants": copies}}
	if err := c.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/rules/"+table, rules, nil); err != nil {
		t.Fatal(err)
	}
}

// readers runs a query and returns the servers that have read for it.
func readers(t *testing.T, broker server.Client, sql string) (names []string, scanned int64) {
	t.Helper()
	var rows []map[string]string
	body := map[string]any{"query": "EXPLAIN ANALYZE AS JSON " + sql}
	if err := broker.Call(t.Context(), http.MethodPost, "/service/v2/sql", body, &rows); err != nil {
		t.Fatal(err)
	}
	var out struct{ Plan did }
	if err := json.Unmarshal([]byte(rows[0]["PLAN"]), &out); err != nil {
		t.Fatal(err)
	}
	scan := out.Plan.find("Scan")
	for _, s := range scan.Servers {
		names = append(names, s.Server)
		scanned += s.Segments.Scanned
	}
	slices.Sort(names)
	return names, scanned
}

// Brokers with settings of their own ask the Historicals that these say, and give whole answers all
// the same.
func TestEachBrokerAsksTheTiersThatItIsTold(t *testing.T) {
	c, hot, cold := tiered(t)
	days(t, c, "logs", 0, 2)
	loads(t, c, "logs", map[string]int{"hot": 1})
	const of = "service.broker.select.tier="
	var both = []string{hot, cold}
	slices.Sort(both)
	for name, tc := range map[string]struct {
		settings   []string
		wiki, logs []string
	}{
		"as it is":           {nil, []string{hot}, []string{hot}},
		"the lowest":         {[]string{of + "lowestPriority"}, []string{cold}, []string{hot}},
		"an order":           {[]string{of + "custom", "service.broker.select.tier.custom.priorities=[-3,5]"}, []string{cold}, []string{hot}},
		"a tier":             {[]string{of + "preferred", "service.broker.select.tier.preferred.tier=cold"}, []string{cold}, []string{hot}},
		"one priority only":  {[]string{of + "strict", "service.broker.select.tier.strict.priorities=[-3]"}, []string{cold}, []string{cold}},
		"two, like each one": {[]string{of + "pooled", "service.broker.select.tier.pooled.priorities=[-3,5]"}, both, []string{hot}},
		"one tier only":      {[]string{"service.broker.segment.watchedTiers=[\"cold\"]"}, []string{cold}, []string{cold}},
		"not one tier":       {[]string{"service.broker.segment.ignoredTiers=hot"}, []string{cold}, []string{cold}},
		"to whom asks least": {[]string{"service.broker.balancer.type=connectionCount", of + "pooled", "service.broker.select.tier.pooled.priorities=[-3,5]"}, both, []string{hot}},
		"to any":             {[]string{"service.broker.balancer.type=random", "service.broker.segment.watchedTiers=cold"}, []string{cold}, []string{cold}},
	} {
		p := c.StartWith(tc.settings, "router", "broker")
		broker := server.Client{Addresses: p.Addresses}
		for table, want := range map[string][]string{"wiki": tc.wiki, "logs": tc.logs} {
			var got []string
			c.Until(name+": all Historicals are known, and what they hold", func() bool {
				var scanned int64
				got, scanned = readers(t, broker, "SELECT SUM(n) FROM "+table)
				return slices.Equal(got, want) && scanned == map[string]int64{"wiki": 4, "logs": 2}[table]
			})
		}
		if err := c.Stop(p); err != nil {
			t.Error(err)
		}
	}
}

// What a Broker is not told to ask takes over where what it asks is gone, unless that is forbidden.
func TestABrokerAsksTheNextTierWhereTheFirstIsGone(t *testing.T) {
	c, hot, cold := tiered(t)
	prefers := server.Client{Addresses: c.StartWith([]string{"service.broker.select.tier=preferred", "service.broker.select.tier.preferred.tier=hot"}, "router", "broker").Addresses}
	strict := server.Client{Addresses: c.StartWith([]string{"service.broker.segment.watchedTiers=hot"}, "router", "broker").Addresses}
	const sql = "SELECT SUM(n) FROM wiki"
	for _, broker := range []server.Client{prefers, strict} {
		c.Until("the hot tier is asked", func() bool { got, _ := readers(t, broker, sql); return fmt.Sprint(got) == fmt.Sprint([]string{hot}) })
	}
	c.Kill(c.Nodes[2])
	c.Until("the cold tier is asked", func() bool { got, _ := readers(t, prefers, sql); return fmt.Sprint(got) == fmt.Sprint([]string{cold}) })
	status, text, err := strict.Send(t.Context(), "broker", http.MethodPost, "/service/v2/sql", `{"query":"`+sql+`"}`)
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("without a server that it may ask: %d %s %v", status, text, err)
	}
}

// A Broker knows the datasources that it is told to watch, in SQL, in native queries and in lists.
func TestABrokerKnowsTheDatasourcesThatItWatches(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"router", "broker"}}})
	days(t, c, "wiki", 0, 2)
	days(t, c, "logs", 0, 2)
	p := c.StartWith([]string{"service.broker.segment.watchedDataSources=[\"wiki\",\"none\"]"}, "broker")
	broker := server.Client{Addresses: p.Addresses}
	send := func(method, path, body string) (int, string) {
		t.Helper()
		status, text, err := broker.Send(t.Context(), "broker", method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return status, strings.TrimSpace(string(text))
	}
	c.Until("what it watches is served", func() bool { _, text := send(http.MethodGet, "/service/v2/datasources", ""); return text == `["wiki"]` })
	if status, text := send(http.MethodPost, "/service/v2/sql", `{"query":"SELECT SUM(n) FROM wiki","resultFormat":"array"}`); status != http.StatusOK || text != "[[90]]" {
		t.Errorf("what is watched: %d %s", status, text)
	}
	if status, text := send(http.MethodPost, "/service/v2/sql", `{"query":"SELECT SUM(n) FROM logs"}`); status != http.StatusBadRequest || !strings.Contains(text, "logs") {
		t.Errorf("what is not watched: %d %s", status, text)
	}
	native := `{"queryType":"timeseries","dataSource":"logs","granularity":"all","intervals":["2024-01-01/2025-01-01"],"aggregations":[{"type":"count","name":"n"}],"context":{"skipEmptyBuckets":true}}`
	if status, text := send(http.MethodPost, "/service/v2", native); status != http.StatusOK || text != "[]" {
		t.Errorf("natively: %d %s", status, text)
	}
	if got := ask(t, c, "SELECT SUM(n) FROM logs"); got != "90" {
		t.Errorf("another Broker has %s", got)
	}
}
