package msq

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Rows may be clustered by what is not stored: the partitions follow it, and the segments have no
// trace of it.
func TestClusterByHiddenColumn(t *testing.T) {
	b := newBench(t)
	all, err := chrono.ParseGranularity("ALL")
	if err != nil {
		t.Fatal(err)
	}
	in := project(external(twelve(), "t time k string n long"), "n", "k")
	in.Exprs, in.Names = append(in.Exprs, &expr.Column{Index: 1, Name: "k", T: expr.Of(expr.Varchar)}), append(in.Names, "$order")
	w := &plan.Write{Input: in, DataSource: "w", Replace: true, ReplaceAll: true, PartitionBy: all, Cluster: []int{2}, Hidden: 1}
	c, _, err := b.run(w, map[string]any{"rowsPerSegment": 6, "maxNumTasks": 3, "forceSegmentSortByTime": false})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"__time=1970-01-01T00:00:00.000Z n=0 k=k0", "__time=1970-01-01T00:00:00.000Z n=4 k=k0", "__time=1970-01-01T00:00:00.000Z n=8 k=k0",
			"__time=1970-01-01T00:00:00.000Z n=1 k=k1", "__time=1970-01-01T00:00:00.000Z n=5 k=k1", "__time=1970-01-01T00:00:00.000Z n=9 k=k1"},
		{"__time=1970-01-01T00:00:00.000Z n=2 k=k2", "__time=1970-01-01T00:00:00.000Z n=6 k=k2", "__time=1970-01-01T00:00:00.000Z n=10 k=k2",
			"__time=1970-01-01T00:00:00.000Z n=3 k=k3", "__time=1970-01-01T00:00:00.000Z n=7 k=k3", "__time=1970-01-01T00:00:00.000Z n=11 k=k3"},
	}
	var got [][]string
	for _, s := range b.meta.used {
		got = append(got, b.rows(s))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	report, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	if report.Segments.ShardSpec != "NumberedShardSpec" {
		t.Errorf("%+v", report.Segments)
	}
	q, err := c.Query()
	if text, _ := json.Marshal(q.ColumnMappings); err != nil || len(q.ColumnMappings) != 2 {
		t.Errorf("%s %v", text, err)
	}
}
