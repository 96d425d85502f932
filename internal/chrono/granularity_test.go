package chrono

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

func instantOf(t testing.TB, s string) int64 {
	t.Helper()
	ms, err := ParseInstant(s)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// granularityOf makes one from a period, a zone and an origin, which may be empty.
func granularityOf(t testing.TB, period, zone, origin string) Granularity {
	t.Helper()
	p, err := ParsePeriod(period)
	if err != nil {
		t.Fatal(err)
	}
	var at *int64
	if origin != "" {
		ms := instantOf(t, origin)
		at = &ms
	}
	g, err := PeriodGranularity(p, zoneOf(t, zone), at)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFloor(t *testing.T) {
	const now = "2013-08-01T08:14:37Z"
	for _, c := range []struct{ period, zone, origin, at, floor, next string }{
		{"PT45M", "UTC", "2013-08-01T08:00:00Z", "2013-08-01T09:13:00Z", "2013-08-01T08:45:00.000Z", "2013-08-01T09:30:00.000Z"},
		{"PT7M", "UTC", "", now, "2013-08-01T08:10:00.000Z", "2013-08-01T08:17:00.000Z"},
		{"PT7M", "UTC", "2030-01-05T06:00:00Z", now, "2013-08-01T08:09:00.000Z", "2013-08-01T08:16:00.000Z"},
		{"PT6H", "America/Los_Angeles", "", now, "2013-08-01T01:00:00.000-07:00", "2013-08-01T07:00:00.000-07:00"},
		{"PT1H", "Asia/Kolkata", "", now, "2013-08-01T13:00:00.000+05:30", "2013-08-01T14:00:00.000+05:30"},
		{"P1D", "Europe/Berlin", "", "2020-03-29T12:00:00Z", "2020-03-29T00:00:00.000+01:00", "2020-03-30T00:00:00.000+02:00"},
		{"P1D", "America/Sao_Paulo", "", "2018-11-04T12:00:00Z", "2018-11-04T01:00:00.000-02:00", "2018-11-05T00:00:00.000-02:00"},
		{"P1D", "America/Havana", "", "2020-11-01T12:00:00Z", "2020-11-01T00:00:00.000-04:00", "2020-11-02T00:00:00.000-05:00"},
		{"P1D", "Pacific/Apia", "", "2011-12-30T01:00:00Z", "2011-12-29T00:00:00.000-10:00", "2011-12-31T00:00:00.000+14:00"},
		{"P1W", "UTC", "", now, "2013-07-29T00:00:00.000Z", "2013-08-05T00:00:00.000Z"},
		{"P2W", "UTC", "", now, "2013-08-01T00:00:00.000Z", "2013-08-15T00:00:00.000Z"},
		{"P1M", "UTC", "", now, "2013-08-01T00:00:00.000Z", "2013-09-01T00:00:00.000Z"},
		{"P2M", "UTC", "2000-01-05T00:00:00Z", now, "2013-07-05T00:00:00.000Z", "2013-09-05T00:00:00.000Z"},
		{"P1M", "UTC", "2000-01-31T00:00:00Z", "2013-03-01T00:00:00Z", "2013-02-28T00:00:00.000Z", "2013-03-31T00:00:00.000Z"},
		{"P3M", "UTC", "", now, "2013-07-01T00:00:00.000Z", "2013-10-01T00:00:00.000Z"},
		{"P3M", "UTC", "", "1969-08-01T00:00:00Z", "1969-07-01T00:00:00.000Z", "1969-10-01T00:00:00.000Z"},
		{"P10Y", "UTC", "", now, "2010-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"},
		{"P100Y", "UTC", "", now, "1970-01-01T00:00:00.000Z", "2070-01-01T00:00:00.000Z"},
		{"P100Y", "UTC", "", "1900-01-01T00:00:00Z", "1870-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"},
		{"P1DT12H", "UTC", "", now, "2013-08-01T00:00:00.000Z", "2013-08-02T12:00:00.000Z"},
		{"P1M2D", "UTC", "", now, "2013-07-17T00:00:00.000Z", "2013-08-19T00:00:00.000Z"},
		{"P1Y6M", "UTC", "", now, "2013-07-01T00:00:00.000Z", "2015-01-01T00:00:00.000Z"},
		{"PT0.5S", "UTC", "", "2013-08-01T08:14:37.700Z", "2013-08-01T08:14:37.500Z", "2013-08-01T08:14:38.000Z"},
		{"PT0.001S", "UTC", "", "2013-08-01T08:14:37.700Z", "2013-08-01T08:14:37.700Z", "2013-08-01T08:14:37.701Z"},
	} {
		g := granularityOf(t, c.period, c.zone, c.origin)
		ms := instantOf(t, c.at)
		floor, next := FormatMillis(g.Floor(ms), g.Zone()), FormatMillis(g.Next(ms), g.Zone())
		if floor != c.floor || next != c.next {
			t.Errorf("%s %s %s at %s: [%s, %s), want [%s, %s)", c.period, c.zone, c.origin, c.at, floor, next, c.floor, c.next)
		}
		if g.Ceil(ms) != ms && g.Ceil(ms) != g.Next(ms) || g.Ceil(g.Floor(ms)) != g.Floor(ms) {
			t.Errorf("%s %s at %s: ceil %s", c.period, c.zone, c.at, FormatMillis(g.Ceil(ms), g.Zone()))
		}
	}
}

// TestFloorProperties: buckets contain what they are asked for, start at their own floor, follow
// each other without a gap, and all ways to find them agree.
func TestFloorProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	periods := []string{"PT0.001S", "PT1S", "PT7M", "PT1H", "PT6H", "PT1H30M", "P1D", "P2D", "P1W", "P3W", "P1M", "P3M",
		"P1Y", "P7Y", "P1DT12H", "P1M2D", "P1Y1M1D"}
	for _, zone := range testZones {
		for _, period := range periods {
			for _, origin := range []string{"", "2000-01-31T05:45:00Z", "2030-06-01T00:00:00Z"} {
				checkFloors(t, granularityOf(t, period, zone, origin), r)
			}
		}
	}
	ten, err := DurationGranularity(10*Second+1, -77)
	if err != nil {
		t.Fatal(err)
	}
	checkFloors(t, ten, r)
	checkFloors(t, None, r)
}

func checkFloors(t *testing.T, g Granularity, r *rand.Rand) {
	t.Helper()
	src := make([]int64, 24)
	if g.kind == kindSteps {
		src = src[:5+r.IntN(10)/9] // every floor is a walk
	}
	for i := range src {
		switch {
		case i < 12 && (g.kind != kindSteps || i < 3):
			src[i] = r.Int64N(2_500_000_000_000) - 500_000_000_000
		case g.kind == kindSteps && i >= 5: // beyond the anchors that a cursor remembers
			src[i] = (r.Int64() - r.Int64()) / 1000
		case g.kind == kindSteps:
			src[i] = src[i-1] + r.Int64N(40*Day) - 3*Day
		case i < 16:
			src[i] = (r.Int64() - r.Int64()) / 2
		default: // around a change of offset
			_, end, _ := g.Zone().SpanAt(src[i-12])
			src[i] = min(end, tableEnd) + r.Int64N(30*Hour) - 15*Hour
		}
	}
	dst := make([]int64, len(src))
	g.FloorAll(dst, src)
	cursor := g.Floorer()
	for i, ms := range src {
		floor, next := g.Floor(ms), g.Next(ms)
		switch {
		case floor > ms || ms >= next:
			t.Errorf("%s at %s: bucket [%s, %s)", g, FormatMillis(ms, UTC), FormatMillis(floor, UTC), FormatMillis(next, UTC))
		case g.Floor(floor) != floor || g.Next(floor) != next || g.Floor(next-1) != floor || g.Floor(next) != next:
			t.Errorf("%s at %s: bucket [%s, %s) does not hold its own ends",
				g, FormatMillis(ms, UTC), FormatMillis(floor, UTC), FormatMillis(next, UTC))
		case dst[i] != floor || cursor.Floor(ms) != floor || cursor.Bucket(ms) != g.Bucket(ms):
			t.Errorf("%s at %s: %d one by one, %d in a vector, %d by a cursor", g, FormatMillis(ms, UTC), floor, dst[i], cursor.Floor(ms))
		}
	}
}

func TestFloorAtTheEndsOfTime(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "-08:00"} {
		for _, period := range []string{"PT1S", "PT1H", "P1D", "P1W", "P1M", "P1Y", "P100Y", "P1M2D", "P1DT1S"} {
			g := granularityOf(t, period, zone, "")
			for _, ms := range []int64{MinInstant, MaxInstant} {
				if b := g.Bucket(ms); !b.ContainsInstant(ms) {
					t.Errorf("%s in %s at %d: bucket %d", period, zone, ms, b)
				}
			}
		}
	}
	if All.Bucket(0) != Eternity || All.Floor(123) != MinInstant {
		t.Errorf("ALL has the bucket %s", All.Bucket(0))
	}
}

