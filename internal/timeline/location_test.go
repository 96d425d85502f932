package timeline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
)

func TestLoadSpecsComeBack(t *testing.T) {
	id := SegmentID{DataSource: "wiki", Version: "2026-03-01T00:00:00.000Z", Interval: chrono.Interval{Start: 0, End: chrono.Day}, Partition: 3}
	other := id
	other.DataSource, other.Version, other.Interval.End = "p", "v", 2*chrono.Day
	for _, text := range []string{
		`{"type":"local","path":"/deep/segments/wiki/1970-01-01T00:00:00.000Z_1970-01-02T00:00:00.000Z/2026-03-01T00:00:00.000Z/3/0123456789abcdef.segment"}`,
		`{"type":"s3_zip","bucket":"wiki","key":"wikiwiki/wik"}`, `{"type":"local","path":"` + "\u00e4\u0001" + `"}`, `{"path":"\\u0001wiki\u0002"}`, `{}`, `wiki`, "\x01", "\x04wiki",
	} {
		s := (&Segment{ID: id, Shard: Numbered{Partition: 3}}).Locate(json.RawMessage(text))
		if got := string(s.LoadSpec()); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
		if got := s.LoadSpecEnd(); !strings.HasSuffix(text, got) {
			t.Errorf("the end of %q is %q", text, got)
		}
		if got := string(s.WithID(other, s.Shard).LoadSpec()); got != text {
			t.Errorf("%q under another id is %q", text, got)
		}
	}
	if s := (&Segment{ID: id}).Locate(nil); s.IsLocated() || s.LoadSpec() != nil {
		t.Errorf("no load spec is %q", s.LoadSpec())
	}
}

func FuzzLocate(f *testing.F) {
	f.Add("wiki", "v", int64(0), int64(1), "wiki v 1970-01-01T00:00:00.000Z")
	f.Add("1", "9", int64(-1), int64(19), "\x01\x02")
	f.Fuzz(func(t *testing.T, dataSource, version string, start, end int64, text string) {
		id := SegmentID{DataSource: dataSource, Version: version, Interval: chrono.Interval{Start: start, End: end}}
		if text == "" {
			return // none
		}
		s := (&Segment{ID: id}).Locate(json.RawMessage(text))
		if got := string(s.LoadSpec()); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}
