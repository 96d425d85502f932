package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// TestEntriesStandForTheirRows asks for different texts by dictionaries and by rows, and sees how
// many rows were read.
func TestEntriesStandForTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	s := &store{t: t}
	const second = 1000
	for i, n := range []int{9_000, morselRows + 5_000, 1} {
		from := int64(i) * 100_000 * second
		s.addSegment(chrono.Interval{Start: from, End: from + 100_000*second}, eventSchema, true, events(r, from, n))
	}
	const all = 9_000 + morselRows + 5_000 + 1
	types := []vector.Type{long, str, str, long}
	scan := func(filter expr.Expr, intervals ...chrono.Interval) plan.Node {
		n := scanOf(filter, "__time", "s", "word", "k")
		n.Intervals = intervals
		return n
	}
	distinct := func(calls ...plan.AggCall) []plan.AggCall {
		for i := range calls {
			calls[i].Distinct = true
		}
		return typed(types, calls...)
	}
	k := &expr.Column{Index: 3, Name: "k", T: expr.Of(expr.BigInt)}
	counts := distinct(call("COUNT", long, 1), call("COUNT", long, 2))
	cases := []struct {
		name  string
		input plan.Node
		keys  []int
		calls []plan.AggCall
		read  int64
	}{
		{"counts", scan(nil), nil, counts, 0},
		{"counts and lists", scan(nil), nil, distinct(call("COUNT", long, 1), call("ARRAY_AGG", vector.ListOf(str), 1)), 0},
		{"one segment", scan(nil, chrono.Interval{Start: 0, End: 9_000 * second}), nil, counts, 0},
		{"a part of a segment", scan(nil, chrono.Interval{Start: 0, End: 8_999 * second}), nil, counts, 8_999},
		{"by a key", scan(nil), []int{3}, counts, all},
		{"beside the rows", scan(nil), nil, append(distinct(call("COUNT", long, 2)), typed(types, call("COUNT", long))...), all},
		{"a number", scan(nil), nil, distinct(call("COUNT", long, 3)), all},
		{"what all rows have", scan(compare(t, "<", k, number1(100))), nil, counts, -1},
		{"what some rows have", scan(compare(t, "<", k, number1(0))), nil, counts, -1},
	}
	for _, shared := range []bool{false, true} {
		for _, c := range cases {
			rows := func(in plan.Node) ([][]any, int64) {
				conf := config{batch: vector.BatchRows, shared: shared}
				env := conf.env(t)
				conf.share(env)
				env.Tables, env.Profile = s, NewProfile(clock.System())
				got := mustRows(t, &plan.Aggregate{Input: in, Keys: c.keys, Aggs: c.calls}, env)
				return got, env.Profile.Of(c.input).Rows
			}
			got, read := rows(c.input)
			want, _ := rows(&plan.Filter{Input: c.input, Cond: &expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean).NotNull()}})
			sameOrder(t, want, got)
			if c.read >= 0 && read != c.read {
				t.Errorf("%s: [%d] rows were read, want [%d]", c.name, read, c.read)
			}
		}
	}
}
