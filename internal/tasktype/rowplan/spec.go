package rowplan

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// FilterOf parses a native filter. If it is absent, all rows are kept.
func FilterOf(text json.RawMessage) (native.FilterOf, error) {
	var f native.FilterOf
	if len(text) == 0 {
		return f, nil
	}
	return f, f.UnmarshalJSON(text)
}

// TransformsOf parses the transforms of a transformSpec.
func TransformsOf(texts []json.RawMessage) ([]native.VirtualColumnOf, error) {
	out := make([]native.VirtualColumnOf, len(texts))
	for i, text := range texts {
		if err := out[i].UnmarshalJSON(text); err != nil {
			return nil, err
		}
	}
	return out, native.CheckTransforms(out)
}

// AggregatorsOf parses the aggregators of a metricsSpec.
func AggregatorsOf(metrics []spec.Metric) ([]native.AggregatorOf, error) {
	out := make([]native.AggregatorOf, len(metrics))
	for i, m := range metrics {
		if err := out[i].UnmarshalJSON(m.Wire); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// IngestionOf binds what a schema computes, without the dimensions.
func IngestionOf(s *spec.DataSchema) (*native.Ingestion, error) {
	g := &native.Ingestion{Granularity: s.Granularity.Query, Rollup: s.Granularity.Rollup, Spatial: s.Dimensions.Spatial()}
	var err error
	if g.Transforms, err = TransformsOf(s.Transforms); err != nil {
		return nil, err
	}
	if g.Filter, err = FilterOf(s.Filter); err != nil {
		return nil, err
	}
	g.Metrics, err = AggregatorsOf(s.Metrics)
	return g, err
}

// Folds reports whether two values of a metric can be combined into one.
func Folds(metric string, t vector.Type) bool {
	call, err := agg.ParseMetric(metric, t)
	if err != nil {
		return false
	}
	if call.Name == "COUNT" {
		call.Name = "SUM"
	}
	partial, err := call.IntermediateTypes()
	return err == nil && len(partial) == 1 && partial[0] == t && t != vector.String
}

// HandlingOf returns the handling of several values in a row of a dimension.
func HandlingOf(d spec.Dimension) msq.MultiValue {
	switch d.MultiValue {
	case "SORTED_SET":
		return msq.SortedSet
	case "ARRAY":
		return msq.AsArray
	}
	return msq.SortedArray
}

// SortedBy returns the time and the other sort columns of rows.
func SortedBy(columns []plan.Column) []string {
	order := []string{plan.TimeColumn}
	for _, c := range columns {
		if k := c.Type.Runtime().Kind; c.Name != plan.TimeColumn && k != vector.KindComplex && (k != vector.KindList || c.Type.Multi) {
			order = append(order, c.Name)
		}
	}
	return order
}
