package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A query may name the segments that it reads (intervals of type segments). Every type of query
// reads their rows only, in the part of their time that is named.
func TestQueriesOfNamedSegments(t *testing.T) {
	s := server.Start(t, server.Options{})
	load := func(verb, n string) {
		t.Helper()
		sql := verb + ` SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 01:00:00', ` + n + `), (TIMESTAMP '2024-01-01 20:00:00', ` + n + `0), ` +
			`(TIMESTAMP '2024-01-02 01:00:00', ` + n + `00)) AS v(__time, n) PARTITIONED BY DAY`
		if err := s.Ingest(t.Context(), sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	load("REPLACE INTO t OVERWRITE ALL", "1")
	load("INSERT INTO t", "2")
	load("REPLACE INTO u OVERWRITE ALL", "5")
	segments, err := s.Query(t.Context(), `SELECT "version", partition_num FROM sys.segments WHERE datasource = 't' AND "start" LIKE `+
		`'2024-01-01%' ORDER BY partition_num`)
	if err != nil || len(segments) != 2 {
		t.Fatalf("%v: %v", segments, err)
	}
	const day, evening = "2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z", "2024-01-01T12:00:00.000Z/2024-01-02T00:00:00.000Z"
	of := func(interval string, i int) string {
		return fmt.Sprintf(`{"itvl":"%s","ver":"%s","part":%v}`, interval, segments[i][0], segments[i][1])
	}
	only := func(list ...string) string {
		return `"intervals":{"type":"segments","segments":[` + strings.Join(list, ",") + `]}`
	}
	first, second, late := only(of(day, 0)), only(of(day, 1)), only(of(evening, 1))
	const (
		source = `"dataSource":"t",`
		sum    = `,"granularity":"all","aggregations":[{"type":"longSum","name":"x","fieldName":"n"}]`
		counts = `,"granularity":"all","aggregations":[{"type":"count","name":"x"}]`
	)
	for _, tc := range []struct{ name, body, want string }{
		{"timeseries", `"queryType":"timeseries",` + source + first + sum, `"result":{"x":11}}]`},
		{"the other", `"queryType":"timeseries",` + source + second + sum, `"result":{"x":22}}]`},
		{"the same again", `"queryType":"timeseries",` + source + first + sum, `"result":{"x":11}}]`},
		{"a part of one", `"queryType":"timeseries",` + source + late + sum, `"result":{"x":20}}]`},
		{"both, one of them in part", `"queryType":"timeseries",` + source + only(of(day, 0), of(evening, 1)) + sum, `"result":{"x":31}}]`},
		{"one twice", `"queryType":"timeseries",` + source + only(of(day, 0), of(evening, 0)) + sum, `"result":{"x":11}}]`},
		{"counts of rows", `"queryType":"timeseries",` + source + first + counts, `"result":{"x":2}}]`},
		{"another version", `"queryType":"scan",` + source + only(`{"itvl":"`+day+`","ver":"2020-01-01T00:00:00.000Z","part":0}`) +
			`,"columns":["n"]`, `[]`},
		{"another part", `"queryType":"scan",` + source + only(strings.Replace(of(day, 0), `"part":0`, `"part":7`, 1)) + `,"columns":["n"]`,
			`[]`},
		{"more than its time", `"queryType":"scan",` + source + only(of("2024-01-01/2024-01-03", 0)) + `,"columns":["n"]`, `[]`},
		{"none", `"queryType":"scan",` + source + only() + `,"columns":["n"]`, `[]`},
		{"scan", `"queryType":"scan",` + source + second + `,"columns":["n"],"resultFormat":"compactedList"`, `"events":[[2],[20]]`},
		{"groupBy", `"queryType":"groupBy",` + source + first + sum + `,"dimensions":["n"]`, `"event":{"n":"1","x":1}}`},
		{"topN", `"queryType":"topN",` + source + second + sum + `,"dimension":"n","metric":"x","threshold":5`,
			`"result":[{"n":"20","x":20},{"n":"2","x":2}]`},
		{"search", `"queryType":"search",` + source + first + `,"granularity":"all","searchDimensions":["n"],` +
			`"query":{"type":"insensitive_contains","value":"0"}`,
			`"result":[{"dimension":"n","value":"10","count":1}]`},
		{"timeBoundary", `"queryType":"timeBoundary",` + source + late,
			`"result":{"maxTime":"2024-01-01T20:00:00.000Z","minTime":"2024-01-01T20:00:00.000Z"}`},
		{"segmentMetadata", `"queryType":"segmentMetadata","merge":true,"analysisTypes":[],` + source + first, `"numRows":2`},
		{"by segment", `"queryType":"timeseries",` + source + second + sum + `,"context":{"bySegment":true}`,
			`"result":{"x":22}}],"segment":"t_2024-01-01T00:00:00.000Z_`},
		{"a query within", `"queryType":"groupBy","dimensions":[],"dataSource":{"type":"query","query":{"queryType":"groupBy",` + source +
			first + sum + `,"dimensions":["n"]}},` +
			`"intervals":["2000/2100"],"granularity":"all","aggregations":[{"type":"longSum","name":"y","fieldName":"x"}]`, `"event":{"y":11}}]`},
		{"a union", `"queryType":"timeseries","dataSource":{"type":"union","dataSources":["t","u"]},` + first + sum, `"result":{"x":11}}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if status, _, got := post(t, s, "/service/v2", "{"+tc.body+"}"); status != http.StatusOK || !strings.Contains(got, tc.want) ||
				(tc.want == "[]" && got != tc.want) {
				t.Errorf("%d %s\nwant in it %s", status, got, tc.want)
			}
		})
	}
	within := `"dataSource":{"type":"query","query":{"queryType":"groupBy",` + source + `"intervals":["2000/2100"]` + sum +
		`,"dimensions":["n"]}}`
	for _, tc := range []struct{ name, body, want string }{
		{"no list", source + `"intervals":{"type":"segments"}`, "intervals of type [segments] need a list [segments]"},
		{"null", source + `"intervals":{"type":"segments","segments":null}`, "intervals of type [segments] need a list [segments]"},
		{"texts", source + only(`"t_1"`), "segments must be objects with [itvl], [ver] and [part]"},
		{"no version", source + only(`{"itvl":"2024/2025","part":0}`), "A segment needs [itvl], [ver] and [part]"},
		{"no interval", source + only(`{"ver":"v","part":0}`), "A segment needs [itvl], [ver] and [part]"},
		{"an interval that is none", source + only(`{"itvl":"today","ver":"v","part":0}`), "today"},
		{"a part that is none", source + only(`{"itvl":"2024/2025","ver":"v","part":"x"}`), "part"},
		{"another type", source + `"intervals":{"type":"moon","intervals":["2024/2025"]}`,
			`intervals can't be of type "moon": want [intervals] or [segments]`},
		{"a filter", source + `"intervals":["2024/2025"],"filter":{"type":"interval","dimension":"__time",` + first + `}`,
			`intervals can't be of type "segments": want [intervals]`},
		{"one datasource twice", `"dataSource":{"type":"join","left":"t","right":{"type":"query","query":` +
			within[len(`"dataSource":{"type":"query","query":`):len(within)-1] +
			`},"rightPrefix":"r.","condition":"n == \"r.n\"","joinType":"INNER"},` + first,
			"Intervals of type [segments] are not supported where a query reads datasource [t] several times"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, _, got := post(t, s, "/service/v2", `{"queryType":"timeseries",`+tc.body+counts+`}`)
			if status < 400 || status == 500 || !strings.Contains(got, strings.ReplaceAll(tc.want, `"`, `\"`)) {
				t.Errorf("%d %s\nwant in it %s", status, got, tc.want)
			}
		})
	}
}
