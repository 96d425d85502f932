package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
)

// The right side of a join is read by many workers; its rows come in the order of its segments all
// the same, and spill as those of one.
func TestManyReadersOfTheRightSideAreLikeOne(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	s := &store{t: t}
	for i := range int64(4) {
		s.addSegment(chrono.Interval{Start: i * 100_000_000, End: (i + 1) * 100_000_000}, eventSchema, true, events(r, i*100_000_000, max(1_000, 4_000/slowdown)))
	}
	right := scanOf(nil, "__time", "s", "d", "word", "k")
	left := inline(types(right.Columns()), mustRows(t, &plan.Limit{Input: right, Count: 3}, &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 1})...)
	for _, key := range []int{0, 1, 2, 3, 4} {
		node := &plan.Join{Kind: plan.Inner, Left: left, Right: right, Keys: []plan.EquiKey{{Left: key, Right: key}}}
		one := mustRows(t, node, &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 1})
		for range max(1, 3/slowdown) {
			if diff := cmp.Diff(one, mustRows(t, node, &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 4})); diff != "" {
				t.Fatalf("by column %d: %s", key, diff)
			}
		}
		small := config{batch: 512, spill: 300 << 10}.env(t)
		small.Tables, small.Threads = s, 4
		sameRows(t, one, mustRows(t, node, small))
	}
}

// Rows with the same key that do not fit in memory, which no hash tells apart, are joined block by
// block.
func TestRowsOfOneKeyThatDoNotFitAreJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	s := &store{t: t}
	rows := events(r, 0, 8_000)
	for i, row := range rows {
		row[1], row[4] = "s", int64(i/6_000)
	}
	s.addSegment(chrono.Interval{Start: 0, End: 100_000_000}, eventSchema, true, rows)
	right := scanOf(nil, "__time", "s", "d", "word", "k")
	first := mustRows(t, &plan.Limit{Input: right, Count: 6}, &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 1})
	for i := range first[:2] {
		first[i][1], first[i][4] = "nowhere", int64(1_000_000)
	}
	left := inline(types(right.Columns()), first...)
	kinds := []plan.JoinKind{plan.Left, plan.Inner, plan.Right, plan.Full, plan.Semi, plan.Anti, plan.AntiNull}
	for _, kind := range kinds[:max(1, len(kinds)/slowdown)] {
		for _, keys := range [][]plan.EquiKey{{{Left: 4, Right: 4}}, {{Left: 1, Right: 1}, {Left: 4, Right: 4}}, {{Left: 0, Right: 0}}} {
			if kind == plan.AntiNull && len(keys) > 1 {
				continue
			}
			node := &plan.Join{Kind: kind, Left: left, Right: right, Keys: keys}
			want := mustRows(t, node, &Env{Tables: s, Budget: budget.Root(1 << 30), Threads: 1})
			small := config{batch: 256, spill: 300 << 10}.env(t)
			small.Tables = s
			sameRows(t, want, mustRows(t, node, small))
		}
	}
}
