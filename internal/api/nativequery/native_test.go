package nativequery

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// empty is an engine without datasources: queries bring their rows along.
type empty struct{}

func (empty) Only(map[string][]lang.Descriptor) {}

func (empty) Pin(context.Context, *query.Query, *auth.Access, map[string]any) (query.Session, error) {
	return empty{}, nil
}
func (empty) Table(context.Context, string) (plan.Node, error) { return nil, nil }
func (empty) Whole(context.Context, string) (bool, error)      { return true, nil }
func (empty) Metrics(string) []string                          { return nil }
func (empty) DataSources() []string                            { return nil }
func (empty) Lookup(name string) ([]plan.Column, error) {
	return nil, fault.InvalidInput("Lookup [%s] not found", name)
}
func (empty) Segments(context.Context, string, []chrono.Interval, func(query.Segment) error) error {
	return nil
}

func (empty) Chunks(string, []chrono.Interval) []chrono.Interval { return nil }

func (empty) List(string, []chrono.Interval) []query.Listed { return nil }

func (empty) Spread(context.Context, []query.Listed, func(context.Context, query.Server, query.Files, []query.Listed) error) error {
	return nil
}

func (empty) Run(ctx context.Context, node plan.Node, _ string) (query.Rows, error) {
	env := &exec.Env{Expr: &expr.Context{}, Budget: budget.Root(1 << 30), Threads: 1}
	op, err := exec.Build(ctx, plan.Optimize(node, plan.Options{}), env)
	if err != nil {
		return nil, err
	}
	return &rows{op}, nil
}

type rows struct{ exec.Operator }

func (*rows) Columns() []result.Column { return nil }
func (*rows) Zone() *chrono.Zone       { return chrono.UTC }
func (*rows) StringifyArrays() bool    { return false }
func (*rows) ResponseContext() string  { return "{}" }

var _ query.Rows = (*rows)(nil)

func ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	mux := edge.NewMux(&edge.Errors{})
	New(empty{}, query.NewRunning(clock.System(), query.RunningOptions{}), Options{MaxRequestBytes: 1 << 20}).Routes(mux)
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	out, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(out)
}

// fruit is a datasource of three rows, as part of a query.
const fruit = `"dataSource":{"type":"inline","columnNames":["__time","name","n","tags"],"columnTypes":["LONG","STRING","LONG","ARRAY<STRING>"],
	"rows":[[0,"apple",1,["a"]],[3600000,"pear",5,["a","b"]],[7200000,"apple",2,null]]},"intervals":["1970-01-01T00/1970-01-01T03"]`

// versions is a datasource of texts that may be versions.
const versions = `"dataSource":{"type":"inline","columnNames":["v"],"columnTypes":["STRING"],"rows":[["1.10"],["1.9"],["2-alpha"],["2"],["2-sp"],["1.0"],[null],["x"],["1-rc1"],
	["10"]]},"intervals":["1970/1971"],"granularity":"all"`

// tenths are sums over FLOATs.
const tenths = `"dataSource":{"type":"inline","columnNames":["f"],"columnTypes":["FLOAT"],"rows":[[0.1],[0.2]]},"intervals":["1970/1971"],
	"aggregations":[{"type":"floatMin","name":"m","fieldName":"f"},{"type":"floatSum","name":"s","fieldName":"f"}]`

