package nativequery

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Sketches of groups are merged once more than others, which shows in how many keys are left.
func TestHowOftenTupleSketchesAreMerged(t *testing.T) {
	var many []string
	for i := range 24 {
		many = append(many, fmt.Sprintf(`["a","k%d",1]`, i))
	}
	keys := `"dataSource":{"type":"inline","columnNames":["g","k","n"],"columnTypes":["STRING","STRING","LONG"],"rows":[` + strings.Join(many, ",") +
		`]},"intervals":["1970/1971"],"granularity":"all","context":{"finalize":false},"aggregations":[{"type":"arrayOfDoublesSketch","name":"x","fieldName":"k","metricColumns":["n"],
		"nominalEntries":16}]`
	sketch := regexp.MustCompile(`"x":"([^"]+)"`)
	for query, want := range map[string]uint32{
		`"queryType":"timeseries"`: 24, // a sketch of 16 keys holds up to 30 until it is merged
		`"queryType":"topN","dimension":"g","metric":{"type":"dimension"},"threshold":5`: 24,
		`"queryType":"groupBy","dimensions":["g"]`:                                       16,
		`"queryType":"groupBy","dimensions":[]`:                                          16,
	} {
		status, got := ask(t, http.MethodPost, "/service/v2", `{`+query+`,`+keys+`}`)
		m := sketch.FindStringSubmatch(got)
		if status != http.StatusOK || m == nil {
			t.Errorf("%s: status %d, %s", query, status, got)
			continue
		}
		if b, err := base64.StdEncoding.DecodeString(m[1]); err != nil || len(b) < 24 || binary.LittleEndian.Uint32(b[16:]) != want {
			t.Errorf("%s: %s, want %d keys", query, m[1], want)
		}
	}
}

func TestSketchesOfFloatsAndOfNothing(t *testing.T) {
	const rows = `"queryType":"timeseries","granularity":"all","dataSource":{"type":"inline","columnNames":["f","s"],"columnTypes":["FLOAT","STRING"],"rows":[[0.1,"0.1"],[2.5,"2.5"]]},
		"intervals":["1970/1971"]`
	const tuple = `{"type":"arrayOfDoublesSketch","name":"a","fieldName":"f","metricColumns":["f"]},{"type":"arrayOfDoublesSketch","name":"b","fieldName":"s","metricColumns":["f"]}`
	const quantiles = `{"type":"quantilesDoublesSketch","name":"a","fieldName":"f"}`
	const theta = `{"type":"thetaSketch","name":"a","fieldName":"f"}`
	const field = `"name":"x","field":{"type":"fieldAccess","name":"a","fieldName":"a"}`
	for _, c := range []struct{ name, query, want string }{
		{"the key of a FLOAT is its text", `"aggregations":[` + tuple + `],"postAggregations":[{"type":"arrayOfDoublesSketchToEstimate","name":"x","field":{"type":"arrayOfDoublesSketchSetOp",
			"name":"s","operation":"INTERSECT","fields":[{"type":"fieldAccess","name":"a","fieldName":"a"},{"type":"fieldAccess","name":"b","fieldName":"b"}]}}]`, `"x":2.0`},
		{"what a set operation made", `"aggregations":[` + tuple + `],"postAggregations":[{"type":"arrayOfDoublesSketchToString","name":"x","field":{"type":"arrayOfDoublesSketchSetOp",
			"name":"s","operation":"UNION","fields":[{"type":"fieldAccess","name":"a","fieldName":"a"},{"type":"fieldAccess","name":"b","fieldName":"b"}]}}]`, `"x":"### HeapArrayOfDoublesCompactSketch SUMMARY: `},
		{"what a set operation made of theta sketches", `"aggregations":[` + theta + `],"postAggregations":[{"type":"thetaSketchToString","name":"x","field":{"type":"thetaSketchSetOp",
			"name":"s","func":"UNION","fields":[{"type":"fieldAccess","fieldName":"a"},{"type":"fieldAccess","fieldName":"a"}]}}]`, `"x":"\n### HeapCompactSketch SUMMARY: `},
		{"what an aggregator of theta sketches made", `"aggregations":[` + theta + `],"postAggregations":[{"type":"thetaSketchToString",` + field + `}]`, `"x":"\n### DirectCompactSketch SUMMARY: `},
		{"what an aggregator made", `"aggregations":[` + tuple + `],"postAggregations":[{"type":"arrayOfDoublesSketchToString",` + field + `}]`, `"x":"### DirectArrayOfDoublesCompactSketch SUMMARY: `},
		{"quantiles of no keys", `"filter":{"type":"false"},"aggregations":[` + tuple + `],"postAggregations":[{"type":"arrayOfDoublesSketchToQuantilesSketch",` + field + `,"k":16}]`, `"x":"AQMIHhAAAAA="`},
		{"all values", `"aggregations":[` + quantiles + `],"postAggregations":[{"type":"quantilesDoublesSketchToCDF",` + field + `,"splitPoints":[]}]`, `"x":[1.0]`},
		{"all of no values", `"filter":{"type":"false"},"aggregations":[` + quantiles + `],"postAggregations":[{"type":"quantilesDoublesSketchToCDF",` + field + `,"splitPoints":[]}]`, `"x":["NaN"]`},
	} {
		status, got := ask(t, http.MethodPost, "/service/v2", `{`+rows+`,`+c.query+`}`)
		if status != http.StatusOK || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, %s, want %s", c.name, status, got, c.want)
		}
	}
}

