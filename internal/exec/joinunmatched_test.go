package exec

import (
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// A worker that begins while another one ends gives the right rows without a partner of the lower
// join; for the upper one they are partners.
func TestRightRowsWithoutAPartnerFindOneInTheNextJoin(t *testing.T) {
	tables := visits(t, 8, 3)
	scan := &plan.Scan{DataSource: "visits", Limit: -1, Out: []plan.Column{{Name: "ms", Type: expr.FromRuntime(long, false)}}}
	types := []vector.Type{long}
	lower := &plan.Join{Kind: plan.Full, Left: scan, Right: inline(types, []any{int64(-1)}, []any{int64(-2)}, []any{int64(-3)}), Keys: []plan.EquiKey{{Left: 0, Right: 0}}}
	upper := &plan.Join{Kind: plan.Full, Left: lower, Right: inline(types, []any{int64(-2)}, []any{int64(-4)}), Keys: []plan.EquiKey{{Left: 1, Right: 0}}}
	for _, kind := range []plan.JoinKind{plan.Right, plan.Full} {
		lower.Kind, upper.Kind = kind, kind
		want := map[plan.JoinKind]int64{plan.Right: 2, plan.Full: 24 + 3 + 1}[kind]
		for range 500 {
			env := &Env{Threads: 8, Expr: &expr.Context{}, Tables: tables, Budget: budget.Root(1 << 30)}
			rows := mustRows(t, &plan.Aggregate{Input: upper, Aggs: typed(nil, call("COUNT", long))}, env)
			if got := rows[0][0]; got != want {
				t.Fatalf("[%v] rows, want [%d]", got, want)
			}
		}
	}
}
