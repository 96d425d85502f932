package sql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is a Broker of which a test says what its queries do, by their SQL.
type engine struct {
	// next is called for every batch of a query, by number.
	next map[string]func(ctx context.Context, n int) (*vector.Batch, error)
	// asked is the last request, open how many queries are not closed.
	asked atomic.Pointer[query.Request]
	open  atomic.Int32
}

func (e *engine) Start(_ context.Context, _ *query.Query, req *query.Request) (query.Rows, error) {
	e.asked.Store(req)
	next, ok := e.next[req.SQL]
	if !ok {
		return nil, fault.InvalidSQL(fault.Span{Line: 1, Column: 1}, "No such statement")
	}
	e.open.Add(1)
	return &scripted{e: e, next: next}, nil
}

type scripted struct {
	e    *engine
	next func(context.Context, int) (*vector.Batch, error)
	n    int
}

func (s *scripted) Columns() []result.Column {
	return []result.Column{{Name: "n", Type: expr.Of(expr.BigInt)}}
}
func (s *scripted) Zone() *chrono.Zone      { return chrono.UTC }
func (s *scripted) StringifyArrays() bool   { return true }
func (s *scripted) ResponseContext() string { return "{}" }
func (s *scripted) Close()                  { s.e.open.Add(-1) }

func (s *scripted) Next(ctx context.Context) (*vector.Batch, error) {
	s.n++
	return s.next(ctx, s.n-1)
}

// numbers returns a batch of n rows.
func numbers(n int) *vector.Batch {
	return &vector.Batch{N: n, Cols: []*vector.Vector{vector.Constant(vector.Long, int64(1234567890123), n)}}
}

// ends yields the given batches, then err (nil: the end).
func ends(err error, sizes ...int) func(context.Context, int) (*vector.Batch, error) {
	return func(_ context.Context, n int) (*vector.Batch, error) {
		if n < len(sizes) {
			return numbers(sizes[n]), nil
		}
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
}

// hangs yields the given batches, tells that it waits, and ends with its context.
func hangs(waits chan<- struct{}, sizes ...int) func(context.Context, int) (*vector.Batch, error) {
	return func(ctx context.Context, n int) (*vector.Batch, error) {
		if n < len(sizes) {
			return numbers(sizes[n]), nil
		}
		waits <- struct{}{}
		<-ctx.Done()
		return nil, fmt.Errorf("scanning: %w", ctx.Err())
	}
}

type served struct {
	*httptest.Server
	engine   *engine
	running  *query.Running
	registry *prometheus.Registry
}

func serve(t *testing.T, o Options, limit int, queries map[string]func(context.Context, int) (*vector.Batch, error)) *served {
	t.Helper()
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 1 << 20
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	s := &served{engine: &engine{next: queries}, running: query.NewRunning(o.Clock, query.RunningOptions{Limits: query.Limits{Total: limit}}), registry: prometheus.NewRegistry()}
	o.Metrics = s.registry
	mux := edge.NewMux(&edge.Errors{Host: "h:1"})
	New(s.engine, s.running, o, slog.New(slog.DiscardHandler)).Routes(mux)
	s.Server = httptest.NewServer(mux.Handler([]string{"druid"}, o.Clock, nil))
	t.Cleanup(func() {
		s.Close()
		if n := s.engine.open.Load(); n != 0 {
			t.Errorf("%d queries were not closed", n)
		}
		if n := s.running.Count(); n != 0 {
			t.Errorf("%d queries still count as running", n)
		}
	})
	return s
}

// reply is an answer; broken says that its body broke off.
type reply struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
	broken  bool
}

func (s *served) send(t *testing.T, method, path, contentType, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, resp.Trailer, string(text), err != nil}
}

func (s *served) post(t *testing.T, body string) reply {
	t.Helper()
	return s.send(t, http.MethodPost, "/service/v2/sql", "application/json", body)
}

