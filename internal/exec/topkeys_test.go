package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

func TestTopRowsAreThoseOfASortWithoutLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 2))
	s := &store{t: t}
	chunk := func(i int64) chrono.Interval { return chrono.Interval{Start: i * 1_000_000, End: (i + 1) * 1_000_000} }
	s.addSegment(chunk(0), eventSchema, true, events(r, 0, 700))
	clustered := events(r, 1_000_000, 900)
	for i, row := range clustered {
		row[4] = int64(i - 300)
	}
	s.addSegment(chunk(1), eventSchema, true, clustered)
	s.addSegment(chunk(2), []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "k", Type: str}}, true,
		[][]any{{int64(2_000_000), "-400"}, {int64(2_000_001), "900"}, {int64(2_000_002), nil}})
	s.addSegment(chunk(3), eventSchema[:1], true, [][]any{{int64(3_000_000)}})
	scan := scanOf(nil, "s", "k", "__time")
	filtered := scanOf(compare(t, ">", &expr.Column{Index: 1, Name: "k", T: expr.FromRuntime(long, false)}, number1(-2)), "s", "k", "__time")
	for _, input := range []plan.Node{scan, filtered, plan.Select(scan, []int{1, 1, 2})} {
		for _, key := range []plan.SortKey{{Column: 1}, {Column: 1, Desc: true}, {Column: 1, NullsFirst: true}, {Column: 1, Desc: true, NullsFirst: true},
			{Column: 2, Desc: true}} {
			for _, limit := range []int64{1, 7, 40} {
				for _, cfg := range configs[1:3] {
					t.Run(fmt.Sprint(key, limit, cfg.name), func(t *testing.T) {
						keys := func(limit int64) []any {
							env := cfg.env(t)
							env.Tables = s
							var out []any
							for _, row := range mustRows(t, &plan.Sort{Input: input, Keys: []plan.SortKey{key}, Offset: 2, Limit: limit}, env) {
								out = append(out, row[key.Column])
							}
							return out
						}
						want := keys(-1)
						want = want[:min(int(limit), len(want))]
						if got := keys(limit); !slices.Equal(got, want) {
							t.Fatalf("%v, want %v", got, want)
						}
					})
				}
			}
		}
	}
}
