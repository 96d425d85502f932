package exec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

func TestSortAgreesWithSortingRows(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(5, 1)), 600)
	for _, keys := range [][]plan.SortKey{
		{{Column: 3}, {Column: 0}},
		{{Column: 2, Desc: true}, {Column: 1, NullsFirst: true}, {Column: 0, Desc: true}},
		{{Column: 4, NullsFirst: true, Desc: true}, {Column: 0}},
	} {
		want := slices.Clone(rows)
		slices.SortFunc(want, func(a, b []any) int {
			for _, k := range keys {
				x, y := a[k.Column], b[k.Column]
				if (x == nil) != (y == nil) {
					if (x == nil) == k.NullsFirst {
						return -1
					}
					return 1
				}
				c := compareValue(x, y)
				if k.Desc {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
		for _, bounds := range [][2]int64{{0, -1}, {0, 10}, {7, 5}, {590, 20}, {1000, 5}, {5, -1}, {0, 0}} {
			lo := min(int(bounds[0]), len(want))
			hi := len(want)
			if bounds[1] >= 0 {
				hi = min(lo+int(bounds[1]), hi)
			}
			node := &plan.Sort{Input: inline(testTypes, rows...), Keys: keys, Offset: bounds[0], Limit: bounds[1]}
			everywhere(t, node, func(t *testing.T, got [][]any) { sameOrder(t, want[lo:hi], got) })
		}
	}
}

func TestJoinAgreesWithNestedLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	left, all := randomRows(r, 120), randomRows(r, 90)
	lcols := len(testTypes)
	// l.id + r.id is even
	even := func() expr.Expr {
		return greater(t, column(0, long), column(lcols, long))
	}
	for _, c := range []struct {
		name string
		keys []plan.EquiKey
		on   bool
	}{
		{"one key", []plan.EquiKey{{Left: 1, Right: 1}}, false},
		{"close numbers", []plan.EquiKey{{Left: 4, Right: 4}}, false},
		{"fractions", []plan.EquiKey{{Left: 2, Right: 2}}, false},
		{"two keys", []plan.EquiKey{{Left: 1, Right: 1}, {Left: 4, Right: 4}}, false},
		{"null safe", []plan.EquiKey{{Left: 3, Right: 3, NullSafe: true}}, false},
		{"key and condition", []plan.EquiKey{{Left: 1, Right: 1}}, true},
		{"condition", nil, true},
		{"cross", nil, false},
		{"one row", nil, false},
	} {
		right := all
		if c.name == "one row" {
			right = all[:1]
		}
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Right, plan.Full, plan.Semi, plan.Anti, plan.AntiNull} {
			if kind == plan.AntiNull && (len(c.keys) != 1 || c.on) {
				continue
			}
			want := nestedLoops(kind, left, right, func(l, rr []any) bool {
				for _, k := range c.keys {
					if a, b := l[k.Left], rr[k.Right]; (a == nil || b == nil) && !k.NullSafe || a != b {
						return false
					}
				}
				return !c.on || l[0].(int64) > rr[0].(int64)
			})
			if kind == plan.AntiNull { // the rows without a partner, less those of which that is not known
				rightNull := slices.ContainsFunc(right, func(rr []any) bool { return rr[c.keys[0].Right] == nil && !c.keys[0].NullSafe })
				want = slices.DeleteFunc(want, func(l []any) bool { return rightNull || l[c.keys[0].Left] == nil && !c.keys[0].NullSafe })
			}
			t.Run(fmt.Sprintf("%s_%d", strings.ReplaceAll(c.name, " ", "_"), kind), func(t *testing.T) {
				node := &plan.Join{Kind: kind, Left: inline(testTypes, left...), Right: inline(testTypes, right...), Keys: c.keys}
				if c.on {
					node.On = even()
				}
				everywhere(t, node, func(t *testing.T, got [][]any) { sameRows(t, want, got) })
			})
		}
	}
}

// nestedLoops joins rows as the definition of a join says.
func nestedLoops(kind plan.JoinKind, left, right [][]any, match func(l, r []any) bool) (out [][]any) {
	matched := make([]bool, len(right))
	for _, l := range left {
		found := false
		for i, r := range right {
			if !match(l, r) {
				continue
			}
			found, matched[i] = true, true
			if kind <= plan.Full {
				out = append(out, append(slices.Clone(l), r...))
			}
		}
		switch {
		case kind == plan.Semi && found, (kind == plan.Anti || kind == plan.AntiNull) && !found:
			out = append(out, l)
		case (kind == plan.Left || kind == plan.Full) && !found:
			out = append(out, append(slices.Clone(l), make([]any, len(right[0]))...))
		}
	}
	if kind == plan.Right || kind == plan.Full {
		for i, r := range right {
			if !matched[i] {
				out = append(out, append(make([]any, len(left[0])), r...))
			}
		}
	}
	return out
}

func column(i int, t vector.Type) *expr.Column {
	return &expr.Column{Index: i, Name: fmt.Sprintf("c%d", i), T: expr.FromRuntime(t, false)}
}

func greater(t *testing.T, a, b expr.Expr) expr.Expr {
	t.Helper()
	e, err := expr.NewCompare(">", a, b, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestJoinEdges(t *testing.T) {
	one := []vector.Type{long}
	l := inline(one, []any{int64(1)}, []any{nil}, []any{int64(2)})
	key := []plan.EquiKey{{Left: 0, Right: 0}}
	everywhere(t, &plan.Join{Kind: plan.AntiNull, Left: l, Right: inline(one), Keys: key}, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(1)}, {nil}, {int64(2)}}, got) // NOT IN of nothing is true even for NULL
	})
	everywhere(t, &plan.Join{Kind: plan.AntiNull, Left: l, Right: inline(one, []any{nil}), Keys: key}, func(t *testing.T, got [][]any) {
		sameOrder(t, nil, got)
	})
	everywhere(t, &plan.Join{Kind: plan.Single, Left: l, Right: inline(one, []any{int64(2)}), Keys: key}, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(1), nil}, {nil, nil}, {int64(2), int64(2)}}, got)
	})
	for _, c := range configs {
		_, err := rowsOf(t, &plan.Join{Kind: plan.Single, Left: l, Right: inline(one, []any{int64(2)}, []any{int64(2)}), Keys: key}, c.env(t))
		if err == nil || !strings.Contains(err.Error(), "more than one row") {
			t.Errorf("scalar subquery of two rows: %v", err)
		}
	}
	for _, c := range configs {
		env := c.env(t)
		env.MaxSubqueryBytes = 20
		_, err := rowsOf(t, &plan.Join{Left: l, Right: l, Keys: key}, env)
		if err == nil || !strings.Contains(err.Error(), "subqueries generated results beyond maximum[20] bytes") {
			t.Errorf("a right side of three numbers where 20 bytes are allowed: %v", err)
		}
	}
	for _, c := range configs {
		env := c.env(t)
		env.MaxSubqueryRows = 2
		_, err := rowsOf(t, &plan.Join{Left: l, Right: l, Keys: key}, env)
		if err == nil || !strings.Contains(err.Error(), "subqueries generated results beyond maximum[2] rows") {
			t.Errorf("a right side of three rows where two are allowed: %v", err)
		}
		if _, err := rowsOf(t, &plan.Join{Left: l, Right: inline(one, []any{int64(2)}, []any{nil}), Keys: key}, env); err != nil {
			t.Errorf("a right side of two rows where two are allowed: %v", err)
		}
	}
	zero, other := inline([]vector.Type{double}, []any{0.0}, []any{math.NaN()}), inline([]vector.Type{double}, []any{math.Copysign(0, -1)}, []any{math.NaN()})
	everywhere(t, &plan.Join{Left: zero, Right: other, Keys: key}, func(t *testing.T, got [][]any) {
		if len(got) != 1 || got[0][0] != 0.0 || got[0][1] != 0.0 { // zeros are equal whatever their sign, NaN equals nothing
			t.Errorf("joined %v", got)
		}
	})
	everywhere(t, &plan.Join{Kind: plan.Left, Left: inline(one), Right: l, Keys: key}, func(t *testing.T, got [][]any) { sameOrder(t, nil, got) })
}

