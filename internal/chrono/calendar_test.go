package chrono

import (
	"testing"
	"time"
)

// oddZones have clocks that jump by half an hour (Lord Howe), at midnight (Sao Paulo, Havana,
// Tehran), over a whole day (Apia), and local mean time with seconds before 1900 and later
// (Amsterdam until 1937).
var oddZones = []string{"Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana", "Asia/Tehran", "Pacific/Apia", "Europe/Amsterdam", "Asia/Kathmandu",
	"America/New_York", "Europe/Paris"}

// unitStart returns the first instant of x's calendar unit, found by looking at what clocks show:
// package time knows the clocks, and nothing of this package is used. Units below a day are cut
// from the clock as it goes at x, and begin anew when it jumps.
func unitStart(x time.Time, period string, changes []time.Time) time.Time {
	clock := time.Duration(x.Hour())*time.Hour + time.Duration(x.Minute())*time.Minute + time.Duration(x.Second())*time.Second + time.Duration(x.Nanosecond())
	if unit := map[string]time.Duration{"PT1S": time.Second, "PT1M": time.Minute, "PT1H": time.Hour}[period]; unit > 0 {
		first := x.Add(-clock % unit)
		for _, c := range changes {
			if c.After(first) && !c.After(x) {
				first = c
			}
		}
		return first
	}
	date := time.Date(x.Year(), x.Month(), x.Day(), 0, 0, 0, 0, time.UTC)
	switch period {
	case "P1W":
		date = date.AddDate(0, 0, -(int(date.Weekday())+6)%7)
	case "P1M":
		date = date.AddDate(0, 0, 1-date.Day())
	case "P3M":
		date = time.Date(date.Year(), (date.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	case "P1Y":
		date = time.Date(date.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	// The unit begins when a clock first shows its first date or a later one: at midnight by an offset
	// of that time, or where the clock jumps.
	shows := func(t time.Time) bool {
		y, m, d := t.Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(date)
	}
	var first time.Time
	try := func(t time.Time) {
		if shows(t) && !shows(t.Add(-time.Millisecond)) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, near := range []time.Duration{-36 * time.Hour, -12 * time.Hour, 0, 12 * time.Hour, 36 * time.Hour} {
		_, offset := date.Add(near).In(x.Location()).Zone()
		try(date.Add(-time.Duration(offset) * time.Second).In(x.Location()))
	}
	for _, c := range changes {
		if d := c.Sub(date); d > -48*time.Hour && d < 48*time.Hour {
			try(c)
		}
	}
	return first
}

// changesOf returns the instants at which the clocks of a zone jump.
func changesOf(zone *time.Location, from, to time.Time) []time.Time {
	var out []time.Time
	offset := func(t time.Time) int { _, o := t.In(zone).Zone(); return o }
	const step = 12 * time.Hour
	for t := from; t.Before(to); t = t.Add(step) {
		lo, hi := t, t.Add(step)
		if offset(lo) == offset(hi) {
			continue
		}
		for hi.Sub(lo) > time.Millisecond {
			if mid := lo.Add(hi.Sub(lo) / 2).Truncate(time.Millisecond); offset(mid) == offset(lo) && mid.After(lo) {
				lo = mid
			} else {
				hi = mid
			}
			if hi.Sub(lo) <= time.Millisecond {
				break
			}
		}
		out = append(out, hi.In(zone))
	}
	return out
}

// Buckets are those that clocks and calendars show, around every change of the clocks since 1850 in
// zones whose changes are odd.
func TestBucketsAreThoseOfTheCalendar(t *testing.T) {
	periods := []string{"PT1S", "PT1M", "PT1H", "P1D", "P1W", "P1M", "P3M", "P1Y"}
	for _, name := range oddZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		changes := changesOf(zone, time.Date(1850, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC))
		if len(changes) < 2 {
			t.Fatalf("%s: %d changes of the clock were found", name, len(changes))
		}
		instants := []time.Time{time.Date(1860, 5, 5, 5, 5, 5, 5e6, zone), time.Date(1899, 12, 31, 23, 59, 59, 0, zone)}
		for _, c := range changes {
			for _, d := range []time.Duration{-25 * time.Hour, -time.Hour, -31 * time.Minute, -time.Millisecond, 0, 29 * time.Minute, 61 * time.Minute, 2 * time.Hour, 25 * time.Hour} {
				instants = append(instants, c.Add(d))
			}
		}
		for _, period := range periods {
			g := granularityOf(t, period, name, "")
			for _, x := range instants {
				want := unitStart(x, period, changes)
				if got := g.Floor(x.UnixMilli()); got != want.UnixMilli() {
					t.Errorf("%s %s at %s: %s, want %s", name, period, x.Format(time.RFC3339Nano), FormatMillis(got, g.Zone()), want.Format(time.RFC3339Nano))
				}
			}
		}
	}
}
