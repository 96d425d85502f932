package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// unanswered is how long clients may be without a good answer while processes are silent.
const unanswered = 5 * time.Second

// TestSilentProcesses pauses one or two processes at a time, as a signal or a machine that hangs
// does: they take connections and requests and say nothing. Clients of the Router have good answers
// again in less than five seconds, queries are exact all the time, and nothing waits for what is
// silent.
func TestSilentProcesses(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 1))
	c := server.StartCluster(t, server.ClusterOptions{Links: true, Metastore: metastore.Options{URL: postgres.URL(t)}, Processes: [][]string{
		{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"historical"}, {"worker"}, {"broker"}, {"broker"}, {"router"},
	}})
	days(t, c, "wiki", 0, 5)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	// good returns how long it took until something was answered well.
	good := func(what string, ok func(ctx context.Context) error) time.Duration {
		t.Helper()
		began := time.Now()
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 2*unanswered)
			err := ok(ctx)
			cancel()
			took := time.Since(began)
			if err == nil {
				return took
			}
			if took > unanswered {
				t.Fatalf("%s: no good answer for %s: %v", what, took, err)
			}
		}
	}
	sum := func(ctx context.Context) error {
		got, err := one(ctx, c, "SELECT SUM(n) FROM wiki")
		if err == nil && got != "225" {
			t.Errorf("the sum is [%s] instead of [225]", got)
		}
		return err
	}
	leader := func(ctx context.Context) error {
		status, _, err := c.Send(ctx, "router", http.MethodGet, "/service/coordinator/v1/rules", "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	}
	kinds := []string{"leader", "broker", "historical"}
	for _, n := range []int{1, 1, 1, 2, 2} {
		var what string
		var victims []*server.Process
		rnd.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, kind := range kinds[:n] {
			p := leading(t, c)
			switch kind {
			case "broker":
				p = c.Nodes[6+rnd.IntN(2)]
			case "historical":
				p = c.Nodes[2+rnd.IntN(3)]
			}
			what += " " + kind
			victims = append(victims, p)
			c.Pause(p)
			c.CutStore(p)
		}
		for range 4 { // whichever Broker's turn it is
			if took := good("queries without"+what, sum); took > unanswered {
				t.Errorf("without%s: a query took %s", what, took)
			} else {
				t.Logf("without%s: a query took %s", what, took)
			}
		}
		took := good("the leader without"+what, leader)
		t.Logf("without%s: the leader took %s", what, took)
		if took > unanswered {
			t.Errorf("without%s: the leader took %s", what, took)
		}
		for _, p := range victims {
			c.Resume(p)
		}
		c.Heal()
		c.Until("two copies of each segment behind"+what, func() bool {
			got, err := one(t.Context(), c, "SELECT MIN(num_replicas) FROM sys.segments")
			return err == nil && got == "2" && leading(t, c) != nil
		})
	}
}
