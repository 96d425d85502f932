package chrono

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestFormatRoundTripOverTheWholeRange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range testZones {
		z := zoneOf(t, name)
		for i := range 3000 {
			ms := r.Int64() - r.Int64()
			ms /= 2
			if i%2 == 0 {
				ms = r.Int64N(8_000_000_000_000) - 3_000_000_000_000
			}
			text := FormatMillis(ms, z)
			if got, ok := ParseISO(text); !ok || got != ms {
				t.Fatalf("%s: %d prints as %s, which parses as %d, %v", name, ms, text, got, ok)
			}
		}
	}
	for _, ms := range []int64{MinInstant, MaxInstant} {
		if got, ok := ParseISO(FormatMillis(ms, UTC)); !ok || got != ms {
			t.Errorf("%d comes back as %d, %v", ms, got, ok)
		}
	}
}

func TestFormatMillis(t *testing.T) {
	for _, c := range []struct {
		ms         int64
		zone, want string
	}{
		{0, "UTC", "1970-01-01T00:00:00.000Z"},
		{MinInstant, "UTC", "-146136543-09-08T08:23:32.096Z"},
		{MaxInstant, "UTC", "146140482-04-24T15:36:27.903Z"},
		{949_363_199_999, "Asia/Kolkata", "2000-02-01T05:29:59.999+05:30"},
		{-62_167_219_200_001, "UTC", "-0001-12-31T23:59:59.999Z"},
		{-62_167_190_822_000, "America/Los_Angeles", "0000-01-01T00:00:00.000-07:52:58"},
		{1_593_561_600_000, "Europe/London", "2020-07-01T01:00:00.000+01:00"},
		{1_577_836_800_000, "Europe/London", "2020-01-01T00:00:00.000Z"},
	} {
		if got := FormatMillis(c.ms, zoneOf(t, c.zone)); got != c.want {
			t.Errorf("%d in %s: %s, want %s", c.ms, c.zone, got, c.want)
		}
	}
	if got := string(AppendSQLTimestamp(nil, 949_550_706_789, UTC)); got != "2000-02-03 04:05:06" {
		t.Errorf("as VARCHAR: %s", got)
	}
	if got := string(AppendSQLDate(nil, 949_550_706_789, UTC)); got != "2000-02-03" {
		t.Errorf("as DATE: %s", got)
	}
}

func TestParseTimestamp(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{
		{"2000", "UTC", "2000-01-01T00:00:00.000Z"},
		{"2000-02", "America/Los_Angeles", "2000-02-01T08:00:00.000Z"},
		{"2000-01-02T03:04:05.6", "UTC", "2000-01-02T03:04:05.600Z"},
		{"2000-01-02 03:04:05,678901", "UTC", "2000-01-02T03:04:05.678Z"},
		{"2000-01-02t03:04:05z", "America/Los_Angeles", "2000-01-02T03:04:05.000Z"},
		{"2000-01-02 ", "UTC", "2000-01-02T00:00:00.000Z"},
		{"2000-01-02T+02", "UTC", "2000-01-01T22:00:00.000Z"},
		{"2000-W01", "UTC", "2000-01-03T00:00:00.000Z"},
		{"2000-366", "UTC", "2000-12-31T00:00:00.000Z"},
		{"10000-01-01", "UTC", "10000-01-01T00:00:00.000Z"},
		{"-1", "UTC", "-0001-01-01T00:00:00.000Z"},
		{"2000-02-30", "UTC", ""},
		{"2000-W53-7", "UTC", ""},
		{"2000-01-02T24:00:00", "UTC", ""},
		{"2000-01-02T23:59:60", "UTC", ""},
		{" 2000-01-02", "UTC", ""},
		{"2000-01-02 03:04:05 Z", "UTC", ""},
		{"2000-01-02T03:04:05 America/Los_Angeles", "UTC", ""},
		{"20000102T030405Z", "UTC", ""},
		{"946782245000", "UTC", ""},
		{"999999999-01-01", "UTC", ""},
		{"2020-03-08T02:30:00", "America/Los_Angeles", ""},
		{"", "UTC", ""},
		{"T10:00", "UTC", ""},
		{"not a time", "UTC", ""},
	} {
		ms, ok := ParseTimestamp(c.text, zoneOf(t, c.zone))
		got := ""
		if ok {
			got = FormatMillis(ms, UTC)
		}
		if got != c.want {
			t.Errorf("%q in %s: %s, want %s", c.text, c.zone, got, c.want)
		}
	}
	if _, ok := ParseISO("2000-01-02 03:04:05"); ok {
		t.Error("ParseISO took a blank for a T")
	}
	if _, err := ParseInstant(strings.Repeat("x", 1000)); fault.Find(err) == nil || len(err.Error()) > 300 {
		t.Errorf("ParseInstant: %v", err)
	}
}

