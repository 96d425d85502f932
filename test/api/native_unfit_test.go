package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeUnfitColumns asks for numbers of texts, texts of nested data and the like what Druid
// was asked.
func TestNativeUnfitColumns(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	s.LoadGolden(t.Context(), t, shared)
	const (
		wiki  = `"dataSource":"wikiticker","intervals":["2015-09-12/2015-09-13"],"granularity":"all"`
		types = `"dataSource":"g_types","intervals":["2020/2022"],"granularity":"all"`
		rows  = `"aggregations":[{"type":"count","name":"rows"}]`
	)
	of := func(source, kind, column string) string {
		return `{"queryType":"timeseries",` + source + `,"aggregations":[{"type":"` + kind + `","name":"x","fieldName":"` + column + `"}]}`
	}
	counted := func(source, filter string) string {
		return `{"queryType":"timeseries",` + source + `,` + rows + `,"filter":` + filter + `}`
	}
	groups := func(source, rest string) string {
		return `{"queryType":"groupBy",` + source + `,` + rows + `,` + rest + `}`
	}
	for _, c := range []struct{ name, body, want string }{
		{"the sum of words", of(wiki, "longSum", "channel"), `"result":{"x":0}`},
		{"true and false are no numbers", of(wiki, "doubleSum", "isRobot"), `"result":{"x":0.0}`},
		{"the least of words", of(wiki, "doubleMin", "cityName"), `"result":{"x":"Infinity"}`},
		{"the greatest of words", of(wiki, "longMax", "isRobot"), `"result":{"x":-9223372036854775808}`},
		{"the first of words", of(wiki, "longFirst", "channel"), `"result":{"x":0}`},
		{"the first of nothing", of(wiki, "longFirst", "nosuch"), `"result":{"x":null}`},
		{"the mean of words", of(wiki, "doubleMean", "isRobot"), `"result":{"x":0.0}`},
		{"the sum of arrays", of(types, "longSum", "al"), `"result":{"x":null}`},
		{"any number of nested data", of(types, "floatAny", "n"), `"result":{"x":null}`},
		{"how many values no columns have", `{"queryType":"timeseries",` + wiki + `,"aggregations":[{"type":"cardinality","name":"x","fields":[]}]}`, `"result":{"x":0.0}`},
		{"groups of nested data", groups(types, `"dimensions":["n"],"context":{"resultAsArray":true}`), `[[null,5],["plain",1]]`},
		{"groups of sketches", groups(types, `"dimensions":["hu"],"context":{"resultAsArray":true}`), `[[null,6]]`},
		{
			"groups of nested data as arrays", groups(types, `"dimensions":[{"type":"default","dimension":"as","outputName":"as","outputType":"ARRAY<STRING>"}],`+
				`"context":{"resultAsArray":true},"filter":{"type":"interval","dimension":"__time","intervals":["2020-01-02T12/2020-01-03"]}`), `[[[null,"r"],1]]`,
		},
		{
			"intervals of what a function makes of a column", counted(wiki, `{"type":"interval","dimension":"channel","intervals":["2020/2021"],`+
				`"extractionFn":{"type":"lookup","lookup":{"type":"map","map":{"#en.wikipedia":1577836800000,"#de.wikipedia":"1609459200000","#fr.wikipedia":"2020"}}}}`), `"rows":11549`,
		},
		{
			"what formats make of NULL, in any case", groups(types, `"dimensions":[{"type":"extraction","dimension":"n","outputName":"o",`+
				`"extractionFn":{"type":"stringFormat","format":"<%s>","nullHandling":"RETURNNULL"}}],"context":{"resultAsArray":true}`), `[[null,5],["<plain>",1]]`,
		},
		{
			"a dimension without a type has no function", groups(types, `"dimensions":[{"dimension":"n","outputName":"o","extractionFn":{"type":"upper"}}],`+
				`"context":{"resultAsArray":true}`), `[[null,5],["plain",1]]`,
		},
		{"nested data by its text", counted(types, `{"type":"selector","dimension":"n","value":"plain"}`), `"rows":1`},
		{"nested data that is searched", `{"queryType":"search",` + types + `,"searchDimensions":["n"],"query":{"type":"contains","value":"l"}}`,
			`"result":[{"dimension":"n","value":"plain","count":1}]`},
		{"bounds of lengths are bounds of texts of one length", counted(wiki, `{"type":"bound","dimension":"page","lower":"5","upper":"9","ordering":"strlen"}`), `"rows":0`},
		{"numbers from a word on", counted(wiki, `{"type":"bound","dimension":"added","lower":"x","ordering":"numeric"}`), `"rows":39244`},
		{"numbers up to a word", counted(wiki, `{"type":"bound","dimension":"added","upper":"x","ordering":"numeric"}`), `"rows":0`},
		{"a search for no words", `{"queryType":"search",` + wiki + `,"searchDimensions":["countryName"],"query":{"type":"fragment","values":[]},"limit":1}`, `"value":"Albania"`},
		{"a search without words", `{"queryType":"search",` + wiki + `,"searchDimensions":["countryName"],"query":{"type":"fragment"},"limit":1}`, `"result":[]`},
		{
			"texts of one length from the last", groups(wiki, `"dimensions":["channel"],"context":{"resultAsArray":true},"limitSpec":{"type":"default","limit":2,"offset":1,`+
				`"columns":[{"dimension":"channel","direction":"descending","dimensionOrder":"strlen"}]}`), `[["#war.wikipedia",1],["#min.wikipedia",1]]`,
		},
		{"a limit of no type is none", groups(types, `"dimensions":["s"],"context":{"resultAsArray":true},"limitSpec":{"limit":1}`), `[[null,1],["",1],["a",2],["ab",1],["b",1]]`},
		{
			"the values of an array by the type they have", `{"queryType":"groupBy","dataSource":{"type":"unnest","base":"g_types","virtualColumn":{"type":"expression","name":"un",` +
				`"expression":"\"al\"","outputType":"LONG"},"unnestFilter":{"type":"selector","dimension":"un","value":"1"}},"intervals":["2020/2022"],"granularity":"all",` +
				`"dimensions":["un"],` + rows + `,"context":{"resultAsArray":true}}`, `[["1",1]]`,
		},
		{"what an expression computes", `{"queryType":"timeseries",` + types + `,` + rows + `,"postAggregations":[{"type":"expression","name":"p","expression":"rows / 4.0","outputType":"LONG"}]}`, `"p":1.5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, got := post(t, s, "/service/v2", c.body); status != http.StatusOK || !strings.Contains(got, c.want) {
				t.Errorf("status %d\n%s, want in it\n%s", status, got, c.want)
			}
		})
	}
}
