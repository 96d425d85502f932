package msq

import (
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/vector"
)

// sketchMetrics are the native aggregators that combine sketches, and the names of their settings in the order of the constants.
var sketchMetrics = map[string]struct {
	kind     string
	settings []string
}{
	"DS_HLL":              {"HLLSketchMerge", []string{"lgK", "tgtHllType"}},
	"DS_HLL_UTF8":         {"HLLSketchMerge", []string{"lgK", "tgtHllType"}},
	"DS_THETA":            {"thetaSketch", []string{"size"}},
	"DS_QUANTILES_SKETCH": {"quantilesDoublesSketch", []string{"k"}},
	"DS_TUPLE_DOUBLES":    {"arrayOfDoublesSketch", []string{"nominalEntries", "numberOfValues"}},
	"DS_KLL_DOUBLES":      {"KllDoublesSketch", []string{"k"}},
	"DS_KLL_FLOATS":       {"KllFloatsSketch", []string{"k"}},
	"HYPER_UNIQUE":        {"hyperUnique", nil},

	"TDIGEST_GENERATE_SKETCH": {"tDigestSketch", []string{"compression"}},
	"$APPROX_HISTOGRAM":       {"approxHistogramFold", []string{"resolution"}},
	"$FIXED_BUCKETS":          {"fixedBucketsHistogram", []string{"numBuckets", "lowerLimit", "upperLimit", "outlierHandlingMode"}},
}

// timedMetrics are the native aggregators of values with times, by what is before First or Last in their name.
var timedMetrics = map[vector.Type]string{
	agg.TimedLongType: "long", agg.TimedDoubleType: "double", agg.TimedFloatType: "float", agg.TimedTextType: "string",
}

// MetricJSON is the aggregator that combines the values of a metric further: counts are summed.
func MetricJSON(metric, column string, t vector.Type) any {
	out := map[string]any{"type": metric, "name": column, "fieldName": column}
	call, err := agg.ParseMetric(metric, t)
	if err != nil {
		return out
	}
	out["type"] = call.Name
	if kind := map[string]string{"COUNT": "Sum", "SUM": "Sum", "MIN": "Min", "MAX": "Max"}[call.Name]; kind != "" && t.IsNumeric() {
		out["type"] = dimensionType(t, false) + kind
	}
	switch {
	case timedMetrics[t] != "" && strings.HasPrefix(call.Name, "EARLIEST"):
		out["type"] = timedMetrics[t] + "First"
	case timedMetrics[t] != "":
		out["type"] = timedMetrics[t] + "Last"
	case t == agg.MeanType:
		out["type"] = "doubleMean"
	case t == agg.VarianceType && strings.HasSuffix(call.Name, "_POP"):
		out["type"], out["estimator"] = "varianceFold", "population"
	case t == agg.VarianceType:
		out["type"] = "varianceFold"
	}
	if t == agg.TimedTextType && len(call.Params) > 0 {
		out["maxStringBytes"] = call.Params[0]
	}
	if s, ok := sketchMetrics[call.Name]; ok {
		out["type"] = s.kind
		for i, p := range call.Params[:min(len(call.Params), len(s.settings))] {
			out[s.settings[i]] = p
		}
	}
	return out
}
