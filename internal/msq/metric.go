package msq

import (
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/vector"
)

// sketchMetrics are the native aggregators that combine sketches, and the names of their settings
// in the order of the constants.
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

	"APPROX_COUNT_DISTINCT":             {"hyperUnique", nil},
	"APPROX_COUNT_DISTINCT_BUILTIN":     {"hyperUnique", nil},
	"APPROX_COUNT_DISTINCT_DS_HLL":      {"HLLSketchMerge", []string{"lgK", "tgtHllType"}},
	"APPROX_COUNT_DISTINCT_DS_HLL_UTF8": {"HLLSketchMerge", []string{"lgK", "tgtHllType"}},
	"APPROX_COUNT_DISTINCT_DS_THETA":    {"thetaSketch", []string{"size"}},

	"TDIGEST_GENERATE_SKETCH": {"tDigestSketch", []string{"compression"}},
	"$APPROX_HISTOGRAM":       {"approxHistogramFold", []string{"resolution"}},
	"$FIXED_BUCKETS":          {"fixedBucketsHistogram", []string{"numBuckets", "lowerLimit", "upperLimit", "outlierHandlingMode"}},
}

// timedMetrics are the native aggregators of values with times, by what is before First or Last in
// their name.
var timedMetrics = map[vector.Type]string{
	agg.TimedLongType: "long", agg.TimedDoubleType: "double", agg.TimedFloatType: "float", agg.TimedTextType: "string",
}

// MetricJSON returns the aggregator that combines values of a metric: counts are summed.
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
		if strings.HasSuffix(call.Name, "_UTF8") {
			out["stringEncoding"] = "utf8"
		}
	}
	return out
}

// MetricOf is the inverse of MetricJSON: it returns the metric for a native aggregator of a
// segment, or "" if the aggregator is unknown.
func MetricOf(aggregator json.RawMessage) (column, metric string) {
	var fields map[string]any
	if json.Unmarshal(aggregator, &fields) != nil {
		return "", ""
	}
	kind, _ := fields["type"].(string)
	column, _ = fields["name"].(string)
	switch kind {
	case "longSum", "doubleSum", "floatSum":
		return column, "SUM"
	case "longMin", "doubleMin", "floatMin":
		return column, "MIN"
	case "longMax", "doubleMax", "floatMax":
		return column, "MAX"
	}
	for t, name := range timedMetrics {
		of, last := strings.CutSuffix(kind, "Last")
		if !last {
			of, _ = strings.CutSuffix(kind, "First")
		}
		if of != name || of == kind {
			continue
		}
		spec := agg.Spec{Name: "EARLIEST"}
		if last {
			spec.Name = "LATEST"
		}
		if bytes, ok := fields["maxStringBytes"].(float64); ok && t == agg.TimedTextType {
			spec.Params = []any{int64(bytes)}
		}
		return column, spec.Metric()
	}
	for _, name := range []string{"DS_HLL", "DS_THETA", "DS_QUANTILES_SKETCH", "DS_TUPLE_DOUBLES", "DS_KLL_DOUBLES", "DS_KLL_FLOATS", "HYPER_UNIQUE"} {
		sketch := sketchMetrics[name]
		if sketchName(sketch.kind) != sketchName(kind) {
			continue
		}
		spec := agg.Spec{Name: name}
		if encoding, _ := fields["stringEncoding"].(string); encoding == "utf8" {
			spec.Name += "_UTF8"
		}
		for _, p := range sketch.settings {
			switch x := fields[p].(type) {
			case float64:
				spec.Params = append(spec.Params, int64(x))
			case string:
				spec.Params = append(spec.Params, x)
			default:
				return column, spec.Metric() // the settings that follow have their defaults too
			}
		}
		return column, spec.Metric()
	}
	return column, ""
}

// sketchName is an aggregator's type without what says whether it makes sketches or combines them.
func sketchName(kind string) string {
	return strings.TrimSuffix(strings.TrimSuffix(kind, "Merge"), "Build")
}