const sums = `"aggregations":[{"type":"count","name":"rows"},{"type":"longSum","name":"n","fieldName":"n"}]`

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"timeseries", `{"queryType":"timeseries","granularity":"day",` + fruit + `,` + sums + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"rows":3,"n":8}}]`},
		{"timeseries descending with a total", `{"queryType":"timeseries","granularity":"hour","descending":true,"limit":2,` + fruit + `,` + sums + `,"context":{"grandTotal":true}}`,
			`[{"timestamp":"1970-01-01T02:00:00.000Z","result":{"rows":1,"n":2}},{"timestamp":"1970-01-01T01:00:00.000Z","result":{"rows":1,"n":5}},
			{"timestamp":null,"result":{"rows":2,"n":7}}]`},
		{"the total of no buckets", `{"queryType":"timeseries","granularity":"hour","filter":{"type":"false"},` + fruit + `,"context":{"grandTotal":true,"skipEmptyBuckets":true},
			"aggregations":[{"type":"count","name":"c"},{"type":"doubleMean","name":"m","fieldName":"n"}],"postAggregations":[{"type":"constant","name":"p","value":1},
			{"type":"expression","name":"q","expression":"c + 1"}]}`, `[{"timestamp":null,"result":{"c":null,"m":null,"p":1,"q":null}}]`},
		{"subtotals in the order of their dimensions come one after the other", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,
			"subtotalsSpec":[["name"],[]],"limitSpec":{"type":"default","columns":["name"]},"aggregations":[{"type":"count","name":"c"}],"context":{"resultAsArray":true}}`,
			`[["apple",2],["pear",1],[null,3]]`},
		{"subtotals in another order are ordered together", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,
			"subtotalsSpec":[["name"],[]],"limitSpec":{"type":"default","columns":["c"]},"aggregations":[{"type":"count","name":"c"}],"context":{"resultAsArray":true}}`,
			`[["pear",1],["apple",2],[null,3]]`},
		{"a whole sum of fractions stays whole in groups", `{"queryType":"groupBy","granularity":"all","dimensions":["n"],"virtualColumns":[{"type":"expression","name":"h","expression":"n * 1.5"}],
			"aggregations":[{"type":"expression","name":"x","fields":["h"],"initialValue":"0","fold":"__acc + h"}],` + fruit + `,"context":{"resultAsArray":true}}`,
			`[["1",1],["2",3],["5",7]]`},
		{"a scan shows expressions as they are computed", `{"queryType":"scan","columns":["a","b","c"],"limit":1,"resultFormat":"compactedList","virtualColumns":[
			{"type":"expression","name":"a","expression":"n * 2","outputType":"FLOAT"},{"type":"expression","name":"b","expression":"name","outputType":"LONG"},
			{"type":"expression","name":"c","expression":"n / 2.0","outputType":"STRING"}],` + fruit + `}`,
			`[{"segmentId":"` + inlineSegment + `","columns":["a","b","c"],"events":[[2,"apple",0.5]],"rowSignature":[{"name":"a","type":"FLOAT"},{"name":"b","type":"LONG"},{"name":"c","type":"DOUBLE"}]}]`},
		{"of NULL in a column of numbers, dimensions make NULL", `{"queryType":"groupBy","granularity":"all","aggregations":[],"intervals":["1970/1971"],"context":{"resultAsArray":true},
			"dataSource":{"type":"inline","columnNames":["n","s"],"columnTypes":["LONG","STRING"],"rows":[[null,null]]},"dimensions":[
			{"type":"extraction","dimension":"n","outputName":"a","extractionFn":{"type":"stringFormat","format":"[%s]"}},
			{"type":"lookup","dimension":"n","outputName":"b","lookup":{"type":"map","map":{}},"replaceMissingValueWith":"miss"},
			{"type":"extraction","dimension":"s","outputName":"c","extractionFn":{"type":"stringFormat","format":"[%s]"}}]}`, `[[null,null,"[null]"]]`},
		{"dimensions of numbers have the order of numbers", `{"queryType":"groupBy","granularity":"all","dimensions":[{"type":"default","dimension":"n","outputType":"LONG"}],` + fruit + `,
			"subtotalsSpec":[["n"],[]],"limitSpec":{"type":"default","columns":[{"dimension":"n","dimensionOrder":"numeric"}]},"aggregations":[],"context":{"resultAsArray":true}}`,
			`[[1],[2],[5],[null]]`},
		{"sums of FLOATs in a groupBy", `{"queryType":"groupBy","granularity":"all","dimensions":[],` + tenths + `,"context":{"resultAsArray":true}}`, `[[0.1,0.3]]`},
		{"sums of FLOATs elsewhere", `{"queryType":"timeseries","granularity":"all",` + tenths + `,"context":{"finalize":false}}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"m":0.10000000149011612,"s":0.30000001192092896}}]`},
		{"numbers in texts", `{"queryType":"groupBy","granularity":"all","dimensions":["v",{"type":"default","dimension":"v","outputName":"l","outputType":"LONG"},
			{"type":"default","dimension":"v","outputName":"d","outputType":"DOUBLE"},{"type":"extraction","dimension":"v","outputName":"b","extractionFn":{"type":"bucket","size":2}}],
			"aggregations":[],"dataSource":{"type":"inline","columnNames":["v"],"columnTypes":["STRING"],"rows":[["7"],["7 "],["1e3"],["1.5"],["true"]]},
			"intervals":["1970/1971"],"context":{"resultAsArray":true}}`,
			`[["1.5",null,1.5,"0"],["1e3",1000,1000.0,"1000"],["7",7,7.0,"6"],["7 ",null,null,"6"],["true",null,null,null]]`},
		{"the mean of texts is that of those that are there", `{"queryType":"timeseries","granularity":"all","virtualColumns":[{"type":"expression","name":"w","expression":"concat(v, '')"}],
			"dataSource":{"type":"inline","columnNames":["v"],"columnTypes":["STRING"],"rows":[["3"],["x"],["true"],[null]]},"intervals":["1970/1971"],
			"aggregations":[{"type":"doubleMean","name":"m","fieldName":"v"},{"type":"doubleMean","name":"n","fieldName":"w"}]}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"m":1.0,"n":1.0}}]`},
		{"a FLOAT is a DOUBLE to expressions, whatever the type wanted", `{"queryType":"groupBy","granularity":"all","dimensions":["w",{"type":"lookup","dimension":"f","outputName":"t",
			"lookup":{"type":"map","map":{"0.2":"two"}},"retainMissingValue":true}],"virtualColumns":[{"type":"expression","name":"w","expression":"f","outputType":"LONG"}],
			"aggregations":[],"dataSource":{"type":"inline","columnNames":["f"],"columnTypes":["FLOAT"],"rows":[[0.1],[0.2]]},"intervals":["1970/1971"],"context":{"resultAsArray":true}}`,
			`[["0.10000000149011612","0.1"],["0.20000000298023224","two"]]`},
		{"one value is between both bounds", `{"queryType":"timeseries","granularity":"all","virtualColumns":[{"type":"expression","name":"t","expression":"array_to_mv(a)","outputType":"STRING"}],
			"filter":{"type":"bound","dimension":"t","lower":"bb","upper":"ccc","ordering":"strlen"},"aggregations":[{"type":"count","name":"c"}],"intervals":["1970/1971"],
			"dataSource":{"type":"inline","columnNames":["a"],"columnTypes":["ARRAY<STRING>"],"rows":[[["x","yyyy"]],[["x","zz"]],[null]]}}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"c":1}}]`},
		{"one value is within both ends of a range", `{"queryType":"timeseries","granularity":"all","virtualColumns":[{"type":"expression","name":"t","expression":"array_to_mv(a)","outputType":"STRING"}],
			"filter":{"type":"range","column":"t","matchValueType":"STRING","lower":"b","upper":"d"},"aggregations":[{"type":"count","name":"c"}],"intervals":["1970/1971"],
			"dataSource":{"type":"inline","columnNames":["a"],"columnTypes":["ARRAY<STRING>"],"rows":[[["a","x"]],[["a","c"]],[null]]}}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"c":1}}]`},
		{"the least number is not NULL", `{"queryType":"topN","granularity":"all","dimension":"name","metric":{"type":"inverted","metric":"m"},"threshold":2,` + fruit + `,
			"aggregations":[{"type":"filtered","name":"m","filter":{"type":"selector","dimension":"name","value":"pear"},"aggregator":{"type":"longSum","name":"m","fieldName":"n"}}]}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"pear","m":5},{"name":"apple","m":null}]}]`},
		{"the least text is NULL", `{"queryType":"topN","granularity":"all","dimension":"v","metric":{"type":"inverted","metric":"m"},"threshold":2,` + versions[:len(versions)-len(`,"granularity":"all"`)] + `,
			"aggregations":[{"type":"stringFirst","name":"m","fieldName":"v"}]}`, `[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"v":null,"m":null},{"v":"1-rc1","m":"1-rc1"}]}]`},
		{"sketches that are shown with bounds are ordered", `{"queryType":"topN","granularity":"all","dimension":"name","metric":"u","threshold":1,` + fruit + `,
			"aggregations":[{"type":"thetaSketch","name":"u","fieldName":"n","errorBoundsStdDev":2}]}`, `[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"apple",
			"u":{"estimate":2.0,"highBound":2.0,"lowBound":2.0,"numStdDev":2}}]}]`},
		{"a constant tuple sketch", `{"queryType":"timeseries","granularity":"all",` + fruit + `,"aggregations":[],"postAggregations":[{"type":"arrayOfDoublesSketchToEstimate","name":"p",
			"field":{"type":"arrayOfDoublesSketchConstant","name":"c","value":"AQEJAwgBzJP/////////fwEAAAAAAAAAjFnadZuMrkgAAAAAAAAAAA=="}}]}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"p":1.0}}]`},
		{"empty buckets of constants", `{"queryType":"timeseries","granularity":"day","dataSource":{"type":"inline","columnNames":["n"],"columnTypes":["LONG"],"rows":[[9]]},
			"intervals":["1969-12-31/1970-01-02"],` + sums + `}`,
			`[{"timestamp":"1969-12-31T00:00:00.000Z","result":{"rows":0,"n":null}},{"timestamp":"1970-01-01T00:00:00.000Z","result":{"rows":1,"n":9}}]`},
		{"groups of all times have the time 0", `{"queryType":"timeseries","granularity":"all","aggregations":[{"type":"longSum","name":"s","fieldName":"m"}],
			"intervals":["2000/2001"],"dataSource":{"type":"query","query":{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,
			"aggregations":[{"type":"longSum","name":"m","fieldName":"n"}]}}}`, `[{"timestamp":"2000-01-01T00:00:00.000Z","result":{"s":null}}]`},
		{"texts as numbers and types that nobody knows", `{"queryType":"topN","granularity":"all","dimension":{"type":"frob","dimension":"name"},"metric":{"type":7,"metric":"8"},"threshold":1,
			` + fruit + `,"aggregations":[{"type":"longSum","name":8,"fieldName":"n"}]}`, `[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"pear","8":5}]}]`},
		{"groupings are of columns", `{"queryType":"groupBy","granularity":"all","dimensions":[{"type":"default","dimension":"name","outputName":"x"}],"subtotalsSpec":[["x"],[]],
			"aggregations":[{"type":"grouping","name":"out","groupings":["x"]},{"type":"grouping","name":"in","groupings":["name"]}],` + fruit + `,"context":{"resultAsArray":true}}`,
			`[["apple",1,0],["pear",1,0],[null,1,1]]`},
		{"having not", `{"queryType":"groupBy","granularity":"all","dimensions":["v"],"aggregations":[],"having":{"type":"not","havingSpec":{"type":"dimSelector","dimension":"v","value":"2"}},
			"limitSpec":{"type":"default","limit":2,"columns":["v"]},` + versions + `,"context":{"resultAsArray":true}}`, `[[null],["1-rc1"]]`},
		{"NULL divided by zero", `{"queryType":"timeseries","granularity":"all",` + fruit + `,"aggregations":[{"type":"longMax","name":"m","fieldName":"nosuch"}],
			"postAggregations":[{"type":"arithmetic","name":"p","fn":"/","fields":[{"type":"fieldAccess","fieldName":"m"},{"type":"constant","value":0}]}]}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"m":null,"p":null}}]`},
		{"no group of no rows", `{"queryType":"groupBy","granularity":"all","dimensions":[],"filter":{"type":"false"},` + fruit + `,` + sums + `}`, `[]`},
		{"the field of a first", `{"queryType":"timeseries","granularity":"all",` + fruit + `,"aggregations":[{"type":"longLast","name":"l","fieldName":"n"}],
			"postAggregations":[{"type":"fieldAccess","name":"raw","fieldName":"l"},{"type":"finalizingFieldAccess","name":"fin","fieldName":"l"}]}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"l":2,"raw":{"lhs":7200000,"rhs":2},"fin":2}}]`},
		{"numbers in a search", `{"queryType":"search","granularity":"all","searchDimensions":["n","name"],"query":{"type":"all"},"limit":3,
			"sort":{"type":"lexicographic"},` + fruit + `}`, `[{"timestamp":"-146136543-09-08T08:23:32.096Z","result":[{"dimension":"n","value":"1","count":1},
			{"dimension":"name","value":"apple","count":2},{"dimension":"name","value":"pear","count":1}]}]`},
		{"a value matches a regexFiltered dimension as a whole", `{"queryType":"topN","granularity":"all","metric":{"type":"dimension"},"threshold":9,` + fruit + `,
			"dimension":{"type":"regexFiltered","delegate":"name","pattern":"p.ar|a"}}`, `[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"pear"}]}]`},
		{"NULL is below an upper bound", `{"queryType":"timeseries","aggregations":[{"type":"count","name":"c"}],"filter":{"type":"bound","dimension":"v","upper":"1.1"},` + versions + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"c":3}}]`},
		{"topN", `{"queryType":"topN","granularity":"all","dimension":"name","metric":"n","threshold":1,` + fruit + `,` + sums + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"pear","rows":1,"n":5}]}]`},
		{"groupBy", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,` + sums + `,"having":{"type":"greaterThan","aggregation":"rows","value":1}}`,
			`[{"version":"v1","timestamp":"1970-01-01T00:00:00.000Z","event":{"name":"apple","rows":2,"n":3}}]`},
		{"texts of a FLOAT", `{"queryType":"groupBy","granularity":"all","aggregations":[],"intervals":["1970/1971"],"dataSource":{"type":"inline",
			"columnNames":["__time","f"],"columnTypes":["LONG","FLOAT"],"rows":[[0,0.1],[0,2],[0,7.5]]},"filter":{"type":"like","dimension":"f","pattern":"%.%"},
			"dimensions":["f",{"type":"extraction","dimension":"f","outputName":"g","extractionFn":{"type":"substring","index":1}}],"context":{"resultAsArray":true}}`,
			`[["0.1",".1"],["2.0",".0"],["7.5",".5"]]`},
		{"a union of types that have nothing in common", `{"queryType":"scan","columns":["x","n"],"order":"none","intervals":["1970/1971"],"resultFormat":"compactedList",
			"dataSource":{"type":"union","dataSources":[
				{"type":"inline","columnNames":["__time","x","n"],"columnTypes":["LONG","STRING","LONG"],"rows":[[0,"a",1]]},
				{"type":"inline","columnNames":["__time","x","n"],"columnTypes":["LONG","COMPLEX<json>","LONG"],"rows":[[0,{"k":1},2]]}]}}`,
			`[{"segmentId":"` + inlineSegment + `","columns":["x","n"],"events":[["a",1],[null,2]],"rowSignature":[{"name":"x","type":"STRING"},{"name":"n","type":"LONG"}]}]`},
		{"groups in the order of versions", `{"queryType":"groupBy","dimensions":["v"],"aggregations":[],` + versions + `,"context":{"resultAsArray":true},
			"limitSpec":{"type":"default","columns":[{"dimension":"v","dimensionOrder":"version"}]}}`,
			`[[null],["x"],["1-rc1"],["1.0"],["1.9"],["1.10"],["2-alpha"],["2"],["2-sp"],["10"]]`},
		{"a topN in the order of versions", `{"queryType":"topN","dimension":"v","metric":{"type":"dimension","ordering":"version"},"threshold":4,"aggregations":[],` + versions + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"v":null},{"v":"x"},{"v":"1-rc1"},{"v":"1.0"}]}]`},
		{"between versions", `{"queryType":"timeseries","aggregations":[{"type":"count","name":"c"}],"filter":{"type":"bound","dimension":"v","ordering":"version","lower":"1.5",
			"upper":"2"},` + versions + `}`, `[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"c":4}}]`},
		{"a search without a query finds all", `{"queryType":"search","granularity":"all","searchDimensions":["name"],"limit":1,` + fruit + `}`,
			`[{"timestamp":"-146136543-09-08T08:23:32.096Z","result":[{"dimension":"name","value":"apple","count":2}]}]`},
		{"groupBy as arrays", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,` + sums + `,"context":{"resultAsArray":true}}`,
			`[["apple",2,3],["pear",1,5]]`},
		{"subtotals with a limit", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,"subtotalsSpec":[["name"],[]],
			"limitSpec":{"type":"default","limit":1,"columns":[{"dimension":"s","direction":"descending"}]},"aggregations":[{"type":"longSum","name":"s","fieldName":"n"}]}`,
			`[{"version":"v1","timestamp":"1970-01-01T00:00:00.000Z","event":{"name":null,"s":8}}]`},
		{"numbers in the order of texts", `{"queryType":"groupBy","granularity":"all","dimensions":[{"type":"default","dimension":"n","outputName":"n","outputType":"LONG"}],
			"dataSource":{"type":"inline","columnNames":["n"],"columnTypes":["LONG"],"rows":[[9],[10],[2]]},"intervals":["1970/1971"],"limitSpec":{"type":"default","columns":["n"]},
			"context":{"resultAsArray":true}}`, `[[10],[2],[9]]`},
		{"a limit that is none, and a direction that is no word", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],` + fruit + `,"limitSpec":{"type":"huge","limit":1},
			"context":{"resultAsArray":true}}`, `[["apple"],["pear"]]`},
		{"whole numbers are cut", `{"queryType":"topN","granularity":"all","dimension":"name","metric":{"type":"dimension"},"threshold":1.5,` + fruit + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":[{"name":"apple"}]}]`},
		{"times as texts and numbers", `{"queryType":"groupBy","granularity":"all","intervals":["1970/1971"],"dataSource":{"type":"inline",` +
			`"columnNames":["t"],"columnTypes":["LONG"],"rows":[[3600000]]},
			"dimensions":[{"type":"extraction","dimension":"t","outputName":"iso","extractionFn":{"type":"timeFormat"}},
			{"type":"extraction","dimension":"t","outputName":"ms","extractionFn":{"type":"timeFormat","asMillis":true,"granularity":"day"}}],"context":{"resultAsArray":true}}`,
			`[["1970-01-01T01:00:00.000Z","0"]]`},
		{"the bucket of all times begins with time", `{"queryType":"groupBy","granularity":"all","intervals":["1970/1971"],"dataSource":{"type":"inline",` +
			`"columnNames":["t"],"columnTypes":["LONG"],"rows":[[3600000],[7200000]]},"dimensions":[{"type":"extraction","dimension":"t","outputName":"d",` +
			`"extractionFn":{"type":"timeFormat","format":"yyyy-MM-dd HH","timeZone":"America/New_York","granularity":"all"}}],"context":{"resultAsArray":true}}`,
			`[["-146136543-09-08 03"]]`},
		{"what is no time stays", `{"queryType":"groupBy","granularity":"all",` + fruit + `,"dimensions":[{"type":"extraction","dimension":"name","outputName":"x",
			"extractionFn":{"type":"time","timeFormat":"yyyy","resultFormat":"yyyy"}}],"context":{"resultAsArray":true}}`, `[["apple"],["pear"]]`},
		{"aggregates as they are", `{"queryType":"groupBy","granularity":"all","dimensions":[],` + fruit + `,"context":{"finalize":false,"resultAsArray":true},"aggregations":[
			{"type":"longFirst","name":"f","fieldName":"n"},{"type":"longLast","name":"l","fieldName":"n"},{"type":"doubleMean","name":"m","fieldName":"n"}]}`,
			`[[{"lhs":0,"rhs":1},{"lhs":7200000,"rhs":2},"QCAAAAAAAAAAAAAAAAAAAw=="]]`},
		{"numbers of computed texts", `{"queryType":"groupBy","granularity":"all","dimensions":[],` + fruit + `,"virtualColumns":[{"type":"expression",` +
			`"name":"v","expression":"upper(name)"}],
			"aggregations":[{"type":"longSum","name":"stored","fieldName":"name"},{"type":"longSum","name":"computed","fieldName":"v"},{"type":"doubleMax","name":"m","fieldName":"v"}],
			"context":{"resultAsArray":true}}`, `[[null,null,null]]`},
		{"rows without a time", `{"queryType":"scan","intervals":["1970/1971"],"resultFormat":"compactedList","dataSource":{"type":"inline",` +
			`"columnNames":["s"],"columnTypes":["STRING"],"rows":[["a"]]}}`,
			`[{"segmentId":"` + inlineSegment + `","columns":["__time","s"],"events":[[0,"a"]],"rowSignature":[{"name":"__time","type":"LONG"},{"name":"s","type":"STRING"}]}]`},
		{"a table by its name alone", `{"queryType":"timeBoundary","dataSource":{"name":"x"}}`, `[]`},
		{"scan", `{"queryType":"scan","columns":["name","tags","nosuch"],"limit":1,"offset":1,` + fruit + `}`,
			`[{"segmentId":"` + inlineSegment + `","columns":["name","tags","nosuch"],"events":[{"name":"pear","tags":["a","b"],"nosuch":null}],
			"rowSignature":[{"name":"name","type":"STRING"},{"name":"tags","type":"ARRAY<STRING>"},{"name":"nosuch"}]}]`},
		{"compact scan in batches", `{"queryType":"scan","columns":["n"],"batchSize":2,"resultFormat":"compactedList","orderBy":[{"columnName":"n","order":"descending"}],` + fruit + `}`,
			`[{"segmentId":null,"columns":["n"],"events":[[5],[2]],"rowSignature":[{"name":"n","type":"LONG"}]},
			{"segmentId":null,"columns":["n"],"events":[[1]],"rowSignature":[{"name":"n","type":"LONG"}]}]`},
		{"rows that the offset leaves out count for the batch", `{"queryType":"scan","columns":["n"],"batchSize":2,"offset":1,"limit":2,"resultFormat":"compactedList",
			"orderBy":[{"columnName":"n","order":"ascending"}],` + fruit + `}`,
			`[{"segmentId":null,"columns":["n"],"events":[[2]],"rowSignature":[{"name":"n","type":"LONG"}]},
			{"segmentId":null,"columns":["n"],"events":[[5]],"rowSignature":[{"name":"n","type":"LONG"}]}]`},
		{"search", `{"queryType":"search","query":{"type":"insensitive_contains","value":"PP"},"searchDimensions":["name"],` + fruit + `}`,
			`[{"timestamp":"-146136543-09-08T08:23:32.096Z","result":[{"dimension":"name","value":"apple","count":2}]}]`},
		{"search finds nothing", `{"queryType":"search","query":{"type":"contains","value":"zz"},"searchDimensions":["name"],` + fruit + `}`,
			`[{"timestamp":"-146136543-09-08T08:23:32.096Z","result":[]}]`},
		{"timeBoundary", `{"queryType":"timeBoundary","bound":"maxTime",` + fruit + `}`,
			`[{"timestamp":"1970-01-01T02:00:00.000Z","result":{"maxTime":"1970-01-01T02:00:00.000Z"}}]`},
		{"virtual column and extraction", `{"queryType":"groupBy","granularity":"all",` + fruit + `,"virtualColumns":[{"type":"expression","name":"v","expression":"n * 2"}],
			"dimensions":[{"type":"extraction","dimension":"name","outputName":"first","extractionFn":{"type":"substring","index":0,"length":1}}],
			"aggregations":[{"type":"longMax","name":"m","fieldName":"v"}],"postAggregations":[{"type":"expression","name":"p","expression":"m + 1"}]}`,
			`[{"version":"v1","timestamp":"1970-01-01T00:00:00.000Z","event":{"first":"a","m":4,"p":5}},
			{"version":"v1","timestamp":"1970-01-01T00:00:00.000Z","event":{"first":"p","m":10,"p":11}}]`},
		{"no such datasource", `{"queryType":"timeseries","granularity":"all","dataSource":"x","intervals":["1970/1971"],` + sums + `}`,
			`[{"timestamp":"1970-01-01T00:00:00.000Z","result":{"rows":0,"n":null}}]`},
		{"segments of nothing", `{"queryType":"segmentMetadata","dataSource":"x"}`, `[]`},
	} {
		status, got := ask(t, http.MethodPost, "/service/v2", c.body)
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %s", c.name, status, got)
			continue
		}
		if diff := cmp.Diff(parse(t, c.want), parse(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/service/v2/", `{"queryType":"timeBoundary","dataSource":"x"}`, 200},
		{"POST", "/service/v2", `{"queryType":"timeBoundary","dataSource":"x"} {"not":read`, 200},
		{"POST", "/service/v2?pretty", `{"queryType":"timeBoundary","dataSource":"x"}`, 200},
		{"POST", "/service/v2", `{`, 400},
		{"POST", "/service/v2", `{"queryType":"timeBoundary","dataSource":"x","context":{"timeout":"x"}}`, 400},
		{"POST", "/service/v2", `{"queryType":"timeBoundary","dataSource":"x","context":{"bySegment":true}}`, 200},
		{"POST", "/service/v2/nosuch", `{}`, 404},
		{"DELETE", "/service/v2/nosuch", ``, 202},
		{"DELETE", "/service/v2/sql", ``, 405},
		{"DELETE", "/service/v2/candidates", ``, 405},
		{"DELETE", "/service/v2/datasources", ``, 405},
		{"POST", "/service/v2", "\uFEFF" + `{"queryType":"timeBoundary","dataSource":"x"}`, 200},
		{"GET", "/service/v2", ``, 405},
	} {
		if got, body := ask(t, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, got, c.want, body)
		}
	}
}