func TestSketchesOfPostAggregatorsAreOrderedByTheirEstimates(t *testing.T) {
	const from = `"dataSource":{"type":"inline","columnNames":["g","k","n"],"columnTypes":["STRING","STRING","LONG"],"rows":[["a","x",1],["a","y",1],["b","x",1],["b","y",1],["b","z",1],
		["c","x",1],["d","x",1],["d","z",1]]},"intervals":["1970/1971"],"granularity":"all"`
	const fields = `"fields":[{"type":"fieldAccess","name":"x","fieldName":"x"},{"type":"fieldAccess","name":"x","fieldName":"x"}]}]`
	for aggregator, post := range map[string]string{
		`"thetaSketch"`:           `{"type":"thetaSketchSetOp","name":"p","func":"UNION",`,
		`"thetaSketch","size":32`: `{"type":"thetaSketchEstimate","name":"p","errorBoundsStdDev":2,"field":{"type":"fieldAccess","fieldName":"x"},`,
		`"sketchBuild"`:           `{"type":"sketchSetOper","name":"p","func":"INTERSECT",`,
		`"HLLSketchBuild"`:        `{"type":"HLLSketchUnion","name":"p",`,
		`"arrayOfDoublesSketch","metricColumns":["n"]`: `{"type":"arrayOfDoublesSketchSetOp","name":"p","operation":"UNION",`,
	} {
		sketches := from + `,"aggregations":[{"type":` + aggregator + `,"name":"x","fieldName":"k"}],"postAggregations":[` + post + fields
		for _, query := range []string{
			`"queryType":"topN","dimension":"g","metric":"p","threshold":9,` + sketches,
			`"queryType":"groupBy","dimensions":["g"],"limitSpec":{"type":"default","columns":[{"dimension":"p","direction":"descending"}]},` + sketches,
		} {
			status, got := ask(t, http.MethodPost, "/service/v2", `{`+query+`}`)
			var order string
			for _, m := range regexp.MustCompile(`"g":"(.)"`).FindAllStringSubmatch(got, -1) {
				order += m[1]
			}
			if status != http.StatusOK || order != "badc" {
				t.Errorf("%s: status %d, %s", query, status, got)
			}
		}
	}
}

func TestOldThetaAggregatorsShowNoSketchesAndNoBounds(t *testing.T) {
	const rows = `"dataSource":{"type":"inline","columnNames":["k"],"columnTypes":["STRING"],"rows":[["x"],["y"]]},"intervals":["1970/1971"],"granularity":"all"`
	for aggregator, want := range map[string]string{
		`"type":"sketchBuild","errorBoundsStdDev":2`:  `"x":2.0`,
		`"type":"sketchBuild","shouldFinalize":false`: `"x":2.0`,
		`"type":"sketchMerge","errorBoundsStdDev":2`:  `"x":2.0`,
		`"type":"sketchMerge","shouldFinalize":false`: `"x":"AgM`,
		`"type":"thetaSketch","shouldFinalize":false`: `"x":"AgM`,
		`"type":"thetaSketch","errorBoundsStdDev":2`:  `"x":{"estimate":2.0,"highBound":2.0,"lowBound":2.0,"numStdDev":2}`,
	} {
		status, got := ask(t, http.MethodPost, "/service/v2", `{"queryType":"timeseries",`+rows+`,"aggregations":[{`+aggregator+`,"name":"x","fieldName":"k"}]}`)
		if status != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("%s: status %d, %s, want %s", aggregator, status, got, want)
		}
	}
}
