package native

import "testing"

func TestWhatHasNoOrderDoesNotOrderGroups(t *testing.T) {
	for post, want := range map[string]string{
		`"type":"HLLSketchEstimateWithBounds"`:                        "Comparing arrays of estimates and error bounds is not supported",
		`"type":"arrayOfDoublesSketchToEstimateAndBounds"`:            "Comparing arrays of estimates and error bounds is not supported",
		`"type":"KllFloatsSketchToQuantiles","fractions":[0.5]`:       "Comparing arrays of quantiles is not supported",
		`"type":"quantilesDoublesSketchToCDF","splitPoints":[1]`:      "Comparing histograms is not supported",
		`"type":"KllDoublesSketchToHistogram"`:                        "Comparing histograms is not supported",
		`"type":"quantilesDoublesSketchToString"`:                     "Comparing sketch summaries is not supported",
		`"type":"arrayOfDoublesSketchToMeans"`:                        "Comparing arrays of mean values is not supported",
		`"type":"arrayOfDoublesSketchToVariances"`:                    "Comparing arrays of variance values is not supported",
		`"type":"arrayOfDoublesSketchToMetricsSumEstimate"`:           "Comparing arrays of estimate values is not supported",
		`"type":"arrayOfDoublesSketchTTest","fields":[` + field + `]`: "Comparing arrays of p values is not supported",
		`"type":"quantilesDoublesSketchToQuantile","fraction":0.5`:    "",
		`"type":"thetaSketchToString"`:                                "",
		`"type":"fieldAccess","fieldName":"a"`:                        "Comparing values that are not finalized is not supported",
		`"type":"finalizingFieldAccess","fieldName":"a"`:              "",
	} {
		q, err := Decode([]byte(`{"queryType":"groupBy","dataSource":"wiki","intervals":["2020/2021"],"granularity":"all","dimensions":[],"aggregations":[{"type":"count","name":"a"}],
			"postAggregations":[{"name":"p","field":` + field + `,` + post + `}],"limitSpec":{"type":"default","columns":["p"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		p := q.(*GroupBy).PostAggregations[0].PostAggregator
		got := incomparable(p)
		if got != "" {
			got = "Comparing " + got + " is not supported"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", post, got, want)
		}
	}
}

const field = `{"type":"fieldAccess","fieldName":"a"}`