func TestSetOperations(t *testing.T) {
	types := []vector.Type{str, long}
	a, b, n := []any{"a", int64(1)}, []any{"b", nil}, []any{nil, nil}
	left, right := inline(types, a, a, b, n, n, n), inline(types, a, n, n, []any{"z", int64(1)})
	for _, c := range []struct {
		kind plan.SetKind
		all  bool
		want [][]any
	}{
		{plan.Intersect, false, [][]any{a, n}}, {plan.Intersect, true, [][]any{a, n, n}},
		{plan.Except, false, [][]any{b}}, {plan.Except, true, [][]any{a, b, n}},
	} {
		node := &plan.SetOp{Kind: c.kind, All: c.all, Left: left, Right: right}
		everywhere(t, node, func(t *testing.T, got [][]any) { sameRows(t, c.want, got) })
	}
}

func TestUnnest(t *testing.T) {
	in := inline([]vector.Type{long, vector.ListOf(str)},
		[]any{int64(1), []any{"a", nil, "b"}}, []any{int64(2), nil}, []any{int64(3), []any{}}, []any{int64(4), []any{"c"}})
	node := &plan.Unnest{Input: in, Lists: []plan.UnnestList{{Column: 1, Name: "e", Elem: expr.Of(expr.Varchar)}}, Ordinality: true}
	l := []any{"a", nil, "b"}
	everywhere(t, node, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(1), l, "a", int64(1)}, {int64(1), l, nil, int64(2)}, {int64(1), l, "b", int64(3)},
			{int64(4), []any{"c"}, "c", int64(1)}}, got)
	})
	outer := *node
	outer.Outer, outer.Ordinality = true, false
	everywhere(t, &outer, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(1), l, "a"}, {int64(1), l, nil}, {int64(1), l, "b"}, {int64(2), nil, nil}, {int64(3), []any{}, nil},
			{int64(4), []any{"c"}, "c"}}, got)
	})
}

