package chrono

import (
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestTimestampAddAndDiff(t *testing.T) {
	la := zoneOf(t, "America/Los_Angeles")
	from, _ := ParseTimestamp("2020-03-07T12:00", la)
	for _, c := range []struct {
		unit Unit
		n    int64
		want string
	}{
		{UnitSecond, 13, "2020-03-07T12:00:13.000-08:00"},
		{UnitDay, 1, "2020-03-08T13:00:00.000-07:00"}, // a day is 86,400,000 ms here
		{UnitWeek, -1, "2020-02-29T12:00:00.000-08:00"},
		{UnitMonth, 1, "2020-04-07T12:00:00.000-07:00"},
		{UnitQuarter, -1, "2019-12-07T12:00:00.000-08:00"},
		{UnitYear, 4, "2024-03-07T12:00:00.000-08:00"},
	} {
		ms, err := TimestampAdd(c.unit, c.n, from, la)
		if got := FormatMillis(ms, la); err != nil || got != c.want {
			t.Errorf("%d %s: %s, %v, want %s", c.n, c.unit, got, err, c.want)
		}
		if n, err := TimestampDiff(c.unit, from, ms, la); err != nil || n != c.n {
			t.Errorf("difference in %s: %d, %v, want %d", c.unit, n, err, c.n)
		}
	}
	for _, u := range []Unit{UnitEpoch, UnitDOW, UnitInvalid, UnitMicrosecond} {
		if _, err := TimestampAdd(u, 1, 0, UTC); fault.Find(err) == nil {
			t.Errorf("adding %s: %v", u, err)
		}
		if _, err := TimestampDiff(u, 1, 0, UTC); fault.Find(err) == nil {
			t.Errorf("difference in %s: %v", u, err)
		}
	}
}

// TestMonthsBetween: it is the largest count that does not go beyond.
func TestMonthsBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 5000 {
		a, b := r.Int64N(4_000_000_000_000), r.Int64N(4_000_000_000_000)
		n := MonthsBetween(a, b, UTC)
		if MonthsBetween(b, a, UTC) != -n {
			t.Fatalf("%d to %d: %d months, and %d back", a, b, n, MonthsBetween(b, a, UTC))
		}
		if a > b {
			continue
		}
		if AddMonths(a, n, UTC) > b || AddMonths(a, n+1, UTC) <= b {
			t.Fatalf("%s to %s: %d months", FormatMillis(a, UTC), FormatMillis(b, UTC), n)
		}
	}
}

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		at, zone string
		unit     string
		want     int64
	}{
		{"2000-01-02", "UTC", "DOW", 7}, {"2000-01-02", "UTC", "ISODOW", 7}, {"2013-08-01T08:14:37Z", "-04:00", "HOUR", 4},
		{"2000-01-01", "UTC", "WEEK", 52}, {"2000-01-01", "UTC", "CENTURY", 20}, {"2001-01-01", "UTC", "century", 21},
		{"2000-01-01", "UTC", "MILLENNIUM", 2},
		{"0000-01-01", "UTC", "CENTURY", 0}, {"2013-01-01", "UTC", "DECADE", 201}, {"1969-12-31T23:59:58.5Z", "UTC", "EPOCH", -1},
		{"1969-12-31T23:59:58.5Z", "UTC", "MILLISECOND", 500}, {"1969-12-31T23:59:58.5Z", "UTC", "SECOND", 58}, {"2020-01-01T00:00:00.001Z", "UTC", "MICROSECOND", 1577836}, {"2000-12-31", "UTC", "DOY", 366},
		{"2000-12-31", "UTC", "QUARTER", 4}, {"2021-01-03", "UTC", "ISOYEAR", 2021}, {"2021-01-03", "Asia/Kolkata", "MINUTE", 30},
	} {
		u, ok := ParseUnit(c.unit)
		v, err := Extract(u, instantOf(t, c.at), zoneOf(t, c.zone))
		if !ok || err != nil || v != c.want {
			t.Errorf("%s of %s in %s: %d, %v, want %d", c.unit, c.at, c.zone, v, err, c.want)
		}
	}
	u, _ := ParseUnit("NANOSECOND")
	if _, err := Extract(u, 0, UTC); fault.Find(err) == nil {
		t.Errorf("nanosecond: %v", err)
	}
	if _, ok := ParseUnit("fortnight"); ok {
		t.Error("a fortnight is no unit")
	}
	if _, ok := ParseUnit(""); ok {
		t.Error("nothing is no unit")
	}
}

func TestExtractorAgreesOnAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	src, dst := make([]int64, 500), make([]int64, 500)
	for i := range src {
		src[i] = r.Int64N(40*Day) + 1_583_000_000_000
	}
	for u := UnitMillisecond; u <= UnitISOYear; u++ {
		for _, zone := range testZones {
			z := zoneOf(t, zone)
			x, err := NewExtractor(u, z)
			if err != nil {
				t.Fatal(err)
			}
			x.All(dst, src)
			for i, ms := range src {
				if want, _ := Extract(u, ms, z); dst[i] != want {
					t.Fatalf("%s of %d in %s: %d, want %d", u, ms, zone, dst[i], want)
				}
			}
		}
	}
}
