package cluster

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A Router gives queries to the Brokers of the service that its strategies and the retention rules
// say. The default Broker of the test knows no datasource, so that answers tell whose they are.
func TestARouterChoosesBrokersByStrategiesAndRules(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"router", "broker"}}, Settings: []string{"service.api.aliases=[\"druid\"]"},
	})
	c.StartWith([]string{"service.server.tier=hot"}, "historical")
	plain := c.StartWith([]string{"service.broker.segment.watchedDataSources=none"}, "broker")
	fast := c.StartWith([]string{"service.service=druid/broker-hot"}, "broker")
	loads(t, c, "wiki", map[string]int{"hot": 1})
	loads(t, c, "logs", map[string]int{"_default_tier": 1})
	days(t, c, "wiki", 0, 2)
	days(t, c, "logs", 0, 2)
	c.Until("it can be read", func() bool {
		return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments WHERE datasource = 'wiki'") == "1"
	})
	if err := c.Stop(c.Nodes[1]); err != nil { // it is of the default service too, and knows all
		t.Fatal(err)
	}
	const tiers = `service.router.tierToBrokerMap={"hot":"druid/broker-hot","_default_tier":"service/broker"}`
	router := func(settings ...string) server.Client {
		t.Helper()
		return server.Client{Addresses: c.StartWith(append(settings, "service.router.pollPeriod=PT0.1S"), "router").Addresses}
	}
	rules, manual := router(tiers), router(tiers, `service.router.strategies=[{"type":"manual"}]`, "service.router.sql.enable=true")
	none := router()
	status := func(r server.Client, path, body string) string {
		t.Helper()
		status, text, err := r.Send(t.Context(), "router", http.MethodPost, path, body)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusOK && strings.TrimSpace(string(text)) != "[]" {
			return "hot"
		}
		return "default"
	}
	native := func(table, context string) string {
		return `{"queryType":"timeseries","dataSource":"` + table + `","granularity":"all","intervals":["2024-01-01/2025-01-01"],
			"aggregations":[{"type":"count","name":"n"}],"context":{"skipEmptyBuckets":true` + context + `}}`
	}
	const boundary, sql = `{"queryType":"timeBoundary","dataSource":"logs"}`, `{"query":"SELECT COUNT(*) FROM logs","context":{"brokerService":"druid/broker-hot"}}`
	c.Until("the Router knows the rules", func() bool { return status(rules, "/service/v2", native("wiki", "")) == "hot" })
	for name, tc := range map[string]struct {
		router           server.Client
		path, body, want string
	}{
		"by the rules of another datasource":   {rules, "/service/v2", native("logs", ""), "default"},
		"under the other name":                 {rules, "/druid/v2", native("wiki", ""), "hot"},
		"by its priority":                      {rules, "/service/v2", native("wiki", `,"priority":7`), "default"},
		"for the ends of the time":             {rules, "/service/v2", boundary, "hot"},
		"what is no query":                     {rules, "/service/v2", `{"queryType":"none"}`, "default"},
		"candidates":                           {rules, "/service/v2/candidates", native("wiki", ""), "hot"},
		"SQL":                                  {rules, "/service/v2/sql", sql, "default"},
		"SQL by the service that it names":     {manual, "/service/v2/sql", sql, "hot"},
		"SQL that names none":                  {manual, "/service/v2/sql", `{"query":"SELECT COUNT(*) FROM logs"}`, "default"},
		"what is no SQL":                       {manual, "/service/v2/sql", `SELECT`, "default"},
		"by name":                              {manual, "/service/v2", native("logs", `,"brokerService":"service/broker-hot"`), "hot"},
		"by a name that is unknown":            {manual, "/service/v2", native("logs", `,"brokerService":"druid/broker-cold"`), "default"},
		"by a Router with no tiers":            {none, "/service/v2", native("wiki", ""), "default"},
		"by a Router with no tiers, by itself": {none, "/service/v2", boundary, "default"},
	} {
		if got := status(tc.router, tc.path, tc.body); got != tc.want {
			t.Errorf("%s it goes to the Broker %s", name, got)
		}
	}
	_, text, err := rules.Send(t.Context(), "router", http.MethodGet, "/druid/router/v1/brokers", "")
	want := `{"druid/broker":["` + strings.TrimPrefix(plain.Addresses["broker"], "http://") + `"],"druid/broker-hot":["` + strings.TrimPrefix(fast.Addresses["broker"], "http://") + `"]}`
	if err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("the Brokers are %s instead of %s, %v", text, want, err)
	}
	if _, text, err = rules.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/cluster/broker", ""); err != nil || !strings.Contains(string(text), `"service/broker-hot"`) {
		t.Errorf("the Coordinator knows %s, %v", text, err)
	}
	c.Kill(fast)
	if got := status(rules, "/service/v2", native("wiki", "")); got != "default" {
		t.Errorf("with the Broker gone its queries go to %s", got)
	}
	c.Kill(plain)
	if code, text, err := rules.Send(t.Context(), "router", http.MethodPost, "/service/v2", native("wiki", "")); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("without a Broker: %d %s %v", code, text, err)
	}
}

// Settings that a process can't obey end its start.
func TestSettingsOfTiersThatCanNotBeAreRefused(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord"}}})
	for setting, want := range map[string]string{
		`service.router.strategies=[{"type":"javascript","function":"x"}]`: "Strategy [javascript]",
		"service.broker.select.tier=best":                                  "must be highestPriority",
		"service.broker.realtime.select.tier=best":                         "Setting [service.broker.realtime.select.tier] is [best]",
		"service.broker.select.tier.strict.priorities=[\"a\"]":             "is not a list of whole numbers",
		"service.broker.balancer.type=fair":                                "must be leastRows",
	} {
		if err := c.Refused([]string{setting}, "router", "broker"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
