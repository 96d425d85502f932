package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// TestBlocksSumUpToTheirRows groups segments by what their blocks know and by rows, and sees how
// many rows were read.
func TestBlocksSumUpToTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	s := &store{t: t}
	const minute = 60_000
	for i := range 3 {
		from := int64(i) * 1_000 * minute
		rows := events(r, from, 9_000+i)
		for k := range rows {
			rows[k][4] = int64(k/4096) - 1 // a block has one value
			if k%7 == 0 {
				rows[k][2] = nil
			}
		}
		s.addSegment(chrono.Interval{Start: from, End: from + 1_000*minute}, eventSchema, true, rows)
	}
	bucket := func(period string) expr.Expr {
		at := &expr.Column{Index: 0, Name: "__time", T: expr.Of(expr.Timestamp).NotNull()}
		e, err := expr.NewCall(catalog.MustLookup("TIME_FLOOR"), []expr.Expr{at, text1(period)}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	scan := func(filter expr.Expr) *plan.Scan {
		n := scanOf(filter, "__time", "d", "k", "s")
		n.Out[0].Type = expr.Of(expr.Timestamp).NotNull()
		return n
	}
	k := &expr.Column{Index: 2, Name: "k", T: expr.Of(expr.BigInt)}
	part := scan(nil)
	part.Intervals = []chrono.Interval{{Start: 17 * minute, End: 1_100 * minute}}
	types := []vector.Type{long, double, long, str}
	calls := typed(types, call("COUNT", long), call("COUNT", long, 1), call("SUM", long, 2), call("SUM", double, 1), call("AVG", double, 2),
		call("AVG", double, 1), call("MIN", long, 2), call("MAX", double, 1), call("COUNT", long, 3))
	project := func(in *plan.Scan, key expr.Expr) plan.Node {
		exprs := []expr.Expr{key}
		for i, c := range in.Out[1:] {
			exprs = append(exprs, &expr.Column{Index: i + 1, Name: c.Name, T: c.Type})
		}
		return &plan.Project{Input: in, Exprs: exprs, Names: []string{"b", "d", "k", "s"}}
	}
	const all = 27_003 // rows
	cases := []struct {
		name  string
		input plan.Node
		keys  []int
		most  int64 // rows that may be read
	}{
		{"all", scan(nil), nil, 0},
		{"by a column that is constant in blocks", scan(nil), []int{2}, 0},
		{"a part of the time", part, nil, 4 * 4096},
		{"by buckets longer than blocks", project(scan(nil), bucket("P1D")), []int{0}, 0},
		{"by buckets shorter than segments", project(scan(nil), bucket("PT2H")), []int{0}, 5 * 4096},
		{"by buckets shorter than blocks", project(scan(nil), bucket("PT1M")), []int{0}, all},
		{"by text", scan(nil), []int{3}, all},
		{"what blocks know to be true", scan(compare(t, "<", k, number1(1))), nil, 0},
		{"what is true of some rows", scan(compare(t, "<", &expr.Column{Index: 1, Name: "d", T: expr.Of(expr.Double)},
			&expr.Literal{Value: 0.0, T: expr.Of(expr.Double).NotNull()})), nil, all},
	}
	for _, c := range cases {
		rows := func(in plan.Node) ([][]any, int64) {
			env := config{batch: vector.BatchRows}.env(t)
			env.Tables, env.Profile = s, NewProfile(clock.System())
			got := mustRows(t, &plan.Aggregate{Input: in, Keys: c.keys, Aggs: calls}, env)
			for _, row := range got {
				for i, x := range row {
					if d, ok := x.(float64); ok {
						row[i] = fmt.Sprintf("%.9g", d) // the order of additions differs
					}
				}
			}
			scan := in
			for {
				if f, ok := scan.(*plan.Filter); ok {
					scan = f.Input
				} else if p, ok := scan.(*plan.Project); ok {
					scan = p.Input
				} else {
					break
				}
			}
			return got, env.Profile.Of(scan).Rows
		}
		got, read := rows(c.input)
		want, _ := rows(&plan.Filter{Input: c.input, Cond: &expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean).NotNull()}})
		sameOrder(t, want, got)
		if read > c.most || c.most == all && read != all && c.name != "what is true of some rows" {
			t.Errorf("%s: [%d] rows were read, and not up to [%d]", c.name, read, c.most)
		}
	}
}
