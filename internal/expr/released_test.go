//go:build invariants

package expr

import (
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// A program that may use memory again releases its results with the next evaluation.
func TestResultsAreReleasedWithTheNextEvaluation(t *testing.T) {
	x := &Column{Name: "x", T: Of(BigInt).NotNull()}
	sum, err := NewCall(addFunction, []Expr{x, &Literal{Value: int64(1), T: Of(BigInt).NotNull()}}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	for _, reuse := range []bool{false, true} {
		p, err := Compile(sum, &Context{Reuse: reuse})
		if err != nil {
			t.Fatal(err)
		}
		var first *vector.Vector
		for range 2 {
			v, err := p.Eval(&vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2})}})
			if err != nil || v.LongAt(1) != 3 {
				t.Fatalf("2 + 1 = %v, %v", v, err)
			}
			if first == nil {
				first = v
			}
		}
		want := int64(3)
		if reuse {
			want = invariant.Poisoned[int64]()
		}
		if got := first.LongAt(1); got != want {
			t.Errorf("reuse %v: the first result reads as %d, want %d", reuse, got, want)
		}
	}
}
