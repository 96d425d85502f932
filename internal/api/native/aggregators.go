package native

import (
	"maps"
	"reflect"

	lang "github.com/hengedb/henge/internal/native"

	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/segment"
)

// combining are the aggregators that merge sketches: how segmentMetadata names them, and the settings that have their defaults.
var combining = map[string]struct {
	kind     string
	defaults map[string]any
}{
	"HLLSketchMerge":         {"", map[string]any{"lgK": 12, "tgtHllType": "HLL_4"}},
	"thetaSketch":            {"", map[string]any{"size": 16384}},
	"quantilesDoublesSketch": {"quantilesDoublesSketchMerge", map[string]any{"k": 128, "maxStreamLength": 1000000000}},
	"KllDoublesSketch":       {"KllDoublesSketchMerge", map[string]any{"k": 200, "maxStreamLength": 1000000000}},
	"KllFloatsSketch":        {"KllFloatsSketchMerge", map[string]any{"k": 200, "maxStreamLength": 1000000000}},
	"arrayOfDoublesSketch":   {"", map[string]any{"nominalEntries": 16384, "metricColumns": nil, "numberOfValues": 1}},
	"hyperUnique":            {"", map[string]any{"isInputHyperUnique": false, "round": false}},
}

// aggregatorsOf returns the aggregators by which the metrics of a segment combine further, by column.
func aggregatorsOf(info *segment.Info) map[string]any {
	out := map[string]any{}
	for i := range info.Columns {
		c := &info.Columns[i]
		if c.Metric == "" {
			continue
		}
		a := msq.MetricJSON(c.Metric, c.Name, c.Type)
		if fields, ok := a.(map[string]any); ok {
			kind, _ := fields["type"].(string)
			if known, ok := combining[kind]; ok {
				whole := maps.Clone(known.defaults)
				maps.Copy(whole, fields)
				if known.kind != "" {
					whole["type"] = known.kind
				}
				a = whole
			}
		}
		out[c.Name] = a
	}
	return out
}

// mergeAggregators returns what the aggregators of two analyses are together: nil where they do not fit, leniently without those that don't.
func mergeAggregators(how lang.AggregatorMerge, a, b map[string]any) map[string]any {
	switch {
	case how == lang.MergeEarliest && a != nil, how == lang.MergeLatest && b == nil:
		return a
	case how == lang.MergeEarliest, how == lang.MergeLatest:
		return b
	case a == nil || b == nil:
		if how != lang.MergeLenient {
			return nil
		}
		if a == nil {
			return b
		}
		return a
	}
	out := maps.Clone(a)
	for name, theirs := range b {
		mine, ok := out[name]
		switch {
		case !ok:
			out[name] = theirs
		case reflect.DeepEqual(mine, theirs):
		case how == lang.MergeStrict:
			return nil
		default:
			out[name] = nil
		}
	}
	return out
}
