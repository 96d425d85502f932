package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// refusal is what the tests look at in an error body.
type refusal struct {
	Error        json.RawMessage   `json:"error"`
	ErrorCode    string            `json:"errorCode"`
	Category     string            `json:"category"`
	ErrorMessage string            `json:"errorMessage"`
	Context      map[string]string `json:"context"`
}

// post sends a body to the Router and decodes a refusal.
func post(t *testing.T, s *server.Server, path, body string) (int, refusal, string) {
	t.Helper()
	status, answer, err := s.Send(t.Context(), "router", http.MethodPost, path, body)
	if err != nil {
		t.Fatal(err)
	}
	var r refusal
	if status >= 400 {
		if err := json.Unmarshal(answer, &r); err != nil {
			t.Fatalf("the error body is no JSON: %v: %.300s", err, answer)
		}
		var wrapped refusal
		if json.Unmarshal(r.Error, &wrapped) == nil { // the task endpoint puts the error into an envelope
			r = wrapped
		}
	}
	return status, r, string(answer)
}

func query(t *testing.T, sql string, more ...string) string {
	t.Helper()
	text, err := json.Marshal(sql)
	if err != nil {
		t.Fatal(err)
	}
	return `{"query":` + string(text) + strings.Join(append([]string{""}, more...), ",") + `}`
}

