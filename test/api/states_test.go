package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestMergeableMetrics loads metrics of first and last values, means and variances in two appended
// parts that overlap in time. Queries, a compaction to a coarser granularity and queries after it
// must merge their states, not their results.
func TestMergeableMetrics(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	const metrics = `[{"type":"count","name":"c"},{"type":"longFirst","name":"lf","fieldName":"n"},{"type":"longLast","name":"ll","fieldName":"n"},
		{"type":"doubleLast","name":"dl","fieldName":"f"},{"type":"floatFirst","name":"ff","fieldName":"f"},
		{"type":"stringFirst","name":"sf","fieldName":"s"},{"type":"stringLast","name":"sl","fieldName":"s","maxStringBytes":3},
		{"type":"doubleMean","name":"m","fieldName":"n"},{"type":"variance","name":"v","fieldName":"n"},
		{"type":"variance","name":"vp","fieldName":"n","estimator":"population"}]`
	parts := [][]string{
		{`{"t":"2024-01-01T02:00","k":"a","n":2,"f":2.5,"s":"two"}`, `{"t":"2024-01-01T04:00","k":"a","n":4,"f":4.5,"s":"fourth"}`},
		{`{"t":"2024-01-01T01:00","k":"a","n":1,"f":1.5,"s":"one"}`, `{"t":"2024-01-01T03:00","k":"a","n":9,"f":9.5,"s":"nine"}`,
			`{"t":"2024-01-01T05:00","k":"b","n":7}`},
	}
	for _, lines := range parts {
		load := nativeLoad{lines: lines, metrics: metrics, granularity: `{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true}`,
			io: `{"appendToExisting":true}`}
		if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
			t.Fatal(task.ErrorMsg)
		}
	}
	check := func(when string, rows int) {
		t.Helper()
		for sql, want := range map[string]string{
			`SELECT k, SUM(c), EARLIEST(lf), LATEST(ll), LATEST(dl), EARLIEST(ff) FROM x GROUP BY k ORDER BY k`: "[[a 4 1 4 4.5 1.5] [b 1 7 7 <nil> <nil>]]",
			`SELECT EARLIEST(sf), LATEST(sl, 100), AVG(m) FROM x`:                                               "[[one <nil> 4.6]]",
			`SELECT LATEST(sl) FROM x WHERE k = 'a'`:                                                            "[[fou]]",
			// of 2, 4, 1, 9
			`SELECT VAR_SAMP(v), VAR_POP(v), ROUND(STDDEV(v), 6), VAR_POP(vp) FROM x WHERE k = 'a'`: "[[12.666666666666666 9.5 3.559026 9.5]]",
			`SELECT COUNT(*) FROM x`: fmt.Sprintf("[[%d]]", rows),
			`SELECT DISTINCT DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' AND COLUMN_NAME IN ('ll', 'm', 'v', 'sf') ORDER BY 1`: "[[COMPLEX<doubleMean>] " +
				"[COMPLEX<serializablePairLongLong>] [COMPLEX<serializablePairLongString>] [COMPLEX<variance>]]",
			`SELECT dl, v FROM x WHERE k = 'b'`: `[[{"lhs":1704085200000,"rhs":null} "AAAAAAAAAAFAHAAAAAAAAAAAAAAAAAAA"]]`,
		} {
			if got := ask(sql); got != want {
				t.Errorf("%s: %s: got %s, want %s", when, sql, got, want)
			}
		}
		native := `{"queryType":"groupBy","dataSource":"x","granularity":"all","intervals":["2024/2025"],"dimensions":["k"],"aggregations":[
			{"type":"longLast","name":"l","fieldName":"ll"},{"type":"stringFirst","name":"s","fieldName":"sf"},{"type":"varianceFold","name":"v","fieldName":"v"},
			{"type":"doubleMean","name":"m","fieldName":"m"}]}`
		var events []struct{ Event map[string]any }
		if err := s.Call(t.Context(), http.MethodPost, "/service/v2", json.RawMessage(native), &events); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(events[0].Event), "map[k:a l:4 m:4.0 s:one v:12.666666666666666]"; got != want {
			t.Errorf("%s: native: %s, want %s", when, got, want)
		}
	}
	check("appended", 3)
	const compact = `{"type":"compact","dataSource":"x","ioConfig":{"type":"compact","inputSpec":{"type":"interval","interval":"2024-01-01/2024-02-01"}},
		"granularitySpec":{"segmentGranularity":"MONTH","queryGranularity":"MONTH","rollup":true}}`
	if task, _ := runNative(t, s, compact); task.ErrorMsg != "" {
		t.Fatal(task.ErrorMsg)
	}
	check("compacted", 2)
}

// TestMergeableMetricsOfSQL keeps the states of first and last values and variances in a statement
// with finalizeAggregations=false.
func TestMergeableMetricsOfSQL(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	for i, rows := range []string{
		`{"t":"2024-01-01T02:00","k":"a","n":2}\n{"t":"2024-01-01T04:00","k":"a","n":4}`, `{"t":"2024-01-01T01:00","k":"a","n":1}\n{"t":"2024-01-01T03:00","k":"a","n":9}`,
	} {
		sql := `INSERT INTO y SELECT TIME_FLOOR(__time, 'P1D') AS __time, k, LATEST_BY(n, __time) AS l, EARLIEST_BY(k, __time, 10) AS e, VAR_POP(n) AS v
			FROM (SELECT TIME_PARSE(t) AS __time, k, n FROM TABLE(EXTERN('{"type":"inline","data":"` + strings.ReplaceAll(strings.ReplaceAll(rows, `"`, `\"`), `\n`, `\n`) +
			`"}', '{"type":"json"}')) EXTEND (t VARCHAR, k VARCHAR, n BIGINT)) GROUP BY 1, 2 PARTITIONED BY DAY`
		if err := s.Ingest(context.Background(), sql, map[string]any{"finalizeAggregations": false}); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
	}
	if got, want := ask(`SELECT LATEST(l), EARLIEST(e), VAR_POP(v) FROM y`), "[[4 a 9.5]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
