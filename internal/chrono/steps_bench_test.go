package chrono

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkFloorSteps floors instants in no order to a period of several fields: near the origin,
// before it, and far beyond all dates.
func BenchmarkFloorSteps(b *testing.B) {
	for _, span := range []struct {
		name       string
		start, len int64
	}{
		{"now", 1_500_000_000_000, 100_000_000_000},
		{"before", -1_000_000_000_000, 900_000_000_000},
		{"far", 8_000_000_000_000_000, 500_000_000_000_000},
	} {
		b.Run(span.name, func(b *testing.B) {
			for _, text := range []string{"P1Y2M", "P1DT1H"} {
				b.Run(text, func(b *testing.B) {
					p, err := ParsePeriod(text)
					if err != nil {
						b.Fatal(err)
					}
					g, err := PeriodGranularity(p, nil, nil)
					if err != nil {
						b.Fatal(err)
					}
					r := rand.New(rand.NewPCG(1, 2))
					src := make([]int64, 1024)
					for i := range src {
						src[i] = span.start + r.Int64N(span.len)
					}
					dst := make([]int64, len(src))
					for b.Loop() {
						g.FloorAll(dst, src)
					}
				})
			}
		})
	}
}