func (r reply) message() string {
	var body struct{ ErrorMessage string }
	_ = json.Unmarshal([]byte(r.body), &body) // no JSON: no message
	return body.ErrorMessage
}

func TestAnswer(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"q": ends(nil, 1, 1)})
	for _, tc := range []struct{ request, contentType, body, headerIncluded string }{
		{`{"query":"q"}`, "application/json", `[{"n":1234567890123},{"n":1234567890123}]` + "\n", ""},
		{`{"query":"q","resultFormat":"ARRAY","header":true}`, "application/json", `[["n"],[1234567890123],[1234567890123]]` + "\n", "yes"},
		{`{"query":"q","resultFormat":"csv","header":true,"typesHeader":true,"sqlTypesHeader":"true"}`, "text/csv", "n\nLONG\nBIGINT\n1234567890123\n1234567890123\n\n", "yes"},
		{`{"query":"q","resultFormat":"objectLines"}`, "text/plain", `{"n":1234567890123}` + "\n" + `{"n":1234567890123}` + "\n\n", ""},
	} {
		r := s.post(t, tc.request)
		if r.status != http.StatusOK || r.body != tc.body || r.header.Get("Content-Type") != tc.contentType || r.header.Get("X-Service-SQL-Header-Included") != tc.headerIncluded {
			t.Errorf("%s: %+v", tc.request, r)
		}
		if r.header.Get("X-Service-Response-Context") != "{}" || r.trailer.Get("X-Service-Response-Complete") != "true" || r.header.Get("Content-Length") != "" {
			t.Errorf("%s: headers %v, trailers %v", tc.request, r.header, r.trailer)
		}
		if id := r.header.Get("X-Service-SQL-Query-Id"); len(id) != 36 || id != r.header.Get("X-Service-Query-Id") {
			t.Errorf("%s: id %q", tc.request, id)
		}
	}
	r := s.send(t, http.MethodPost, "/druid/v2/sql/", "application/json; charset=utf-8", `{"query":"q"}`)
	if r.status != http.StatusOK || r.header.Get("X-Druid-SQL-Query-Id") == "" || r.header.Get("X-Service-SQL-Query-Id") != "" || r.trailer.Get("X-Druid-Response-Complete") != "true" {
		t.Errorf("under an alias: %+v", r)
	}
	if got := s.engine.asked.Load().Dialect; got != "druid" {
		t.Errorf("dialect %q", got)
	}
}

