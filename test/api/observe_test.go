package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// watched is a server with a datasource of three days, one segment each.
func watched(t *testing.T) *server.Server {
	t.Helper()
	s := server.Start(t, server.Options{})
	rows := make([]string, 0, 300)
	for i := range 300 {
		rows = append(rows, fmt.Sprintf("(TIMESTAMP '2024-01-0%d 00:00:00', 'k%d', %d)", i%3+1, i%7, i))
	}
	load := "REPLACE INTO w OVERWRITE ALL SELECT t AS __time, k, n FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(t, k, n) PARTITIONED BY DAY"
	if err := s.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// What is computed once and read twice is shown once.
func TestExplainAnalyzeOfWhatIsShared(t *testing.T) {
	s := watched(t)
	rows, err := s.Query(t.Context(), "EXPLAIN ANALYZE WITH g AS (SELECT k, SUM(n) AS s FROM w GROUP BY k) SELECT k FROM g WHERE s = (SELECT MAX(s) FROM g)")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&text, r[0])
	}
	for want, n := range map[string]int{"Shared 1": 2, "Shared 1, as above": 1, "Scan w": 1} {
		if got := strings.Count(text.String(), want); got != n {
			t.Errorf("[%s] is there [%d] times, want [%d], in:\n%s", want, got, n, text.String())
		}
	}
}

// Of equal plans one runs, whichever reader is the first: what it did is told where the plan is
// shown.
func TestExplainAnalyzeOfWhatTheSecondReaderComputes(t *testing.T) {
	s := watched(t)
	rows, err := s.Query(t.Context(), `EXPLAIN ANALYZE WITH v AS (SELECT k, s, RANK() OVER (ORDER BY s) AS r FROM (SELECT k, SUM(n) AS s FROM w GROUP BY k))
		SELECT a.k, b.s FROM v a JOIN v b ON a.r = b.r + 1 JOIN (SELECT k FROM v WHERE s > 10) c ON c.k = a.k`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[:len(rows)-1] {
		if line := fmt.Sprint(r[0]); !strings.Contains(line, "(rows=") {
			t.Errorf("nothing is told of [%s], in:\n%v", line, rows)
		}
	}
}

// What is shared is measured where it is shown, whichever of its readers had it computed; rows of
// groups in order are counted once.
func TestExplainAnalyzeMeasuresWhatIsShared(t *testing.T) {
	s := watched(t)
	rows, err := s.Query(t.Context(), "EXPLAIN ANALYZE WITH g AS (SELECT k, SUM(n) AS s FROM w GROUP BY k) SELECT a.k FROM g a JOIN g b ON a.s < b.s")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&text, r[0])
	}
	groups, err := s.Query(t.Context(), "SELECT COUNT(DISTINCT k) FROM w")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf(" Aggregate keys=[k#0] aggs=[SUM(n#1) as SUM BIGINT] (rows=%v ", groups[0][0]), "segments=3 scanned=3 pruned=0 looked_at=300"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
}

func TestExplainAnalyze(t *testing.T) {
	s := watched(t)
	const query = "SELECT a.k, COUNT(*) FROM w a JOIN w b ON a.k = b.k WHERE a.__time >= TIMESTAMP '2024-01-02 00:00:00' GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
	rows, err := s.Query(t.Context(), "EXPLAIN ANALYZE "+query)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&text, r[0])
	}
	for _, want := range []string{"Sort [", "Aggregate keys=", "Join inner", "segments=3 scanned=2 pruned=1 looked_at=200", "segments=3 scanned=3 pruned=0 looked_at=300",
		"3 rows; planning "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}

	rows, err = s.Query(t.Context(), "EXPLAIN ANALYZE AS JSON "+query)
	if err != nil {
		t.Fatal(err)
	}
	type operator struct {
		Operator                 string
		Rows, Bytes, MemoryBytes int64
		TimeMs                   float64
		Segments                 *struct{ Total, Scanned, Pruned, Rows int64 }
		Inputs                   []operator
	}
	var out struct {
		RunningMs         float64
		Rows, MemoryBytes int64
		Plan              operator
	}
	if err := json.Unmarshal([]byte(rows[0][0].(string)), &out); err != nil {
		t.Fatal(err)
	}
	if out.Rows != 3 || out.RunningMs <= 0 || out.MemoryBytes <= 0 {
		t.Errorf("in all %+v", out)
	}
	given := map[string]int64{}
	var walk func(o operator)
	walk = func(o operator) {
		given[o.Operator] += o.Rows
		if o.Rows > 0 && (o.TimeMs <= 0 || o.Bytes <= 0) {
			t.Errorf("%s gave rows in no time or of no bytes: %+v", o.Operator, o)
		}
		for _, in := range o.Inputs {
			walk(in)
		}
	}
	walk(out.Plan)
	if given["Scan"] != 500 || given["Aggregate"] != 7 || given["Sort"] != 3 {
		t.Errorf("rows by operator %v in %s", given, rows[0][0])
	}
	if _, err := s.Query(t.Context(), "EXPLAIN ANALYZE INSERT INTO w SELECT * FROM w PARTITIONED BY DAY"); err == nil {
		t.Error("EXPLAIN ANALYZE of an INSERT was run")
	}
}

func TestQueriesAreRemembered(t *testing.T) {
	s := watched(t)
	send := func(id, sql string) {
		body, err := json.Marshal(map[string]any{"query": sql, "context": map[string]any{"sqlQueryId": id}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2/sql", string(body)); err != nil {
			t.Fatal(err)
		}
	}
	send("good", "SELECT k, COUNT(*) FROM w GROUP BY 1")
	send("told", "EXPLAIN ANALYZE SELECT k, COUNT(*) FROM w GROUP BY 1")
	send("bad", "SELECT n / (n - n) FROM w")
	send("secret", `SELECT 1 FROM w WHERE k = '{"password":"sesame"}' OR k = '`+strings.Repeat("x", 10_000)+"'")
	rows, err := s.Query(t.Context(), "SELECT id, state, num_rows, memory > 0, error_msg, duration >= 0, start_time LIKE '20%', LENGTH(info) < 5000, info LIKE '%sesame%' "+
		"FROM sys.queries WHERE state <> 'RUNNING' AND id IN ('good', 'bad', 'secret', 'told') ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(rows)
	for _, want := range []string{"good SUCCESS 7 true <nil> true true true false", "told SUCCESS 5 true <nil> true true true false", "bad FAILED 0", "by zero", "secret SUCCESS 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Contains(got, "true true true true") {
		t.Errorf("a secret is shown in %s", got)
	}
	var list struct {
		Queries []struct{ SQLQueryID, State string }
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/v2/sql/queries?includeComplete", nil, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Queries) < 3 {
		t.Errorf("%d queries are listed", len(list.Queries))
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/v2/sql/queries", nil, &list); err != nil || len(list.Queries) != 0 {
		t.Errorf("running: %v, %v", list, err)
	}
	for id, want := range map[string]string{
		"good":   `"state":"SUCCESS","engine":"native","startTime":"20.*"report":{"durationMs":\d+,"rows":7,"bytes":[1-9]\d*,"memoryBytes":[1-9]\d*,"dataSources":\["w"\]}`,
		"bad":    `"state":"FAILED".*"errorMessage":"[^"]*by zero`,
		"secret": `"sql":"SELECT 1 FROM w WHERE k = .*\*\*\*`,
	} {
		status, body, err := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/sql/queries/"+id+"/reports", "")
		if err != nil || status != http.StatusOK || !regexp.MustCompile(want).Match(body) {
			t.Errorf("report of [%s]: %d %s, %v", id, status, body, err)
		}
	}
}
