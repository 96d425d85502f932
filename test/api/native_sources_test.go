package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeConstantsWithoutTypes reads inline datasources that say no types: each column has the
// type of its values.
func TestNativeConstantsWithoutTypes(t *testing.T) {
	s := server.Start(t, server.Options{})
	of := func(kind, rows, rest string) string {
		return `{"queryType":"` + kind + `","dataSource":{"type":"inline","columnNames":["x"],"rows":[` + rows + `]},"intervals":["0000/3000"],"granularity":"all",` + rest + `}`
	}
	const (
		whole  = `[3000000000],[null],[10],[9]`
		broken = `[1.5],[2],[null]`
		words  = `["a"],[null],["1"]`
		lists  = `["c"],[["a","b"]],[[1]],[null]`
		listed = `[[1,2]],[[3]],[null]`
		mixed  = `[1],["z"],[2.5],[true],[{"k":[7]}],[null]`
		counts = `"aggregations":[{"type":"count","name":"n"}],"context":{"resultAsArray":true}`
		sums   = `"aggregations":[{"type":"longSum","name":"l","fieldName":"x"},{"type":"doubleMax","name":"d","fieldName":"x"}]`
	)
	group := func(rows string) string { return of("groupBy", rows, `"dimensions":["x"],`+counts) }
	scan := func(rows string) string { return of("scan", rows, `"columns":["x"],"resultFormat":"compactedList"`) }
	for _, c := range []struct{ name, body, want string }{
		{"whole numbers", scan(whole), `"events":[[3000000000],[null],[10],[9]],"rowSignature":[{"name":"x"}]`},
		{"fractions", scan(broken), `"events":[[1.5],[2.0],[null]]`},
		{"lists of numbers", scan(listed), `"events":[[[1,2]],[[3]],[null]]`},
		{"values of several kinds", scan(mixed), `"events":[[1],["z"],[2.5],[true],[{"k":[7]}],[null]]`},
		{"lists in lists", scan(`[[[1],[2]]]`), `"events":[[[[1],[2]]]]`},
		{"nothing but NULL", scan(`[null]`), `"events":[[null]]`},
		{"groups by their texts", group(whole), `[[null,1],["10",1],["3000000000",1],["9",1]]`},
		{"groups of texts", group(words), `[[null,1],["1",1],["a",1]]`},
		{"groups of what is in lists", group(lists), `[[null,1],["1",1],["a",1],["b",1],["c",1]]`},
		{"groups of numbers in lists", group(listed), `[[null,1],["1",1],["2",1],["3",1]]`},
		{"groups of values of several kinds", group(mixed), `[[null,2],["1",1],["2.5",1],["true",1],["z",1]]`},
		{"sums of whole numbers", of("timeseries", whole, sums), `"result":{"l":3000000019,"d":3.0E9}`},
		{"sums of fractions", of("timeseries", broken, sums), `"result":{"l":3,"d":2.0}`},
		{"sums of values of several kinds", of("timeseries", mixed, sums), `"result":{"l":3,"d":2.5}`},
		{"sums of lists", of("timeseries", listed, sums), `"result":{"l":null,"d":null}`},
		{"an order of numbers", of("timeseries", whole, `"filter":{"type":"expression","expression":"x > 9"},`+sums), `"l":3000000010`},
		{
			"virtual columns have types", of("scan", whole, `"columns":["v","x"],"virtualColumns":[{"type":"expression","name":"v","expression":"x + 1"}]`),
			`{"v":10,"x":9}],"rowSignature":[{"name":"v","type":"LONG"},{"name":"x"}]`,
		},
		{"a path", of("scan", mixed, `"columns":["v"],"virtualColumns":[{"type":"nested-field","columnName":"x","outputName":"v","path":"$.k[0]","expectedType":"LONG"}]`), `{"v":7}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, got := post(t, s, "/service/v2", c.body); status != http.StatusOK || !strings.Contains(got, c.want) {
				t.Errorf("status %d\n%s, want in it\n%s", status, got, c.want)
			}
		})
	}
}

// TestNativeRegroupedAggregates groups groups once more: what merges aggregates sees what these are
// made of, and all else their results.
func TestNativeRegroupedAggregates(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO kept OVERWRITE ALL",
		`{"t":"2024-01-01T01:00:00Z","k":"ax","n":1}`, `{"t":"2024-01-01T03:00:00Z","k":"ay","n":2}`, `{"t":"2024-01-01T00:00:00Z","k":"bx","n":9}`,
		`{"t":"2024-01-01T02:00:00Z","k":"cz","n":4}`, `{"t":"2024-01-01T02:00:00Z","k":"cz","n":4}`), nil); err != nil {
		t.Fatal(err)
	}
	over := func(context, outer string) string {
		return `{"queryType":"groupBy","dataSource":{"type":"query","query":{"queryType":"groupBy","dataSource":"kept","intervals":["2024/2025"],"granularity":"all","dimensions":["v"],
			"virtualColumns":[{"type":"expression","name":"v","expression":"substring(k, 0, 1)"}],
			"aggregations":[{"type":"doubleMean","name":"m","fieldName":"n"},{"type":"longFirst","name":"f","fieldName":"n"},{"type":"stringLast","name":"l","fieldName":"k"},
			{"type":"HLLSketchBuild","name":"h","fieldName":"k"},{"type":"quantilesDoublesSketch","name":"q","fieldName":"n"}],
			"postAggregations":[{"type":"HLLSketchUnion","name":"hu","fields":[{"type":"fieldAccess","fieldName":"h"},{"type":"fieldAccess","fieldName":"h"}]},
			{"type":"quantilesDoublesSketchToQuantiles","name":"qs","fractions":[0.5],"field":{"type":"fieldAccess","fieldName":"q"}}],"context":{` + context + `}}},
			"intervals":["1900/2100"],"granularity":"all","dimensions":[],"context":{"resultAsArray":true},"aggregations":[` + outer + `]}`
	}
	of := func(kind, field string) string {
		return `{"type":"` + kind + `","name":"x","fieldName":"` + field + `"}`
	}
	const (
		plainly  = ``
		kept     = `"finalize":false`
		finished = `"finalize":true`
	)
	for _, c := range []struct{ name, context, outer, want string }{
		{"the mean of means is that of the rows", plainly, of("doubleMean", "m"), `[[4.0]]`},
		{"also of those that are kept", kept, of("doubleMean", "m"), `[[4.0]]`},
		{"the mean of finished means", finished, of("doubleMean", "m"), `[[4.833333333333333]]`},
		{"the sum of means", plainly, of("doubleSum", "m"), `[[14.5]]`},
		{"the sum of means that are kept", kept, of("doubleSum", "m"), `[[14.5]]`},
		{"the first of firsts", plainly, of("longFirst", "f"), `[[9]]`},
		{"the last of firsts", plainly, of("longLast", "f"), `[[4]]`},
		{"the first of firsts that are kept", kept, of("doubleFirst", "f"), `[[9.0]]`},
		{"the last of lasts", plainly, of("stringLast", "l"), `[["ay"]]`},
		{"the first of lasts", kept, of("stringFirst", "l"), `[["bx"]]`},
		{"the sum of firsts", plainly, of("longSum", "f"), `[[14]]`},
		{"a filtered first", plainly, `{"type":"filtered","name":"x","filter":{"type":"selector","dimension":"v","value":"c"},"aggregator":` + of("longFirst", "f") + `}`, `[[4]]`},
		{"unions of sketches", plainly, of("HLLSketchMerge", "hu"), `[[4.000000029802323]]`},
		{"unions are no numbers", plainly, of("longSum", "hu"), `[[null]]`},
		{"nor are lists of quantiles", plainly, of("doubleMax", "qs"), `[[null]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, got := post(t, s, "/service/v2", over(c.context, c.outer)); status != http.StatusOK || strings.TrimSpace(got) != c.want {
				t.Errorf("status %d\n%s, want\n%s", status, got, c.want)
			}
		})
	}
	if status, _, got := post(t, s, "/service/v2", `{"queryType":"groupBy","dataSource":"kept","intervals":["2024/2025"],"granularity":"all","dimensions":["k"],
		"aggregations":[{"type":"doubleMean","name":"m","fieldName":"n"}],"having":{"type":"greaterThan","aggregation":"m","value":5},
		"context":{"resultAsArray":true,"finalize":false}}`); status != http.StatusOK || !strings.HasPrefix(got, `[["bx",`) || strings.Contains(got, `"ay"`) {
		t.Errorf("means that are kept, in a having: status %d\n%s", status, got)
	}
}

