package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A process falls silent in the middle of an answer at the Router, and nobody else can go on with
// it: the only Broker, or the only Historical that holds the segment. The answer breaks off though
// the timeout of the query is far, and the next query is told that nobody answers.
func TestAProcessFallsSilentInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"historical"}, {"broker"}, {"router"},
	}})
	loads(t, c, "wiki", map[string]int{"_default_tier": 1})
	days(t, c, "wiki", 0, 20)
	c.Until("the Historical holds all", func() bool { return ask(t, c, "SELECT COUNT(*) FROM sys.server_segments") == "20" })
	// Both are far more than what the connections on the way hold: of the first the Broker makes most,
	// of the second the Historical.
	for name, on := range map[string]struct {
		victim     *server.Process
		told, long string
	}{
		"the Broker": {c.Nodes[2], "which the request was passed on to, is silent",
			"SELECT REPEAT('x', 10000) AS s FROM wiki a CROSS JOIN wiki b"},
		"the Historical": {c.Nodes[1], "does not answer, neither its part of a query nor whether it lives",
			"SELECT REPEAT('x', 1000 + n) AS s FROM wiki CROSS JOIN (VALUES " + strings.Repeat("(1),", 999) + "(1)) AS v (o)"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		body := fmt.Sprintf(`{"query":"%s","context":{"timeout":600000}}`, on.long)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Addresses["router"]+"/service/v2/sql", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 10_000); err != nil {
			t.Fatalf("%s: %v, status [%d]", name, err, resp.StatusCode)
		}
		c.Pause(on.victim)
		rest, err := io.Copy(io.Discard, resp.Body)
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s falls silent: behind [%d] bytes the answer ends with %v", name, rest, err)
		}
		_ = resp.Body.Close() // it has broken off
		status, text, err := c.Send(ctx, "router", http.MethodPost, "/service/v2/sql",
			`{"query":"SELECT SUM(n + 1) FROM wiki","context":{"timeout":600000}}`)
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(text), on.told) {
			t.Errorf("%s is silent: status [%d], %s, %v", name, status, text, err)
		}
		cancel()
		c.Resume(on.victim)
		c.Until(name+" answers again", func() bool {
			got, err := one(t.Context(), c, "SELECT SUM(n) FROM wiki")
			return err == nil && got == fmt.Sprint(20*45)
		})
	}
}