func TestRefusedStatements(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO events OVERWRITE ALL", `{"t":"2024-01-01","k":"a","n":1}`), nil); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000)
	for _, c := range []struct {
		name, sql    string
		status       int
		line, column string
		// says are parts of the message.
		says []string
	}{
		{"syntax", "SELECT k\nFROM events\nWHER n = 1", 400, "3", "6", []string{"unexpected token [n]", "line [3]", "column [6]"}},
		{"what was expected", "SELECT k FROM events GROUP k", 400, "1", "22", []string{"unexpected token [GROUP k]", "acceptable options: [", `"GROUP" "BY"`}},
		{"lexical", "SELECT ‘a’", 400, "", "", []string{"Lexical error at line 1, column 8"}},
		{"unknown column", "SELECT kk FROM events", 400, "1", "8", []string{"Column 'kk' not found", "k"}},
		{"near column", "SELECT\n  __tme FROM events", 400, "2", "3", []string{"__tme", "__time"}},
		{"unknown function", "SELECT UPER(k) FROM events", 400, "1", "8", []string{"UPER", "UPPER"}},
		{"unknown datasource", "SELECT k FROM evnts", 400, "1", "15", []string{"evnts", "events"}},
		{"wrong arguments", "SELECT SUBSTRING(k) FROM events", 400, "1", "8", []string{"SUBSTRING"}},
		{"not grouped", "SELECT k, COUNT(*) FROM events", 400, "1", "8", []string{"'k' is not being grouped"}},
		{"nothing", "  ", 400, "", "", nil},
		{"deep parentheses", "SELECT " + deep, 400, "", "", []string{"nested more than [2000] levels"}},
		{"deep arrays", "SELECT " + strings.Repeat("ARRAY[", 1_900) + "1" + strings.Repeat("]", 1_900), 400, "", "", []string{"Arrays are nested more than [32] deep"}},
		{"many columns", "SELECT n" + strings.Repeat(", n", 200_000) + " FROM events", 400, "", "", []string{"more than [100000] names"}},
		{"many arguments", "SELECT 'a'" + strings.Repeat(" || 'a'", 200_000), 400, "", "", []string{"more than [100000] names"}},
		{"many constants", "SELECT 1" + strings.Repeat(", 1", 200_000), 400, "", "", []string{"more than [100000] names"}},
		{"many rows in IN", "SELECT k FROM events WHERE (k, n) IN (('a', 1)" + strings.Repeat(", ('a', 1)", 60_000) + ")", 400, "", "", []string{"more than [100000] names"}},
		{"WITH queries in a circle", "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a", 400, "1", "26", []string{"Object 'b' not found"}},
		{"many queries", "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 20_000), 400, "", "", []string{"more than [100000] names"}},
		{"a name of many parts", "SELECT " + strings.Repeat("a.", 1_000_000) + "b", 400, "", "", []string{"more than [16] parts"}},
		{"long text from a function", "SELECT REPEAT(REPEAT('a', 1000000), 1000000)", 400, "", "", []string{"can't make a string"}},
		{"long array from a function", "SELECT ARRAY_SLICE(ARRAY[1], 0, 2147483647)", 400, "", "", []string{"can't make an array of [2147483647] elements"}},
		{"deep NOT", "SELECT " + strings.Repeat("NOT ", 10_000) + "TRUE", 400, "", "", nil},
		{"deep subqueries", "SELECT 1 FROM " + strings.Repeat("(SELECT 1 FROM ", 10_000) + "events" + strings.Repeat(")", 10_000), 400, "", "", nil},
		{"deep CASE", "SELECT " + strings.Repeat("CASE WHEN TRUE THEN ", 10_000) + "1" + strings.Repeat(" END", 10_000), 400, "", "", nil},
		{"long sum", "SELECT 1" + strings.Repeat(" + n", 10_000) + " FROM events", 0, "", "", nil},
		{"parameter missing", "SELECT * FROM events WHERE n = ?", 400, "", "", nil},
		{"regular expression", "SELECT REGEXP_LIKE(k, '(') FROM events", 400, "", "", []string{"invalid pattern [(]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, r, body := post(t, s, "/service/v2/sql", query(t, c.sql))
			if c.status == 0 { // answered or refused: but never a failure of the server
				if status != 200 && status != 400 {
					t.Errorf("status %d: %.300s", status, body)
				}
				return
			}
			if status != c.status || r.Category != "INVALID_INPUT" {
				t.Fatalf("status %d, %.500s", status, body)
			}
			for _, part := range c.says {
				if !strings.Contains(r.ErrorMessage, part) {
					t.Errorf("the message has no %q: %s", part, r.ErrorMessage)
				}
			}
			if c.line != "" && (r.Context["line"] != c.line || r.Context["column"] != c.column) {
				t.Errorf("the place is line %s, column %s, want %s, %s: %s", r.Context["line"], r.Context["column"], c.line, c.column, r.ErrorMessage)
			}
		})
	}
}

func TestLargeStatementsAreAnswered(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO events OVERWRITE ALL", `{"t":"2024-01-01","k":"v9999","n":1}`), nil); err != nil {
		t.Fatal(err)
	}
	list := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ", ")
	}
	for _, c := range []struct{ name, sql string }{
		{"10,000 IN values", "SELECT COUNT(*) FROM events WHERE k IN (" + list(10_000, "'v%d'") + ") AND n IN (" + list(10_000, "%d") + ")"},
		{"2,000 columns", "SELECT " + list(2_000, "n + %d") + " FROM events"},
		{"10 MB of text", "SELECT LENGTH('" + strings.Repeat("x", 10<<20) + "')"},
		{"10 MB of negative constants", "SELECT COUNT(*) FROM events WHERE CAST(n AS DOUBLE) IN (" + list(1_000_000, "-%d") + ")"},
		{"10 MB of constants", "SELECT COUNT(*) FROM events WHERE n IN (" + list(1_000_000, "%d") + ")"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, body := post(t, s, "/service/v2/sql", query(t, c.sql)); status != 200 {
				t.Errorf("status %d: %.300s", status, body)
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	s := server.Start(t, server.Options{})
	for _, c := range []struct{ name, path, body string }{
		{"broken JSON", "/service/v2/sql", `{"query":"SELECT 1"`},
		{"a list", "/service/v2/sql", `["SELECT 1"]`},
		{"a number as query", "/service/v2/sql", `{"query":1}`},
		{"no query", "/service/v2/sql", `{}`},
		{"header as text", "/service/v2/sql", `{"query":"SELECT 1","header":"maybe"}`},
		{"context as list", "/service/v2/sql", `{"query":"SELECT 1","context":[]}`},
		{"timeout as text", "/service/v2/sql", `{"query":"SELECT 1","context":{"timeout":"soon"}}`},
		{"negative timeout", "/service/v2/sql", `{"query":"SELECT 1","context":{"timeout":-1}}`},
		{"parameters as object", "/service/v2/sql", `{"query":"SELECT 1","parameters":{}}`},
		{"unknown format", "/service/v2/sql", `{"query":"SELECT 1","resultFormat":"xml"}`},
		{"deep JSON", "/service/v2/sql", `{"query":"SELECT 1","context":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`},
		{"broken JSON for a task", "/service/v2/sql/task", `{"query":`},
		{"no query for a task", "/service/v2/sql/task", `{}`},
		{"broken JSON for a statement", "/service/v2/sql/statements", `{"query":`},
		{"no mode for a statement", "/service/v2/sql/statements", `{"query":"SELECT 1","context":{"executionMode":"SYNC"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, r, body := post(t, s, c.path, c.body); status != 400 || r.ErrorMessage == "" {
				t.Errorf("status %d: %.300s", status, body)
			}
		})
	}
	t.Run("text after it is not read", func(t *testing.T) {
		if status, _, body := post(t, s, "/service/v2/sql", `{"query":"SELECT 1 AS a"} {"query":`); status != 200 || strings.TrimSpace(body) != `[{"a":1}]` {
			t.Errorf("status %d: %.300s", status, body)
		}
	})
	t.Run("another content type", func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+"/service/v2/sql", strings.NewReader("<query/>"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/xml")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("status %s", resp.Status)
		}
	})
}

// TestResultsOfStatements asks for pages that can't be had.
func TestResultsOfStatements(t *testing.T) {
	s := server.Start(t, server.Options{})
	var submitted struct{ QueryID, State string }
	body := map[string]any{"query": "SELECT 1 AS one", "context": map[string]any{"executionMode": "ASYNC"}}
	if err := s.Call(t.Context(), http.MethodPost, "/service/v2/sql/statements", body, &submitted); err != nil {
		t.Fatal(err)
	}
	at := "/service/v2/sql/statements/" + submitted.QueryID
	if task, err := s.Await(t.Context(), submitted.QueryID); err != nil || task.StatusCode != "SUCCESS" {
		t.Fatalf("the statement ended as %v, %v", task, err)
	}
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{at + "/results?page=-1", 400, "Page cannot be negative"},
		{at + "/results?page=1", 400, "1"},
		{at + "/results?page=one", 0, ""},
		{"/service/v2/sql/statements/nosuch", 404, ""},
		{"/service/v2/sql/statements/nosuch/results", 404, ""},
		{at + "/results?page=0", 200, `"one":1`},
		{at + "/results", 200, `"one":1`},
	} {
		status, answer, err := s.Send(t.Context(), "router", http.MethodGet, c.path, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.status == 0 && (status < 400 || status > 499) || c.status != 0 && status != c.status || !strings.Contains(string(answer), c.says) {
			t.Errorf("%s: status %d, want %d with %q: %.300s", c.path, status, c.status, c.says, answer)
		}
	}
	twice := map[string]any{"query": "SELECT 1", "context": map[string]any{"executionMode": "ASYNC", "sqlQueryId": "mine"}}
	if err := s.Call(t.Context(), http.MethodPost, "/service/v2/sql/statements", twice, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Call(t.Context(), http.MethodPost, "/service/v2/sql/statements", twice, nil); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("the same id twice: %v", err)
	}
}

// inline is a statement that reads JSON lines with columns t, k and n, by day.
func inline(verb string, lines ...string) string {
	source, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(lines, "\n")})
	if err != nil {
		panic(err) // text always encodes
	}
	return external(verb, string(source), `{"type":"json"}`)
}

func external(verb, source, format string) string {
	return verb + ` SELECT TIME_PARSE(t) AS __time, k, n FROM TABLE(EXTERN('` + strings.ReplaceAll(source, "'", "''") + `', '` + format +
		`')) EXTEND (t VARCHAR, k VARCHAR, n BIGINT) PARTITIONED BY DAY`
}

func local(t *testing.T, path string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": "local", "files": []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// report is the part of a task's report that the tests look at.
type report struct {
	MultiStageQuery struct {
		Payload struct {
			Status struct {
				Status      string
				ErrorReport struct {
					Error map[string]any
				}
				Warnings []struct {
					Error map[string]any
				}
			}
			Counters map[string]map[string]map[string]json.RawMessage
		}
	}
}

// runTask runs a statement to its end and returns how it ended, with its report.
func runTask(t *testing.T, s *server.Server, sql string, context map[string]any) (server.Task, report) {
	t.Helper()
	id, err := s.Submit(t.Context(), sql, context)
	if err != nil {
		t.Fatal(err)
	}
	task, err := s.Await(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/reports", nil, &r); err != nil {
		t.Fatal(err)
	}
	return task, r
}

func TestBadRows(t *testing.T) {
	s := server.Start(t, server.Options{})
	const good = `{"t":"2024-01-01","k":"a","n":1}`
	if err := s.Ingest(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", good), nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return local(t, path)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(bytes.Repeat([]byte(good+"\n"), 10_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const replace = "REPLACE INTO x OVERWRITE ALL"
	for _, c := range []struct {
		name, sql string
		context   map[string]any
		code      string // the fault, "" for success
		says      string
		rows      string // what is in x afterwards; "" for what was there
	}{
		{"a record that does not parse", inline(replace, good, "{oops", good), nil, "CannotParseExternalData", "Record: 2, Line: 2", ""},
		{"such a record, allowed", inline(replace, good, "{oops", good), map[string]any{"maxParseExceptions": 1}, "", "", "[[2]]"},
		{"two, one allowed", inline(replace, good, "{oops", "[1]", good), map[string]any{"maxParseExceptions": 1}, "TooManyWarnings", "", ""},
		{"any number allowed", inline(replace, good, "{oops", "[1]", good), map[string]any{"maxParseExceptions": -1}, "", "", "[[2]]"},
		{"no time", inline(replace, good, `{"k":"b"}`), nil, "InsertTimeNull", "", ""},
		{"null time", inline(replace, good, `{"t":null,"k":"b"}`), nil, "InsertTimeNull", "", ""},
		{"time that does not parse", inline(replace, good, `{"t":"tomorrow","k":"b"}`), nil, "InsertTimeNull", "", ""},
		{"outside of OVERWRITE WHERE", inline("REPLACE INTO x OVERWRITE WHERE __time >= TIMESTAMP '2024-01-01' AND __time < TIMESTAMP '2024-01-02'",
			good, `{"t":"2024-01-02"}`), nil, "InsertTimeOutOfBounds", "OVERWRITE WHERE", ""},
		{"a file that is not there", external(replace, local(t, filepath.Join(dir, "nosuch.json")), `{"type":"json"}`), nil, "any", "nosuch.json", ""},
		{"a directory as file", external(replace, local(t, dir), `{"type":"json"}`), nil, "any", "directory", ""},
		{"truncated gzip", external(replace, file("cut.json.gz", zipped.String()[:zipped.Len()/2]), `{"type":"json"}`), nil, "any", "cut.json.gz", ""},
		{"plain text named as gzip", external(replace, file("plain.json.gz", good), `{"type":"json"}`), nil, "", "", "[[1]]"},
		{"byte-order mark and CRLF", external(replace, file("windows.json", "\ufeff"+good+"\r\n"+good+"\r\n"), `{"type":"json"}`), nil, "", "", "[[2]]"},
		{"byte-order mark and CRLF in CSV", external(replace, file("windows.csv", "\ufefft,k,n\r\n2024-01-01,a,1\r\n2024-01-01,b,2\r\n"),
			`{"type":"csv","findColumnsFromHeader":true}`), nil, "", "", "[[2]]"},
		{"invalid UTF-8", external(replace, file("latin1.json", "{\"t\":\"2024-01-01\",\"k\":\"caf\xe9\",\"n\":1}\n"), `{"type":"json"}`), nil, "", "", "[[1]]"},
		{"an empty file", external(replace, file("empty.json", ""), `{"type":"json"}`), map[string]any{"failOnEmptyInsert": true}, "InsertCannotBeEmpty", "x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := s.Query(t.Context(), "SELECT COUNT(*) FROM x")
			if err != nil {
				t.Fatal(err)
			}
			task, r := runTask(t, s, c.sql, c.context)
			fault := r.MultiStageQuery.Payload.Status.ErrorReport.Error
			text := task.ErrorMsg + fmt.Sprint(fault)
			if (c.code == "") != (task.StatusCode == "SUCCESS") || c.code != "" && c.code != "any" && fault["errorCode"] != c.code || !strings.Contains(text, c.says) {
				t.Errorf("the task is %s with %s, want %q saying %q", task.StatusCode, text, c.code, c.says)
			}
			for _, leak := range []string{"goroutine", ".go:", "panic"} {
				if strings.Contains(text, leak) {
					t.Errorf("the fault shows %q: %s", leak, text)
				}
			}
			want := c.rows
			if want == "" {
				want = fmt.Sprint(before)
			}
			if after, err := s.Query(t.Context(), "SELECT COUNT(*) FROM x"); err != nil || fmt.Sprint(after) != want {
				t.Errorf("afterwards the datasource has %v rows (%v), want %s", after, err, want)
			}
		})
	}
	t.Run("bad rows are counted and sampled", func(t *testing.T) {
		_, r := runTask(t, s, inline(replace, good, "{oops", good), map[string]any{"maxParseExceptions": 5})
		if w := r.MultiStageQuery.Payload.Status.Warnings; len(w) != 1 || w[0].Error["errorCode"] != "CannotParseExternalData" {
			t.Errorf("the warnings are %v", w)
		}
		if n := string(r.MultiStageQuery.Payload.Counters["0"]["0"]["warnings"]); !strings.Contains(n, `"CannotParseExternalData":1`) {
			t.Errorf("the counter of warnings is %s", n)
		}
	})
}

func TestRefusedLoads(t *testing.T) {
	s := server.Start(t, server.Options{})
	extern := func(columns string) string {
		return `INSERT INTO x SELECT TIME_PARSE(t) AS __time FROM TABLE(EXTERN('{"type":"inline","data":"{}"}', '{"type":"json"}')) EXTEND (` + columns + `) PARTITIONED BY DAY`
	}
	for _, c := range []struct{ name, sql, says string }{
		{"a column twice", extern("t VARCHAR, t VARCHAR"), "t"},
		{"a column without a name", extern(`t VARCHAR, "" VARCHAR`), ""},
		{"a type that is none", extern("t VARCHR"), "VARCHR"},
		{"no time chunk", strings.TrimSuffix(extern("t VARCHAR"), " PARTITIONED BY DAY"), "PARTITIONED BY"},
		{"a source that is no JSON", strings.Replace(extern("t VARCHAR"), `{"type":"inline","data":"{}"}`, `{"type":`, 1), ""},
		{"a source of no kind", strings.Replace(extern("t VARCHAR"), `"inline"`, `"inlin"`, 1), "inlin"},
		{"a format of no kind", strings.Replace(extern("t VARCHAR"), `"json"`, `"jsn"`, 1), "jsn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, r, body := post(t, s, "/service/v2/sql/task", query(t, c.sql))
			if status != 400 || !strings.Contains(r.ErrorMessage, c.says) {
				t.Errorf("status %d, want 400 saying %q: %.400s", status, c.says, body)
			}
		})
	}
	t.Run("too many time chunks", func(t *testing.T) {
		var rows []string
		for i := range 5001 {
			rows = append(rows, fmt.Sprintf(`{"t":"2024-01-01T%02d:%02d:%02d"}`, i/3600, i/60%60, i%60))
		}
		sql := strings.Replace(inline("REPLACE INTO x OVERWRITE ALL", rows...), "PARTITIONED BY DAY", "PARTITIONED BY FLOOR(__time TO SECOND)", 1)
		task, r := runTask(t, s, sql, nil)
		if fault := r.MultiStageQuery.Payload.Status.ErrorReport.Error; task.StatusCode != "FAILED" || fault["errorCode"] != "TooManyBuckets" {
			t.Errorf("the task is %s: %v", task.StatusCode, fault)
		}
	})
}

// Arrays and multi-value strings are not mixed in a column, unless a statement names it.
func TestStoredTypesAreChecked(t *testing.T) {
	s := server.Start(t, server.Options{})
	insert := func(value string, context map[string]any) error {
		return s.Ingest(t.Context(), `INSERT INTO t SELECT TIMESTAMP '2024-01-01' AS __time, `+value+` AS v PARTITIONED BY DAY`, context)
	}
	if err := insert("ARRAY['a', 'b']", nil); err != nil {
		t.Fatal(err)
	}
	const want = "Cannot write into field[v] using type[CHAR] and arrayIngestMode[array], since the existing type is[VARCHAR ARRAY]"
	if err := insert("'c'", nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if err := insert("'c'", map[string]any{"skipTypeVerification": "w"}); err == nil {
		t.Error("another column's name does")
	}
	for _, names := range []any{"w, v", []string{"v"}, `["v"]`} {
		if err := insert("'c'", map[string]any{"skipTypeVerification": names}); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
}
