package cluster

import (
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// Replicas that read the same rows have priorities, and each Broker asks those that its settings
// prefer. Here one has read more than the other, so that the answer says who was asked.
func TestEachBrokerAsksTheReplicasThatItIsTold(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord"}, {"worker"}, {"worker"}}})
	high, low := 3, -1
	fillWith(t, c.Nodes[1], "live", 0, 100, &high)
	fillWith(t, c.Nodes[2], "live", 0, 50, &low)
	const of, tasks = "service.broker.select.tier", "service.broker.realtime.select.tier"
	for name, tc := range map[string]struct {
		settings []string
		want     string
	}{
		"as it is":                 {nil, "[[100]]"},
		"the lowest":               {[]string{tasks + "=lowestPriority"}, "[[50]]"},
		"as Historicals":           {[]string{of + "=strict", of + ".strict.priorities=[-1]"}, "[[50]]"},
		"not as Historicals":       {[]string{of + "=lowestPriority", tasks + "=custom", tasks + ".custom.priorities=[3]"}, "[[100]]"},
		"a tier of Historicals":    {[]string{of + "=preferred", of + ".preferred.tier=hot", of + ".preferred.priority=lowest"}, "[[50]]"},
		"a priority that none has": {[]string{tasks + "=strict", tasks + ".strict.priorities=[7]"}, "[[0]]"},
	} {
		p := c.StartWith(tc.settings, "router", "broker")
		broker := server.Client{Addresses: p.Addresses}
		var got string
		c.Until(name+": both replicas are known", func() bool {
			rows, err := broker.Query(t.Context(), "SELECT COUNT(*) FROM sys.server_segments")
			if err != nil || fmt.Sprint(rows) != "[[2]]" {
				return false
			}
			rows, err = broker.Query(t.Context(), "SELECT COUNT(*) FROM live")
			got = fmt.Sprint(rows)
			return err == nil
		})
		if got != tc.want {
			t.Errorf("%s: the answer is %s, want %s", name, got, tc.want)
		}
		if err := c.Stop(p); err != nil {
			t.Error(err)
		}
	}
}