// TestNativeJoinTypes joins by names and numbers of kinds; rows of the right side that no row of
// the left one is paired with have no time, and are of every interval.
func TestNativeJoinTypes(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO pairs OVERWRITE ALL", `{"t":"2024-01-01T01:00:00Z","k":"a"}`, `{"t":"2024-01-02T03:00:00Z","k":"b"}`), nil); err != nil {
		t.Fatal(err)
	}
	joined := func(kind, intervals, granularity string) string {
		return `{"queryType":"groupBy","dataSource":{"type":"join","left":"pairs","right":{"type":"inline","columnNames":["k"],"rows":[["a"],["c"],[null]]},"rightPrefix":"j.",
			"condition":"k == \"j.k\"","joinType":` + kind + `},"intervals":["` + intervals + `"],"granularity":"` + granularity + `","dimensions":["k","j.k"],"aggregations":[],
			"context":{"resultAsArray":true}}`
	}
	for _, c := range []struct{ name, body, want string }{
		{"inner", joined(`0`, "2024/2025", "all"), `[["a","a"]]`},
		{"left", joined(`"1"`, "2024/2025", "all"), `[["a","a"],["b",null]]`},
		{"right", joined(`2`, "2024/2025", "all"), `[[null,null],[null,"c"],["a","a"]]`},
		{"full", joined(`3`, "2024/2025", "all"), `[[null,null],[null,"c"],["a","a"],["b",null]]`},
		{"full, of fewer rows", joined(`"FULL"`, "2024-01-02/P1D", "all"), `[[null,null],[null,"a"],[null,"c"],["b",null]]`},
		{"buckets have rows with a time", joined(`3`, "2024/2025", "month"), `[[1704067200000,"a","a"],[1704067200000,"b",null]]`},
		{"a number of none", joined(`4`, "2024/2025", "all"), `joinType [4] is unknown`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, got := post(t, s, "/service/v2", c.body); !strings.Contains(got, c.want) {
				t.Errorf("%s, want in it\n%s", got, c.want)
			}
		})
	}
}
