package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// loops are over column 0, a list of numbers, and column 1, a number.
func loops(t *testing.T) map[string]struct {
	loop *expr.Loop
	want []any
} {
	long := expr.Of(expr.BigInt)
	list, number := &expr.Column{Index: 0, Name: "list", T: expr.ArrayOf(long)}, &expr.Column{Index: 1, Name: "number", T: long}
	call := func(name string, args ...expr.Expr) expr.Expr {
		e, err := expr.NewCall(catalog.MustLookup(name), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	it := func(depth int) expr.Expr { return &expr.Element{Depth: depth, T: long} }
	above, err := expr.NewCompare(">", it(0), &expr.Literal{Value: int64(1), T: long.NotNull()}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	truth := expr.Of(expr.Boolean).NotNull()
	return map[string]struct {
		loop *expr.Loop
		want []any
	}{
		"map": {&expr.Loop{Kind: expr.LoopMap, Lists: []expr.Expr{list}, Body: call("+", it(0), number), T: list.T},
			[]any{[]any{int64(11), int64(12), int64(13)}, []any{}, nil, []any{nil, int64(45)}}},
		"filter": {&expr.Loop{Kind: expr.LoopKeep, Lists: []expr.Expr{list}, Body: above, T: list.T},
			[]any{[]any{int64(2), int64(3)}, []any{}, nil, []any{int64(5)}}},
		"any": {&expr.Loop{Kind: expr.LoopSome, Lists: []expr.Expr{list}, Body: above, T: truth},
			[]any{int64(1), int64(0), int64(0), int64(1)}},
		"all": {&expr.Loop{Kind: expr.LoopEvery, Lists: []expr.Expr{list}, Body: above, T: truth},
			[]any{int64(0), int64(1), int64(0), int64(0)}},
		"fold": {&expr.Loop{Kind: expr.LoopFold, Lists: []expr.Expr{list}, Initial: number,
			Body: call("+", call("*", it(0), &expr.Literal{Value: int64(2), T: long.NotNull()}), it(1)), T: long},
			[]any{int64(91), int64(20), nil, nil}},
		"pairs": {&expr.Loop{Kind: expr.LoopMap, Lists: []expr.Expr{list, list}, Body: call("-", it(1), it(0)), T: list.T},
			[]any{[]any{int64(0), int64(-1), int64(-2), int64(1), int64(0), int64(-1), int64(2), int64(1), int64(0)}, []any{}, nil,
				[]any{nil, nil, nil, int64(0)}}},
		"side by side": {&expr.Loop{Kind: expr.LoopFold, Lists: []expr.Expr{list, list}, Zip: true, Initial: number,
			Body: call("+", it(0), call("*", it(1), it(2))), T: long},
			[]any{int64(24), int64(20), nil, nil}},
	}
}

func loopBatch() *vector.Batch {
	lists := vector.NewBuilder(vector.ListOf(vector.Long), 4)
	for _, row := range []any{[]any{int64(1), int64(2), int64(3)}, []any{}, nil, []any{nil, int64(5)}} {
		lists.Append(row)
	}
	return &vector.Batch{N: 4, Cols: []*vector.Vector{lists.Build(), vector.FromLongs([]int64{10, 20, 30, 40})}}
}

func TestLoops(t *testing.T) {
	for name, c := range loops(t) {
		for _, reuse := range []bool{false, true} {
			p, err := expr.Compile(c.loop, &expr.Context{Reuse: reuse})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			v, err := p.Eval(loopBatch())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := make([]any, v.Len)
			for i := range got {
				got[i] = v.ValueAt(i)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (reuse %v, -want +got):\n%s", name, reuse, diff)
			}
		}
		again := expr.Remap(c.loop, func(i int) int { return i })
		if !expr.Equal(c.loop, again) || expr.Equal(c.loop, expr.Remap(c.loop, func(i int) int { return i + 1 })) {
			t.Errorf("%s: equality does not see the columns of a loop", name)
		}
		if diff := cmp.Diff(false, expr.IsConstant(c.loop)); diff != "" {
			t.Errorf("%s counts as a constant", name)
		}
	}
}

func TestLoopsOfTooMuchAreRefused(t *testing.T) {
	wide := make([]any, 5000)
	for i := range wide {
		wide[i] = int64(i)
	}
	l := &expr.Literal{Value: wide, T: expr.ArrayOf(expr.Of(expr.BigInt))}
	loop := &expr.Loop{Kind: expr.LoopSome, Lists: []expr.Expr{l, l}, Body: &expr.Literal{Value: int64(0), T: expr.Of(expr.Boolean)},
		T: expr.Of(expr.Boolean)}
	p, err := expr.Compile(loop, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(&vector.Batch{N: 1}); fault.Find(err) == nil {
		t.Errorf("25 million combinations for one row give %v", err)
	}
}

// The elements of a loop inside a map over values are those of the loop, and outside of it those of
// the map.
func TestLiftingElementsOutOfLoops(t *testing.T) {
	long := expr.Of(expr.BigInt)
	loop := &expr.Loop{Kind: expr.LoopMap, Lists: []expr.Expr{&expr.Element{Depth: 0, T: expr.ArrayOf(long)}},
		Body: &expr.Element{Depth: 1, T: long}, T: expr.ArrayOf(long)}
	got := expr.LiftElements(loop, 0).(*expr.Loop)
	if d := got.Lists[0].(*expr.Element).Depth; d != 1 {
		t.Errorf("the list is lifted to depth %d", d)
	}
	if d := got.Body.(*expr.Element).Depth; d != 2 {
		t.Errorf("an element from outside is lifted to depth %d", d)
	}
	inner := &expr.Loop{Kind: expr.LoopMap, Lists: loop.Lists, Body: &expr.Element{Depth: 0, T: long}, T: expr.ArrayOf(long)}
	if d := expr.LiftElements(inner, 0).(*expr.Loop).Body.(*expr.Element).Depth; d != 0 {
		t.Errorf("the loop's own element is lifted to depth %d", d)
	}
}

// A fold that doubles what it has made is refused before memory ends.
func TestFoldThatGrows(t *testing.T) {
	list := expr.ArrayOf(expr.Of(expr.BigInt))
	values := make([]any, 60)
	for i := range values {
		values[i] = int64(i)
	}
	made := &expr.Element{Depth: 0, T: list}
	body, err := expr.NewCall(catalog.MustLookup("ARRAY_CONCAT"), []expr.Expr{made, made}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := expr.Compile(&expr.Loop{Kind: expr.LoopFold, Lists: []expr.Expr{&expr.Column{Index: 0, T: list}},
		Initial: &expr.Literal{Value: []any{int64(1)}, T: list}, Body: body, T: list}, &expr.Context{})
	if err != nil {
		t.Fatal(err)
	}
	rows := vector.NewBuilder(vector.ListOf(vector.Long), 1)
	rows.Append(values)
	if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{rows.Build()}}); err == nil ||
		err.Error() != "A fold makes values of more than [268435456] bytes" {
		t.Errorf("%v", err)
	}
}
