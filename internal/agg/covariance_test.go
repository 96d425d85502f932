package agg

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// TestFunctionsOfTwo: the figures of the pairs are worked out by hand: means 2.5 and 5, sxx 5, syy
// 18, sxy 9 over (1,2) (2,5) (3,5) (4,8).
func TestFunctionsOfTwo(t *testing.T) {
	x := vec(vector.Double, 1.0, 2.0, nil, 3.0, 4.0, 9.0)
	y := vec(vector.Double, 2.0, 5.0, 7.0, 5.0, 8.0, nil)
	level := vec(vector.Double, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0)
	none := vec(vector.Double, nil, nil, nil, nil, nil, nil)
	for _, c := range []struct {
		name string
		args [2]*vector.Vector
		want any
	}{
		{"REGR_COUNT", [2]*vector.Vector{y, x}, int64(4)},
		{"REGR_COUNT", [2]*vector.Vector{y, none}, int64(0)},
		{"REGR_AVGX", [2]*vector.Vector{y, x}, 2.5},
		{"REGR_AVGY", [2]*vector.Vector{y, x}, 5.0},
		{"REGR_SXX", [2]*vector.Vector{y, x}, 5.0},
		{"REGR_SYY", [2]*vector.Vector{y, x}, 18.0},
		{"REGR_SXY", [2]*vector.Vector{y, x}, 9.0},
		{"REGR_SLOPE", [2]*vector.Vector{y, x}, 1.8},
		{"REGR_INTERCEPT", [2]*vector.Vector{y, x}, 0.5},
		{"REGR_R2", [2]*vector.Vector{y, x}, 0.9},
		{"CORR", [2]*vector.Vector{y, x}, math.Sqrt(0.9)},
		{"COVAR_POP", [2]*vector.Vector{y, x}, 2.25},
		{"COVAR_SAMP", [2]*vector.Vector{y, x}, 3.0},
		{"CORR", [2]*vector.Vector{y, level}, nil},
		{"REGR_SLOPE", [2]*vector.Vector{y, level}, nil},
		{"REGR_INTERCEPT", [2]*vector.Vector{y, level}, nil},
		{"REGR_R2", [2]*vector.Vector{y, level}, nil},
		{"REGR_R2", [2]*vector.Vector{level, x}, 1.0},
		{"COVAR_POP", [2]*vector.Vector{y, none}, nil},
	} {
		got := final(t, Spec{Name: c.name, Args: []vector.Type{vector.Double, vector.Double}}, c.args[0], c.args[1])
		if diff := cmp.Diff(c.want, got, close9); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
