package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// numberedEvents is a window over four segments with a filter on it, in which the order leaves many
// rows equal, and the store.
func numberedEvents(t *testing.T) (*store, plan.Node) {
	s := &store{t: t}
	r := rand.New(rand.NewPCG(3, 5))
	for k := range 4 {
		rows := events(r, int64(k)*100_000_000, 2500)
		for i := range rows {
			rows[i][2] = int64(r.IntN(5))
		}
		s.addSegment(chrono.Eternity, eventSchema, true, rows)
	}
	scan := scanOf(nil, "word", "k", "__time")
	sum := windowAgg("SUM", long, rowsFrame(-2, 1), 1)
	sum.Agg = agg.Spec{Name: "SUM", Args: []vector.Type{long}}
	return s, &plan.Window{Input: scan, Partition: []int{0}, Order: []plan.SortKey{{Column: 1, Desc: true}},
		Calls: []plan.WindowCall{windowOf("ROW_NUMBER", long, wholeFrame), windowOf("LAG", long, wholeFrame, 2), sum}}
}

// numberedGroups is a window over groups of those events, of which its order leaves many equal:
// they keep the order of the keys.
func numberedGroups(t *testing.T) (*store, plan.Node) {
	s, _ := numberedEvents(t)
	groups := &plan.Aggregate{Input: scanOf(nil, "word", "k", "__time"), Keys: []int{0, 1, 2}, Aggs: typed([]vector.Type{str, long, long}, call("COUNT", long))}
	some := &plan.Filter{Input: groups, Cond: compare(t, "<>", &expr.Column{Index: 2, Name: "__time", T: expr.Of(expr.BigInt)}, number1(2000))}
	return s, &plan.Window{Input: plan.Select(some, []int{3, 2, 1, 0}), Partition: []int{3}, Order: []plan.SortKey{{Column: 2, Desc: true}},
		Calls: []plan.WindowCall{windowOf("ROW_NUMBER", long, wholeFrame), windowOf("LAG", long, wholeFrame, 1)}}
}

// sortedGroups is the same over groups that are sorted another way, which those that the window's
// order leaves equal keep.
func sortedGroups(t *testing.T) (*store, plan.Node) {
	s, node := numberedGroups(t)
	w := node.(*plan.Window)
	w.Input = &plan.Sort{Input: w.Input, Keys: []plan.SortKey{{Column: 1, Desc: true}, {Column: 0}}, Limit: -1}
	return s, w
}

// Windows in parts give what a window over all rows gives, also to rows that the order leaves
// equal.
func TestWindowsInParts(t *testing.T) {
	for name, make := range map[string]func(*testing.T) (*store, plan.Node){"events": numberedEvents, "groups": numberedGroups, "sorted groups": sortedGroups} {
		t.Run(name, func(t *testing.T) {
			s, node := make(t)
			sorted := &plan.Sort{Input: node, Keys: []plan.SortKey{{Column: 0}, {Column: 1}, {Column: 2}, {Column: 3}}, Limit: -1}
			want, err := rowsOf(t, sorted, &Env{Tables: s, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []config{{batch: 5}, {batch: 64}, {batch: 64, many: manyGroups{partition: 3}}, {batch: 100, spill: 300 << 10}, {batch: 64, spill: 1 << 20}} {
				for _, threads := range []int{2, 3} {
					env := c.env(t)
					env.Tables, env.Threads = s, threads
					p, op, err := openWindow(t.Context(), node.(*plan.Window), env.withDefaults(t.Context()), wants{anyOrder: true})
					if err != nil || p == nil || op != nil {
						t.Fatalf("%+v: no parts, %v", c, err)
					}
					p.Close()
					got, err := rowsOf(t, sorted, env)
					if err != nil {
						t.Fatalf("%+v: %v", c, err)
					}
					sameOrder(t, want, got)
					if env.Budget.Used() != 0 {
						t.Errorf("%+v: [%d] bytes are left", c, env.Budget.Used())
					}
				}
			}
		})
	}
}

// Whoever has seen enough leaves nothing behind.
func TestWindowsInPartsThatEndEarly(t *testing.T) {
	s, node := numberedEvents(t)
	env := config{batch: 64, spill: 200 << 10}.env(t)
	env.Tables, env.Threads = s, 2
	op, err := build(t.Context(), node, env.withDefaults(t.Context()), wants{anyOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := op.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	op.Close()
	if env.Budget.Used() != 0 {
		t.Errorf("[%d] bytes are left", env.Budget.Used())
	}
}
