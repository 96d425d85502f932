package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// While a process is announced at an address no other is: one that comes there is refused and says
// what to do, and the cluster goes on. When the announcement is gone it starts.
func TestTwoProcessesAtOneAddress(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"router", "broker"}},
		Settings:  []string{"service.discovery.leaseDuration=PT1H"}, // of what is killed nothing runs out
	})
	days(t, c, "wiki", 0, 4)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	killed := c.Nodes[1]
	c.Kill(killed)
	host := strings.TrimPrefix(killed.Addresses["historical"], "http://")
	_, err := c.StartInPlace(killed)
	if err == nil || !strings.Contains(err.Error(), "Another process is already the "+
		"[historical] at ["+host+"]") || !strings.Contains(err.Error(), "service.host or port") {
		t.Fatalf("a second process at %s: %v", host, err)
	}
	if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "180" {
		t.Errorf("the sum is %s", got)
	}
	c.Mute(killed)
	if _, err := c.StartInPlace(killed); err != nil {
		t.Fatal(err)
	}
	c.Until("the new one holds segments", func() bool {
		return ask(t, c, "SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+host+"'") == "4" && ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2"
	})
	if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "180" {
		t.Errorf("with the new one the sum is %s", got)
	}
}

// Two Coordinators of one name, as two machines that were copied from one have, take the lead from
// each other: each time the epoch grows, so that of two that believe to lead one writes. What was
// acknowledged is there, whoever did it, and every answer is whole.
func TestTwoCoordinatorsOfOneName(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Metastore: metastore.Options{URL: postgres.URL(t)},
		Processes: [][]string{{"coordinator", "overlord"}, {"historical"}, {"worker"}, {"router", "broker"}},
	})
	days(t, c, "wiki", 0, 3)
	twin := c.StartTwin(c.Nodes[0])
	acknowledged := map[string]string{}
	writes := 0
	write := func() {
		t.Helper()
		writes++
		name := fmt.Sprint("t", writes)
		rules := fmt.Sprintf(`[{"type":"loadForever","tieredReplicants":{"_default_tier":%d},"useDefaultTierForNull":true}]`, 1+writes%5)
		status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/rules/"+name, rules)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case status == http.StatusOK:
			acknowledged[name] = rules
		case status < 500:
			t.Fatalf("%d %s", status, text)
		}
	}
	leaders := map[string]bool{}
	c.Until("each of the two has led", func() bool {
		write()
		if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "135" {
			t.Errorf("the sum is %s", got)
		}
		status, text, err := c.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/leader", "")
		if err == nil && status == http.StatusOK && len(text) > 0 {
			leaders[string(text)] = true
		}
		return len(leaders) == 2 && len(acknowledged) >= 5
	})
	c.Kill(twin)
	c.Until("one leads for good, and knows all that was acknowledged", func() bool {
		var all map[string]any
		if c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/rules", nil, &all) != nil {
			return false
		}
		for name := range acknowledged {
			if all[name] == nil {
				return false
			}
		}
		return true
	})
	// The one that is left may believe for a moment longer in an epoch that the killed one ended.
	c.Until("a day can be written", func() bool {
		return c.Ingest(t.Context(), "REPLACE INTO wiki OVERWRITE WHERE __time >= TIMESTAMP '2024-01-04' "+
			"AND __time < TIMESTAMP '2024-01-05' SELECT TIMESTAMP '2024-01-04' AS __time, 45 AS n PARTITIONED BY DAY", nil) == nil
	})
	c.Until("what is written then is seen", func() bool { return ask(t, c, "SELECT SUM(n) FROM wiki") == "180" })
}
