package nativequery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/msq"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// combining are the aggregators that have more settings than their column: how segmentMetadata
// names them, and the settings that have their defaults.
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
	"stringFirst":            {"", map[string]any{"timeColumn": plan.TimeColumn, "maxStringBytes": 1024}},
	"stringLast":             {"", map[string]any{"timeColumn": plan.TimeColumn, "maxStringBytes": 1024}},
}

// aggregatorsOf returns the aggregators by which the metrics of a segment combine further, by
// column.
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

// mergeAggregators returns what the aggregators of two analyses are together: nil where they do not
// fit, leniently without those that don't.
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

// saidAt is what segments say of their aggregators, with the first and the last of those that say
// the same.
type saidAt struct {
	First int             `json:"first"`
	Last  int             `json:"last"`
	Text  json.RawMessage `json:"text"`
}

// saidOf is what one segment says.
func saidOf(at int, info *segment.Info) []saidAt {
	text, err := jsontext.Marshal(aggregatorsOf(info))
	if err != nil {
		text = []byte("null")
	}
	return []saidAt{{at, at, text}}
}

// mergeSaid returns what both say.
func mergeSaid(a, b []saidAt) []saidAt {
	for _, s := range b {
		i := slices.IndexFunc(a, func(o saidAt) bool { return string(o.Text) == string(s.Text) })
		if i < 0 {
			a = append(a, s)
			continue
		}
		a[i].First, a[i].Last = min(a[i].First, s.First), max(a[i].Last, s.Last)
	}
	return a
}

// foldSaid merges what segments say, in their order: what says nothing new between the first and
// the last that say it changes nothing.
func foldSaid(how lang.AggregatorMerge, said []saidAt) (map[string]any, error) {
	type one struct {
		at   int
		text json.RawMessage
	}
	var list []one
	for _, s := range said {
		list = append(list, one{s.First, s.Text})
		if s.Last != s.First {
			list = append(list, one{s.Last, s.Text})
		}
	}
	slices.SortFunc(list, func(a, b one) int { return a.at - b.at })
	var out map[string]any
	for i, o := range list {
		var next map[string]any
		in := json.NewDecoder(bytes.NewReader(o.text))
		in.UseNumber()
		if err := in.Decode(&next); err != nil {
			return nil, fmt.Errorf("reading the aggregators of a segment: %w", err)
		}
		if i == 0 {
			out = next
		} else {
			if out = mergeAggregators(how, out, next); len(out) == 0 {
				out = nil // what segments without aggregators are together says nothing
			}
		}
	}
	return out, nil
}
