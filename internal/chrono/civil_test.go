package chrono

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestCivilAgreesWithTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		want := time.UnixMilli(r.Int64N(400_000_000_000_000) - 200_000_000_000_000).UTC()
		days, rest := split(want.UnixMilli())
		year, month, day := civilFromDays(days)
		if year != int64(want.Year()) || month != int(want.Month()) || day != want.Day() {
			t.Fatalf("%v: %d-%d-%d", want, year, month, day)
		}
		if got := daysFromCivil(year, month, day); got != days {
			t.Fatalf("%v: day %d comes back as %d", want, days, got)
		}
		if got := weekday(days) % 7; got != int(want.Weekday()) {
			t.Fatalf("%v: weekday %d", want, got)
		}
		wy, week := isoWeek(days)
		if y, w := want.ISOWeek(); int64(y) != wy || w != week {
			t.Fatalf("%v: week %d of %d", want, week, wy)
		}
		if rest != int64(want.Hour())*Hour+int64(want.Minute())*Minute+int64(want.Second())*Second+int64(want.Nanosecond()/1e6) {
			t.Fatalf("%v: %d of the day", want, rest)
		}
	}
}

func TestCivilCoversAllInstants(t *testing.T) {
	for _, ms := range []int64{math.MinInt64, math.MaxInt64, MinInstant, MaxInstant, 0, -1} {
		days, rest := split(ms)
		year, month, day := civilFromDays(days)
		if got := daysFromCivil(year, month, day); got != days || rest < 0 || rest >= Day {
			t.Errorf("%d: day %d comes back as %d, rest %d", ms, days, got, rest)
		}
	}
}

func TestSaturation(t *testing.T) {
	const lo, hi = math.MinInt64, math.MaxInt64
	for _, c := range []struct{ got, want int64 }{
		{satAdd(hi, 1), hi}, {satAdd(lo, -1), lo}, {satAdd(lo, hi), -1}, {satAdd(5, 0), 5}, {satAdd(0, lo), lo},
		{satSub(lo, 1), lo}, {satSub(hi, -1), hi}, {satSub(-1, lo), hi}, {satSub(0, lo), hi}, {satSub(lo, lo), 0},
		{satMul(hi, 2), hi}, {satMul(lo, 2), lo}, {satMul(lo, -1), hi}, {satMul(-1, lo), hi}, {satMul(1<<32, -(1 << 32)), lo}, {satMul(0, lo), 0},
		{addMonthsLocal(0, hi), hi}, {addMonthsLocal(0, lo), lo}, {addMonthsLocal(hi, 24), hi},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}