func TestAnAnswerThatMayNotBeJSONIsNone(t *testing.T) {
	mux := edge.NewMux(&edge.Errors{})
	New(empty{}, query.NewRunning(clock.System(), query.RunningOptions{}), Options{MaxRequestBytes: 1 << 20}).Routes(mux)
	for accept, want := range map[string]int{"": 200, "*/*": 200, "text/html, application/json;q=0.1": 200, "text/html": 406} {
		r := httptest.NewRequest(http.MethodPost, "/service/v2", strings.NewReader(`{"queryType":"timeBoundary","dataSource":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != want || want == 406 && w.Body.Len() > 0 {
			t.Errorf("%s: status %d, %q", accept, w.Code, w.Body)
		}
	}
}

func TestGroupsAreNotOrderedByHistograms(t *testing.T) {
	status, body := ask(t, http.MethodPost, "/service/v2", `{"queryType":"groupBy","granularity":"all","dimensions":["name"],`+fruit+`,
		"aggregations":[{"type":"quantilesDoublesSketch","name":"q","fieldName":"n"}],"limitSpec":{"type":"default","columns":["h"]},
		"postAggregations":[{"type":"quantilesDoublesSketchToHistogram","name":"h","field":{"type":"fieldAccess","fieldName":"q"}}]}`)
	if status != http.StatusBadRequest || !strings.Contains(body, `"errorMessage":"Comparing histograms is not supported"`) {
		t.Errorf("status %d: %s", status, body)
	}
}

func TestBucketsOfGapsAndOverlaps(t *testing.T) {
	hour := int64(3600_000)
	ranges := []chrono.Interval{{Start: hour / 2, End: hour + 1}, {Start: hour, End: 2*hour + 1}, {Start: 5 * hour, End: 5*hour + 1}}
	g, err := chrono.ParseGranularity("hour")
	if err != nil {
		t.Fatal(err)
	}
	for descending, want := range map[bool][]int64{false: {0, hour, 2 * hour, 5 * hour}, true: {5 * hour, 2 * hour, hour, 0}} {
		var got []int64
		for b := range bucketStarts(g, ranges, descending) {
			got = append(got, b)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("descending %v (-want +got):\n%s", descending, diff)
		}
	}
}

func TestNestedDataIsWrittenAsItIs(t *testing.T) {
	c := newCells([]plan.Column{{Name: "j", Type: expr.JSON}})
	c.batch = &vector.Batch{N: 1, Cols: []*vector.Vector{vector.Constant(vector.JSON, `{"a":[1]}`, 1)}}
	if got := string(c.value(nil, 0, 0)); got != `{"a":[1]}` {
		t.Errorf("got %s", got)
	}
}
