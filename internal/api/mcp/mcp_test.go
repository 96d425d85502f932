package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// broker answers SQL as a Broker does: rows as many as a statement "ROWS n" asks for, a plan of a
// table of so many bytes.
type broker struct {
	segmentBytes int64
	row          string
	asked        chan string
}

func (b *broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var q struct {
		Query string `json:"query"`
	}
	_ = json.Unmarshal(text, &q)
	select {
	case b.asked <- q.Query:
	default:
	}
	header := func(names string) { fmt.Fprintf(w, "[%s]\n[\"VARCHAR\"]\n", names) }
	switch n := 0; {
	case strings.HasPrefix(q.Query, "EXPLAIN"):
		header(`"PLAN","RESOURCES","ATTRIBUTES"`)
		row, _ := json.Marshal([]string{
			`[{"query":{"queryType":"scan","dataSource":{"type":"table","name":"t"},"intervals":{"intervals":["-146136543-01-01/2026-01-02"]}}}]`,
			`[{"name":"t","type":"DATASOURCE"},{"name":"o'ther","type":"DATASOURCE"}]`, `{}`,
		})
		fmt.Fprintf(w, "%s\n", row)
	case strings.Contains(q.Query, "FROM sys.segments"):
		header(`"size"`)
		fmt.Fprintf(w, "[%d]\n", b.segmentBytes)
	case strings.HasPrefix(q.Query, "WAIT"):
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(q.Query, "BREAK"):
		header(`"n"`)
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(q.Query, "REFUSE"):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"errorMessage":"Refused (line [1], column [2])"}`)
	default:
		_, _ = fmt.Sscanf(q.Query, "ROWS %d", &n)
		header(`"n"`)
		for range n {
			if _, err := fmt.Fprintf(w, "%s\n", b.row); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	}
}

type stand struct {
	t      *testing.T
	api    *API
	broker *broker
	clock  *fakeclock.Clock
	memory *budget.Budget
	routes http.Handler
}

func newStand(t *testing.T) *stand {
	s := &stand{
		t: t, broker: &broker{segmentBytes: 10, row: `[1]`, asked: make(chan string, 100)}, memory: budget.Root(1 << 20),
		clock: fakeclock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	s.api = New(Options{
		Routes: s.broker, Version: "1.0.0", Clock: s.clock, Memory: s.memory, Lane: "agents", Limits: Limits{
			Rows: 10, Bytes: 200, ResultBytes: 2000, KeptBytes: 3000, KeepFor: time.Minute, Timeout: time.Minute, ScannedBytes: 1000, Calls: 2,
		},
	})
	mux := edge.NewMux(&edge.Errors{})
	s.api.Routes(mux)
	s.routes = mux
	return s
}

// send posts a body as a user, with headers.
func (s *stand) send(ctx context.Context, user, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(auth.With(ctx, auth.Unlimited(auth.AllowAll)), http.MethodPost, Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if user != "" {
		r.SetBasicAuth(user, "")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.routes.ServeHTTP(w, r)
	return w
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// tool calls one and returns its answer, and whether that is a failure.
func (s *stand) tool(name, arguments string) (string, bool) {
	s.t.Helper()
	w := s.send(s.t.Context(), "ann", request(1, "tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`))
	var out struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *rpcError
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		s.t.Fatalf("%s: %v: %s", name, err, w.Body)
	}
	if out.Error != nil || len(out.Result.Content) != 1 {
		return w.Body.String(), true
	}
	return out.Result.Content[0].Text, out.Result.IsError
}