func TestIterate(t *testing.T) {
	iv, err := ParseInterval("2020-01-30T12:00/2020-04-01")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for b := range ByMonth.Iterate(iv) {
		got = append(got, FormatMillis(b.Start, UTC)[:10]+" "+FormatMillis(b.End, UTC)[:10])
	}
	if diff := cmp.Diff([]string{"2020-01-01 2020-02-01", "2020-02-01 2020-03-01", "2020-03-01 2020-04-01"}, got); diff != "" {
		t.Error(diff)
	}
	for b := range All.Iterate(iv) {
		if b != iv {
			t.Errorf("ALL gives %s", b)
		}
	}
	for range ByDay.Iterate(Interval{}) {
		t.Error("an empty interval has buckets")
	}
	for _, c := range []struct {
		g     Granularity
		limit int
		want  int
	}{{ByMonth, 10, 3}, {ByMonth, 2, 2}, {ByHour, 10000, 61*24 + 12}, {ByHour, 5000, 1476}, {All, 10, 1}, {None, 5000, 5000}, {ByDay, 1000, 62}} {
		if got := c.g.BucketsIn(iv, c.limit); got != c.want {
			t.Errorf("%s: %d buckets, want %d", c.g, got, c.want)
		}
	}
	if got := None.BucketsIn(Eternity, 5000); got != 5000 {
		t.Errorf("eternity has %d milliseconds", got)
	}
}

