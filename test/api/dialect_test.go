package api

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// heard is an answer as a client of one name sees it.
type heard struct {
	header http.Header
	body   any
}

// under sends a request under one of the server's names, which stands for @ in path and body, and
// in the names of headers.
func under(t *testing.T, s *server.Server, name, method, path, body string) heard {
	t.Helper()
	named := func(text string) string { return strings.ReplaceAll(text, "@", name) }
	req, err := http.NewRequestWithContext(t.Context(), method, s.Addresses["router"]+named(path), strings.NewReader(named(body)))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-"+strings.ToUpper(name[:1])+name[1:]+"-Author", "author under "+name)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it was only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := heard{header: resp.Header}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out.body); err != nil {
			t.Fatalf("%s %s: %d %s", method, named(path), resp.StatusCode, text)
		}
	}
	return out
}

// at returns what lies in a JSON value behind names of members and places in lists; _ is every
// member or element, sorted where they are members.
func at(v any, path ...any) any {
	if len(path) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if path[0] != "_" {
			return at(v[fmt.Sprint(path[0])], path[1:]...)
		}
		out := []any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, at(v[name], path[1:]...))
		}
		return out
	case []any:
		if n, ok := path[0].(int); ok && n < len(v) {
			return at(v[n], path[1:]...)
		}
		if path[0] != "_" {
			return nil
		}
		out := []any{}
		for _, e := range v {
			out = append(out, at(e, path[1:]...))
		}
		return out
	}
	return nil
}

// shape describes what a value is: the members of an object, the number of elements of a list and
// the shape of the first.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object of " + strings.Join(slices.Sorted(maps.Keys(v)), ", ")
	case []any:
		if len(v) == 0 {
			return "empty list"
		}
		return fmt.Sprintf("list of %d: %s", len(v), shape(v[0]))
	}
	return fmt.Sprintf("%T", v)
}

