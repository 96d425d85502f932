package exec

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
)

func TestQueriesFinishOnOneSlot(t *testing.T) {
	s := &store{t: t}
	rows := events(rand.New(rand.NewPCG(12, 1)), 0, 500)
	for i := range 4 {
		s.addSegment(chrono.Interval{Start: int64(i) * 125_000, End: int64(i+1) * 125_000}, eventSchema, true, rows[i*125:(i+1)*125])
	}
	sched := scheduler.New(1, clock.System())
	scan := scanOf(nil, "s", "k", "__time")
	dim := inline(testTypes[1:2], []any{"a"}, []any{"b"})
	for _, node := range []plan.Node{
		scan,
		&plan.Aggregate{Input: scan, Keys: []int{0, 2}, Aggs: typed(testTypes, call("COUNT", long))},
		&plan.Sort{Input: scan, Keys: []plan.SortKey{{Column: 1}}, Limit: -1},
		&plan.Join{Kind: plan.Right, Left: scan, Right: dim, Keys: []plan.EquiKey{{}}},
		&plan.Aggregate{Input: &plan.Join{Left: scan, Right: dim, Keys: []plan.EquiKey{{}}}, Keys: []int{0}, Aggs: typed(testTypes, call("COUNT", long))},
	} {
		want := mustRows(t, node, envOf(t, s))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				env := envOf(t, s)
				env.Share = sched.Join()
				defer env.Share.Leave()
				got, err := rowsOf(t, node, env)
				if err != nil {
					t.Error(err)
				}
				sameRows(t, want, got)
			})
		}
		wg.Wait()
	}
}

func envOf(t *testing.T, s *store) *Env {
	env := configs[2].env(t)
	env.Tables = s
	return env
}

// A query that has to wait for slots several times is not passed by those that come later, each of
// which has computed less.