func TestAligned(t *testing.T) {
	for _, c := range []struct {
		g    Granularity
		iv   string
		want bool
	}{
		{ByDay, "2020-01-01/2020-01-03", true}, {ByDay, "2020-01-01/2020-01-03T01", false}, {ByMonth, "2020-01-02/2020-03-01", false},
		{ByHour, "2020-01-01T01/2020-01-01T02", true},
	} {
		iv, err := ParseInterval(c.iv)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.g.Aligned(iv); got != c.want {
			t.Errorf("%s in %s: %v", c.iv, c.g, got)
		}
	}
	if !All.Aligned(Eternity) || All.Aligned(Interval{0, Day}) {
		t.Error("only eternity is aligned with ALL")
	}
}

func TestGranularityJSON(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`"DAY"`, `"DAY"`},
		{`"day"`, `"DAY"`},
		{`"fifteen_minute"`, `"FIFTEEN_MINUTE"`},
		{`"all"`, `{"type":"all"}`},
		{`{"type":"all"}`, `{"type":"all"}`},
		{`"none"`, `{"type":"none"}`},
		{`{"type":"period","period":"P1D","timeZone":"UTC","origin":null}`, `"DAY"`},
		{`{"type":"period","period":"P3M"}`, `"QUARTER"`},
		{`{"type":"period","period":"P2D"}`, `{"type":"period","period":"P2D","timeZone":"UTC","origin":null}`},
		{
			`{"type":"period","period":"P1D","timeZone":"Europe/Berlin","origin":"2012-02-01T00:00:00Z"}`,
			`{"type":"period","period":"P1D","timeZone":"Europe/Berlin","origin":"2012-02-01T01:00:00.000+01:00"}`,
		},
		{`{"type":"duration","duration":"3600000"}`, `{"type":"duration","duration":3600000,"origin":"1970-01-01T00:00:00.000Z"}`},
		{
			`{"type":"duration","duration":7,"origin":"1970-01-01T00:00:00.005Z"}`,
			`{"type":"duration","duration":7,"origin":"1970-01-01T00:00:00.005Z"}`,
		},
		{`"P1D"`, ``}, {`"fortnight"`, ``}, {`{"type":"period","period":"PT0S"}`, ``}, {`{"type":"period","period":"P-1D"}`, ``},
		{`{"type":"period"}`, ``},
		{`{"type":"period","period":"P1D","timeZone":"Mars/North"}`, ``}, {`{"type":"duration","duration":0}`, ``}, {`{"type":"duration"}`, ``},
		{`{"type":"moon"}`, ``}, {`{}`, ``}, {`7`, ``}, {`[]`, ``}, {`{"type":"period","period":"P1D","origin":"soon"}`, ``},
	} {
		var g Granularity
		err := json.Unmarshal([]byte(c.in), &g)
		if err != nil {
			if f := fault.Find(err); c.out != "" || f == nil || f.Category != fault.CategoryInvalidInput {
				t.Errorf("%s: %v", c.in, err)
			}
			continue
		}
		text, err := json.Marshal(g)
		if err != nil || string(text) != c.out {
			t.Errorf("%s: %s, %v, want %s", c.in, text, err, c.out)
			continue
		}
		var again Granularity
		if err := json.Unmarshal(text, &again); err != nil || !again.Equal(g) {
			t.Errorf("%s comes back as %s, %v", text, again, err)
		}
	}
}