// productHeaders are the headers of an answer that have a name of the product in theirs.
func productHeaders(h heard) string {
	var out []string
	for name := range h.header {
		if strings.HasPrefix(name, "X-") && name != "X-Content-Type-Options" { // which no product has to itself
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Where the interface document and Druid differ in a shape, the name under which a request comes
// decides: each pair is here.
func TestEachNameHasItsShape(t *testing.T) {
	held := newHold()
	s := server.Start(t, server.Options{Settings: []string{`service.api.aliases=["druid"]`}, FaultPoint: held.step})
	const days = "SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00', 1), (TIMESTAMP '2024-01-02 00:00:00', 2)) AS v(__time, n) PARTITIONED BY DAY"
	if err := s.Ingest(t.Context(), "REPLACE INTO t OVERWRITE ALL "+days, nil); err != nil {
		t.Fatal(err)
	}
	held.arm()
	running, err := s.Submit(t.Context(), "INSERT INTO held SELECT __time, n, COUNT(*) AS c FROM t GROUP BY 1, 2 PARTITIONED BY DAY", nil)
	if err != nil {
		t.Fatal(err)
	}
	held.wait()
	var statement struct {
		QueryID string `json:"queryId"`
	}
	resultPhases := func(h heard) string { // of stages whose results are there; others are on their way
		list, _ := at(h.body, "multiStageQuery", "payload", "stages", "_", "phase").([]any)
		return fmt.Sprint(slices.DeleteFunc(list, func(phase any) bool { return !strings.HasPrefix(fmt.Sprint(phase), "RESULTS") }))
	}
	for _, pair := range []struct {
		what, method, path, body string
		show                     func(heard) string
		service, alias           string
	}{
		{"which servers hold chunks", "GET", "/@/coordinator/v1/datasources/t/intervals/2024-01-01_2024-01-03/serverview", "",
			func(h heard) string { return shape(h.body) },
			"object of 2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z, 2024-01-02T00:00:00.000Z/2024-01-03T00:00:00.000Z", "list of 2: object of segment, servers"},
		{"the elements of it", "GET", "/@/coordinator/v1/datasources/t/intervals/2024-01-01_2024-01-03/serverview", "",
			func(h heard) string { return shape(at(h.body, "_")) },
			"list of 2: list of 1: object of segment, servers", "list of 2: object of segment, servers"},
		{"the phases of a running task", "GET", "/@/indexer/v1/task/" + running + "/reports", "",
			resultPhases, "[RESULTS_COMPLETE]", "[RESULTS_READY]"},
		{"the processes of a role", "GET", "/@/coordinator/v1/cluster/broker?full=true", "",
			func(h heard) string {
				return shape(h.body) + "; " + fmt.Sprint(at(h.body, "_", "serviceNode", "service"), at(h.body, "_", "druidNode", "service"))
			},
			"list of 1: object of nodeType, serviceNode, services, startTime; [service/broker] [<nil>]", "list of 1: object of druidNode, nodeType, services, startTime; [<nil>] [druid/broker]"},
		{"the processes in short", "GET", "/@/coordinator/v1/cluster", "",
			func(h heard) string { return fmt.Sprint(at(h.body, "broker", "_", "service")) }, "[service/broker]", "[druid/broker]"},
		{"the Brokers of a Router", "GET", "/@/router/v1/brokers", "",
			func(h heard) string { return shape(h.body) }, "object of service/broker", "object of druid/broker"},
		{"the headers of SQL", "POST", "/@/v2/sql", `{"query":"SELECT 1","header":true,"resultFormat":"array"}`, productHeaders,
			"X-Service-Query-Id X-Service-Response-Complete X-Service-Response-Context X-Service-Sql-Header-Included X-Service-Sql-Query-Id",
			"X-Druid-Query-Id X-Druid-Response-Complete X-Druid-Response-Context X-Druid-Sql-Header-Included X-Druid-Sql-Query-Id"},
		{"the headers of native queries", "POST", "/@/v2", `{"queryType":"timeBoundary","dataSource":"t"}`, productHeaders,
			"X-Service-Query-Id X-Service-Response-Context", "X-Druid-Query-Id X-Druid-Response-Context"},
		{"the names of catalog and schema", "POST", "/@/v2/sql", `{"query":"SELECT TABLE_CATALOG, TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 't'","resultFormat":"array"}`,
			func(h heard) string { return fmt.Sprint(h.body) }, "[[service service]]", "[[druid druid]]"},
		{"who has changed rules", "POST", "/@/coordinator/v1/rules/@", `[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`,
			func(heard) string {
				h := under(t, s, "service", "GET", "/@/coordinator/v1/rules/history?count=1", "")
				return fmt.Sprint(at(h.body, 0, "auditInfo", "author"))
			}, "author under service", "author under druid"},
		{"where rules were changed", "POST", "/@/coordinator/v1/rules/@", `[{"type":"loadForever","tieredReplicants":{"_default_tier":3}}]`,
			func(heard) string {
				h := under(t, s, "service", "GET", "/@/coordinator/v1/rules/history?count=1", "")
				return fmt.Sprint(at(h.body, 0, "request", "service"), " ", at(h.body, 0, "request", "uri"))
			}, "service/coordinator /service/coordinator/v1/rules/service", "druid/coordinator /druid/coordinator/v1/rules/druid"},
		{"properties", "GET", "/status/properties", "",
			func(h heard) string { return fmt.Sprint(at(h.body, "service.api.aliases")) }, `["druid"]`, `["druid"]`}, // the path has no name in it
		{"properties by the other name", "GET", "/status/properties", "",
			func(h heard) string { return fmt.Sprint(at(h.body, "druid.api.aliases")) }, `["druid"]`, `["druid"]`},
		{"the version", "GET", "/status", "",
			func(h heard) string { return fmt.Sprint(at(h.body, "version")) }, "33.0.0", "33.0.0"}, // likewise
		{"errors", "POST", "/@/v2/sql", `{"query":"SELECT nosuch FROM t"}`,
			func(h heard) string { return fmt.Sprint(at(h.body, "error"), at(h.body, "errorClass")) },
			"Plan validation failedorg.apache.calcite.tools.ValidationException", "druidException<nil>"},
	} {
		for name, want := range map[string]string{"service": pair.service, "druid": pair.alias} {
			if got := pair.show(under(t, s, name, pair.method, pair.path, pair.body)); got != want {
				t.Errorf("%s under [%s]: %s\nwant %s", pair.what, name, got, want)
			}
		}
	}
	held.release()
	if _, err := s.Await(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	h := under(t, s, "druid", "POST", "/@/v2/sql/statements", `{"query":"SELECT n, COUNT(*) FROM t GROUP BY 1","context":{"executionMode":"ASYNC"}}`)
	statement.QueryID = fmt.Sprint(at(h.body, "queryId"))
	if _, err := s.Await(t.Context(), statement.QueryID); err != nil {
		t.Fatal(err)
	}
	// Under the product's own name these are lines, which the tests of statements show.
	results := under(t, s, "druid", "GET", "/@/v2/sql/statements/"+statement.QueryID+"/results", "")
	if got := shape(results.body); got != "list of 2: object of EXPR$1, n" {
		t.Errorf("results under an alias are %s", got)
	}
	for _, name := range []string{"service", "druid"} { // what has ended is of no phase that differs
		for path, in := range map[string][]any{
			"/@/indexer/v1/task/" + running + "/reports":                 {"multiStageQuery", "payload", "stages", "_", "phase"},
			"/@/v2/sql/statements/" + statement.QueryID + "?detail=true": {"stages", "_", "phase"},
		} {
			got := at(under(t, s, name, "GET", path, "").body, in...)
			list, _ := got.([]any)
			if len(list) == 0 || slices.ContainsFunc(list, func(phase any) bool { return phase != "FINISHED" }) {
				t.Errorf("%s under [%s]: %v", path, name, got)
			}
		}
	}
}

// Where both spellings can stand side by side they do, under either name.
func TestBothSpellingsAreThere(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{`service.api.aliases=["druid"]`, "service.server.http.errorFormat=union"}})
	const load = "REPLACE INTO t OVERWRITE ALL SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00', 1)) AS v(__time, n) PARTITIONED BY DAY"
	id, err := s.Submit(t.Context(), load, map[string]any{"waitUntilSegmentsLoad": true})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Await(t.Context(), id); err != nil || done.StatusCode != "SUCCESS" {
		t.Fatal(done, err)
	}
	none := `{"interval":"2030-01-01/2031-01-01"}`
	for _, name := range []string{"service", "druid"} {
		for _, both := range []struct {
			what, method, path, body string
			one, other               []any
		}{
			{"the load status of a report", "GET", "/@/indexer/v1/task/" + id + "/reports", "",
				[]any{"multiStageQuery", "payload", "status", "segmentLoadStatus"}, []any{"multiStageQuery", "payload", "status", "segmentLoadWaiterStatus"}},
			{"the state of workers", "GET", "/@/indexer/v1/task/" + id + "/reports", "",
				[]any{"multiStageQuery", "payload", "status", "workers", "0", 0, "state"}, []any{"multiStageQuery", "payload", "status", "workers", "0", 0, "status"}},
			{"an error's message", "POST", "/@/v2/sql", `{"query":"SELECT nosuch FROM t"}`, []any{"errorMessage"}, []any{"errorMessage"}},
			{"the dataSource of a lookup by either schema", "POST", "/@/v2/sql", `{"query":"SELECT (SELECT COUNT(*) FROM service.t) AS a, (SELECT COUNT(*) FROM druid.t) AS b"}`,
				[]any{0, "a"}, []any{0, "b"}},
		} {
			h := under(t, s, name, both.method, both.path, both.body)
			one, other := at(h.body, both.one...), at(h.body, both.other...)
			if one == nil || fmt.Sprint(one) != fmt.Sprint(other) {
				t.Errorf("%s under [%s]: %v and %v in %v", both.what, name, one, other, h.body)
			}
		}
		refused := under(t, s, name, "POST", "/@/v2/sql", `{"query":"SELECT nosuch FROM t"}`)
		for _, member := range []string{"error", "errorCode", "persona", "category", "errorMessage", "context", "errorClass"} {
			if at(refused.body, member) == nil {
				t.Errorf("an error under [%s] has no [%s]: %v", name, member, refused.body)
			}
		}
		for _, owner := range []string{"coordinator", "indexer"} { // each management path in both places, with both members
			for _, verb := range []string{"markUsed", "markUnused"} {
				path := "/@/" + owner + "/v1/datasources/t/" + verb
				if got := fmt.Sprint(under(t, s, name, "POST", path, none).body); got != "map[numChangedSegments:0 segmentStateChanged:false]" {
					t.Errorf("%s under [%s]: %s", path, name, got)
				}
			}
		}
	}
}

// hold lets a job wait at a step, when its segments are built.
type hold struct {
	armed, reached, free chan struct{}
}

func newHold() *hold {
	return &hold{armed: make(chan struct{}, 1), reached: make(chan struct{}, 1), free: make(chan struct{})}
}

func (h *hold) arm()     { h.armed <- struct{}{} }
func (h *hold) wait()    { <-h.reached }
func (h *hold) release() { close(h.free) }

func (h *hold) step(name string) error {
	if name != "segments" {
		return nil
	}
	select {
	case <-h.armed:
		h.reached <- struct{}{}
		<-h.free
	default:
	}
	return nil
}
