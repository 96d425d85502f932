package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeNumbers asks about columns of numbers what Druid was asked: estimates hash numbers as
// they are stored, and filters that give numbers as text compare by value.
func TestNativeNumbers(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	if err := s.LoadCorpus(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	timeseries := func(datasource, rest string) string {
		return `{"queryType":"timeseries","dataSource":"` + datasource + `","intervals":["1900/2100"],"granularity":"all",` + rest + `}`
	}
	cardinality := func(rest string) string {
		return timeseries("c_events", `"aggregations":[{"type":"cardinality","name":"a",`+rest+`}]`)
	}
	counts := func(datasource string) func(filter string) string {
		return func(filter string) string {
			return timeseries(datasource, `"aggregations":[{"type":"count","name":"n"}],"filter":`+filter)
		}
	}
	regrouped := func(inner, outer string) string {
		return `{"queryType":"groupBy",` + outer + `"dataSource":{"type":"query","query":{"queryType":"groupBy","dataSource":"c_dim","intervals":["1900/2100"],"granularity":"all",
			"dimensions":["k"],` + inner + `}},"intervals":["0000/4000"],"granularity":"all","dimensions":[],"aggregations":[{"type":"thetaSketch","name":"y","fieldName":"x"}]}`
	}
	rows, types, arrays := counts("c_events"), counts("c_types"), counts("c_arrays")
	for _, c := range []struct{ name, body, want string }{
		{"different longs", cardinality(`"fields":["eid"]`), `"a":5178.946942882798}`},
		{"different doubles", cardinality(`"fields":["ms"]`), `"a":3996.2536324872312}`},
		{"different floats", cardinality(`"fields":["price"]`), `"a":1616.7616512247741}`},
		{"different pairs", cardinality(`"fields":["eid","user"],"byRow":true`), `"a":5304.169083200846}`},
		{"different rows with several values", cardinality(`"fields":["device","tags"],"byRow":true`), `"a":239.47040427928536}`},
		{"a float by its text", rows(`{"type":"selector","dimension":"price","value":"76.42"}`), `"n":1}`},
		{"floats in a list", rows(`{"type":"in","dimension":"price","values":["76.42","20.23"]}`), `"n":2}`},
		{"a float between bounds", rows(`{"type":"bound","dimension":"price","lower":"76.42","upper":"76.42","ordering":"numeric"}`), `"n":1}`},
		{"a float that equals a double", rows(`{"type":"equals","column":"price","matchValueType":"DOUBLE","matchValue":76.42}`), `"n":1}`},
		{"a double with a fraction", rows(`{"type":"in","dimension":"ms","values":["800.875"]}`), `"n":1}`},
		{"a fraction is no long", rows(`{"type":"in","dimension":"eid","values":["17.5"]}`), `"n":0}`},
		{"a word is no number", rows(`{"type":"selector","dimension":"ok","value":"true"}`), `"n":0}`},
		{"longs and NULL", types(`{"type":"inType","column":"i","matchValueType":"LONG","values":[9,2,null]}`), `"n":13}`},
		{"texts by the numbers that they are", types(`{"type":"inType","column":"ns","matchValueType":"DOUBLE","values":[7,1000]}`), `"n":4}`},
		{"an element of several values", types(`{"type":"arrayContainsElement","column":"mv","elementMatchValueType":"STRING","elementMatchValue":"a"}`), `"n":20}`},
		{"rows that lack an element", types(`{"type":"not","field":{"type":"arrayContainsElement","column":"mv","elementMatchValueType":"STRING","elementMatchValue":"b"}}`), `"n":32}`},
		{"a plain value is a list of it", types(`{"type":"arrayContainsElement","column":"i","elementMatchValueType":"LONG","elementMatchValue":2}`), `"n":3}`},
		{"a text in an array of longs", arrays(`{"type":"arrayContainsElement","column":"la","elementMatchValueType":"STRING","elementMatchValue":"1"}`), `"n":4}`},
		{"a text in an array of doubles", arrays(`{"type":"arrayContainsElement","column":"da","elementMatchValueType":"STRING","elementMatchValue":"0.5"}`), `"n":1}`},
		{"NULL in an array", arrays(`{"type":"arrayContainsElement","column":"la","elementMatchValueType":"LONG","elementMatchValue":null}`), `"n":2}`},
		{"arrays without a fraction", arrays(`{"type":"not","field":{"type":"arrayContainsElement","column":"la","elementMatchValueType":"DOUBLE","elementMatchValue":1.5}}`), `"n":11}`},
		{"texts by number, from the greatest", `{"queryType":"topN","dataSource":"c_types","intervals":["1900/2100"],"granularity":"all","dimension":"ns","threshold":3,
			"metric":{"type":"inverted","metric":{"type":"dimension","ordering":"numeric"}},"aggregations":[{"type":"count","name":"c"}]}`,
			`[{"ns":null,"c":2},{"ns":"1E400","c":2},{"ns":"12345678901234567890","c":2}]`},
		{"an empty text is no limit", `{"queryType":"groupBy","dataSource":"c_dim","intervals":["1900/2100"],"granularity":"all","dimensions":["k"],
			"limitSpec":{"type":"default","columns":[{"dimension":"k","direction":true}],"limit":""}}`, `{"k":"violet"}`},
		{"a text that is a number, with blanks", `{"queryType":"topN","dataSource":"c_dim","intervals":["1900/2100"],"granularity":"all","dimension":"k","threshold":" 2 ","metric":"c",
			"aggregations":[{"type":"count","name":"c"}]}`, `[{"k":null,"c":2},{"k":"green","c":2}]`},
		{"an empty text says nothing of a list", `{"queryType":"groupBy","dataSource":"c_dim","intervals":["1900/2100"],"granularity":"all","aggregations":[{"type":"count","name":"c"}],
			"dimensions":[{"type":"listFiltered","delegate":"k","values":["red"],"isWhitelist":""}]}`, `{"k":"red","c":2}`},
		{"an unknown type is none", `{"queryType":"groupBy","dataSource":{"type":"inline","columnNames":["a"],"columnTypes":["WORD"],"rows":[[1]]},"intervals":["1900/2100"],"granularity":"all",
			"virtualColumns":[{"type":"expression","name":"v","expression":"1 + 1","outputType":"WORD"}],"dimensions":[{"type":"default","dimension":"a","outputName":"a","outputType":"WORD"},"v"]}`,
			`{"a":"1","v":"2"}`},
		{"an unknown type of a value in JSON is that of texts", `{"queryType":"scan","dataSource":"c_types","intervals":["1900/2100"],"limit":1,"columns":["v"],
			"virtualColumns":[{"type":"nested-field","columnName":"j","outputName":"v","path":"$.a","expectedType":"WORD"}]}`, `"rowSignature":[{"name":"v","type":"STRING"}]`},
		{"parameters of sketches that are empty texts", timeseries("c_dim", `"aggregations":[{"type":"quantilesDoublesSketch","name":"q","fieldName":"n","k":"","shouldFinalize":""}],
			"postAggregations":[{"type":"quantilesDoublesSketchToQuantiles","name":"p","field":{"type":"fieldAccess","fieldName":"q"},"fractions":["", null, " 0.5 "]},
			{"type":"quantilesDoublesSketchToCDF","name":"s","field":{"type":"fieldAccess","fieldName":"q"},"splitPoints":["Infinity"]}]`), `{"q":11,"p":[-1.0,-1.0,2.0],"s":[1.0,1.0]}`},
		{"groups whose sketches are merged", regrouped(`"aggregations":[{"type":"thetaSketch","name":"x","fieldName":"name"}]`, ""), `"y":11.0}`},
		{"groups that give sketches", regrouped(`"aggregations":[{"type":"thetaSketch","name":"x","fieldName":"name"}],"context":{"finalize":false}`, ""), `"y":11.0}`},
		{"groups that are to give estimates", regrouped(`"aggregations":[{"type":"thetaSketch","name":"x","fieldName":"name"}],"context":{"finalize":true}`, ""), `"y":3.0}`},
		{"groups in an order, some of them", regrouped(`"aggregations":[{"type":"filtered","filter":{"type":"true"},"aggregator":{"type":"thetaSketch","name":"x","fieldName":"name"}}],`+
			`"having":{"type":"filter","filter":{"type":"selector","dimension":"x","value":"2.0"}},"limitSpec":{"type":"default","limit":2,"columns":[{"dimension":"x","direction":"descending"}]}`, ""), `"y":4.0}`},
		{"a virtual column in the place of sketches", regrouped(`"aggregations":[{"type":"thetaSketch","name":"x","fieldName":"name"}]`,
			`"virtualColumns":[{"type":"expression","name":"x","expression":"1"}],`), `"y":1.0}`},
		{"estimates of groups are numbers", strings.Replace(regrouped(`"aggregations":[{"type":"thetaSketch","name":"x","fieldName":"name"}]`, ""),
			`"type":"thetaSketch","name":"y"`, `"type":"doubleSum","name":"y"`, 1), `"y":11.0}`},
		{"a having of what is not finalized", `{"queryType":"groupBy","dataSource":"c_dim","intervals":["1900/2100"],"granularity":"all","dimensions":["k"],
			"aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"name"},{"type":"count","name":"n"}],"limitSpec":{"type":"default","limit":1,"columns":["k"]},
			"having":{"type":"filter","filter":{"type":"selector","dimension":"x","value":"1.0"}},"context":{"finalize":false}}`, `{"k":"","x":"AgEHDAMIAQAAb50V","n":1}`},
		{"virtual columns after the time, of the type they compute", `{"queryType":"scan","dataSource":"c_dim","intervals":["1900/2100"],"limit":1,"resultFormat":"compactedList",
			"virtualColumns":[{"type":"expression","name":"v","expression":"n * 2","outputType":"DOUBLE"}]}`, `"columns":["__time","v",`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2", c.body)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(answer); status != http.StatusOK || !strings.Contains(got, c.want) {
				t.Errorf("status %d, %.300s\nwant 200 with %s", status, got, c.want)
			}
		})
	}
}
