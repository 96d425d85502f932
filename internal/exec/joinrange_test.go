package exec

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// A row is a number, a text, a fraction or NaN, the begin and the end of a span; all but the first
// may be null.
var spanTypes = []vector.Type{long, str, double, long, long}

func randomSpans(r *rand.Rand, n int) [][]any {
	rows := randomRows(r, n)
	for _, row := range rows {
		switch begin := int64(r.IntN(60)); {
		case r.IntN(8) == 0:
			row[3] = nil
		default:
			row[3], row[4] = begin, begin+int64(r.IntN(8))
		}
		if r.IntN(10) == 0 {
			row[2] = []any{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
		}
	}
	return rows
}

// sidesCompared is what a join asks of a column of each side.
type sidesCompared struct {
	left  int
	op    string
	right int
}

func (c sidesCompared) holds(l, r []any) bool {
	a, b := l[c.left], r[c.right]
	if a == nil || b == nil {
		return false
	}
	var sign int
	switch a := a.(type) {
	case int64:
		sign = cmp.Compare(a, b.(int64))
	case float64:
		sign = compareNaNLast(a, b.(float64))
	}
	return map[string]bool{"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[c.op]
}

func compareNaNLast(a, b float64) int {
	if a != a || b != b {
		return -cmp.Compare(one(a == a), one(b == b))
	}
	return cmp.Compare(a, b)
}

func TestRangeJoinsAgreeWithNestedLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	many, all := randomSpans(r, 400), randomSpans(r, 110)
	full := slices.DeleteFunc(slices.Clone(all), func(row []any) bool { return slices.Contains(row, nil) })
	for i, c := range []struct {
		terms []sidesCompared
		even  bool // the sum of the numbers of both rows is even, too
		key   bool // both rows have one text
	}{
		{terms: []sidesCompared{{3, "<", 3}}},
		{terms: []sidesCompared{{3, ">=", 3}}},
		{terms: []sidesCompared{{2, "<=", 2}}},
		{terms: []sidesCompared{{2, ">", 2}}},
		{terms: []sidesCompared{{3, "<=", 3}, {4, ">", 3}}},               // the right value lies between two left ones
		{terms: []sidesCompared{{3, ">=", 3}, {3, "<", 4}}},               // the other way round
		{terms: []sidesCompared{{3, "<=", 4}, {4, ">=", 3}}},              // spans overlap
		{terms: []sidesCompared{{3, ">", 3}, {4, "<", 4}}},                // one lies in the other
		{terms: []sidesCompared{{3, "<=", 4}, {2, ">", 2}, {4, ">=", 3}}}, // and a third comparison
		{terms: []sidesCompared{{2, ">", 2}, {3, "<=", 3}, {4, ">=", 3}}}, // of which two bound one value
		{terms: []sidesCompared{{3, "<=", 4}, {4, ">=", 3}}, even: true},
		{terms: []sidesCompared{{3, "<", 3}}, even: true},
		{terms: []sidesCompared{{2, "<", 2}}, key: true},
		{terms: []sidesCompared{{3, ">=", 3}, {3, "<", 4}}, key: true},
		{terms: []sidesCompared{{3, "<=", 4}, {4, ">=", 3}}, key: true, even: true},
		{terms: []sidesCompared{{3, "<=", 3}, {4, ">", 3}}, key: true},
	} {
		left, right, keys := many[:100], all, []plan.EquiKey(nil)
		if c.key { // it takes more rows for ranges to be worth it
			left, right, keys = many, full, []plan.EquiKey{{Left: 1, Right: 1}}
		}
		var on []expr.Expr
		for _, term := range c.terms {
			// Every second condition is written from the right.
			a, b, op := column(term.left, spanTypes[term.left]), column(len(spanTypes)+term.right, spanTypes[term.right]), term.op
			if i%2 == 1 {
				a, b, op = b, a, map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
			}
			on = append(on, compare(t, op, a, b))
		}
		if c.even {
			on = append(on, evenSum(t, column(0, long), column(len(spanTypes), long)))
		}
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Right, plan.Full, plan.Semi, plan.Anti} {
			if testing.Short() && (i+int(kind))%3 != 0 {
				continue
			}
			want := nestedLoops(kind, left, right, func(l, r []any) bool {
				return !slices.ContainsFunc(c.terms, func(s sidesCompared) bool { return !s.holds(l, r) }) && (!c.key || l[1] != nil && l[1] == r[1]) &&
					(!c.even || (l[0].(int64)+r[0].(int64))%2 == 0)
			})
			t.Run(fmt.Sprintf("%d_%d", i, kind), func(t *testing.T) {
				node := &plan.Join{Kind: kind, Left: inline(spanTypes, left...), Right: inline(spanTypes, right...), Keys: keys, On: plan.Conjunction(on)}
				everywhere(t, node, func(t *testing.T, got [][]any) { sameRows(t, want, got) })
			})
		}
	}
}

// evenSum returns the condition that a + b is even.
func evenSum(t *testing.T, a, b expr.Expr) expr.Expr {
	t.Helper()
	apply := func(name string, args ...expr.Expr) expr.Expr {
		e, err := expr.NewCall(catalog.MustLookup(name), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	return compare(t, "=", apply("MOD", apply("+", a, b), number1(2)), number1(0))
}

// What a left row has no use for need not be computed: a value of the right side that can't be
// computed is an error only where rows meet.
func TestRangeJoinWithNothingOnTheLeftComputesNothing(t *testing.T) {
	quotient, err := expr.NewCall(catalog.MustLookup("/"), []expr.Expr{number1(1), column(1, long)}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	one := []vector.Type{long}
	many := make([][]any, 64) // enough for the right rows to be sorted
	for i := range many {
		many[i] = []any{int64(i)}
	}
	node := &plan.Join{Left: inline(one), Right: inline(one, []any{int64(0)}), On: compare(t, "<", column(0, long), quotient)}
	everywhere(t, node, func(t *testing.T, got [][]any) { sameRows(t, nil, got) })
	node.Left = inline(one, many...)
	if rows, err := rowsOf(t, node, (&Env{}).withDefaults(t.Context())); err == nil {
		t.Errorf("got %v, want an error", rows)
	}
}
