package batch

import (
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
)

// filterOf reads a native filter; an absent one keeps all rows.
func filterOf(text json.RawMessage) (native.FilterOf, error) {
	var f native.FilterOf
	if len(text) == 0 {
		return f, nil
	}
	return f, f.UnmarshalJSON(text)
}

// transformsOf reads the transforms of a transformSpec.
func transformsOf(texts []json.RawMessage) ([]native.VirtualColumnOf, error) {
	out := make([]native.VirtualColumnOf, len(texts))
	for i, text := range texts {
		if err := out[i].UnmarshalJSON(text); err != nil {
			return nil, err
		}
	}
	return out, native.CheckTransforms(out)
}

// aggregatorsOf reads the aggregators of a metricsSpec.
func aggregatorsOf(metrics []spec.Metric) ([]native.AggregatorOf, error) {
	out := make([]native.AggregatorOf, len(metrics))
	for i, m := range metrics {
		if err := out[i].UnmarshalJSON(m.Wire); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// partitioned makes a write and its target divide rows as a partitionsSpec says. What it names and the rows don't have is NULL in all of them, and so is the
// time, which is no dimension: rows are divided by it already.
func partitioned(p *spec.Partitions, w *plan.Write, t *msq.Target) error {
	var places []int
	for _, name := range p.Dimensions {
		at := slices.IndexFunc(w.Input.Columns(), func(c plan.Column) bool { return c.Name == name })
		if at < 0 || name == plan.TimeColumn {
			continue
		}
		if p.Type != "hashed" && plan.ColumnAt(w.Input, at).Type.Multi {
			return fault.InvalidInput("[partitionsSpec] names dimension [%s], which has several values in a row; ranges need one", name)
		}
		places = append(places, at)
	}
	switch p.Type {
	case "hashed":
		t.Hash = &msq.Hash{Columns: places, Buckets: p.Shards}
	case "range", "single_dim":
		w.Cluster, t.SingleRanges = places, p.Type == "single_dim"
	}
	return nil
}
