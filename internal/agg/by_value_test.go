package agg

import (
	"math"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func TestByValue(t *testing.T) {
	values := vec(vector.String, "d", "b", nil, "c", "a")
	by := vec(vector.Double, 1.0, math.NaN(), 1.0, nil, math.NaN())
	for name, want := range map[string]any{"MAX_BY": "a", "MIN_BY": nil, "ARG_MAX": "a"} {
		if got := final(t, Spec{Name: name, Args: []vector.Type{vector.String, vector.Double}}, values, by); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}
