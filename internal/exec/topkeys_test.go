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
	"github.com/hengedb/henge/internal/vector"
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

// Groups that lie beyond the last row of a top-N get no keys; the others stay whole.
func TestTopGroupsAreThoseOfASortWithoutLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 3))
	s := &store{t: t}
	for range 3 {
		rows := make([][]any, 1500)
		for i := range rows {
			rows[i] = []any{r.Int64N(300), "", 0.0, "", r.Int64N(2000) - 1000, nil}
			if r.IntN(3) > 0 {
				rows[i][1] = string(rune('a' + r.IntN(3)))
			}
			if r.IntN(2) > 0 {
				rows[i][4] = nil
			}
		}
		s.addSegment(chrono.Eternity, eventSchema, false, rows)
	}
	types := []vector.Type{str, long, long}
	node := &plan.Aggregate{Input: scanOf(nil, "s", "k", "__time"), Keys: []int{0, 2},
		Aggs: typed(types, call("COUNT", long), call("SUM", long, 1), call("AVG", double, 1), call("MAX", long, 1))}
	inputs := []plan.Node{node, plan.Select(node, []int{3, 1, 3, 2, 4, 0, 5})}
	for _, cfg := range configs {
		t.Run(cfg.name, func(t *testing.T) {
			for at, input := range inputs {
				for _, key := range []plan.SortKey{{Column: 3}, {Column: 3, Desc: true}, {Column: 3, NullsFirst: true}, {Column: 2, Desc: true},
					{Column: 4}, {Column: 1, Desc: true}} {
					sorted := func(offset, limit int64) [][]any {
						env := cfg.env(t)
						env.Tables = s
						return mustRows(t, &plan.Sort{Input: input, Keys: []plan.SortKey{key}, Offset: offset, Limit: limit}, env)
					}
					all, got := sorted(0, -1), sorted(1, 20)
					whole := map[string]bool{}
					for _, line := range text(all) {
						whole[line] = true
					}
					if len(got) != 20 {
						t.Fatalf("input %d, %+v: [%d] rows", at, key, len(got))
					}
					for i, line := range text(got) {
						if got[i][key.Column] != all[i+1][key.Column] || !whole[line] {
							t.Fatalf("input %d, %+v: row %d is %s, want key %v", at, key, i, line, all[i+1][key.Column])
						}
					}
				}
			}
		})
	}
}
