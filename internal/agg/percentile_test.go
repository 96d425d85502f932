package agg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hengedb/henge/internal/vector"
)

func TestPercentiles(t *testing.T) {
	inf := math.Inf(1)
	xs := vec(vector.Double, 4.0, nil, 1.0, 3.0, 2.0)
	words := vec(vector.String, "d", "a", nil, "c", "b")
	for _, c := range []struct {
		name   string
		params []any
		arg    *vector.Vector
		want   any
	}{
		{"MEDIAN", nil, xs, 2.5}, {"MEDIAN", nil, vec(vector.Double, nil), nil}, {"MEDIAN", nil, vec(vector.Double, inf, inf), inf},
		{"MEDIAN", nil, vec(vector.Double, math.NaN(), 1.0, 2.0), 2.0},
		{"PERCENTILE_CONT", []any{int64(0)}, xs, 1.0}, {"PERCENTILE_CONT", []any{int64(1)}, xs, 4.0},
		{"PERCENTILE_CONT", []any{0.1}, xs, 1.3}, {"PERCENTILE_CONT", []any{0.1, Descending}, xs, 3.7},
		{"PERCENTILE_DISC", []any{0.5}, xs, 2.0}, {"PERCENTILE_DISC", []any{0.5, Descending}, xs, 3.0},
		{"PERCENTILE_DISC", []any{0.51}, words, "c"}, {"PERCENTILE_DISC", []any{int64(0)}, words, "a"},
		{"PERCENTILE_DISC", []any{int64(1)}, words, "d"},
	} {
		got := final(t, Spec{Name: c.name, Params: c.params, Args: []vector.Type{c.arg.Type}}, c.arg)
		if diff := cmp.Diff(c.want, got, close9, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s %v: %s", c.name, c.params, diff)
		}
	}
	for _, share := range []any{1.5, int64(-1), "x", math.NaN()} {
		if _, err := (Spec{Name: "PERCENTILE_CONT", Params: []any{share}, Args: []vector.Type{vector.Double}}).New(); err == nil {
			t.Errorf("share [%v] is taken", share)
		}
	}
}

func TestSelectNth(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		xs := make([]int, 1+r.IntN(40))
		for i := range xs {
			xs[i] = r.IntN(1 + r.IntN(20))
		}
		want := slices.Sorted(slices.Values(xs))
		k := r.IntN(len(xs))
		selectNth(xs, k, func(a, b int) int { return a - b })
		if xs[k] != want[k] || slices.Max(xs[:k+1]) != want[k] || slices.Min(xs[k:]) != want[k] {
			t.Fatalf("place [%d] of %v holds [%d], want [%d]", k, xs, xs[k], want[k])
		}
	}
}