// Spec/sql.md, section 1.2: what can be wrong with a request before its SQL is looked at.
func TestRequestFaults(t *testing.T) {
	s := serve(t, Options{MaxRequestBytes: 1000}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"q": ends(nil)})
	const jsonType, badJSON, invalid = "application/json", "Json parse failed", "Plan validation failed"
	for _, tc := range []struct {
		contentType, body string
		status            int
		class, message    string
	}{
		{"", "x", 415, "Unsupported operation", "Missing Content-Type header"},
		{"application", "x", 400, "Plan validation failed", "Invalid Content-Type header: application"},
		{"application/json;=", "x", 400, invalid, "Invalid Content-Type header: application/json;="},
		{"text/html", "q", 415, "Unsupported operation", "Unsupported Content-Type: text/html. Only application/json, text/plain or application/x-www-form-urlencoded is supported."},
		{jsonType, "", 400, badJSON, "Empty query"},
		{jsonType, " null ", 400, badJSON, "Empty query"},
		{jsonType, "{}", 400, badJSON, "Empty query: member [query] is missing"},
		{jsonType, `{"sql":"SELECT 1"}`, 400, badJSON, "Empty query: member [query] is missing"},
		{jsonType, "\uFEFF{}", 400, badJSON, "Empty query: member [query] is missing"},
		{jsonType, `{"query":null}`, 400, badJSON, "Empty query: member [query] is missing"},
		{"text/plain", " \n", 400, badJSON, "Empty query"},
		{"application/x-www-form-urlencoded", "", 400, badJSON, "Empty query"},
		{"application/x-www-form-urlencoded", "%zz", 400, badJSON, "Unable to decode URL-Encoded SQL query: [%zz] is not a percent escape"},
		{jsonType, `{"query":`, 400, badJSON, "Malformed SQL query wrapped in JSON: the body ends too early (line [1], column [10])"},
		{jsonType, " \n {\"query\":é}", 400, badJSON,
			"Malformed SQL query wrapped in JSON: a value is expected, not [é] (line [2], column [11])"},
		{jsonType, `{"query":'q'}`, 400, badJSON, "Malformed SQL query wrapped in JSON: a value is expected, not ['] (line [1], column [10])"},
		{"text/plain", ` {"query":"q"}`, 400, badJSON,
			"The body looks like JSON, but its Content-Type is [text/plain], which is that of a statement alone. " +
				"Send the header [Content-Type: application/json]"},
		{"application/x-www-form-urlencoded", `[{"query":"q"}]`, 400, badJSON,
			"The body looks like JSON, but its Content-Type is [application/x-www-form-urlencoded], which is that of a statement alone. " +
				"Send the header [Content-Type: application/json]"},
		{jsonType, "{\"query\":\"q\",\n x}", 400, badJSON,
			"Malformed SQL query wrapped in JSON: the name of a member is expected, in double quotes, not [x] (line [2], column [2])"},
		{jsonType, `[]`, 400, badJSON, "Malformed SQL query wrapped in JSON: want an object, got array"},
		{jsonType, `"q"`, 400, badJSON, "Malformed SQL query wrapped in JSON: want an object, got string"},
		{jsonType, `{"Query":"q"}`, 400, invalid, "Member [Query] of the body is unknown. Did you mean [query]?"},
		{jsonType, `{"query":{"a":1}}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [query] can't be an object"},
		{jsonType, `{"query":"q","resultFormat":1}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [resultFormat] can't be a number"},
		{jsonType, `{"query":"q","context":[]}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [context] can't be an array"},
		{jsonType, `{"query":"q","parameters":{}}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [parameters] can't be an object"},
		{jsonType, `{"query":"q","parameters":[1]}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [parameters] can't be a number"},
		{jsonType, `{"query":"q","header":"x"}`, 400, badJSON, `Malformed SQL query wrapped in JSON: member [header] is "x"; want true or false`},
		{jsonType, "{\"query\":\"SELECT '\xff'\"}", 400, badJSON, "Request body is not text in UTF-8"},
		{jsonType, `{"query":"q","header":"yes"}`, 400, badJSON, "Malformed SQL query wrapped in JSON: member [header] is \"yes\"; want true or false"},
		{jsonType, `{"query":"q","typesHeader":true}`, 400, badJSON, "Cannot include 'typesHeader' without 'header'"},
		{jsonType, `{"query":"q","sqlTypesHeader":true}`, 400, badJSON, "Cannot include 'sqlTypesHeader' without 'header'"},
		{jsonType, `{"query":"q","resultFormat":"xml"}`, 400, invalid, "Result format [xml] is unknown; use one of [object, array, objectLines, arrayLines, csv, arrow]"},
		{jsonType, `{"query":"` + strings.Repeat("x", 1000) + `"}`, 400, badJSON, "Request body is larger than [1000] bytes, the limit set by service.server.http.maxRequestBytes"},
		{jsonType, `{"query":"q","context":{"timeout":"2000'"}}`, 400, "Query context parse failed", "Expected key [timeout] to be in long format, but got [2000']"},
		{jsonType, `{"query":"q","context":{"timeout":{}}}`, 400, "Query context parse failed", "Expected key [timeout] to be a Long, but got [java.util.LinkedHashMap]"},
		{jsonType, `{"query":"q","context":{"timeout":-1}}`, 400, "Query context parse failed", "Timeout must be a non negative value, but was [-1]"},
		{jsonType, `{"query":"q","context":{"sqlQueryId":5}}`, 400, "Query context parse failed", "Expected key [sqlQueryId] to be a String, but got [java.lang.Integer]"},
		{jsonType, `{"query":"q","context":{"writeExceptionBodyAsResponseRow":1}}`, 400, "Query context parse failed", "Expected key [writeExceptionBodyAsResponseRow] to be a Boolean, but got [java.lang.Integer]"},
		{jsonType, `{"query":"q","context":{"engine":"x"}}`, 400, invalid, "Unsupported engine[x]"},
		{jsonType, `{"query":"unknown"}`, 400, invalid, "No such statement (line [1], column [1])"},
	} {
		r := s.send(t, http.MethodPost, "/service/v2/sql", tc.contentType, tc.body)
		var body struct{ Error string }
		if err := json.Unmarshal([]byte(r.body), &body); err != nil {
			t.Fatalf("%s: %v in %s", tc.body, err, r.body)
		}
		if r.status != tc.status || body.Error != tc.class || r.message() != tc.message {
			t.Errorf("%s %s:\n got %d %q %q\nwant %d %q %q", tc.contentType, tc.body, r.status, body.Error, r.message(), tc.status, tc.class, tc.message)
		}
	}
}

func TestRequestsThatAreFine(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"q": ends(nil), "a+b": ends(nil), "a b": ends(nil)})
	for _, tc := range []struct{ contentType, body, sql string }{
		{"application/json", `{"query":"q","header":null,"typesHeader":"false","context":null,"parameters":null,"resultFormat":null,"queryType":"sql"}`, "q"},
		{"application/json", `{"query":"q","clientTag":"x","queries":null}`, "q"},
		{"APPLICATION/JSON", "\n{\"query\":\"q\"}\n", "q"},
		{"application/json", `{"query":"q"} {"not":read`, "q"},
		{"text/plain", " q \n", "q"},
		{"text/plain; charset=utf-8", "a+b", "a+b"},
		{"application/x-www-form-urlencoded", "a+b", "a b"},
		{"application/x-www-form-urlencoded", "a%2Bb", "a+b"},
	} {
		if r := s.send(t, http.MethodPost, "/service/v2/sql?capabilities", tc.contentType, tc.body); r.status != http.StatusOK || s.engine.asked.Load().SQL != tc.sql {
			t.Errorf("%s %s: %d %s", tc.contentType, tc.body, r.status, r.body)
		}
	}
}

func TestAcceptDecidesWhetherThereIsAnAnswer(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"q": ends(nil)})
	for accept, want := range map[string]int{
		"application/json": 200, "*/*": 200, "application/*;q=0.1": 200, "text/html, application/json;q=0.9, */*;q=0.8": 200, "text/csv": 406, "text/plain, text/html": 406,
	} {
		r := s.send(t, http.MethodPost, "/service/v2/sql", "application/json", `{"query":"q"}`, "Accept", accept)
		if r.status != want || want == 406 && r.body != "" {
			t.Errorf("%s: %d %q", accept, r.status, r.body)
		}
	}
}

func TestQueryIDs(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){
		"q": ends(nil), "SET sqlQueryId = 'set'; SET timeout = 5; SELECT 1": ends(nil), "SET sqlQueryId = NULL; SELECT 1;": ends(nil),
	})
	for id, want := range map[string]string{"mine": "mine", "a/b ?": "a/b ?", "a/b ü?": "", "line\nend\x00": "line end", strings.Repeat("x", 3000): strings.Repeat("x", 3000)} {
		text, err := json.Marshal(map[string]any{"query": "q", "context": map[string]string{"sqlQueryId": id}})
		if err != nil {
			t.Fatal(err)
		}
		if r := s.post(t, string(text)); r.header.Get("X-Service-SQL-Query-Id") != want || s.engine.asked.Load().ID != id {
			t.Errorf("%q: %q", id, r.header.Get("X-Service-SQL-Query-Id"))
		}
	}
	r := s.post(t, `{"query":"SET sqlQueryId = 'set'; SET timeout = 5; SELECT 1","context":{"sqlQueryId":"request"}}`)
	if got := r.header.Get("X-Service-SQL-Query-Id"); got != "set" {
		t.Errorf("SET: %q", got)
	}
	if script := s.engine.asked.Load().Script; script == nil || len(script.Sets) != 2 {
		t.Errorf("the parsed statements are not kept: %v", script)
	}
	if diff := cmp.Diff(map[string]any{"sqlQueryId": "set", "timeout": json.Number("5")}, s.engine.asked.Load().Context); diff != "" {
		t.Error(diff)
	}
	if r := s.post(t, `{"query":"SET sqlQueryId = NULL; SELECT 1;","context":{"sqlQueryId":"request"}}`); len(r.header.Get("X-Service-SQL-Query-Id")) != 36 {
		t.Errorf("SET NULL: %v", r.header)
	}
	if r := s.post(t, `{"query":"unknown","context":{"sqlQueryId":"bad"}}`); r.header.Get("X-Service-SQL-Query-Id") != "bad" {
		t.Errorf("a statement that fails: %v", r.header)
	}
}

func TestTimeLimits(t *testing.T) {
	waits := make(chan struct{}, 1)
	s := serve(t, Options{DefaultTimeout: 1, MaxTimeout: 5000}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"hangs": hangs(waits), "q": ends(nil)})
	r := s.post(t, `{"query":"hangs"}`)
	<-waits
	if r.status != http.StatusGatewayTimeout || r.message() != "Query did not complete within configured timeout period. You can increase "+
		"query timeout or tune the performance of query. The limit was [1] ms, the default of [service.server.http.defaultQueryTimeout]; "+
		"the context parameter [timeout] overrides it." {
		t.Errorf("the default limit: %d %s", r.status, r.body)
	}
	if r := s.post(t, `{"query":"hangs","context":{"timeout":"2"}}`); r.status != http.StatusGatewayTimeout ||
		!strings.HasSuffix(r.message(), " The limit was [2] ms, set by the context parameter [timeout].") {
		t.Errorf("the caller's limit: %d %s", r.status, r.body)
	}
	<-waits
	if r := s.post(t, `{"query":"q","context":{"timeout":5001}}`); r.status != http.StatusBadRequest || r.message() != "Configured timeout = 5001 is more than enforced limit of 5000." {
		t.Errorf("above the limit: %d %s", r.status, r.body)
	}
	if r := s.post(t, `{"query":"q","context":{"timeout":0}}`); r.status != http.StatusOK {
		t.Errorf("no limit: %d %s", r.status, r.body)
	}
}

func TestCancelEndsAllQueriesOfAnID(t *testing.T) {
	waits := make(chan struct{})
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"hangs": hangs(waits)})
	replies := make(chan reply)
	for _, id := range []string{"a/b", "a/b", "other"} {
		go func() { replies <- s.post(t, `{"query":"hangs","context":{"sqlQueryId":"`+id+`"}}`) }()
		<-waits
	}
	list := s.send(t, http.MethodGet, "/service/v2/sql/queries", "", "")
	if strings.Count(list.body, `"sqlQueryId":"a/b"`) != 2 || !strings.Contains(list.body, `"sql":"hangs","state":"RUNNING","engine":"native"`) {
		t.Errorf("list: %s", list.body)
	}
	report := s.send(t, http.MethodGet, "/service/v2/sql/queries/other/reports", "", "")
	if report.status != http.StatusOK || !strings.HasPrefix(report.body, `{"query":{"sqlQueryId":"other","sql":"hangs","state":"RUNNING"`) || !strings.Contains(report.body, `"report":{"durationMs":`) {
		t.Errorf("report: %+v", report)
	}
	if r := s.send(t, http.MethodDelete, "/service/v2/sql/nobody", "", ""); r.status != http.StatusNotFound || r.body != "" {
		t.Errorf("unknown id: %+v", r)
	}
	for range 2 { // the second may find the queries ending, and says so
		r := s.send(t, http.MethodDelete, "/service/v2/sql/"+url.PathEscape("a/b"), "", "")
		if r.body != "" || r.status != http.StatusAccepted && r.status != http.StatusNotFound {
			t.Errorf("cancel: %+v", r)
		}
	}
	for range 2 {
		r := <-replies
		if r.status != http.StatusInternalServerError || r.message() != "Query is canceled [a/b]" || !strings.Contains(r.body, `"error":"Query cancelled"`) {
			t.Errorf("cancelled: %d %s", r.status, r.body)
		}
	}
	if s.running.Cancel("other") != 1 {
		t.Error("the other query was ended too")
	}
	<-replies
}

func TestInterruptTellsThatTheServerStops(t *testing.T) {
	waits := make(chan struct{})
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"hangs": hangs(waits)})
	replies := make(chan reply)
	go func() { replies <- s.post(t, `{"query":"hangs"}`) }()
	<-waits
	s.running.Interrupt()
	if r := <-replies; r.status != http.StatusInternalServerError || !strings.Contains(r.body, `"error":"Query interrupted"`) || !strings.Contains(r.body, `"errorCode":"legacyQueryException"`) {
		t.Errorf("interrupted: %d %s", r.status, r.body)
	}
}

func TestTooManyAtOnce(t *testing.T) {
	waits := make(chan struct{})
	s := serve(t, Options{}, 1, map[string]func(context.Context, int) (*vector.Batch, error){"hangs": hangs(waits), "q": ends(nil)})
	replies := make(chan reply)
	go func() { replies <- s.post(t, `{"query":"hangs","context":{"sqlQueryId":"first"}}`) }()
	<-waits
	r := s.post(t, `{"query":"q"}`)
	if r.status != http.StatusTooManyRequests || r.message() != "Too many concurrent queries, total query capacity of 1 exceeded. Please try your query again later." {
		t.Errorf("the second: %d %s", r.status, r.body)
	}
	s.running.Cancel("first")
	<-replies
	if r := s.post(t, `{"query":"q"}`); r.status != http.StatusOK {
		t.Errorf("after the first: %d %s", r.status, r.body)
	}
}

func TestAClientThatLeavesCancelsItsQuery(t *testing.T) {
	waits := make(chan struct{})
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"hangs": hangs(waits)})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		body := strings.NewReader(`{"query":"hangs","context":{"sqlQueryId":"left"}}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/service/v2/sql", body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		if resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req); err == nil {
			resp.Body.Close()
			t.Error("there was an answer")
		}
	}()
	<-waits
	leave()
	// serve's cleanup waits for the handler and finds the query closed.
	<-gone
	for _, want := range []int{http.StatusAccepted, http.StatusNotFound} { // a client that cancels closes its request first
		for s.running.Count() > 0 {
			runtime.Gosched()
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL+"/service/v2/sql/left", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("cancelling it: %d, want %d", resp.StatusCode, want)
		}
	}
}

// big is more rows than are held back.
const big = 20_000

func TestFailureBeforeTheFirstByteHasAStatus(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){"q": ends(fault.ResourceLimit("Too much"), 10)})
	for _, request := range []string{`{"query":"q"}`, `{"query":"q","context":{"writeExceptionBodyAsResponseRow":true}}`} {
		r := s.post(t, request)
		if r.status != http.StatusBadRequest || r.message() != "Too much" || r.header.Get("Content-Type") != "application/json" || r.header.Get("X-Service-Response-Context") != "" {
			t.Errorf("%s: %+v", request, r)
		}
	}
}

func TestFailureAfterTheFirstByte(t *testing.T) {
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){
		"q": ends(fault.Runtime("Disk is gone"), big), "panics": func(_ context.Context, n int) (*vector.Batch, error) {
			if n == 0 {
				return numbers(big), nil
			}
			panic("lost")
		},
	})
	for _, query := range []string{"q", "panics"} {
		for _, format := range []string{"object", "array", "objectLines", "arrayLines", "csv"} {
			for _, encoding := range []string{"identity", "gzip"} {
				r := s.send(t, http.MethodPost, "/service/v2/sql", "application/json", `{"query":"`+query+`","resultFormat":"`+format+`"}`, "Accept-Encoding", encoding)
				if r.status != http.StatusOK || !r.broken || strings.HasSuffix(r.body, "\n\n") || strings.Contains(r.body, "gone") {
					t.Errorf("%s, %s, %s: status %d, broken %v, ends with %q", query, format, encoding, r.status, r.broken, r.body[max(0, len(r.body)-50):])
				}
				if r.trailer.Get("X-Service-Response-Complete") == "true" {
					t.Errorf("%s, %s, %s: trailers %v", query, format, encoding, r.trailer)
				}
			}
		}
	}
	r := s.post(t, `{"query":"q","resultFormat":"objectLines","context":{"writeExceptionBodyAsResponseRow":true}}`)
	lines := strings.Split(strings.TrimSuffix(r.body, "\n\n"), "\n")
	if r.broken || len(lines) != big+1 || !strings.HasPrefix(lines[big], `{"error":"Unknown exception","errorClass":`) || !strings.Contains(lines[big], `"errorMessage":"Disk is gone"`) {
		t.Errorf("as a row: broken %v, %d lines, the last %q", r.broken, len(lines), lines[len(lines)-1])
	}
	if r.trailer.Get("X-Service-Response-Complete") != "false" {
		t.Errorf("as a row: trailers %v", r.trailer)
	}
}

// A stream of Arrow that breaks off has no end mark, and its connection ends without the last
// chunk.
func TestArrowAnswers(t *testing.T) {
	const rows = 200_000
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){
		"q": ends(nil, rows, 5), "breaks": ends(fault.Runtime("Disk is gone"), rows), "early": ends(fault.InvalidInput("Too much"), 5),
	})
	read := func(body string) (n int, ended bool) {
		in := arrow.NewReader(strings.NewReader(body))
		for {
			b, err := in.Next()
			if err != nil {
				return n, in.Ended()
			}
			n += b.Rows
		}
	}
	for _, encoding := range []string{"identity", "gzip"} {
		r := s.send(t, http.MethodPost, "/service/v2/sql", "application/json", `{"query":"q","resultFormat":"arrow"}`,
			"Accept-Encoding", encoding)
		n, ended := read(r.body)
		if r.status != http.StatusOK || r.broken || n != rows+5 || !ended || r.header.Get("Content-Type") != result.ArrowMedia {
			t.Errorf("%s: %d rows, ended %v: %d %v %v", encoding, n, ended, r.status, r.broken, r.header)
		}
	}
	for _, more := range []string{"", `,"context":{"writeExceptionBodyAsResponseRow":true}`} {
		r := s.post(t, `{"query":"breaks","resultFormat":"arrow"`+more+`}`)
		n, ended := read(r.body)
		if r.status != http.StatusOK || !r.broken || ended || n == 0 || strings.Contains(r.body, "gone") {
			t.Errorf("%s: %d rows, ended %v, broken %v", more, n, ended, r.broken)
		}
	}
	if r := s.post(t, `{"query":"early","resultFormat":"arrow"}`); r.status != http.StatusBadRequest || r.message() != "Too much" {
		t.Errorf("%+v", r)
	}
	r := s.send(t, http.MethodPost, "/service/v2/sql", "application/json", `{"query":"q","resultFormat":"arrow"}`,
		"Accept", result.ArrowMedia)
	if r.status != http.StatusOK {
		t.Errorf("with Accept: %d", r.status)
	}
}

