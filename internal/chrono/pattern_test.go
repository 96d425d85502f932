package chrono

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestCompilePatternRefuses(t *testing.T) {
	for _, c := range []struct{ text, names string }{
		{"", "[]"}, {"foo", "[f]"}, {"Q", "[Q]"}, {"yyyy-bb", "[bb]"}, {"millis", "[i]"}, {strings.Repeat("y", 600), "512"},
	} {
		_, err := CompilePattern(c.text)
		f := fault.Find(err)
		if f == nil || f.Category != fault.CategoryInvalidInput || !strings.Contains(f.Message, c.names) {
			t.Errorf("%q: %v, want a fault with %s", c.text, err, c.names)
		}
	}
}

func TestPatternFormat(t *testing.T) {
	ms := instantOf(t, "2013-08-01T18:04:07.089Z")
	for _, c := range []struct{ pattern, zone, want string }{
		{"yyyy-MM-dd'T'HH:mm:ssZ", "America/Los_Angeles", "2013-08-01T11:04:07-0700"},
		{"dd-MM-yyyy hh:mm aa", "UTC", "01-08-2013 06:04 PM"},
		{"EEEE MMMM", "UTC", "Thursday August"},
		{"E MMM", "UTC", "Thu Aug"},
		{"xxxx-ww-e DDD yy y", "UTC", "2013-31-4 213 13 2013"},
		{"K k h H", "America/Los_Angeles", "11 11 11 11"},
		{"S SS SSSSSS", "UTC", "0 08 089000"},
		{"z ZZ ZZZ", "Asia/Kolkata", "IST +05:30 Asia/Kolkata"},
		{"zzzz", "UTC", "Coordinated Universal Time"},
		{"zzzz", "America/Los_Angeles", "Pacific Daylight Time"},
		{"z zzzz", "America/Sao_Paulo", "BRT Brasilia Standard Time"},
		{"z zzzz", "Pacific/Apia", "WSST Apia Standard Time"},
		{"z zzzz", "Pacific/Chatham", "CHAST Chatham Standard Time"},
		{"z zzzz", "America/Nuuk", "WGST West Greenland Summer Time"},
		{"z zzzz", "America/Mazatlan", "MDT Mexican Pacific Daylight Time"},
		{"z zzzz", "America/Punta_Arenas", "-04:00 -04:00"},
		{"z zzzz", "America/Chicago", "CDT Central Daylight Time"},
		{"z zzzz", "America/Havana", "CDT Cuba Daylight Time"},
		{"z zzzz", "America/Costa_Rica", "CST Central Standard Time"},
		{"z zzzz", "Asia/Shanghai", "CST China Standard Time"},
		{"z zzzz", "Asia/Kolkata", "IST India Standard Time"},
		{"z zzzz", "Europe/Dublin", "IST Irish Standard Time"},
		{"z zzzz", "Europe/London", "BST British Summer Time"},
		{"G C", "UTC", "AD 20"},
		{"''", "UTC", "'"},
		{"h 'o''clock' a", "UTC", "6 o'clock PM"},
		{"%Y", "UTC", "%2013"},
		{"'é' yyyy ü", "UTC", "é 2013 ü"},
	} {
		if got := pattern(t, c.pattern).Format(ms, zoneOf(t, c.zone)); got != c.want {
			t.Errorf("%q in %s: %q, want %q", c.pattern, c.zone, got, c.want)
		}
	}
}

func TestPatternParse(t *testing.T) {
	for _, c := range []struct{ pattern, zone, text, want string }{
		{"YYYY-MM-dd", "-05:00", "2005-11-01", "2005-11-01T05:00:00.000Z"},
		{"dd/MM/yy", "-05:00", "01/02/00", "2000-02-01T05:00:00.000Z"},
		{"yyyy-MM-dd h a", "UTC", "2000-01-02 3 PM", "2000-01-02T15:00:00.000Z"},
		{"MMMM d, yyyy", "UTC", "january 2, 2000", "2000-01-02T00:00:00.000Z"},
		{"yyyyMMdd", "UTC", "20000102", "2000-01-02T00:00:00.000Z"},
		{"yyyy-MM-dd HH:mm z", "UTC", "2000-01-02 03:04 PST", "2000-01-02T11:04:00.000Z"},
		{"yyyy-MM-dd HH:mm ZZZ", "-05:00", "2000-01-02 03:04 Europe/Berlin", "2000-01-02T02:04:00.000Z"},
		{"yyyy-MM-dd HH:mm ZZZ'!'", "UTC", "2000-01-02 03:04 Etc/GMT-1!", "2000-01-02T02:04:00.000Z"},
		{"yyyy-MM-dd HH:mm ZZZ", "UTC", "2000-01-02 03:04 Nowhere/Land", ""},
		{"dd/MMM/yyyy:HH:mm:ss Z", "UTC", "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36.000Z"},
		{"yyyy DDD", "UTC", "2000 366", "2000-12-31T00:00:00.000Z"},
		{"xxxx-'W'ww-e", "UTC", "2000-W05-3", "2000-02-02T00:00:00.000Z"},
		{"HH:mm", "-05:00", "12:34", "1970-01-01T17:34:00.000Z"},
		{"MM/dd", "UTC", "02/29", "2000-02-29T00:00:00.000Z"},
		{"kk:mm", "UTC", "24:34", "1970-01-01T00:34:00.000Z"},
		{"yy", "UTC", "46", "1946-01-01T00:00:00.000Z"},
		{"yy", "UTC", "45", "2045-01-01T00:00:00.000Z"},
		{"yy", "UTC", "145", "0145-01-01T00:00:00.000Z"},
		{"G yyyy", "UTC", "BC 0044", "0044-01-01T00:00:00.000Z"},
		{"G YYYY", "UTC", "BC 0044", "-0044-01-01T00:00:00.000Z"},
		{"EEE, dd MMM yyyy", "UTC", "Mon, 01 Aug 2013", "2013-07-29T00:00:00.000Z"}, // the weekday is set last, within the week
		{"yyyy-MM-dd", "UTC", "2000-01-02 03:04:05", ""},
		{"yyyy-MM-dd HH:mm", "UTC", "2000-01-02", ""},
		{"yyyy-MM-dd", "UTC", "2000-02-30", ""},
		{"yyyy", "UTC", "", ""},
		{"yyyy", "UTC", "999999999", ""},
		{"HH", "UTC", "24", ""},
	} {
		ms, ok := pattern(t, c.pattern).Parse(c.text, zoneOf(t, c.zone))
		got := ""
		if ok {
			got = FormatMillis(ms, UTC)
		}
		if got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("yyyy-MM-dd'T'HH:mm:ss.SSSZZ", "2000-01-02T03:04:05.678+05:30", int64(949550706789))
	f.Add("EEE, d MMM yy h a", "Sun, 2 Jan 00 3 PM", int64(-1))
	f.Add("xxxx-'W'ww-e ZZZ", "2000-W05-3 Europe/Berlin", int64(1)<<60)
	f.Add("G C Y D k K", "AD 20 2000 1 1 1", int64(-1)<<62)
	f.Fuzz(func(t *testing.T, format, text string, ms int64) {
		p, err := CompilePattern(format)
		if err != nil {
			if fault.Find(err) == nil {
				t.Fatalf("%q: %v is no fault", format, err)
			}
			return
		}
		p.Parse(text, UTC)
		p.Format(ms, UTC)
	})
}