func TestBadMessages(t *testing.T) {
	s := newStand(t)
	for _, tc := range []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{"no JSON", `{"jsonrpc`, nil, 400, `"code":-32700`},
		{"empty", ``, nil, 400, `"code":-32700`},
		{"a number", `7`, nil, 400, `"code":-32600`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, 400, `Batches are not taken`},
		{"another JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, `"code":-32600`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, `Member [id]`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, `Member [id]`},
		{"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, nil, 400, `Member [id]`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, 400, `has no method`},
		{"params that are a list", request(1, "ping", `[]`), nil, 400, `Member [params]`},
		{"an unknown method", request(1, "prompts/list", `{}`), nil, 200, `"code":-32601`},
		{"an unknown tool", request(1, "tools/call", `{"name":"drop"}`), nil, 200, `Tool [drop] is not known`},
		{"arguments that are a list", request(1, "tools/call", `{"name":"query","arguments":[]}`), nil, 200, `"isError":true`},
		{"a parameter of another type", request(1, "tools/call", `{"name":7}`), nil, 200, `"code":-32602`},
		{"a cursor", request(1, "tools/list", `{"cursor":"x"}`), nil, 200, `"code":-32602`},
		{"an unknown resource", request(1, "resources/read", `{"uri":"file:///etc/passwd"}`), nil, 200, `There is no resource`},
		{"a page that is none", request(1, "resources/read", `{"uri":"henge://docs/../go.mod"}`), nil, 200, `There is no resource`},
		{"an unknown version", request(1, "ping", `{}`), []string{versionHeader, "1999-01-01"}, 400, `"supported":`},
		{"an unknown session", request(1, "ping", `{}`), []string{sessionHeader, "nosuch"}, 404, `There is no session`},
		{"initialize without a version", request(1, "initialize", `{}`), nil, 200, `"code":-32602`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ``},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, ``},
		{"an answer and an error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, nil, 400, `"code":-32600`},
		{"a cancel of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, nil, 202, ``},
		{"another media type", request(1, "ping", `{}`), []string{"Content-Type", "text/plain"}, 415, ``},
		{"too much", `"` + strings.Repeat("x", maxMessage) + `"`, nil, 413, `may have [1048576] bytes`},
		{"the new protocol without its headers", request(1, "ping", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
			nil, 400, `"code":-32020`},
		{"the new protocol without its version", request(1, "ping", `{}`), []string{versionHeader, perRequest, methodHeader, "ping"}, 400,
			`"code":-32602`},
		{"the new protocol, another method", request(1, "ping", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
			[]string{versionHeader, perRequest, methodHeader, "tools/list"}, 400, `"code":-32020`},
		{"the new protocol, an unknown method", request(1, "x", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
			[]string{versionHeader, perRequest, methodHeader, "x"}, 404, `"code":-32601`},
	} {
		w := s.send(t.Context(), "ann", tc.body, tc.headers...)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: got %d %s, want %d and %s", tc.name, w.Code, w.Body, tc.status, tc.want)
		}
	}
}

func TestVersionsAreAgreedOn(t *testing.T) {
	s := newStand(t)
	for asked, want := range map[string]string{
		"2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2025-11-25", "2099-01-01": "2025-11-25",
		perRequest: "2025-11-25",
	} {
		w := s.send(t.Context(), "ann", request(1, "initialize", `{"protocolVersion":"`+asked+`"}`))
		if !strings.Contains(w.Body.String(), `"protocolVersion":"`+want+`"`) || w.Header().Get(sessionHeader) == "" {
			t.Errorf("%s: got %s, want %s", asked, w.Body, want)
		}
	}
	w := s.send(t.Context(), "ann", request(1, "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
		versionHeader, perRequest, methodHeader, "server/discover")
	body := w.Body.String()
	if !strings.Contains(body, `"supportedVersions":["2026-07-28"`) || !strings.Contains(body, `"resultType":"complete"`) {
		t.Errorf("discover: got %s", w.Body)
	}
}

func TestSessionsBelongToTheirUsers(t *testing.T) {
	s := newStand(t)
	id := s.send(t.Context(), "ann", request(1, "initialize", `{"protocolVersion":"2025-11-25"}`)).Header().Get(sessionHeader)
	ping := request(2, "ping", `{}`)
	if w := s.send(t.Context(), "ann", ping, sessionHeader, id); w.Code != 200 {
		t.Errorf("her own session: got %d", w.Code)
	}
	if w := s.send(t.Context(), "bob", ping, sessionHeader, id); w.Code != 404 {
		t.Errorf("somebody else's session: got %d", w.Code)
	}
	for range maxSessions {
		s.api.sessions.begin("bob", "2025-11-25")
	}
	if len(s.api.sessions.byID) > maxSessions {
		t.Errorf("there are [%d] sessions", len(s.api.sessions.byID))
	}
	s.clock.Advance(2 * time.Hour)
	if s.api.sessions.end(id, "ann") {
		t.Error("an old session is still there")
	}
}

func TestNotificationsCancelRequests(t *testing.T) {
	s := newStand(t)
	id := s.send(t.Context(), "ann", request(1, "initialize", `{"protocolVersion":"2025-11-25"}`)).Header().Get(sessionHeader)
	answered := make(chan string)
	go func() {
		wait := request(7, "tools/call", `{"name":"query","arguments":{"sql":"WAIT"}}`)
		answered <- s.send(t.Context(), "ann", wait, sessionHeader, id).Body.String()
	}()
	for q := range s.broker.asked {
		if q == "WAIT" {
			break
		}
	}
	s.send(t.Context(), "ann", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, sessionHeader, id)
	if got := <-answered; !strings.Contains(got, `"code":-32800`) {
		t.Errorf("got %s", got)
	}
}

func TestResultsAreReadPageByPage(t *testing.T) {
	s := newStand(t)
	got, bad := s.tool("query", `{"sql":"ROWS 25"}`)
	rows, pages := 0, 0
	for {
		var p page
		if err := json.Unmarshal([]byte(got), &p); err != nil || bad {
			t.Fatalf("%v: %s", err, got)
		}
		rows, pages = rows+len(p.Rows), pages+1
		if !p.Truncated {
			break
		}
		got, bad = s.tool("next_page", `{"handle":"`+p.NextPage+`","maxRows":10}`)
	}
	if rows != 25 || pages != 3 {
		t.Errorf("got [%d] rows on [%d] pages", rows, pages)
	}
	if s.memory.Used() == 0 {
		t.Error("what is kept is not reserved")
	}
	// A result beyond the limit is cut, and the last page says so.
	got, _ = s.tool("query", `{"sql":"ROWS 10000","maxRows":1}`)
	var p page
	for _ = json.Unmarshal([]byte(got), &p); p.NextPage != ""; {
		got, _ = s.tool("next_page", `{"handle":"`+p.NextPage+`"}`)
		p = page{}
		_ = json.Unmarshal([]byte(got), &p)
	}
	if !p.Truncated || !strings.Contains(p.Note, "was cut") {
		t.Errorf("the last page is %s", got)
	}
	// Rows that are large leave fewer on a page.
	s.broker.row = `["` + strings.Repeat("x", 90) + `"]`
	if got, _ = s.tool("query", `{"sql":"ROWS 5"}`); strings.Count(got, "xxx\"") != 2 || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("got %s", got)
	}
	for range 10 {
		s.tool("query", `{"sql":"ROWS 15"}`)
	}
	if s.api.kept.mu.bytes > 3000 || s.memory.Used() != s.api.kept.mu.bytes {
		t.Errorf("[%d] bytes are kept, [%d] reserved", s.api.kept.mu.bytes, s.memory.Used())
	}
}

func TestLimitsOfTools(t *testing.T) {
	s := newStand(t)
	for _, tc := range []struct{ tool, arguments, want string }{
		{"query", `{"sql":"ROWS 1","maxRows":11}`, "Value [11] of [maxRows] is not between [1] and [10]"},
		{"query", `{"sql":"ROWS 1","maxRows":0}`, "Value [0] of [maxRows]"},
		{"query", `{"sql":"ROWS 1","timeoutSeconds":61}`, "Value [61] of [timeoutSeconds] is not between [1] and [60]"},
		{"query", `{"sql":"ROWS 1","timeoutSeconds":9223372036854775807}`, "of [timeoutSeconds]"},
		{"query", `{"sql":" "}`, "Argument [sql] is missing"},
		{"query", `{"sql":"EXPLAIN PLAN FOR SELECT 1"}`, "Tool [explain]"},
		{"query", `{"sql":"ROWS 1","maxrows":1,"limit":2}`, `unknown field "limit"`},
		{"query", `{"sql":"REFUSE"}`, "Refused (line [1], column [2])"},
		{"query", `{"sql":"BREAK"}`, "The response was aborted"},
		{"next_page", `{"handle":"x.1"}`, "Handle [x.1] has no result"},
		{"next_page", `{"handle":""}`, "has no result"},
		{"why", `{"segment":7}`, "can't be read"},
		{"describe_datasource", `{}`, "Argument [datasource] is missing"},
		{"freshness", `{"datasource":""}`, "Argument [datasource] is missing"},
		{"ingest_rows", `{"datasource":"t","rows":[]}`, "Argument [rows] has [0] rows"},
		{"ingest_rows", `{"datasource":"t","rows":[{},{},{},{},{},{},{},{},{},{},{}]}`, "has [11] rows; between [1] and [10]"},
		{"submit_task", `{}`, "Give either [sql] or [spec]"},
		{"submit_task", `{"sql":"x","spec":{}}`, "Give either [sql] or [spec]"},
	} {
		if got, bad := s.tool(tc.tool, tc.arguments); !bad || !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: got %s, want %s", tc.tool, tc.arguments, got, tc.want)
		}
	}
	s.broker.segmentBytes = 1001
	if got, bad := s.tool("query", `{"sql":"ROWS 1"}`); !bad || !strings.Contains(got, "segments of [1001] bytes") {
		t.Errorf("a query that reads too much: got %s", got)
	}
	s.broker.segmentBytes = 1
	s.broker.row = `["` + strings.Repeat("x", 300) + `"]`
	if got, bad := s.tool("query", `{"sql":"ROWS 1"}`); !bad || !strings.Contains(got, "Row [0] of the result has [304] bytes") {
		t.Errorf("a row that is too large: got %s", got)
	}
	s.api.calls <- struct{}{}
	s.api.calls <- struct{}{}
	if got, bad := s.tool("query", `{"sql":"ROWS 1"}`); !bad || !strings.Contains(got, "Too many calls") {
		t.Errorf("too many calls: got %s", got)
	}
}

func TestSegmentsOfAPlanAreCounted(t *testing.T) {
	s := newStand(t)
	s.api.o.Limits.Bytes = 2000
	if got, bad := s.tool("explain", `{"sql":"ROWS 1"}`); bad || !strings.Contains(got, `"segmentBytes":10`) {
		t.Errorf("got %s", got)
	}
	for q := range s.broker.asked {
		if !strings.Contains(q, "sys.segments") {
			continue
		}
		for _, want := range []string{
			`("datasource" = 't' AND "start" < '2026-01-02' AND "end" > '0000')`,
			`("datasource" = 'o''ther' AND "start" < '9999-12-31' AND "end" > '0000')`,
		} {
			if !strings.Contains(q, want) {
				t.Errorf("got %s, want %s in it", q, want)
			}
		}
		break
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		request(1, "tools/call", `{"name":"query"}`), `[]`, `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{`, `null`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, problem := decode(body)
		if (m == nil) == (problem == nil) {
			t.Fatalf("got %v and %v", m, problem)
		}
		if m != nil {
			if m.answers == (m.Method != "") || m.ID != nil && !json.Valid(m.ID) {
				t.Fatalf("got %+v", m)
			}
			var p struct{ Name string }
			_ = m.read(&p)
		}
	})
}
