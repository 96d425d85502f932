package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// stall sends a request on a connection of its own, of which only the status is read.
func stall(t *testing.T, address, method, path, body string) net.Conn {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body); err != nil {
		t.Fatal(err)
	}
	begun := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, begun); err != nil || string(begun) != "HTTP/1.1 200" {
		t.Fatalf("%s %s: %s %v", method, path, begun, err)
	}
	return conn
}

// wide loads rows whose answer is larger than all buffers between a server and a client.
func wide(t *testing.T, s *server.Server) {
	t.Helper()
	var rows strings.Builder
	for n := range 1500 {
		fmt.Fprintf(&rows, "{\"t\":\"2024-01-01\",\"n\":%d,\"k\":\"%d%s\"}\n", n, n, strings.Repeat("x", 10_000))
	}
	if err := s.Ingest(t.Context(), inline("REPLACE INTO wide OVERWRITE ALL", rows.String()), nil); err != nil {
		t.Fatal(err)
	}
}

// Clients that do not read an answer hold a query, its memory and its slot until its timeout or
// until it is cancelled, whatever they asked for.
func TestClientsThatDoNotReadHoldNoQuery(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Settings: []string{"service.query.scheduler.numThreads=6"}})
	wide(t, s)
	running := func() (n int) {
		var list struct{ Queries []any }
		if err := s.Call(t.Context(), http.MethodGet, "/service/v2/sql/queries", nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Queries)
	}
	const native = `{"queryType":"scan","dataSource":"wide","intervals":"2024/2025","columns":["n","k"],"context":{"queryId":"%s","timeout":%d}}`
	requests := map[string][2]string{"native": {"/service/v2", native}}
	for _, format := range []string{"object", "array", "objectLines", "arrayLines", "csv"} {
		requests[format] = [2]string{"/service/v2/sql", `{"query":"SELECT n, k FROM wide","resultFormat":"` + format + `","context":{"sqlQueryId":"%s","timeout":%d}}`}
	}
	t.Run("until their timeouts", func(t *testing.T) {
		var conns []net.Conn
		for name, r := range requests {
			conns = append(conns, stall(t, s.Addresses["router"], http.MethodPost, r[0], fmt.Sprintf(r[1], name, 5000)))
		}
		if n := running(); n != len(requests) {
			t.Errorf("[%d] queries run instead of [%d]", n, len(requests))
		}
		if _, err := s.Query(t.Context(), "SELECT 1 AS n"); err == nil || !strings.Contains(err.Error(), "total query capacity of 6 exceeded") {
			t.Errorf("a seventh query: %v", err)
		}
		for _, conn := range conns {
			expectReset(t, conn)
		}
		if rows, err := s.Query(t.Context(), "SELECT 1 AS n"); err != nil || len(rows) != 1 {
			t.Errorf("behind them a query has %v, %v", rows, err)
		}
	})
	t.Run("until they are cancelled", func(t *testing.T) {
		for name, r := range requests {
			conn := stall(t, s.Addresses["router"], http.MethodPost, r[0], fmt.Sprintf(r[1], "c-"+name, 100_000))
			path := "/service/v2/sql/c-" + name
			if name == "native" {
				path = "/service/v2/c-" + name
			}
			if status, answer, err := s.Send(t.Context(), "router", http.MethodDelete, path, ""); err != nil || status != http.StatusAccepted {
				t.Fatalf("%s: %d %s %v", name, status, answer, err)
			}
			expectReset(t, conn)
			server.Until(t, "the query has ended", func() bool { return running() == 0 })
		}
	})
}

// expectReset waits until the server gives a connection up, and finds its answer cut.
func expectReset(t *testing.T, conn net.Conn) {
	t.Helper()

	server.Until(t, "the connection is given up", func() bool {
		// What is written to a connection that was reset fails; more of a request than is read is no
		// harm.
		_, err := conn.Write([]byte(" "))
		return err != nil
	})
	got, err := io.ReadAll(conn)
	if len(got) > 10<<20 {
		t.Errorf("all of the answer came: %d bytes, %v", len(got), err)
	}
}

// Answers that are not of a query are broken off when their client has not read for the idle time.
func TestClientsThatDoNotReadAreLeft(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Settings: []string{"service.server.http.maxIdleTime=PT1S"}})
	wide(t, s)
	var statement struct {
		ID    string `json:"queryId"`
		State string `json:"state"`
	}
	body := map[string]any{"query": "SELECT n, k FROM wide", "context": map[string]any{"executionMode": "ASYNC"}}
	if err := s.Call(t.Context(), http.MethodPost, "/service/v2/sql/statements", body, &statement); err != nil {
		t.Fatal(err)
	}
	path := "/service/v2/sql/statements/" + statement.ID
	server.Until(t, "the statement has its rows", func() bool {
		if err := s.Call(t.Context(), http.MethodGet, path, nil, &statement); err != nil {
			t.Fatal(err)
		}
		return statement.State == "SUCCESS"
	})
	expectReset(t, stall(t, s.Addresses["router"], http.MethodGet, path+"/results", ""))
	query, _ := json.Marshal(map[string]any{"query": "SELECT n, k FROM wide", "context": map[string]any{"timeout": 0}})
	expectReset(t, stall(t, s.Addresses["router"], http.MethodPost, "/service/v2/sql", string(query)))
}
