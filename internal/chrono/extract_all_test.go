package chrono

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// All gives what At gives, for instants in order, in none, around changes of the offset and at the
// ends of time.
func TestAllExtractsWhatAtDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	var src []int64
	places := []int64{0, 1_711_846_800_000, 1_729_990_800_000, -2_500_000_000_000}
	places = append(places, math.MinInt64, math.MaxInt64, math.MinInt64+3*Day, math.MaxInt64-3*Day)
	for _, around := range places {
		for _, by := range []int64{1, Second, Minute, Hour, Day} {
			for range 60 {
				src = append(src, satAdd(around, r.Int64N(3*by)-by))
			}
			slices.Sort(src[len(src)-30:])
		}
	}
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"} {
		zone, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for u := UnitInvalid + 1; u <= UnitMillennium; u++ {
			all, err := NewExtractor(u, zone)
			if err != nil {
				continue
			}
			got := make([]int64, len(src))
			all.All(got, src)
			for i, ms := range src {
				if want, err := Extract(u, ms, zone); err != nil || got[i] != want {
					t.Fatalf("%s of %d in %s is %d, want %d (%v)", u, ms, name, got[i], want, err)
				}
			}
		}
	}
}
