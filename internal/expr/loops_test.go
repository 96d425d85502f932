package expr

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLoopsRoundAsTheirFunctionsDo(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 0.5, -0.5, 1.5, -1.5, 2.5, 0.49999999999999994, -0.49999999999999994, 1 << 51, 1<<51 + 0.5,
		-(1<<51 + 0.5), 1<<52 - 0.5, 1 << 52, 1 << 53, 0x1p63, -0x1p63, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(),
		math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1.005, -0.9999999999999999, 4503599627370495.5}
	r := rand.New(rand.NewPCG(1, 9))
	for range 20_000 {
		values = append(values, math.Ldexp(r.Float64()-0.5, r.IntN(70)), math.Float64frombits(r.Uint64()))
	}
	for name, c := range map[string]struct {
		loop func(dst, src []float64)
		one  func(float64) float64
	}{
		"floor": {floors, math.Floor}, "ceil": {ceilings, math.Ceil}, "round": {rounds, func(x float64) float64 { return roundDouble(x, 0) }},
	} {
		got := make([]float64, len(values))
		c.loop(got, values)
		for i, x := range values {
			if want := c.one(x); math.Float64bits(got[i]) != math.Float64bits(want) && !(got[i] != got[i] && want != want) {
				t.Errorf("%s of %v is %v, want %v", name, x, got[i], want)
			}
		}
	}
}
