package statements_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/server"
)

// tester talks to the statements of a whole server.
type tester struct {
	*testing.T
	*server.Server
}

const base = "/service/v2/sql/statements"

func start(t *testing.T, o server.Options) tester { return tester{t, server.Start(t, o)} }

func (t tester) send(method, path, body string) (int, string) {
	t.Helper()
	status, text, err := t.Send(t.Context(), "router", method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, string(text)
}

// submit hands a statement in and returns its id.
func (t tester) submit(sql string, context map[string]any, members ...string) string {
	t.Helper()
	all := map[string]any{"executionMode": "async"}
	maps.Copy(all, context)
	request := map[string]any{"query": sql, "context": all}
	for i := 0; i < len(members); i += 2 {
		request[members[i]] = members[i+1]
	}
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	status, body := t.send(http.MethodPost, base, string(text))
	var answer struct{ QueryID, State string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.State != "ACCEPTED" || !strings.Contains(body, `"durationMs":-1`) {
		t.Fatalf("submitting %s: %d %s", sql, status, body)
	}
	return answer.QueryID
}

// run submits a statement and waits for its end.
func (t tester) run(sql string, context map[string]any, members ...string) string {
	t.Helper()
	id := t.submit(sql, context, members...)
	if _, err := t.Await(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

// status returns the status object of a statement, without what differs from run to run.
func (t tester) status(id, query string) map[string]any {
	t.Helper()
	status, body := t.send(http.MethodGet, base+"/"+url.PathEscape(id)+query, "")
	var o map[string]any
	if err := json.Unmarshal([]byte(body), &o); err != nil || status != http.StatusOK {
		t.Fatalf("status of %s: %d %s", id, status, body)
	}
	if o["queryId"] != id || len(o["createdAt"].(string)) != len("2026-01-01T00:00:00.000Z") {
		t.Errorf("status of %s: %s", id, body)
	}
	delete(o, "queryId")
	delete(o, "createdAt")
	if d, ok := o["durationMs"].(float64); ok && d >= 0 {
		o["durationMs"] = "known"
	}
	return o
}

func (t tester) results(id, query string) (int, string) {
	t.Helper()
	return t.send(http.MethodGet, base+"/"+url.PathEscape(id)+"/results"+query, "")
}

// wantFault checks an error answer.
func (t tester) wantFault(what string, status int, body string, wantStatus int, wantMessage string) {
	t.Helper()
	var f struct{ ErrorMessage string }
	if err := json.Unmarshal([]byte(body), &f); err != nil || status != wantStatus || f.ErrorMessage != wantMessage {
		t.Errorf("%s: %d %s\nwant %d %s", what, status, body, wantStatus, wantMessage)
	}
}

type object = map[string]any

// source answers with lines of JSON, the first request of each path only after it is let go.
type source struct {
	*httptest.Server
	asked chan struct{}
	once  sync.Once
	let   chan struct{}
}

func hold(t *testing.T) *source {
	s := &source{asked: make(chan struct{}, 100), let: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- struct{}{}
		select {
		case <-s.let:
			_, _ = io.WriteString(w, `{"t":"2020-01-01","n":1}`+"\n") // the task may be gone
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { s.release(); s.Close() })
	return s
}

func (s *source) release() { s.once.Do(func() { close(s.let) }) }

func (s *source) extern() string {
	return fmt.Sprintf(`TABLE(EXTERN('{"type":"http","uris":["%s/x"]}', '{"type":"json"}')) EXTEND (t VARCHAR, n BIGINT)`, s.URL)
}

const inline = `TABLE(EXTERN('{"type":"inline","data":"{\"t\":\"2020-01-01\",\"n\":1}\n{\"t\":\"2020-01-02\",\"n\":2}\n{\"t\":\"2020-01-03\"}"}', '{"type":"json"}')) EXTEND (t VARCHAR, n BIGINT)`

func TestSelect(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run(`SELECT TIME_PARSE(t) AS __time, n, t AS "te""xt", CAST(TIME_PARSE(t) AS DATE) AS d, n > 1 AS b FROM `+inline+` ORDER BY 1`, map[string]any{"sqlQueryId": "mine"})
	if id != "query-mine" {
		t.Errorf("id %s", id)
	}
	want := object{
		"state": "SUCCESS", "durationMs": "known",
		"schema": []any{
			object{"name": "__time", "type": "TIMESTAMP", "nativeType": "LONG"}, object{"name": "n", "type": "BIGINT", "nativeType": "LONG"},
			object{"name": `te"xt`, "type": "VARCHAR", "nativeType": "STRING"}, object{"name": "d", "type": "DATE", "nativeType": "LONG"},
			object{"name": "b", "type": "BOOLEAN", "nativeType": "LONG"},
		},
		"result": object{
			"numTotalRows": 3.0, "totalSizeInBytes": "some", "dataSource": "__query_select",
			"sampleRecords": []any{
				[]any{1577836800000.0, 1.0, "2020-01-01", 18262.0, false}, []any{1577923200000.0, 2.0, "2020-01-02", 18263.0, true},
				[]any{1578009600000.0, nil, "2020-01-03", 18264.0, nil},
			},
			"pages": []any{object{"id": 0.0, "numRows": 3.0, "sizeInBytes": "some"}},
		},
	}
	got := s.status(id, "")
	if r, ok := got["result"].(object); ok {
		for _, o := range []object{r, r["pages"].([]any)[0].(object)} {
			for _, key := range []string{"totalSizeInBytes", "sizeInBytes"} {
				if n, ok := o[key].(float64); ok && n > 0 {
					o[key] = "some"
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const lines = `{"__time":1577836800000,"n":1,"te\"xt":"2020-01-01","d":18262,"b":false}` + "\n" +
		`{"__time":1577923200000,"n":2,"te\"xt":"2020-01-02","d":18263,"b":true}` + "\n" + `{"__time":1578009600000,"n":null,"te\"xt":"2020-01-03","d":18264,"b":null}` + "\n\n"
	for query, want := range map[string]string{
		"":                         lines,
		"?page=0":                  lines,
		"?resultFormat=arraylines": `[1577836800000,1,"2020-01-01",18262,false]` + "\n" + `[1577923200000,2,"2020-01-02",18263,true]` + "\n" + `[1578009600000,null,"2020-01-03",18264,null]` + "\n\n",
		"?resultFormat=csv&page=0": "1577836800000,1,2020-01-01,18262,false\n1577923200000,2,2020-01-02,18263,true\n1578009600000,,2020-01-03,18264,\n\n",
	} {
		if status, body := s.results(id, query); status != http.StatusOK || body != want {
			t.Errorf("results%s: %d %q", query, status, body)
		}
	}
	for query, want := range map[string]string{
		"?page=1":           "Page number [1] is out of the range of results",
		"?page=9999999999":  "Page number [9999999999] is out of the range of results",
		"?page=-1":          "Page cannot be negative. Please pass a positive number.",
		"?resultFormat=xml": "Result format [xml] is unknown; use one of [object, array, objectLines, arrayLines, csv, arrow]",
	} {
		status, body := s.results(id, query)
		s.wantFault(query, status, body, http.StatusBadRequest, want)
	}
	if status, body := s.results(id, "?page=x"); status != http.StatusNotFound || body != "" {
		t.Errorf("a page that is no number: %d %q", status, body)
	}
	if status, body := s.send(http.MethodDelete, base+"/"+id, ""); status != http.StatusOK || body != "" {
		t.Errorf("deleting a statement that ended: %d %q", status, body)
	}
	if got := s.status(id, "")["state"]; got != "SUCCESS" {
		t.Errorf("after that: %v", got)
	}
}

func TestPages(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run(`SELECT n FROM `+inline+` ORDER BY n`, map[string]any{"selectDestination": "durableStorage", "rowsPerPage": 1, "sqlTimeZone": "Asia/Tokyo"}, "resultFormat", "array")
	result := s.status(id, "")["result"].(object)
	if result["resultFormat"] != "array" || result["numTotalRows"] != 3.0 || len(result["pages"].([]any)) != 3 {
		t.Fatalf("result %v", result)
	}
	for query, want := range map[string]string{"": "[[null],[1],[2]]\n", "?page=0": "[[null]]\n", "?page=2&resultFormat=objectLines": `{"n":2}` + "\n\n"} {
		if status, body := s.results(id, query); status != http.StatusOK || body != want {
			t.Errorf("results%s: %d %q", query, status, body)
		}
	}
	status, body := s.results(id, "?page=3")
	s.wantFault("a page behind the last", status, body, http.StatusBadRequest, "Invalid page id [3] passed.")
}

func TestNoRows(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run(`SELECT n FROM `+inline+` WHERE n = 7`, nil)
	if diff := cmp.Diff(object{"dataSource": "__query_select", "sampleRecords": []any{}}, s.status(id, "")["result"].(object)); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string]string{"": "\n\n", "?page=0": "\n\n", "?resultFormat=object": "[]\n", "?resultFormat=csv": "\n"} {
		if status, body := s.results(id, query); status != http.StatusOK || body != want {
			t.Errorf("results%s: %d %q", query, status, body)
		}
	}
}

func TestIngestion(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run(`REPLACE INTO target OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, n FROM `+inline+` PARTITIONED BY DAY`, nil, "resultFormat", "csv")
	want := object{
		"state": "SUCCESS", "durationMs": "known", "result": object{"numTotalRows": 3.0, "totalSizeInBytes": 0.0, "dataSource": "target"},
	}
	if diff := cmp.Diff(want, s.status(id, "")); diff != "" {
		t.Error(diff)
	}
	if status, body := s.results(id, ""); status != http.StatusOK || body != "" {
		t.Errorf("results: %d %q", status, body)
	}
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM target"); err != nil || fmt.Sprint(rows) != "[[3 3]]" {
		t.Errorf("rows %v, %v", rows, err)
	}
}

func TestFailedStatements(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run(`INSERT INTO target SELECT TIME_PARSE(t) AS __time, n FROM `+inline+` WHERE n = 7 PARTITIONED BY DAY`, map[string]any{"failOnEmptyInsert": true})
	got := s.status(id, "?detail=true")
	for _, key := range []string{"stages", "counters", "warnings"} {
		if got[key] == nil {
			t.Errorf("no %s in %v", key, got)
		}
		delete(got, key)
	}
	details, _ := got["errorDetails"].(object)
	if text, _ := details["errorMessage"].(string); strings.HasPrefix(text, "No rows to insert for dataSource") {
		details["errorMessage"] = "the engine's words"
	}
	want := object{"state": "FAILED", "durationMs": "known", "errorDetails": object{
		"error": "Unknown exception", "errorClass": "org.apache.druid.error.DruidException", "host": strings.TrimPrefix(s.Addresses["router"], "http://"),
		"errorCode": "InsertCannotBeEmpty", "persona": "USER", "category": "UNCATEGORIZED", "errorMessage": "the engine's words",
		"context": object{"dataSource": "target"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	status, body := s.results(id, "")
	s.wantFault("results", status, body, http.StatusBadRequest, "Query["+id+"] failed. Check the status api for more details.")
	if status, body := s.send(http.MethodDelete, base+"/"+id, ""); status != http.StatusOK || body != "" {
		t.Errorf("delete: %d %q", status, body)
	}
}

func TestARunningStatement(t *testing.T) {
	held := hold(t)
	s := start(t, server.Options{})
	id := s.submit(`SELECT t, n FROM `+held.extern(), nil)
	<-held.asked
	got := s.status(id, "")
	schema := []any{object{"name": "t", "type": "VARCHAR", "nativeType": "STRING"}, object{"name": "n", "type": "BIGINT", "nativeType": "LONG"}}
	if diff := cmp.Diff(object{"state": "RUNNING", "durationMs": -1.0, "schema": schema}, got); diff != "" {
		t.Error(diff)
	}
	if got := s.status(id, "?detail=true"); len(got["stages"].([]any)) == 0 || got["counters"] == nil || got["warnings"] == nil {
		t.Errorf("details: %v", got)
	}
	status, body := s.results(id, "")
	s.wantFault("results", status, body, http.StatusBadRequest, "Query["+id+"] is currently in [RUNNING] state. Please wait for it to complete.")
	if status, body := s.send(http.MethodDelete, base+"/"+id, ""); status != http.StatusAccepted || body != "" {
		t.Errorf("cancel: %d %q", status, body)
	}
	details, _ := s.status(id, "")["errorDetails"].(object)
	if details["errorCode"] != "Canceled" || s.status(id, "")["state"] != "FAILED" {
		t.Errorf("after the cancel: %v", s.status(id, ""))
	}
}

func TestStatementsWaitForASlot(t *testing.T) {
	held := hold(t)
	s := start(t, server.Options{Settings: []string{"service.worker.capacity=1"}})
	first := s.submit(`SELECT n FROM `+held.extern(), nil)
	<-held.asked
	second := s.submit(`SELECT n FROM `+inline, nil)
	if got := s.status(second, "")["state"]; got != "ACCEPTED" {
		t.Errorf("the second is %v", got)
	}
	status, body := s.results(second, "")
	s.wantFault("results", status, body, http.StatusBadRequest, "Query["+second+"] is currently in [ACCEPTED] state. Please wait for it to complete.")
	third := s.submit(`SELECT n FROM `+inline, nil)
	if status, _ := s.send(http.MethodDelete, base+"/"+third, ""); status != http.StatusAccepted {
		t.Errorf("cancelling one that waits: %d", status)
	}
	if got := s.status(third, ""); got["state"] != "FAILED" || got["durationMs"] != -1.0 {
		t.Errorf("the third: %v", got)
	}
	held.release()
	for _, id := range []string{first, second} {
		if _, err := s.Await(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := s.status(id, "")["state"]; got != "SUCCESS" {
			t.Errorf("%s is %v", id, got)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	s := start(t, server.Options{Settings: []string{"service.msq.intermediate.storage.enable=false"}})
	s.run(`SELECT 1`, map[string]any{"sqlQueryId": "twice"})
	const async = `"executionMode":"ASYNC"`
	for _, tc := range []struct {
		query, context string
		status         int
		message        string
	}{
		{"SELECT 1", ``, 400, "Execution mode is not provided to the sql statement api. Please set [executionMode] to [ASYNC] in the query context"},
		{"SELECT 1", `"executionMode":"SYNC"`, 400, "The sql statement api currently does not support the provided execution mode [SYNC]. Please set [executionMode] to [ASYNC] in the query context"},
		{"SELECT 1", `"executionMode":"sync"`, 400, "The sql statement api currently does not support the provided execution mode [SYNC]. Please set [executionMode] to [ASYNC] in the query context"},
		{"SELECT 1", `"executionMode":"later"`, 400, "Expected key [executionMode] to be referring to one of the values [SYNC,ASYNC] of enum [ExecutionMode], but got [later]"},
		{"SELECT 1", `"executionMode":7`, 400, "Expected key [executionMode] to be of type [ExecutionMode], but got [java.lang.Integer]"},
		{"SELECT 1", async + `,"__resultFormat":"csv"`, 400, "Query context parameter [__resultFormat] is not allowed"},
		{"SELECT 1", async + `,"sqlInsertSegmentGranularity":"x"`, 400, "Query context parameter [sqlInsertSegmentGranularity] is not allowed"},
		{"SELECT 1", async + `,"sqlInsertSegmentGranularity":null`, 400, "Query context parameter [sqlInsertSegmentGranularity] is not allowed"},
		{"SELECT 1", async + `,"sqlQueryId":"twice"`, 400, "Task[query-twice] already exists"},
		{"SELECT 1", async + `,"sqlQueryId":"a/b"`, 400, "Invalid value for field [id]: Value [query-a/b] cannot contain '/'."},
		{"SELECT x FROM nosuch", async, 400, "Object 'nosuch' not found (line [1], column [15])"},
		{"SELECT 1", async + `,"selectDestination":"durableStorage"`, 400, "The sql statement api cannot read from the select destination [durableStorage] provided in the query context [selectDestination] " +
			"since it is not configured on the broker. It is recommended to configure durable storage as it allows the user to fetch large result sets. Please contact your cluster admin to configure durable storage."},
	} {
		status, body := s.send(http.MethodPost, base, `{"query":"`+tc.query+`","context":{`+tc.context+`}}`)
		s.wantFault(tc.query+" "+tc.context, status, body, tc.status, tc.message)
	}
	for _, path := range []string{"/nosuch", "/nosuch/results"} {
		status, body := s.send(http.MethodGet, base+path, "")
		s.wantFault(path, status, body, http.StatusNotFound,
			"Query [nosuch] was not found. The query details are no longer present or might not be of the type [query_controller]. Verify that the id is correct.")
	}
	if status, _ := s.send(http.MethodDelete, base+"/nosuch", ""); status != http.StatusNotFound {
		t.Errorf("cancelling an unknown one: %d", status)
	}
	status, body := s.send(http.MethodGet, base, "")
	if status != http.StatusMethodNotAllowed || !strings.Contains(body, "is not allowed at") {
		t.Errorf("GET: %d %q", status, body)
	}
	for _, request := range [][2]string{{http.MethodDelete, base}, {http.MethodDelete, base + "/"}, {http.MethodDelete, "/service/v2/sql/task"}} {
		if status, body := s.send(request[0], request[1], ""); status != http.StatusMethodNotAllowed || body != "" {
			t.Errorf("%s: %d %q", request, status, body)
		}
	}
}

func TestSetStatementsChooseTheModeToo(t *testing.T) {
	s := start(t, server.Options{})
	status, body := s.send(http.MethodPost, base+"/", `{"query":"SET executionMode = 'ASYNC'; SET sqlQueryId = 'by-set'; SELECT 1"}`)
	if status != http.StatusOK || !strings.HasPrefix(body, `{"queryId":"query-by-set","state":"ACCEPTED",`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestExplainAnswersAtOnce(t *testing.T) {
	s := start(t, server.Options{})
	status, body := s.send(http.MethodPost, base, `{"query":"EXPLAIN PLAN FOR SELECT 1","resultFormat":"csv","header":true,"context":{"executionMode":"ASYNC"}}`)
	if status != http.StatusOK || !strings.HasPrefix(body, "PLAN,RESOURCES,ATTRIBUTES\n") || !strings.HasSuffix(body, "\n\n") {
		t.Errorf("%d %q", status, body)
	}
}

func TestDownloadsHaveAName(t *testing.T) {
	s := start(t, server.Options{})
	id := s.run("SELECT 1", nil)
	get := func(query string) *http.Response {
		t.Helper()
		resp, err := http.Get(s.Addresses["router"] + base + "/" + id + "/results?" + query)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	if got := get("filename=" + url.QueryEscape("my rows (1).csv")).Header.Get("Content-Disposition"); got != `attachment; filename="my rows (1).csv"` {
		t.Errorf("Content-Disposition %q", got)
	}
	if got := get("").Header.Get("Content-Disposition"); got != "" {
		t.Errorf("without a name: %q", got)
	}
	for name, want := range map[string]string{
		"": "Filename cannot be empty.", strings.Repeat("x", 256): "Filename cannot be longer than 255 characters.",
		"a/b": `Filename contains invalid characters. (/, \, :, *, ?, ", <, >, |, \0, \n, or \r)`, "a\r\nb": `Filename contains invalid characters. (/, \, :, *, ?, ", <, >, |, \0, \n, or \r)`,
	} {
		resp := get("filename=" + url.QueryEscape(name))
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		s.wantFault(name, resp.StatusCode, string(body), http.StatusBadRequest, want)
		if got := resp.Header.Get("Content-Disposition"); got != "" {
			t.Errorf("%q: Content-Disposition %q", name, got)
		}
	}
}

func TestResultsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	first := start(t, server.Options{Dir: dir})
	id := first.run(`SELECT n FROM `+inline+` WHERE n IS NOT NULL ORDER BY n`, nil)
	before := first.status(id, "?detail=true")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, server.Options{Dir: dir})
	if diff := cmp.Diff(before, second.status(id, "?detail=true")); diff != "" {
		t.Error(diff)
	}
	if status, body := second.results(id, ""); status != http.StatusOK || body != `{"n":1}`+"\n"+`{"n":2}`+"\n\n" {
		t.Errorf("results: %d %q", status, body)
	}
}

func TestSQLAsATask(t *testing.T) {
	s := start(t, server.Options{})
	insert := `INSERT INTO target SELECT TIME_PARSE(t) AS __time, n FROM ` + inline + ` PARTITIONED BY ALL`
	request, err := json.Marshal(object{"query": insert, "context": object{"sqlQueryId": "mine"}, "resultFormat": "csv", "header": true})
	if err != nil {
		t.Fatal(err)
	}
	status, body := s.send(http.MethodPost, "/service/v2/sql/task/", string(request))
	if status != http.StatusAccepted || body != `{"taskId":"query-mine","state":"RUNNING"}` {
		t.Errorf("%d %s", status, body)
	}
	if end, err := s.Await(t.Context(), "query-mine"); err != nil || end.StatusCode != "SUCCESS" {
		t.Errorf("%+v, %v", end, err)
	}
	// The errors of this endpoint stand in an envelope.
	for _, tc := range []struct {
		query, id       string
		status          int
		code, message   string
		wrappedInAnswer bool
	}{
		{insert, "mine", 400, "entryAlreadyExists", "Task[query-mine] already exists", true},
		{"INSERT INTO target SELECT 1 AS n", "a", 400, "invalidInput", "Operation [INSERT] requires a PARTITIONED BY to be explicitly defined, but none was found.", true},
		{"INSERT INTO \"a/b\" SELECT 1 AS n PARTITIONED BY ALL", "b", 400, "invalidInput", "Invalid value for field [table]: Value [a/b] cannot contain '/'.", true},
	} {
		text, err := json.Marshal(object{"query": tc.query, "context": object{"sqlQueryId": tc.id}})
		if err != nil {
			t.Fatal(err)
		}
		status, body := s.send(http.MethodPost, "/service/v2/sql/task", string(text))
		var got struct {
			TaskID, State string
			Error         struct{ ErrorCode, ErrorMessage string }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if status != tc.status || got.TaskID != tc.id || got.State != "FAILED" || got.Error.ErrorCode != tc.code ||
			!strings.HasPrefix(got.Error.ErrorMessage, strings.TrimSuffix(tc.message, ".")) {
			t.Errorf("%s: %d %s", tc.query, status, body)
		}
	}
	status, body = s.send(http.MethodPost, "/service/v2/sql/task", `{"query":`)
	s.wantFault("a broken body", status, body, http.StatusBadRequest,
		"Malformed SQL query wrapped in JSON: the body ends too early (line [1], column [10])")
}

func TestEnabled(t *testing.T) {
	s := start(t, server.Options{})
	for _, path := range []string{base + "/enabled", "/service/v2/sql/task/enabled"} {
		if status, body := s.send(http.MethodGet, path, ""); status != http.StatusOK || body != `{"enabled":true}` {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
