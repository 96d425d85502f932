package clients

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect opens a session in a version of the protocol; "": the newest one.
func connect(t *testing.T, version string) *mcp.ClientSession {
	t.Helper()
	at := os.Getenv("HENGE_URL")
	if at == "" {
		t.Skip("HENGE_URL names no server: test/outside starts one")
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at + "/mcp"},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type page struct {
	Rows      [][]any
	Truncated bool
	NextPage  string
}

func call(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) (*mcp.CallToolResult, page) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var p page
	if text, ok := r.Content[0].(*mcp.TextContent); ok && !r.IsError {
		_ = json.Unmarshal([]byte(text.Text), &p)
	}
	return r, p
}

// The official client goes through all there is, in each version of the protocol.
func TestTheOfficialClient(t *testing.T) {
	for _, version := range []string{"", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("version "+version, func(t *testing.T) {
			s := connect(t, version)
			if got := s.InitializeResult().ProtocolVersion; version != "" && got != version || version == "" && got != "2026-07-28" {
				t.Errorf("the version is %s", got)
			}
			if err := s.Ping(t.Context(), nil); err != nil && version != "" { // the newest version has no ping
				t.Error(err)
			}
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) < 10 {
				t.Fatalf("tools: %v, %v", list, err)
			}
			for _, name := range []string{"list_datasources", "recent_errors", "why"} {
				if r, _ := call(t, s, name, nil); r.IsError {
					t.Errorf("%s: %v", name, r.Content)
				}
			}
			for _, name := range []string{"describe_datasource", "freshness"} {
				if r, _ := call(t, s, name, map[string]any{"datasource": "wiki"}); r.IsError {
					t.Errorf("%s: %v", name, r.Content)
				}
			}
			if r, _ := call(t, s, "explain", map[string]any{"sql": "SELECT COUNT(*) FROM wiki"}); r.IsError {
				t.Errorf("explain: %v", r.Content)
			}
			r, p := call(t, s, "query", map[string]any{"sql": "SELECT page FROM wiki ORDER BY page", "maxRows": 2})
			rows := len(p.Rows)
			for p.Truncated && p.NextPage != "" {
				r, p = call(t, s, "next_page", map[string]any{"handle": p.NextPage, "maxRows": 2})
				rows += len(p.Rows)
			}
			if rows != 5 || r.IsError {
				t.Errorf("read [%d] rows; %v", rows, r.Content)
			}
			if r, _ := call(t, s, "query", map[string]any{"sql": "SELECT nosuch FROM wiki"}); !r.IsError {
				t.Errorf("a wrong query is answered with %v", r.Content)
			}
			if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nosuch"}); err == nil ||
				!strings.Contains(err.Error(), "nosuch") {
				t.Errorf("an unknown tool: %v", err)
			}
			resources, err := s.ListResources(t.Context(), nil)
			if err != nil || len(resources.Resources) < 10 {
				t.Fatalf("resources: %v", err)
			}
			for _, uri := range []string{"henge://llms.txt", "henge://openapi.json", "henge://docs/sql.md"} {
				if r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil || len(r.Contents[0].Text) < 1000 {
					t.Errorf("resource %s: %v", uri, err)
				}
			}
		})
	}
}

// A call that its client gives up ends its query.
func TestTheOfficialClientCancels(t *testing.T) {
	for _, version := range []string{"", "2025-11-25"} {
		s := connect(t, version)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		const slow = "SELECT COUNT(*) FROM wiki a, wiki b, wiki c, wiki d, wiki e, wiki f, wiki g, wiki h, wiki i, wiki j, wiki k, " +
			"wiki l, wiki m, wiki n"
		if r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "query", Arguments: map[string]any{"sql": slow}}); err == nil && !r.IsError {
			t.Errorf("version %q: the call was answered with %v", version, r.Content)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("version %q: it took %s", version, took)
		}
		deadline := time.Now().Add(20 * time.Second)
		for {
			_, p := call(t, connect(t, version), "query", map[string]any{
				"sql": "SELECT \"id\" FROM sys.queries WHERE \"state\" = 'RUNNING' AND info LIKE '%wiki m%' AND info NOT LIKE '%sys.queries%'",
			})
			if len(p.Rows) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("version %q: the query goes on", version)
			}
		}
	}
}
