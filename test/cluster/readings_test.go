package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// events takes those that the processes of a cluster send.
type events struct {
	sync.Mutex
	list []map[string]any
}

func (e *events) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var list []map[string]any
	if json.NewDecoder(r.Body).Decode(&list) == nil {
		e.Lock()
		defer e.Unlock()
		e.list = append(e.list, list...)
	}
}

// of returns the metrics of a query, each with the service that measured it, once.
func (e *events) of(id string) []string {
	e.Lock()
	defer e.Unlock()
	var out []string
	for _, event := range e.list {
		if event["id"] == id {
			out = append(out, fmt.Sprint(event["service"], " ", event["metric"], " ", event["lane"]))
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// read returns how many segments each process has read for a query.
func (e *events) read(id string) (by map[string]int, all int) {
	e.Lock()
	defer e.Unlock()
	by = map[string]int{}
	for _, event := range e.list {
		if event["id"] == id && event["metric"] == "query/segmentAndCache/time" {
			by[fmt.Sprint(event["host"])]++
			all++
		}
	}
	return by, all
}

// TestClonesAreAskedWhenQueriesSaySo has one Historical be the clone of another, and goes by what
// both tell of their segments to see which were asked.
func TestClonesAreAskedWhenQueriesSaySo(t *testing.T) {
	sent := &events{}
	receiver := httptest.NewServer(sent)
	defer receiver.Close()
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"router", "broker"}},
		Settings: []string{
			"service.historical.cache.populateCache=true", "service.historical.cache.useCache=true", "service.coordinator.period=PT1S",
			"service.query.scheduler.laning.strategy=manual", "service.query.scheduler.laning.lanes.reports=5",
			"service.emitter=http", "service.emitter.http.recipientBaseUrl=" + receiver.URL, "service.monitoring.emissionPeriod=PT0.2S",
		},
	})
	source, target := strings.TrimPrefix(c.Nodes[1].Addresses["historical"], "http://"), strings.TrimPrefix(c.Nodes[2].Addresses["historical"], "http://")
	if err := c.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/config", map[string]any{"cloneServers": map[string]string{target: source}}, nil); err != nil {
		t.Fatal(err)
	}
	days(t, c, "wiki", 0, 4)
	c.Until("the clone holds what its source holds", func() bool {
		var held [2][]string
		for i, host := range []string{source, target} {
			if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/servers/"+host+"/segments", nil, &held[i]); err != nil {
				t.Fatal(err)
			}
			slices.Sort(held[i])
		}
		return len(held[0]) == 4 && slices.Equal(held[0], held[1])
	})
	// asked runs an aggregation that nobody has run before, and returns which of the two was asked.
	queries := 0
	asked := func(mode string) string {
		t.Helper()
		queries++
		id := fmt.Sprint("q", queries)
		body := map[string]any{
			"query":   fmt.Sprintf("SELECT SUM(n + %d) - 40 * %[1]d FROM wiki", queries),
			"context": map[string]any{"cloneQueryMode": mode, "lane": "reports", "priority": 7, "sqlQueryId": id}, "resultFormat": "array",
		}
		if mode == "" {
			delete(body["context"].(map[string]any), "cloneQueryMode")
		}
		var rows [][]any
		if err := c.Call(t.Context(), http.MethodPost, "/service/v2/sql", body, &rows); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(rows) != "[[180]]" {
			t.Errorf("%s: the sum is %v", mode, rows)
		}
		var by map[string]int
		c.Until("all segments are told of", func() (all bool) { var n int; by, n = sent.read(id); return n == 4 })
		return fmt.Sprintf("source %t, clone %t", by[source] > 0, by[target] > 0)
	}
	var both string
	c.Until("the Broker knows the clone", func() bool { both = asked("excludeClones"); return both == "source true, clone false" })
	if got := asked(""); got != "source true, clone false" {
		t.Errorf("without a word clones are %s", got)
	}
	if got := asked("preferClones"); got != "source false, clone true" {
		t.Errorf("preferClones: %s", got)
	}
	if got := asked("includeClones"); got != "source true, clone true" {
		t.Errorf("includeClones: %s", got)
	}
	err := c.Call(t.Context(), http.MethodPost, "/service/v2/sql", map[string]any{"query": "SELECT COUNT(*) FROM wiki", "context": map[string]any{"cloneQueryMode": "never"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "cloneQueryMode") {
		t.Errorf("an unknown mode: %v", err)
	}
	// What the processes tell of a query: the Broker of the servers that it asked, Historicals of its
	// segments and of its lane.
	id := fmt.Sprint("q", queries)
	want := []string{
		"service/broker query/bytes reports", "service/broker query/cpu/time <nil>", "service/broker query/node/bytes <nil>", "service/broker query/node/time <nil>", "service/broker query/node/ttfb <nil>",
		"service/broker query/priority reports", "service/broker query/segments/count <nil>", "service/broker query/time reports", "service/broker sqlQuery/bytes reports",
		"service/broker sqlQuery/planningTimeMs <nil>", "service/broker sqlQuery/time reports",
		"service/historical query/cpu/time <nil>", "service/historical query/priority reports", "service/historical query/segment/time <nil>", "service/historical query/segmentAndCache/time <nil>",
		"service/historical query/wait/time <nil>",
	}
	var got []string
	c.Until("all is told", func() bool { got = sent.of(id); return len(got) >= len(want) })
	if !slices.Equal(got, want) {
		t.Errorf("told of a query: %q", got)
	}
	sent.Lock()
	defer sent.Unlock()
	for _, event := range sent.list {
		if event["metric"] == "query/priority" && event["id"] == id && event["value"] != 7.0 {
			t.Errorf("priority: %v", event)
		}
		if event["metric"] == "query/segments/count" && event["id"] == id && event["value"] != 4.0 {
			t.Errorf("segments: %v", event)
		}
		if event["metric"] == "query/segment/time" && event["id"] == id && event["segment"] == nil {
			t.Errorf("no segment: %v", event)
		}
	}
}