func TestUnionLimitFilterProject(t *testing.T) {
	one := []vector.Type{long}
	a, b := inline(one, []any{int64(1)}, []any{int64(2)}), inline(one, []any{int64(3)}, []any{nil}, []any{int64(5)})
	union := &plan.Union{Ins: []plan.Node{a, b}, Out: a.Out}
	everywhere(t, &plan.Limit{Input: union, Offset: 1, Count: 3}, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(2)}, {int64(3)}, {nil}}, got)
	})
	cond := greater(t, column(0, long), &expr.Literal{Value: int64(1), T: expr.Of(expr.BigInt).NotNull()})
	node := &plan.Project{Input: &plan.Filter{Input: union, Cond: cond}, Exprs: []expr.Expr{column(0, long), cond}, Names: []string{"a", "b"}}
	everywhere(t, node, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(2), int64(1)}, {int64(3), int64(1)}, {int64(5), int64(1)}}, got)
	})
}

func TestCancelEndsEveryOperator(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(7, 1)), 50)
	in := inline(testTypes, rows...)
	why := errors.New("why it was cancelled")
	for _, node := range []plan.Node{
		in, &plan.Aggregate{Input: in, Keys: []int{1}}, &plan.Sort{Input: in, Keys: []plan.SortKey{{}}, Limit: -1},
		&plan.Join{Left: in, Right: in, Keys: []plan.EquiKey{{}}}, &plan.SetOp{Left: in, Right: in}, &plan.Union{Ins: []plan.Node{in}, Out: in.Out},
		&plan.Window{Input: in, Partition: []int{1}},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(why)
		env := configs[1].env(t)
		op, err := Build(ctx, node, env)
		if err == nil { // a join reads one side while it is built
			_, err = op.Next(ctx)
			op.Close()
		}
		if !errors.Is(err, why) {
			t.Errorf("%T after cancelling: %v", node, err)
		}
		if env.Budget.Used() != 0 {
			t.Errorf("%T holds memory after Close", node)
		}
	}
}

func TestPanicsBecomeFaults(t *testing.T) {
	g := NewGroup(context.Background())
	g.Go(func(context.Context) error { panic("a bug") })
	g.Go(func(ctx context.Context) error { <-ctx.Done(); return nil })
	err := g.Wait()
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryDefensive {
		t.Fatalf("a panic became %v", err)
	}
	if strings.Contains(f.Message, "a bug") || !strings.Contains(err.Error(), "a bug") || !strings.Contains(err.Error(), "relational_test.go") {
		t.Errorf("the panic and its stack belong into the log only: %v", err)
	}
}
