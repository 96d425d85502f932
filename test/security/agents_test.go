package security

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// handleIn finds the handle in an answer.
var handleIn = regexp.MustCompile(`nextPage":"([^"]+)"`)

// tool is the message that calls a tool of agents.
func tool(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// Agents see and do what the user may whose credentials they send, by the rules of every other
// client.
func TestAgentsAreHeldByTheRulesOfTheirUsers(t *testing.T) {
	s := server.Start(t, server.Options{People: server.People{
		"admin":  {"* * *"},
		"reader": {"READ DATASOURCE orders"},
		"writer": {"WRITE DATASOURCE orders", "READ DATASOURCE orders", "READ SYSTEM_TABLE *"},
		"nobody": {},
		"north":  {`READ DATASOURCE orders {"rows":"x = 'nothing'"}`},
	}})
	for _, name := range []string{"orders", "hidden"} {
		load(t, &s.Client, name)
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	kill := tool("submit_task", `{"spec":{"type":"kill","dataSource":"orders","interval":"2020/2021"}}`)
	run(t, &s.Client, []exchange{
		{"", "POST", "/mcp", list, 401, "", ""},
		{"nobody", "POST", "/mcp", list, 200, `"query"`, "ingest_rows"},
		{"reader", "POST", "/mcp", list, 200, `"query"`, "submit_task"},
		{"writer", "POST", "/mcp", list, 200, `"submit_task"`, ""},
		{"admin", "POST", "/mcp", list, 200, `"ingest_rows"`, ""},
		{"reader", "POST", "/mcp", tool("query", `{"sql":"SELECT x FROM orders"}`), 200, "secret of orders", ""},
		{"reader", "POST", "/mcp", tool("query", `{"sql":"SELECT x FROM hidden"}`), 200, `"isError":true`, "secret"},
		{"reader", "POST", "/mcp", tool("explain", `{"sql":"SELECT x FROM hidden"}`), 200, `"isError":true`, "queryType"},
		{"reader", "POST", "/mcp", tool("list_datasources", `{}`), 200, `orders`, "hidden"},
		{"reader", "POST", "/mcp", tool("describe_datasource", `{"datasource":"orders"}`), 200, "secret of orders", ""},
		{"reader", "POST", "/mcp", tool("describe_datasource", `{"datasource":"hidden"}`), 200, "There is no datasource [hidden]", "secret"},
		{"reader", "POST", "/mcp", tool("freshness", `{"datasource":"hidden"}`), 200, "There is no datasource [hidden]", ""},
		{"reader", "POST", "/mcp", tool("why", `{"datasource":"hidden"}`), 200, `"isError":true`, "outcome"},
		{"reader", "POST", "/mcp", tool("why", `{}`), 200, `"isError":true`, "outcome"},
		{"reader", "POST", "/mcp", tool("ingest_rows", `{"datasource":"orders","rows":[{"t":"2026-01-01"}]}`), 200, "Unauthorized", ""},
		{"reader", "POST", "/mcp", kill, 200, "Unauthorized", ""},
		{"reader", "POST", "/mcp", tool("submit_task", `{"sql":"DELETE FROM hidden WHERE x = 'y'"}`), 200, `"isError":true`, ""},
		{"writer", "POST", "/mcp", kill, 200, `task\":\"kill_orders`, ""},
		{"north", "POST", "/mcp", tool("query", `{"sql":"SELECT COUNT(*) AS n FROM orders"}`), 200, `\"rows\":[[0]]`, ""},
		{"north", "POST", "/mcp", tool("describe_datasource", `{"datasource":"orders"}`), 200, "has no rows", "secret"},
		{"nobody", "POST", "/mcp", tool("query", `{"sql":"SELECT x FROM orders"}`), 200, `"isError":true`, "secret"},
	})
}

// The handle of a result is good for its user only.
func TestResultsOfAgentsAreTheirOwn(t *testing.T) {
	s := server.Start(t, server.Options{People: server.People{"ann": {"* * *"}, "bob": {"* * *"}}})
	_, answer, err := s.As("ann").Send(t.Context(), "router", "POST", "/mcp",
		tool("query", `{"sql":"SELECT x FROM (VALUES ('a'), ('b'), ('secret')) AS v(x)","maxRows":1}`))
	if err != nil {
		t.Fatal(err)
	}
	m := handleIn.FindSubmatch(answer)
	if m == nil {
		t.Fatalf("there is no handle in %s", answer)
	}
	next := tool("next_page", `{"handle":"`+string(m[1])+`"}`)
	run(t, &s.Client, []exchange{
		{"bob", "POST", "/mcp", next, 200, "has no result", "secret"},
		{"ann", "POST", "/mcp", next, 200, "secret", ""},
	})
}

// What agents ask and change stands in the audit, with the tools that changed something.
func TestTheAuditTellsOfAgents(t *testing.T) {
	s := server.Start(t, server.Options{
		People: server.People{"admin": {"* * *"}, "agent": {"* * *"}}, Settings: []string{"service.audit.enabled=true"},
	})
	run(t, &s.Client, []exchange{
		{"agent", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, "", ""},
		{"agent", "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "", ""},
		{"agent", "POST", "/mcp", tool("query", `{"sql":"SELECT 77 AS n"}`), 200, "77", ""},
		{"agent", "POST", "/mcp", tool("submit_task", `{"spec":{"type":"noop","runTime":1,"context":{"password":"sesame"}}}`), 200, "noop_", ""},
	})
	for where, want := range map[string]string{
		`"identity" = 'agent' AND statement = 'SELECT 77 AS n'`: "query agent sql SELECT 77 AS n success 1",
		`"identity" = 'agent' AND kind = 'change'`:              "change agent agent submit_task",
		`"identity" = 'agent' AND kind = 'read'`:                "read agent http <nil> success",
	} {
		got := audited(t, s.As("admin"), 1, where)
		if !strings.Contains(got[0], want) || strings.Contains(got[0], "sesame") || len(got) > 1 {
			t.Errorf("%s: got %s\nwant %s", where, got, want)
		}
	}
}

// The queries of agents have a lane, of which a Broker runs so many at once; a page of another
// origin sends none.
func TestAgentsHaveALane(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.mcp.maxConcurrentQueries=1"}})
	ctx, cancel := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	slow.Go(func() {
		const text = `SELECT COUNT(*) FROM sys.server_properties a, sys.server_properties b, sys.server_properties c, sys.server_properties d, ` +
			`sys.server_properties e, sys.server_properties f`
		_, _, _ = s.Send(ctx, "router", "POST", "/mcp", tool("query", `{"sql":"`+text+`"}`)) // it is cancelled
	})
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for running := 0; running == 0; <-ticker.C {
		rows, err := s.Query(t.Context(), `SELECT "id" FROM sys.queries WHERE "state" = 'RUNNING' AND "info" LIKE '%server_properties f%' `+
			`AND "info" NOT LIKE '%EXPLAIN%' AND "info" NOT LIKE '%sys.queries%'`)
		if err != nil {
			t.Fatal(err)
		}
		running = len(rows)
	}
	run(t, &s.Client, []exchange{{"", "POST", "/mcp", tool("query", `{"sql":"SELECT 1 AS n"}`), 200, "for lane 'agents'", ""}})
	if rows, err := s.Query(t.Context(), "SELECT 1 AS n"); err != nil || len(rows) != 1 {
		t.Errorf("a query of somebody else: %v, %v", rows, err)
	}
	cancel()
	slow.Wait()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+"/mcp", strings.NewReader(tool("why", `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "https://elsewhere.example")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin: got %d, %v", resp.StatusCode, err)
	}
}
