package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A Historical whose deep storage does not answer is given segments, which another one gets when
// the time for loading is over. Until then everybody is told who is to load them.
func TestSegmentsThatAreNotLoadedInTimeAreLoadedElsewhere(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{
		Links: true, Metastore: metastore.Options{URL: postgres.URL(t)},
		Settings:  []string{"service.coordinator.load.timeout=PT20S", "service.coordinator.period=PT0.5S"},
		Processes: [][]string{{"coordinator"}, {"overlord", "worker"}, {"historical"}, {"router", "broker"}},
	})
	loads(t, c, "wiki", map[string]int{"_default_tier": 1})
	days(t, c, "wiki", 0, 4)
	hot := []string{"service.server.tier=hot"}
	address := func(s *server.Process) string { return strings.TrimPrefix(s.Addresses["historical"], "http://") }
	ill, well := c.StartWith(hot, "historical"), c.StartWith(hot, "historical")
	c.Until("the Broker knows all Historicals, and the Coordinator, which would else give all to one", func() bool {
		var known []string
		err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/servers", nil, &known)
		return err == nil && slices.Contains(known, address(ill)) && slices.Contains(known, address(well)) &&
			ask(t, c, "SELECT COUNT(*) FROM sys.servers WHERE tier = 'hot'") == "2"
	})
	c.Slow(ill, time.Hour)
	loads(t, c, "wiki", map[string]int{"hot": 1})
	type queue struct{ SegmentsToLoad []string }
	queued := func() []string {
		t.Helper()
		var queues map[string]queue
		if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/loadqueue", nil, &queues); err != nil {
			t.Fatal(err)
		}
		return queues[address(ill)].SegmentsToLoad
	}
	var late []string
	c.Until("only what the ill one is to load lacks", func() bool {
		late = queued()
		rows, err := c.Query(t.Context(), "SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+address(well)+"'")
		return err == nil && len(late) > 0 && fmt.Sprint(rows) == fmt.Sprintf("[[%d]]", 4-len(late))
	})
	c.Until("who is to load it is told", func() bool {
		_, text, err := c.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/why?segment="+late[0], "")
		return err == nil && strings.Contains(string(text), "wants it on tier [hot]; server ["+address(ill)+"] is to load it")
	})
	if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "180" {
		t.Errorf("meanwhile the sum is %s", got)
	}
	c.Until("the other one has all", func() bool {
		return ask(t, c, "SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+address(well)+"'") == "4"
	})
	if again := queued(); slices.ContainsFunc(late, func(id string) bool { return slices.Contains(again, id) }) {
		t.Errorf("the ill one is to load %v again", again)
	}
}