func TestGranularityNames(t *testing.T) {
	for period, want := range map[string]string{
		"PT1S": "SECOND", "PT1M": "MINUTE", "PT5M": "FIVE_MINUTE", "PT10M": "TEN_MINUTE", "PT15M": "FIFTEEN_MINUTE", "PT30M": "THIRTY_MINUTE",
		"PT1H": "HOUR", "PT6H": "SIX_HOUR", "PT8H": "EIGHT_HOUR", "P1D": "DAY", "P1W": "WEEK", "P1M": "MONTH", "P3M": "QUARTER", "P1Y": "YEAR",
		"P2D": "", "PT60M": "",
	} {
		if got, ok := granularityOf(t, period, "UTC", "").SegmentName(); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", period, got, ok)
		}
	}
	if _, ok := granularityOf(t, "P1D", "Europe/Berlin", "").SegmentName(); ok {
		t.Error("days of Berlin have no name")
	}
	if _, ok := None.SegmentName(); ok {
		t.Error("segments can't have a bucket per millisecond")
	}
	var finer []string
	for _, g := range ByDay.Finer() {
		finer = append(finer, g.String())
	}
	want := []string{"DAY", "EIGHT_HOUR", "SIX_HOUR", "HOUR", "THIRTY_MINUTE", "FIFTEEN_MINUTE", "TEN_MINUTE", "FIVE_MINUTE", "MINUTE", "SECOND"}
	if diff := cmp.Diff(want, finer); diff != "" {
		t.Error(diff)
	}
	if got := ByWeek.Finer()[0]; !got.Equal(ByWeek) {
		t.Errorf("finer than weeks starts with %s", got)
	}
	if got := All.Finer()[0]; !got.Equal(ByYear) {
		t.Errorf("finer than ALL starts with %s", got)
	}
}

func BenchmarkFloorAll(b *testing.B) {
	const rows = 4096
	sorted, shuffled := make([]int64, rows), make([]int64, rows)
	for i := range sorted {
		sorted[i] = 1_442_018_818_771 + int64(i)*2000
	}
	copy(shuffled, sorted)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range shuffled {
		shuffled[i] += r.Int64N(30 * Day)
	}
	dst := make([]int64, rows)
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		for _, period := range []string{"PT1M", "PT1H", "P1D", "P1M"} {
			g := granularityOf(b, period, zone, "")
			for name, src := range map[string][]int64{"sorted": sorted, "shuffled": shuffled} {
				b.Run(zone+"/"+period+"/"+name, func(b *testing.B) {
					for b.Loop() {
						g.FloorAll(dst, src)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
				})
			}
		}
	}
}

func TestListedBuckets(t *testing.T) {
	parse := func(text string) Interval {
		t.Helper()
		iv, err := ParseInterval(text)
		if err != nil {
			t.Fatal(err)
		}
		return iv
	}
	hour, days, later := parse("2024-01-01T03/2024-01-01T04"), parse("2024-01-02/2024-01-05"), parse("2024-01-05/2024-01-06")
	g, err := ChunkGranularity([]Interval{days, later, hour})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]Interval{
		"2024-01-01T03:00": hour, "2024-01-01T03:59:59.999": hour, "2024-01-04T23:59:59.999": days, "2024-01-05": later,
		"2024-01-01T04:00": {hour.End, days.Start}, "2023-01-01": {MinInstant, hour.Start}, "2024-01-06": {later.End, MaxInstant},
	} {
		ms, ok := ParseISO(at)
		if !ok {
			t.Fatal(at)
		}
		if got := g.Bucket(ms); got != want {
			t.Errorf("%s is in %s, want %s", at, got, want)
		}
		f := g.Floorer()
		if got := f.Floor(ms); got != want.Start {
			t.Errorf("%s has floor [%d], want [%d]", at, got, want.Start)
		}
	}
	if !g.Aligned(Interval{hour.Start, later.End}) || g.Aligned(Interval{hour.Start, later.End - 1}) || g.Finer() != nil {
		t.Error("buckets are not those listed")
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var back Granularity
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(g) || back.Equal(ByDay) {
		t.Errorf("%s: %s, %v", text, back, err)
	}
	if _, err := ChunkGranularity([]Interval{days, parse("2024-01-04/2024-01-07")}); err == nil {
		t.Error("buckets overlap")
	}
}
