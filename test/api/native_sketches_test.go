package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeSketchesThatAreShown asks for the bytes that Druid has for these rows: the order of the
// values in a small HLL sketch tells how often it was stored and read on its way.
func TestNativeSketchesThatAreShown(t *testing.T) {
	s := server.Start(t, server.Options{})
	var rows []string
	for i := range 9 {
		rows = append(rows, fmt.Sprintf(`{"t":"2024-01-01T00:00:0%dZ","k":"a","n":%d}`, i, i))
	}
	if err := s.Ingest(t.Context(), inline("REPLACE INTO nine OVERWRITE ALL", strings.Join(rows, "\n")), nil); err != nil {
		t.Fatal(err)
	}
	const (
		all    = `"dataSource":"nine","intervals":"2024-01-01/2024-01-02","granularity":"all","aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"n"}]`
		field  = `"postAggregations":[{"type":"fieldAccess","name":"p","fieldName":"x"}]`
		raw    = `"context":{"finalize":false}`
		first  = `"AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEwekXBdIWcwd1gWYH/C1CCntl5ggr8vsG"`
		second = `"AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEK/L7BsHpFwXSFnMHdYFmB3tl5gj8LUIK"`
	)
	for _, c := range []struct{ name, body, want string }{
		{"a time series", `{"queryType":"timeseries",` + all + `,` + raw + `}`, `"x":` + second},
		{"the best", `{"queryType":"topN","dimension":"k","metric":{"type":"dimension"},"threshold":1,` + all + `,` + raw + `}`, `"x":` + second},
		{"groups", `{"queryType":"groupBy","dimensions":["k"],` + all + `,` + raw + `}`, `"x":` + first},
		{"a field", `{"queryType":"timeseries",` + all + `,` + field + `}`, `"p":` + second},
		{"the result of a query", `{"queryType":"timeseries","dataSource":{"type":"query","query":{"queryType":"scan","dataSource":"nine","intervals":"2024-01-01/2024-01-02",` +
			`"columns":["__time","k","n"],"resultFormat":"compactedList"}},` + strings.TrimPrefix(all, `"dataSource":"nine",`) + `,` + raw + `}`, `"x":` + first},
		{"what can't be computed of no rows, where no bucket has none", `{"queryType":"timeseries","dataSource":"nine","intervals":"2024-01-01/2024-01-02","granularity":"day","aggregations":[` +
			`{"type":"arrayOfDoublesSketch","name":"x","fieldName":"n","metricColumns":["n"]}],"postAggregations":[{"type":"arrayOfDoublesSketchTTest","name":"p","fields":[` +
			`{"type":"fieldAccess","fieldName":"x"},{"type":"fieldAccess","fieldName":"x"}]}]}`, `"result":{"x":9.0,"p":[1.0]}`},
	} {
		status, _, got := post(t, s, "/service/v2", c.body)
		if status != http.StatusOK || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, %s, want %s", c.name, status, got, c.want)
		}
	}
}

// TestSQLSketchesThatAreShown is the same for SQL, where the sketches of groups are merged in the
// order of the groups.
func TestSQLSketchesThatAreShown(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), `REPLACE INTO nine OVERWRITE ALL SELECT TIME_PARSE('2024-01-01') AS __time, 'a' AS k, n
		FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8)) AS t (n) PARTITIONED BY DAY CLUSTERED BY n`, nil); err != nil {
		t.Fatal(err)
	}
	const (
		first  = `AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEwekXBdIWcwd1gWYH/C1CCntl5ggr8vsG`
		second = `AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEK/L7BsHpFwXSFnMHdYFmB3tl5gj8LUIK`
		groups = `(SELECT n, k, DS_HLL(n, 12, 'HLL_8') AS x FROM nine GROUP BY n, k)`
	)
	for sql, want := range map[string]string{
		`SELECT DS_HLL(n) AS x FROM nine`:                                      second,
		`SELECT k, DS_HLL(n) AS x FROM nine GROUP BY k`:                        first,
		`SELECT DS_HLL(x) AS x FROM ` + groups:                                 first,
		`SELECT k, DS_HLL(x) AS x FROM ` + groups + ` GROUP BY k`:              first,
		`SELECT DS_HLL(x, 12, 'HLL_8') AS x FROM ` + groups:                    `AwEHDAUIAAkJ`,
		`SELECT DS_HLL(x, 4, 'HLL_8') AS x FROM ` + groups:                     `CgEHBAAAAAr`,
		`SELECT k, DS_HLL(x, 12, 'HLL_6') AS x FROM ` + groups + ` GROUP BY k`: `AwEHDAUIAAUJ`,
	} {
		status, _, got := post(t, s, "/service/v2/sql", fmt.Sprintf(`{"query":%q}`, sql))
		if status != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("%s: status %d, %s, want %s", sql, status, got, want)
		}
	}
}

