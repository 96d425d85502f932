package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

var benchSchema = []segment.ColumnSpec{
	{Name: "__time", Type: long}, {Name: "d25", Type: str}, {Name: "d250", Type: str}, {Name: "d5k", Type: str}, {Name: "user", Type: str},
	{Name: "m1", Type: long}, {Name: "m2", Type: double}, {Name: "order", Type: long},
}

const benchRows = 1 << 20 // in each of two segments

func benchStore(b *testing.B) *store {
	s := &store{t: b}
	types := make([]vector.Type, len(benchSchema))
	for i, c := range benchSchema {
		types[i] = c.Type
	}
	r := rand.New(rand.NewPCG(1, 1))
	for k := range 2 {
		path := filepath.Join(b.TempDir(), fmt.Sprintf("%d.seg", k))
		w, err := segment.Create(path, segment.Options{Columns: benchSchema, SortOrder: []string{"__time"}, TempDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		start := int64(k) * benchRows * 1000
		for lo := 0; lo < benchRows; lo += vector.BatchRows {
			bb := vector.NewBatchBuilder(types, vector.BatchRows)
			for i := range vector.BatchRows {
				bb.Col(0).AppendLong(start + int64(lo+i)*1000)
				bb.Col(1).AppendString(fmt.Sprintf("v%02d", r.IntN(25)))
				bb.Col(2).AppendString(fmt.Sprintf("value-%03d", r.IntN(250)))
				bb.Col(3).AppendString(fmt.Sprintf("page number %04d", r.IntN(5000)))
				bb.Col(4).AppendString(fmt.Sprintf("user-%06d", int(r.ExpFloat64()*40000)%200_000))
				bb.Col(5).AppendLong(int64(r.IntN(100_000)))
				bb.Col(6).AppendDouble(r.Float64() * 1000)
				bb.Col(7).AppendLong(4 * int64(r.IntN(500_000)))
			}
			bb.Grew(vector.BatchRows, 0)
			if err := w.Append(context.Background(), bb.Build()); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Finish(context.Background()); err != nil {
			b.Fatal(err)
		}
		seg, err := segment.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		s.leaves = append(s.leaves, Leaf{Reader: seg, Visible: chrono.Eternity})
		b.Cleanup(seg.Release)
	}
	return s
}

func benchScan(filter expr.Expr, names ...string) *plan.Scan {
	n := &plan.Scan{DataSource: "bench", Filter: filter, Limit: -1}
	for _, name := range names {
		for _, c := range benchSchema {
			if c.Name == name {
				n.Out = append(n.Out, plan.Column{Name: name, Type: expr.FromRuntime(c.Type, false)})
			}
		}
	}
	return n
}

// BenchmarkQueries runs whole plans over two segments of a million rows.
func BenchmarkQueries(b *testing.B) {
	s := benchStore(b)
	group := func(scan *plan.Scan, keys []int, calls ...plan.AggCall) plan.Node {
		types := make([]vector.Type, len(scan.Out))
		for i, c := range scan.Out {
			types[i] = c.Type.Runtime()
		}
		return &plan.Aggregate{Input: scan, Keys: keys, Aggs: typed(types, calls...)}
	}
	top := func(n plan.Node, column int) plan.Node {
		return &plan.Sort{Input: n, Keys: []plan.SortKey{{Column: column, Desc: true}}, Limit: 10}
	}
	textCol := func(name string) expr.Expr { return &expr.Column{Index: 0, Name: name, T: expr.Of(expr.Varchar)} }
	dim := func(n int) plan.Node { // (page, class) of the first n pages
		rows := make([][]any, n)
		for i := range rows {
			rows[i] = []any{fmt.Sprintf("page number %04d", i), fmt.Sprintf("class %d", i%10)}
		}
		return inline([]vector.Type{str, str}, rows...)
	}
	star := func(n int) plan.Node {
		return &plan.Aggregate{Input: &plan.Join{Left: benchScan(nil, "d5k", "m1"), Right: dim(n), Keys: []plan.EquiKey{{}}}, Keys: []int{3},
			Aggs: typed([]vector.Type{str, long, str, str}, call("SUM", long, 1))}
	}
	first := func(partition string) plan.Node { // the sum of the first values of each partition
		w := &plan.Window{Input: benchScan(nil, partition, "__time", "m2"), Partition: []int{0}, Order: []plan.SortKey{{Column: 1}}, Calls: []plan.WindowCall{{
			Fn: "FIRST_VALUE", AggCall: plan.AggCall{Agg: agg.Spec{Name: "FIRST_VALUE"}, Args: []int{2}, Filter: -1, Type: expr.Of(expr.Double)},
			Frame: plan.Frame{Range: true, FromUnbounded: true, FromColumn: -1, ToColumn: -1}}}}
		return &plan.Aggregate{Input: w, Aggs: typed(types(w.Columns()), call("SUM", double, 3))}
	}
	// The sum of the ranks of the groups of m1 and m2, nearly as many as there are rows, among those
	// of the same m1, by their counts.
	rank := &plan.Aggregate{Input: &plan.Window{Input: group(benchScan(nil, "m1", "m2"), []int{0, 1}, call("COUNT", long)), Partition: []int{0},
		Order: []plan.SortKey{{Column: 2, Desc: true}}, Calls: []plan.WindowCall{windowOf("RANK", long, wholeFrame)}},
		Aggs: typed([]vector.Type{long, double, long, long}, call("SUM", long, 3))}
	sum, err := expr.NewCall(catalog.MustLookup("+"), []expr.Expr{column(0, long), number1(2)}, fault.Span{})
	if err != nil {
		b.Fatal(err)
	}
	spans := &plan.Project{Input: benchScan(compare(b, "<", column(0, long), number1(500)), "m1"), Exprs: []expr.Expr{column(0, long), sum}, Names: []string{"from", "to"}}
	// The sum of the row numbers of each m1 in the order of m2.
	number := &plan.Aggregate{Input: &plan.Window{Input: benchScan(nil, "m1", "m2"), Partition: []int{0}, Order: []plan.SortKey{{Column: 1}},
		Calls: []plan.WindowCall{windowOf("ROW_NUMBER", long, wholeFrame)}}, Aggs: typed([]vector.Type{long, double, long}, call("SUM", long, 2))}
	distinct := call("COUNT", long, 0)
	distinct.Distinct = true
	for _, c := range []struct {
		name string
		node plan.Node
	}{
		{"sum_two", group(benchScan(nil, "m1", "m2"), nil, call("SUM", long, 0), call("SUM", double, 1))},
		{"group_d25", group(benchScan(nil, "d25", "m1"), []int{0}, call("SUM", long, 1))},
		{"top_d5k", top(group(benchScan(nil, "d5k", "m1"), []int{0}, call("SUM", long, 1)), 1)},
		{"group_d25_d250", top(group(benchScan(nil, "d25", "d250", "m1"), []int{0, 1}, call("SUM", long, 2), call("COUNT", long)), 2)},
		{"group_d250_d5k", top(group(benchScan(nil, "d250", "d5k", "m1"), []int{0, 1}, call("SUM", long, 2)), 2)},
		{"top_user", top(group(benchScan(nil, "user"), []int{0}, call("COUNT", long)), 1)},
		{"group_long", top(group(benchScan(nil, "m1"), []int{0}, call("COUNT", long)), 1)},
		{"group_order", top(group(benchScan(nil, "order", "m1"), []int{0}, call("SUM", long, 1)), 1)},
		{"group_unique", top(group(benchScan(nil, "__time"), []int{0}, call("COUNT", long)), 1)},
		{"distinct_user", group(benchScan(nil, "user"), nil, distinct)},
		{"approx_user", group(benchScan(nil, "user"), nil, call("APPROX_COUNT_DISTINCT", long, 0))},
		{"star_all", star(5000)},
		{"star_tenth", star(500)},
		{"sort_long", &plan.Sort{Input: benchScan(nil, "m1", "d25"), Keys: []plan.SortKey{{}}, Limit: -1}},
		{"top_long", &plan.Sort{Input: benchScan(nil, "m1", "d25"), Keys: []plan.SortKey{{Desc: true}}, Limit: 100}},
		{"join_facts", &plan.Aggregate{Input: &plan.Join{Left: benchScan(nil, "m1", "d250"), Right: benchScan(nil, "m1", "d250"), Keys: []plan.EquiKey{{}, {Left: 1, Right: 1}}},
			Aggs: typed([]vector.Type{long, str, long, str}, call("COUNT", long))}},
		{"join_doubles", &plan.Aggregate{Input: &plan.Join{Left: benchScan(nil, "m2", "m1"), Right: benchScan(nil, "m2"), Keys: []plan.EquiKey{{}}},
			Aggs: typed([]vector.Type{double, long, double}, call("SUM", long, 1))}},
		{"join_pairs", &plan.Aggregate{Input: &plan.Join{Left: benchScan(nil, "m1", "m2"), Right: benchScan(nil, "m1", "order"), Keys: []plan.EquiKey{{}}},
			Aggs: typed([]vector.Type{long, double, long, long}, call("SUM", double, 1), call("MAX", long, 3))}},
		{"join_full", &plan.Aggregate{Input: &plan.Join{Kind: plan.Full, Left: benchScan(nil, "m1", "m2"), Keys: []plan.EquiKey{{}},
			Right: benchScan(compare(b, "<", &expr.Column{Index: 0, Name: "m1", T: expr.Of(expr.BigInt)}, number1(1000)), "m1", "order")},
			Aggs: typed([]vector.Type{long, double, long, long}, call("SUM", double, 1), call("MAX", long, 3))}},
		{"join_between", &plan.Aggregate{Input: &plan.Join{Left: benchScan(nil, "m1"), Right: spans,
			On: plan.Conjunction([]expr.Expr{compare(b, ">=", column(0, long), column(1, long)), compare(b, "<=", column(0, long), column(2, long))})},
			Aggs: typed([]vector.Type{long, long, long}, call("COUNT", long))}},
		{"window_number", number},
		{"window_user", first("user")},
		{"window_long", first("m1")},
		{"window_groups", rank},
		{"filter_like", group(benchScan(likeExpr(b, textCol("d5k"), "%er 0__2"), "d5k", "m1"), nil, call("SUM", long, 1))},
		{"filter_rare", group(benchScan(compare(b, "=", textCol("d5k"), text1("page number 0042")), "d5k", "m1"), nil, call("SUM", long, 1))},
		{"filter_tenth", group(benchScan(compare(b, "<", textCol("d250"), text1("value-025")), "d250", "m1"), nil, call("SUM", long, 1))},
		{"filter_number", group(benchScan(compare(b, "<", &expr.Column{Index: 0, Name: "m1", T: expr.Of(expr.BigInt)}, number1(1000)), "m1", "m2"), nil, call("SUM", double, 1))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				env := &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 2}
				op, err := Build(context.Background(), c.node, env)
				if err != nil {
					b.Fatal(err)
				}
				if err := Drain(context.Background(), op, func(*vector.Batch) error { return nil }); err != nil {
					b.Fatal(err)
				}
				op.Close()
			}
			b.ReportMetric(float64(2*benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
