package chrono

import (
	"math"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestTimestampFormat(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"auto", "2015-09-12T00:46:58.771Z", "2015-09-12T00:46:58.771Z"},
		{"", "2015-09-12 00:46:58", "2015-09-12T00:46:58.000Z"},
		{"AUTO", "1442018818771", "2015-09-12T00:46:58.771Z"},
		{"auto", `"2015-09-12"`, "2015-09-12T00:00:00.000Z"},
		{"auto", "2009-02-13 23:31:30 UTC", "2009-02-13T23:31:30.000Z"},
		{"auto", "2009-02-13T23:31:30 America/Los_Angeles", "2009-02-14T07:31:30.000Z"},
		{"auto", "2009-02-13 23:31:30 PST", "2009-02-14T07:31:30.000Z"},
		{"auto", "2009-02-13 23:31:30 Nowhere", ""},
		{"auto", "", ""},
		{"auto", "-5", "-0005-01-01T00:00:00.000Z"},
		{"auto", "99999999999999999999", ""},
		{"iso", "2015-09-12T00:46:58+02:00", "2015-09-11T22:46:58.000Z"},
		{"iso", "2015-09-12 00:46:58", ""},
		{"iso", "1442018818771", "2015-09-12T00:46:58.771Z"},
		{"iso", "2015", "2015-01-01T00:00:00.000Z"},
		{"posix", "1442018818", "2015-09-12T00:46:58.000Z"},
		{"Posix", `"1442018818"`, "2015-09-12T00:46:58.000Z"},
		{"posix", "9223372036854775807", ""},
		{"millis", "1442018818771", "2015-09-12T00:46:58.771Z"},
		{"millis", "12.5", ""},
		{"micro", "1442018818771999", "2015-09-12T00:46:58.771Z"},
		{"nano", "1442018818771999999", "2015-09-12T00:46:58.771Z"},
		{"ruby", "1442018818.771", "2015-09-12T00:46:58.771Z"},
		{"ruby", "NaN", ""},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2015-09-12 00:46:58.771", "2015-09-12T00:46:58.771Z"},
		{"dd/MMM/yyyy:HH:mm:ss Z", "12/Sep/2015:00:46:58 +0200", "2015-09-11T22:46:58.000Z"},
		{"yyyy", "x", ""},
	} {
		f, err := ParseTimestampFormat(c.format)
		if err != nil {
			t.Errorf("%q: %v", c.format, err)
			continue
		}
		ms, ok := f.Parse(c.text)
		got := ""
		if ok {
			got = FormatMillis(ms, UTC)
		}
		if got != c.want {
			t.Errorf("%s of %q: %q, want %q", f, c.text, got, c.want)
		}
	}
	if _, err := ParseTimestampFormat("unknown"); fault.Find(err) == nil {
		t.Errorf("an unknown format gives %v", err)
	}
}

func TestTimestampFormatOfNumbers(t *testing.T) {
	for _, c := range []struct {
		format string
		v      float64
		want   int64
		ok     bool
	}{
		{"auto", 1442018818771.9, 1442018818771, true}, {"posix", 1.9, 1000, true}, {"ruby", 1.9, 1900, true}, {"yyyy", 1971, 365 * Day, true},
		{"iso", 1971, 365 * Day, true}, {"millis", math.NaN(), 0, false}, {"millis", math.Inf(1), 0, false}, {"millis", -1e300, 0, false},
	} {
		f, err := ParseTimestampFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Float(c.v); ok != c.ok || ok && got != c.want {
			t.Errorf("%s of %v: %d, %v", c.format, c.v, got, ok)
		}
	}
}