// TestNativeSketchesWithoutSomeMembers asks for what Druid answers, or refuses, where a member is
// missing or says nothing.
func TestNativeSketchesWithoutSomeMembers(t *testing.T) {
	s := server.Start(t, server.Options{})
	const rows = `{"t":"2024-01-01T00:00:00Z","k":"a","n":1}` + "\n" + `{"t":"2024-01-01T00:00:01Z","k":"b","n":2}`
	if err := s.Ingest(t.Context(), inline("REPLACE INTO two OVERWRITE ALL", rows), nil); err != nil {
		t.Fatal(err)
	}
	const (
		all       = `"dataSource":"two","intervals":"2024-01-01/2024-01-02","granularity":"all"`
		series    = `{"queryType":"timeseries",` + all
		groups    = `{"queryType":"groupBy","dimensions":["k"],` + all
		quantiles = `,"aggregations":[{"type":"quantilesDoublesSketch","name":"x","fieldName":"n"}],"postAggregations":[{"name":"p","field":{"type":"fieldAccess","fieldName":"x"},`
		hll       = `,"aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"n"}],"postAggregations":[{"name":"p",`
		unshown   = `,"aggregations":[{"type":"hyperUnique","name":"x","fieldName":"n"}],"context":{"finalize":false}}`
	)
	for _, c := range []struct{ name, body, want string }{
		{"an aggregator of parts", series + `,"aggregations":[{"type":"quantilesDoublesSketchMerge","name":"n","fieldName":"k"}]}`, `"n":2`},
		{"parts that are not there", series + `,"aggregations":[{"type":"KllFloatsSketchMerge","name":"x","fieldName":"n"}]}`, `"x":0`},
		{"a KLL sketch that is always finalized", series + `,"aggregations":[{"type":"KllDoublesSketch","name":"x","fieldName":"n","shouldFinalize":false}]}`, `"x":2`},
		{"a quantile without fraction", series + quantiles + `"type":"quantilesDoublesSketchToQuantile"}]}`, `"p":1.0`},
		{"a rank without value", series + quantiles + `"type":"quantilesDoublesSketchToRank"}]}`, `"p":0.0`},
		{"a union of one", series + hll + `"type":"HLLSketchUnion","fields":[{"type":"fieldAccess","fieldName":"x"}]}]}`, `"p":"AgEHDAMIAg`},
		{"a metric that is a text", series + `,"aggregations":[{"type":"arrayOfDoublesSketch","name":"x","fieldName":"n","metricColumns":["k","n"]}],"postAggregations":[` +
			`{"type":"arrayOfDoublesSketchToMetricsSumEstimate","name":"p","field":{"type":"fieldAccess","fieldName":"x"}}]}`, `"p":[0.0,3.0]`},
		{"a field that no row has", series + `,"aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":""},{"type":"longSum","name":"y","fieldName":""}]}`, `"x":0.0,"y":null`},
		{"sketches without a field", series + `,"aggregations":[{"type":"hyperUnique","name":"x"}]}`, `"x":0.0`},
		{"a flag that is a number", series + `,"aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"n","round":1}]}`, `"x":2}`},
		{"a setting that says neither true nor false", series + `,"aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"n"}],"context":{"finalize":""}}`, `"x":"AgEHDAMIAg`},
		{"hyperUnique of numbers", series + unshown, `"x":null`},
		{"hyperUnique of numbers in groups", groups + unshown, `"x":"AQAAAAAAAA=="`},
		{"an order by what is not finalized", groups + hll + `"type":"fieldAccess","fieldName":"x"}],"limitSpec":{"type":"default","columns":["p"]}}`,
			`Comparing values that are not finalized is not supported`},
		{"a virtual column that nobody asks for", series + `,"virtualColumns":[{"type":"expression","name":"v","expression":"no(1)"}]}`, `Function [no] of native expressions is not defined`},
		{"a strategy that is a number", groups + `,"context":{"groupByStrategy":2}}`, `Expected key [groupByStrategy] to be [v2], but got [2]`},
		{"an order in capitals", `{"queryType":"scan",` + all + `,"columns":["__time","n"],"order":"DESCENDING"}`, `"n":2}],"rowSignature"`},
	} {
		if _, _, got := post(t, s, "/service/v2", c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestNativeQueriesKnowMetrics asks for columns of rows that were rolled up: a scan gives metrics
// last and by name, a search looks into none.
func TestNativeQueriesKnowMetrics(t *testing.T) {
	s := server.Start(t, server.Options{})
	const sql = `REPLACE INTO rolled OVERWRITE ALL SELECT TIME_PARSE('2024-01-01') AS __time, MAX(n) AS zm, k, APPROX_COUNT_DISTINCT_DS_HLL_UTF8(k) AS hk, COUNT(*) AS am, n AS z
		FROM (VALUES ('k1', 1), ('k1', 1), ('k2', 12)) AS t (k, n) GROUP BY k, n PARTITIONED BY DAY`
	if err := s.Ingest(t.Context(), sql, map[string]any{"finalizeAggregations": false}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, body, want string }{
		{"a scan", `{"queryType":"scan","dataSource":"rolled","intervals":"2024/2025","limit":1}`, `"columns":["__time","k","z","am","hk","zm"]`},
		{"a scan of a join", `{"queryType":"scan","dataSource":{"type":"join","left":"rolled","right":{"type":"inline","columnNames":["k"],"columnTypes":["STRING"],"rows":[["k1"]]},` +
			`"rightPrefix":"r.","condition":"k == \"r.k\"","joinType":"INNER"},"intervals":"2024/2025","limit":1}`, `"columns":["__time","k","z","r.k","am","hk","zm"]`},
		{"a search", `{"queryType":"search","dataSource":"rolled","intervals":"2024/2025","granularity":"all","query":{"type":"contains","value":"1"}}`,
			`"result":[{"dimension":"z","value":"1","count":1},{"dimension":"z","value":"12","count":1},{"dimension":"k","value":"k1","count":1}]`},
		{"the aggregators", `{"queryType":"segmentMetadata","dataSource":"rolled","analysisTypes":["aggregators"],"toInclude":{"type":"none"}}`,
			`"hk":{"fieldName":"hk","lgK":12,"name":"hk","stringEncoding":"utf8","tgtHllType":"HLL_4","type":"HLLSketchMerge"}`},
	} {
		status, _, got := post(t, s, "/service/v2", c.body)
		if status != http.StatusOK || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, %s, want %s", c.name, status, got, c.want)
		}
	}
}
