package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A Broker that is told to keeps what Historicals make of single segments, within its own memory,
// and after a REPLACE of some answers with what is new.
func TestABrokerKeepsWhatHistoricalsMakeOfSegments(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"router", "broker"}},
		Settings:  []string{"service.broker.cache.useCache=true", "service.broker.cache.populateCache=true"},
	})
	days(t, c, "wiki", 0, 6)
	counts := func() (out [2]string) {
		t.Helper()
		for i, role := range []string{"broker", "historical"} {
			process := c.Nodes[3-2*i]
			client := server.Client{Addresses: process.Addresses}
			_, text, err := client.Send(t.Context(), role, "GET", "/metrics", "")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"hits", "put_ok"} {
				for line := range strings.SplitSeq(string(text), "\n") {
					if rest, ok := strings.CutPrefix(line, "service_query_cache_total_"+name+"{"); ok {
						_, n, _ := strings.Cut(rest, "} ")
						out[i] += n + " " + name + " "
					}
				}
			}
		}
		return out
	}
	const sum = "SELECT SUM(n) FROM wiki"
	for i, want := range []string{"0 hits 6 put_ok ", "6 hits 6 put_ok "} {
		if got := ask(t, c, sum); got != "270" {
			t.Errorf("time %d: the sum is %s", i, got)
		}
		c.Until("the Broker counts "+want, func() bool { return counts()[0] == want })
		if got := counts(); got[1] != "0 hits 0 put_ok " {
			t.Errorf("time %d: a Historical counts %q", i, got)
		}
	}
	if err := c.Ingest(t.Context(), "REPLACE INTO wiki OVERWRITE WHERE __time >= TIMESTAMP '2024-01-02' AND __time < TIMESTAMP '2024-01-03' "+
		"SELECT TIMESTAMP '2024-01-02' AS __time, 1000 AS n PARTITIONED BY DAY", map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	c.Until("the Broker sees the new segment", func() bool { return ask(t, c, "SELECT COUNT(*) FROM wiki WHERE n = 1000") == "1" })
	if got := ask(t, c, sum); got != fmt.Sprint(270-45+1000) {
		t.Errorf("after the REPLACE the sum is %s", got)
	}
}