// stepped moves on by a step whenever it is asked for the time.
type stepped struct {
	clock.Clock
	now  atomic.Int64
	step time.Duration
}

func (s *stepped) Now() time.Time { return time.Unix(0, s.now.Add(int64(s.step))) }

// The first rows of a slow query do not wait for the rest.
func TestRowsAreSentAsTheyCome(t *testing.T) {
	waits := make(chan struct{})
	s := serve(t, Options{Clock: &stepped{Clock: clock.System(), step: 60 * time.Millisecond}}, 0, map[string]func(context.Context, int) (*vector.Batch, error){
		"slow": hangs(waits, 1, 1, 1),
	})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"query":"slow","resultFormat":"arrayLines","context":{"sqlQueryId":"slow"}}`
	fmt.Fprintf(conn, "POST /service/v2/sql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-waits
	var got bytes.Buffer
	for !strings.Contains(got.String(), "[1234567890123]\n[1234567890123]") {
		if _, err := io.CopyN(&got, conn, 1); err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
	}
	s.running.Cancel("slow")
	if _, err := io.Copy(&got, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("the connection ended with %v", err) // a reset is one way to break off
	}
	if strings.HasSuffix(got.String(), "0\r\n\r\n") {
		t.Errorf("the answer looks whole: %q", got.String())
	}
}

func TestMetricsCountQueriesByTheirEnd(t *testing.T) {
	waits := make(chan struct{}, 1)
	s := serve(t, Options{}, 0, map[string]func(context.Context, int) (*vector.Batch, error){
		"q": ends(nil, 1), "fails": ends(errors.New("lost")), "late": hangs(waits), "breaks": ends(fault.Runtime("lost"), big),
	})
	for _, request := range []string{`{"query":"q"}`, `{"query":"q"}`, `{"query":"fails"}`, `{"query":"unknown"}`, `{"query":`, `{"query":"late","context":{"timeout":1}}`, `{"query":"breaks"}`} {
		s.post(t, request)
	}
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			switch {
			case m.GetCounter() != nil:
				got[name] = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				got[name] = m.GetGauge().GetValue()
			default:
				got[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	delete(got, "henge_query_result_bytes_total")
	want := map[string]float64{
		"henge_queries_total success": 2, "henge_queries_total failed": 2, "henge_queries_total invalid": 2, "henge_queries_total timeout": 1,
		"henge_queries_total canceled": 0, "henge_queries_total refused": 0, "henge_queries_running": 0, "henge_query_seconds": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOtherRoutes(t *testing.T) {
	s := serve(t, Options{}, 0, nil)
	for _, tc := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, "/service/v2/sql/engines", 200, `{"engines":[{"name":"native"}]}`},
		{http.MethodGet, "/service/v2/sql/queries", 200, `{"queries":[]}`},
		{http.MethodGet, "/service/v2/sql/queries/nobody/reports", 404, `{"query":null,"report":null}`},
		{http.MethodGet, "/service/v2/sql", 405, "Method [GET] is not allowed at [/service/v2/sql]. Allowed are [POST]"},
		{http.MethodPut, "/service/v2/sql", 405, "Method [PUT] is not allowed at [/service/v2/sql]. Allowed are [POST]"},
	} {
		if r := s.send(t, tc.method, tc.path, "", ""); r.status != tc.status || !strings.Contains(r.body, tc.body) {
			t.Errorf("%s %s: %d %q", tc.method, tc.path, r.status, r.body)
		}
	}

}

func FuzzReadRequest(f *testing.F) {
	f.Add("application/json", `{"query":"SET a=1; SELECT 1","context":{"a":[1]},"parameters":[{"type":"ARRAY","value":[1]}],"header":"true"}`)
	f.Add("text/plain", "SELECT 1")
	f.Add("application/x-www-form-urlencoded", "a+%20")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		r := httptest.NewRequest(http.MethodPost, "/service/v2/sql", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		req, err := ReadRequest(httptest.NewRecorder(), r, 1<<20, "service")
		if err != nil {
			if s := edge.Status(err); s != http.StatusBadRequest && s != http.StatusUnsupportedMediaType {
				t.Fatalf("status %d: %v", s, err)
			}
			return
		}
		if req.ID == "" || req.Context == nil {
			t.Fatalf("%+v", req)
		}
	})
}
