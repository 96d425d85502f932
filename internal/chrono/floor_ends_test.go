package chrono

import (
	"math"
	"testing"
	"time"
)

// At the ends of time floors are found, whatever the period, the zone and the origin, and don't lie
// after their instants. Sums with an origin that came back from the end made it search for ever.
func TestFloorsEndAtTheEndsOfTime(t *testing.T) {
	ends := []int64{math.MinInt64, math.MaxInt64, 1 << 53, -(1 << 53), 1 << 62, -(1 << 62)}
	var instants []int64
	for _, end := range ends {
		for _, off := range []int64{0, 1, 2, Day, 3 * Day, 4 * Day, 8 * Day, 40 * Day, 400 * Day} {
			instants = append(instants, satAdd(end, off), satSub(end, off))
		}
	}
	origins := []*int64{nil}
	for _, o := range append([]int64{0, -3 * Day, 5*Day + 7, -1, 1234567890123}, ends...) {
		origins = append(origins, &o)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, period := range []string{"P1D", "P1W", "P2W", "P10D", "P1M", "P3M", "P1Y", "P7Y", "PT1H", "PT5S", "P1DT12H", "P1M1D", "P1Y2M3DT4H"} {
			for _, zone := range []string{"UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Auckland"} {
				for _, origin := range origins {
					checkEnds(t, period, zone, origin, instants)
				}
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a floor is never found")
	}
}

func checkEnds(t *testing.T, period, zone string, origin *int64, instants []int64) {
	p, err := ParsePeriod(period)
	if err != nil {
		t.Error(err)
		return
	}
	z, err := LoadZone(zone)
	if err != nil {
		t.Error(err)
		return
	}
	g, err := PeriodGranularity(p, z, origin)
	if err != nil {
		return // of origins that it refuses
	}
	out := make([]int64, len(instants))
	g.FloorAll(out, instants)
	for i, ms := range instants {
		if out[i] > ms {
			t.Errorf("%s %s from %v: the floor of %d is %d", period, zone, origin, ms, out[i])
		}
	}
}
