package exec

import (
	"context"
	"testing"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// countedTables counts how often its one table is read.
type countedTables struct{ reads int }

func (c *countedTables) Rows(context.Context, *plan.System) (*vector.Batch, error) {
	c.reads++
	longs := make([]int64, 1000)
	for i := range longs {
		longs[i] = int64(i)
	}
	return &vector.Batch{N: len(longs), Cols: []*vector.Vector{vector.FromLongs(longs)}}, nil
}

func TestSharedPartsAreComputedOnce(t *testing.T) {
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			env := c.env(t)
			tables := &countedTables{}
			env.System = tables
			table := &plan.System{Schema: "sys", Table: "t", Out: inline([]vector.Type{long}, []any{int64(0)}).Out}
			one := &plan.Shared{ID: 1, Input: table}
			other := &plan.Shared{ID: 1, Input: table}
			node := &plan.Union{Ins: []plan.Node{one, other, &plan.Limit{Input: one, Count: 10}}, Out: table.Out}
			if rows := mustRows(t, node, env); len(rows) != 2010 || rows[999][0] != int64(999) || rows[2009][0] != int64(9) {
				t.Errorf("%d rows", len(rows))
			}
			if tables.reads != 1 {
				t.Errorf("the table was read %d times", tables.reads)
			}
		})
	}
}
