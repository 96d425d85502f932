package timefn

import (
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

func TestChunkOfTimes(t *testing.T) {
	call := func(starts string) (expr.Expr, error) {
		return expr.NewCall(chunkFunction, []expr.Expr{&expr.Column{T: expr.Of(expr.Timestamp)},
			&expr.Literal{Value: starts, T: expr.Of(expr.Varchar).NotNull()}}, fault.Span{})
	}
	for _, bad := range []string{"", "a", "10,5", "5,5"} {
		if _, err := call(bad); err == nil || err.Error() != "Starts of time chunks are ascending milliseconds, not ["+bad+"]" {
			t.Errorf("starts [%s]: %v", bad, err)
		}
	}
	e, err := call("-10,0,20")
	if err != nil {
		t.Fatal(err)
	}
	p, err := expr.Compile(e, &expr.Context{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Eval(&vector.Batch{N: 8, Cols: []*vector.Vector{vector.FromLongs([]int64{-11, -10, -1, 0, 19, 20, 1 << 60, -3})}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{-10, -10, -10, 0, 0, 20, 20, -10}; !slices.Equal(v.Longs, want) {
		t.Errorf("chunks %v, want %v", v.Longs, want)
	}
}
