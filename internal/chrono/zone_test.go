package chrono

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

var testZones = []string{"UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
	"America/Havana", "Pacific/Apia", "America/St_Johns", "Africa/Casablanca", "+05:30", "-08:00"}

func TestLoadZone(t *testing.T) {
	for _, c := range []struct {
		name, want string
		offset     int64 // in July 2020
	}{
		{"UTC", "UTC", 0},
		{"Z", "UTC", 0},
		{"+00:00", "UTC", 0},
		{"Europe/Berlin", "Europe/Berlin", 2 * Hour},
		{"PST", "America/Los_Angeles", -7 * Hour},
		{"EST", "EST", -5 * Hour},
		{"Etc/GMT+5", "Etc/GMT+5", -5 * Hour},
		{"GMT+2", "+02:00", 2 * Hour},
		{"UTC-03:30", "-03:30", -3*Hour - 30*Minute},
		{"+0530", "+05:30", 5*Hour + 30*Minute},
		{"+05", "+05:00", 5 * Hour},
		{"US/Pacific", "US/Pacific", -7 * Hour},
	} {
		z, err := LoadZone(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := z.OffsetAt(1_593_561_600_000); got != c.offset || z.Name() != c.want {
			t.Errorf("%s: offset %d of %s, want %d of %s", c.name, got, z, c.offset, c.want)
		}
	}
	for _, name := range []string{"", "Foo/Bar", "+5", "5", "europe/berlin", "Local", "../UTC", "/etc/passwd", "+25:00", "GMT+", "+05:30x"} {
		_, err := LoadZone(name)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput {
			t.Errorf("%q: error %v, want invalid input", name, err)
		}
	}
}

func TestNilZoneIsUTC(t *testing.T) {
	var z *Zone
	if z.Name() != "UTC" || z.OffsetAt(0) != 0 || !z.IsUTC() || !z.Equal(UTC) || FormatMillis(0, z) != "1970-01-01T00:00:00.000Z" {
		t.Error("a nil zone must be UTC")
	}
}

func TestOffsetsAgreeWithTime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range testZones {
		z := zoneOf(t, name)
		if z.loc == nil {
			continue
		}
		cursor := z.Offsets()
		for range 3000 {
			ms := r.Int64N(15_000_000_000_000) - 5_000_000_000_000
			_, seconds := time.UnixMilli(ms).In(z.loc).Zone()
			if got := z.OffsetAt(ms); got != int64(seconds)*Second || cursor.At(ms) != got {
				t.Fatalf("%s at %d: offset %d, cursor %d, want %d s", name, ms, got, cursor.At(ms), seconds)
			}
			if start, end, _ := z.SpanAt(ms); ms < start || ms >= end {
				t.Fatalf("%s at %d: span [%d, %d)", name, ms, start, end)
			}
		}
	}
}

// TestLocalRoundTrip: every instant comes back from its local time, or an earlier one with the same
// local time does.
func TestLocalRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range testZones {
		z := zoneOf(t, name)
		for range 3000 {
			ms := r.Int64N(8_000_000_000_000) - 3_000_000_000_000
			local := z.ToLocal(ms)
			back, exists := z.ToUTC(local)
			if !exists || back > ms || z.ToLocal(back) != local {
				t.Fatalf("%s: %d comes back as %d, %v", name, ms, back, exists)
			}
		}
	}
}

func TestGapAndOverlap(t *testing.T) {
	z := zoneOf(t, "Europe/Berlin")
	gap, _ := ParseTimestamp("2020-03-29T02:30:00", UTC)
	if ms, exists := z.ToUTC(gap); exists || FormatMillis(ms, z) != "2020-03-29T03:30:00.000+02:00" {
		t.Errorf("gap: %s, exists %v", FormatMillis(ms, z), exists)
	}
	if got := FormatMillis(z.firstAt(gap), z); got != "2020-03-29T03:00:00.000+02:00" {
		t.Errorf("first instant after the gap: %s", got)
	}
	overlap, _ := ParseTimestamp("2020-10-25T02:30:00", UTC)
	if ms, exists := z.ToUTC(overlap); !exists || FormatMillis(ms, z) != "2020-10-25T02:30:00.000+02:00" {
		t.Errorf("overlap: %s, exists %v", FormatMillis(ms, z), exists)
	}
}

func TestZonesAtTheEndsOfTime(t *testing.T) {
	for _, name := range testZones {
		z := zoneOf(t, name)
		for _, ms := range []int64{math.MinInt64, MinInstant, tableEnd - 1, tableEnd, MaxInstant, math.MaxInt64} {
			start, end, _ := z.SpanAt(ms)
			if ms < start || ms > end {
				t.Errorf("%s at %d: span [%d, %d)", name, ms, start, end)
			}
			z.ToUTC(ms)
		}
	}
}
