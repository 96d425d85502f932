package batch

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
)

// partitioned makes a write and its target divide rows as a partitionsSpec says. What it names and
// the rows don't have is NULL in all of them, and so is the time, which is no dimension: rows are
// divided by it already.
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
