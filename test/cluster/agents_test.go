package cluster

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A Router that has neither Broker nor Coordinator answers agents by asking those.
func TestARouterAnswersAgents(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"broker", "historical"}, {"router"},
	}})
	for _, tc := range []struct{ tool, arguments, want string }{
		{"query", `{"sql":"SELECT 7 AS n, 'x' AS s"}`, `\"rows\":[[7,\"x\"]]`},
		{"query", `{"sql":"SELECT nosuch FROM nosuch"}`, `"isError":true`},
		{"explain", `{"sql":"SELECT COUNT(*) FROM sys.servers"}`, `\"segmentBytes\":0`},
		{"list_datasources", `{}`, `\"rows\":[]`},
		{"why", `{"task":"nosuch"}`, "There is no task [nosuch]"},
		{"recent_errors", `{}`, `\"supervisors\":`},
		{"submit_task", `{"spec":{"type":"noop","runTime":1}}`, `\"task\":\"noop_`},
	} {
		status, answer, err := c.Send(t.Context(), "router", "POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tc.tool+`","arguments":`+tc.arguments+`}}`)
		if err != nil || status != 200 || !strings.Contains(string(answer), tc.want) {
			t.Errorf("%s %s: got %d %s, %v; want %s", tc.tool, tc.arguments, status, answer, err, tc.want)
		}
	}
}
