package nativequery

import (
	"net/http"
	"strings"
	"testing"
)

// samples are two groups of values, one value, and rows without any.
const samples = `"dataSource":{"type":"inline","columnNames":["__time","g","x","at"],"columnTypes":["LONG","STRING","DOUBLE","STRING"],` +
	`"rows":[
	[0,"a",2,"2024-01-01"],[0,"a",4,"2024-03-01T01:02:03Z"],[0,"a",4,"never"],[0,"a",4,null],
	[0,"a",5,"2023-05-05"],[0,"a",5,null],[0,"a",7,null],[0,"a",9,null],
	[1000,"b",3,"1000"],[2000,"c",null,null]]},"intervals":["1970/1971"],"granularity":"all"`

func TestStatistics(t *testing.T) {
	const (
		variance = `"aggregations":[{"type":"variance","name":"v","fieldName":"x"},{"type":"count","name":"n"}]`
		roots    = `"postAggregations":[{"type":"stddev","name":"s","fieldName":"v"},{"type":"stddev","name":"p","fieldName":"v",` +
			`"estimator":"population"}]`
		groups = `"queryType":"groupBy","dimensions":["g"],"context":{"resultAsArray":true},`
		times  = `"aggregations":[{"type":"timeMax","name":"m","fieldName":"at"},{"type":"timeMin","name":"l","fieldName":"at"},` +
			`{"type":"timeMax","name":"t","fieldName":"__time"}]`
		score = `{"type":"zscore2sample","name":"z","successCount1":{"type":"constant","name":"a","value":300},` +
			`"sample1Size":{"type":"constant","name":"b","value":500},` +
			`"successCount2":{"type":"constant","name":"c","value":450},"sample2Size":{"type":"constant","name":"d","value":600}}`
	)
	for _, c := range []struct{ name, body, want string }{
		{"deviations of groups", groups + variance + `,` + roots, `[["a",4.571428571428571,8,2.138089935299395,2.0],["b",null,1,0.0,0.0],["c",` +
			`null,1,null,null]]`},
		{"of all", `"queryType":"timeseries",` + variance + `,` + roots, `"s":2.1081851067789197`},
		{"of the best", `"queryType":"topN","dimension":"g","metric":"s","threshold":1,` + variance + `,` + roots, `"p":2.0`},
		{"of a variance of a population", groups + strings.Replace(variance, `"fieldName":"x"`, `"fieldName":"x","estimator":"population"`,
			1) + `,` + roots,
			`["a",4.0,8,2.138089935299395,2.0]`},
		{"of chosen rows", `"queryType":"timeseries","aggregations":[{"type":"filtered","filter":{"type":"selector","dimension":"g",` +
			`"value":"a"},` +
			`"aggregator":{"type":"variance","name":"v","fieldName":"x"}}],` + roots, `"p":2.0`},
		{"within arithmetic", groups + variance + `,"postAggregations":[{"type":"arithmetic","name":"d","fn":"*","fields":[{"type":"stddev",` +
			`"name":"s","fieldName":"v",` +
			`"estimator":"population"},{"type":"constant","name":"c","value":3}]}]`, `["a",4.571428571428571,8,6.0]`},
		{"a score", `"queryType":"timeseries",` + variance + `,"postAggregations":[` + score + `]`, `"z":-5.32833624994041`},
		{"how likely it is", `"queryType":"timeseries",` + variance +
			`,"postAggregations":[{"type":"pvalue2tailedZtest","name":"q","zScore":` + score + `}]`, `"q":9.91165008881`},
		{"how likely no difference is", `"queryType":"timeseries",` + variance +
			`,"postAggregations":[{"type":"pvalue2tailedZtest","name":"q","zScore":` +
			`{"type":"constant","name":"c","value":0}}]`, `"q":1.0`},
		{"the latest and the earliest", groups + times, `[["a","2024-03-01T01:02:03.000Z","2023-05-05T00:00:00.000Z",` +
			`"1970-01-01T00:00:00.000Z"],` +
			`["b","1000-01-01T00:00:00.000Z","1000-01-01T00:00:00.000Z","1970-01-01T00:00:01.000Z"],["c",null,null,"1970-01-01T00:00:02.000Z"]]`},
		{"the latest of all", `"queryType":"timeseries",` + times, `{"m":"2024-03-01T01:02:03.000Z","l":"1000-01-01T00:00:00.000Z",` +
			`"t":"1970-01-01T00:00:02.000Z"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, got := ask(t, http.MethodPost, "/service/v2", `{`+samples+`,`+c.body+`}`); status != http.StatusOK ||
				!strings.Contains(got, c.want) {
				t.Errorf("%d %s\nwant in it %s", status, got, c.want)
			}
		})
	}
	for _, c := range []struct{ name, post, want string }{
		{"no variance", `{"type":"stddev","name":"s","fieldName":"n"}`,
			"Post-aggregator [s] of type [stddev] refers to [n], which is not a variance of the query"},
		{"nothing", `{"type":"stddev","name":"s","fieldName":"nope"}`, "Missing fields [[nope]] for postAggregator [s]"},
		{"no field", `{"type":"stddev","name":"s"}`, "fieldName"},
		{"no sample", `{"type":"zscore2sample","name":"z","successCount1":{"type":"constant","value":1}}`, "sample1Size"},
		{"a sample that is null", strings.Replace(score, `"sample2Size":{"type":"constant","name":"d","value":600}`, `"sample2Size":null`, 1),
			"Post-aggregator of type [zscore2sample] needs [sample2Size]"},
		{"no score", `{"type":"pvalue2tailedZtest","name":"z"}`, "zScore"},
		{"a score of nothing", `{"type":"pvalue2tailedZtest","name":"z","zScore":{"type":"fieldAccess","fieldName":"nope"}}`, "nope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{` + samples + `,"queryType":"timeseries",` + variance + `,"postAggregations":[` + c.post + `]}`
			if status, got := ask(t, http.MethodPost, "/service/v2", body); status != http.StatusBadRequest || !strings.Contains(got, c.want) {
				t.Errorf("%d %s\nwant in it %s", status, got, c.want)
			}
		})
	}
}
