package expr_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Where the texts of a batch have no room together, conditions and numbers are computed for fewer
// rows at once.
func TestLongTextsAreComputedInParts(t *testing.T) {
	s := &expr.Column{Index: 1, Name: "s", T: expr.Of(expr.Varchar)}
	reverse := &expr.Call{Fn: catalog.MustLookup("REVERSE"), Args: []expr.Expr{s}, T: expr.Of(expr.Varchar)}
	length, err := expr.NewCall(catalog.MustLookup("LENGTH"), []expr.Expr{reverse}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	long, err := expr.NewCompare(">", length, expr.LongLiteral(7), fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	b := vector.NewBuilder(vector.String, 9)
	for i := range 9 {
		if i == 4 {
			b.AppendNull()
		} else {
			b.AppendString(strings.Repeat("x", i+1))
		}
	}
	values := b.Build()
	batch := func(sel []uint32) *vector.Batch {
		return &vector.Batch{N: 9, Cols: []*vector.Vector{nil, values}, Sel: sel}
	}
	for room, problem := range map[int64]string{
		1000: "<nil>", 9: "<nil>", 8: "Function [REVERSE] makes strings of more than [8] bytes together for rows that are computed at once",
	} {
		numbers, err := expr.Compile(length, &expr.Context{TextRoom: room, Reuse: true})
		if err != nil {
			t.Fatal(err)
		}
		condition, err := expr.Compile(long, &expr.Context{TextRoom: room})
		if err != nil {
			t.Fatal(err)
		}
		for _, sel := range [][]uint32{nil, {0, 4, 5, 7, 8}} {
			v, err := numbers.Eval(batch(sel))
			if message(err) != problem {
				t.Errorf("room %d: %v, want [%s]", room, err, problem)
			}
			rows, err := condition.Filter(batch(sel))
			if message(err) != problem {
				t.Errorf("room %d: %v, want [%s]", room, err, problem)
			}
			if problem != "<nil>" {
				continue
			}
			if want := []uint32{7, 8}; !slices.Equal(rows, want) {
				t.Errorf("room %d: rows %v, want %v", room, rows, want)
			}
			var got, want []any
			for i := range v.Len {
				got = append(got, v.ValueAt(i))
			}
			if want = []any{int64(1), int64(2), int64(3), int64(4), nil, int64(6), int64(7), int64(8), int64(9)}; sel != nil {
				want = []any{int64(1), nil, int64(6), int64(8), int64(9)}
			}
			if !slices.Equal(got, want) {
				t.Errorf("room %d: %v, want %v", room, got, want)
			}
		}
	}

	never, err := expr.NewCompare(">", length, expr.LongLiteral(9), fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	none, err := expr.Compile(never, &expr.Context{TextRoom: 9})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := none.Filter(batch(nil)); err != nil || rows == nil || len(rows) != 0 {
		t.Errorf("rows %v, %v; want none, and not nil, which stands for all", rows, err)
	}
	texts, err := expr.Compile(reverse, &expr.Context{TextRoom: 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := texts.Eval(batch(nil)); !expr.IsForFewerRows(err) {
		t.Errorf("texts: %v, want an error that asks for fewer rows", err)
	}
}
