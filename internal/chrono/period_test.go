package chrono

import (
	"math"
	"testing"
)

func TestParsePeriod(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"P1Y2M3W4DT5H6M7.089S", "P1Y2M3W4DT5H6M7.089S"},
		{"PT0S", "PT0S"},
		{"P0D", "PT0S"},
		{"p1dt2h", "P1DT2H"},
		{"PT36H", "PT36H"},
		{"P-1M", "P-1M"},
		{"P+1M", "P1M"},
		{"PT-1.5S", "PT-1.500S"},
		{"PT-0.5S", "PT-0.500S"},
		{"PT1,25S", "PT1.250S"},
		{"PT1.9999S", "PT1.999S"},
		{"P1M1D", "P1M1D"},
		{"P", ""}, {"PT", ""}, {"P1DT", ""}, {"foo", ""}, {"PT1Y", ""}, {"-PT1H", ""}, {"1D", ""},
		{"P1D ", ""}, {"P1", ""}, {"P1D1Y", ""}, {"P1D1D", ""},
		{"PT1.5H", ""}, {"P1.5D", ""}, {"P99999999999D", ""}, {"P2147483648D", ""}, {"PTT1S", ""}, {"P1D2W", ""}, {"", ""}, {"P--1D", ""},
	} {
		p, err := ParsePeriod(c.text)
		got := p.String()
		if err != nil {
			got = ""
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestPeriodAdd(t *testing.T) {
	for _, c := range []struct {
		from, zone, period string
		n                  int64
		want               string
	}{
		{"2000-01-31", "UTC", "P1M", 1, "2000-02-29T00:00:00.000Z"},
		{"2001-01-31", "UTC", "P1M", 1, "2001-02-28T00:00:00.000Z"},
		{"2000-02-29", "UTC", "P1Y", -1, "1999-02-28T00:00:00.000Z"},
		{"2020-03-07T12:00", "America/Los_Angeles", "P1D", 1, "2020-03-08T12:00:00.000-07:00"},
		{"2020-03-07T12:00", "America/Los_Angeles", "PT24H", 1, "2020-03-08T13:00:00.000-07:00"},
		{"2020-02-08T02:30", "America/Los_Angeles", "P1M", 1, "2020-03-08T03:30:00.000-07:00"},
		{"2013-08-01T08:14:37", "UTC", "PT1H", -24, "2013-07-31T08:14:37.000Z"},
		{"2013-08-01T08:14:37", "UTC", "P1M2D", 1, "2013-09-03T08:14:37.000Z"},
		{"2013-08-01T08:14:37", "UTC", "P1Y6M", -3, "2009-02-01T08:14:37.000Z"},
	} {
		z := zoneOf(t, c.zone)
		from, _ := ParseTimestamp(c.from, z)
		p, err := ParsePeriod(c.period)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatMillis(p.Add(from, z, c.n), z); got != c.want {
			t.Errorf("%s + %d * %s: %s, want %s", c.from, c.n, c.period, got, c.want)
		}
	}
	for _, p := range []Period{{Years: 1}, {Months: 1}, {Weeks: 1}, {Days: 1}, {Millis: 1}, {Years: math.MaxInt32}} {
		for _, zone := range testZones {
			z := zoneOf(t, zone)
			if hi, lo := p.Add(0, z, math.MaxInt64), p.Add(0, z, math.MinInt64); hi != math.MaxInt64 || lo != math.MinInt64 {
				t.Errorf("%s in %s saturates at %d and %d", p, z, lo, hi)
			}
		}
	}
}

// The first and the last bucket end with time: a walk that went past it never came to an end.
func TestBucketsAtTheEndsOfTime(t *testing.T) {
	origin := int64(946864800000)
	for _, zone := range []*Zone{UTC, zoneOf(t, "Europe/Paris"), zoneOf(t, "America/Los_Angeles")} {
		for _, text := range []string{"P1Y2M", "P1Y2M3D", "P1M1D", "P1DT12H", "P1Y1W", "P2W3DT4H"} {
			p, err := ParsePeriod(text)
			if err != nil {
				t.Fatal(err)
			}
			g, err := PeriodGranularity(p, zone, &origin)
			if err != nil {
				t.Fatal(err)
			}
			for _, ms := range []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + Day, math.MaxInt64 - Day, math.MaxInt64 - 1} {
				if b := g.Bucket(ms); b.Start > ms || b.End <= ms || b.End-b.Start > 500*Day {
					t.Errorf("%s in %s: %d is in %v", text, zone, ms, b)
				}
			}
		}
	}
}

func TestStandardMillis(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{{"P1W1DT1H", Week + Day + Hour, true}, {"PT0.5S", 500, true}, {"P1M", 0, false}, {"P1Y", 0, false}} {
		p, err := ParsePeriod(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.StandardMillis(); got != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v", c.text, got, ok)
		}
	}
}

func FuzzParsePeriod(f *testing.F) {
	for _, s := range []string{"P1Y2M3W4DT5H6M7.089S", "PT-1.5S", "P-1D", "p1w", "PT", "P1DT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePeriod(s)
		if err != nil {
			return
		}
		again, err := ParsePeriod(p.String())
		// Seconds and milliseconds of different sign print as their sum.
		if err != nil || again.String() != p.String() || again.Add(0, UTC, 1) != p.Add(0, UTC, 1) {
			t.Fatalf("%q is %s, which is %s, %v", s, p, again, err)
		}
	})
}