func TestLiterals(t *testing.T) {
	la := zoneOf(t, "America/Los_Angeles")
	for _, c := range []struct{ text, want string }{
		{"2000-01-01 00:00:00", "2000-01-01T00:00:00.000-08:00"},
		{"2000-01-01 23:59:59.9", "2000-01-01T23:59:59.900-08:00"},
		{"2000-01-01 23:59:59.123456", "2000-01-01T23:59:59.123-08:00"},
		{"2020-03-08 02:30:00", "2020-03-08T03:30:00.000-07:00"},
		{"2000-01-01T00:00:00", ""},
		{"2000-1-1 1:2:3", "2000-01-01T01:02:03.000-08:00"},
		{"200-01-01 00:00:00", "0200-01-01T00:00:00.000-07:52:58"},
		{"2000-001-01 00:00:00", ""},
		{"2000-01-01  0:00:00", ""},
		{"2000-01-01 00:00", ""},
		{"2000-01-01 24:00:00", ""},
		{"2000-02-30 00:00:00", ""},
		{"2000-01-01 00:00:00.", ""},
		{"2000-01-01 00:00:00Z", ""},
		{"2000-01-01", ""},
		{"10000-01-01 00:00:00", ""},
	} {
		got := ""
		if ms, err := ParseTimestampLiteral(c.text, la); err == nil {
			got = FormatMillis(ms, la)
		}
		if got != c.want {
			t.Errorf("TIMESTAMP '%s': %q, want %q", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, zone, want string }{
		{"2000-01-01", "America/Los_Angeles", "2000-01-01T00:00:00.000-08:00"},
		{"2018-11-04", "America/Sao_Paulo", "2018-11-04T01:00:00.000-02:00"},
		{"2000-01-32", "UTC", ""},
		{"2000-01-01 ", "UTC", ""},
	} {
		z, got := zoneOf(t, c.zone), ""
		if ms, err := ParseDateLiteral(c.text, z); err == nil {
			got = FormatMillis(ms, z)
		}
		if got != c.want {
			t.Errorf("DATE '%s' in %s: %q, want %q", c.text, c.zone, got, c.want)
		}
	}
}

func FuzzParseTimestamp(f *testing.F) {
	for _, s := range []string{"2000-01-02T03:04:05.678Z", "2000-W05-3 10", "-44-366T1.5+05:30:15.2", "2000-1-2T3:4:5,6", ""} {
		f.Add(s)
	}
	berlin := zoneOf(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, s string) {
		for _, z := range []*Zone{UTC, berlin} {
			ms, ok := ParseTimestamp(s, z)
			if !ok {
				continue
			}
			if again, ok := ParseISO(FormatMillis(ms, z)); !ok || again != ms {
				t.Fatalf("%q is %d, whose text %s is %d, %v", s, ms, FormatMillis(ms, z), again, ok)
			}
		}
		if strict, ok := ParseISO(s); ok {
			if lenient, ok := ParseTimestamp(s, UTC); !ok || lenient != strict {
				t.Fatalf("%q: strict %d, lenient %d, %v", s, strict, lenient, ok)
			}
		}
	})
}

func BenchmarkParseTimestamp(b *testing.B) {
	for _, s := range []string{"2015-09-12T00:46:58.771Z", "2015-09-12 00:46:58"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				ParseTimestamp(s, UTC)
			}
		})
	}
}

func BenchmarkAppendMillis(b *testing.B) {
	var buf [40]byte
	for b.Loop() {
		AppendMillis(buf[:0], 1_442_018_818_771, UTC)
	}
}
