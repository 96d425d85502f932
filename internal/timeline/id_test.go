package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
)

func interval(t testing.TB, text string) chrono.Interval {
	t.Helper()
	iv, err := chrono.ParseInterval(text)
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

func TestSegmentIDText(t *testing.T) {
	day := interval(t, "2025-03-01/2025-03-02")
	const dayText = "2025-03-01T00:00:00.000Z_2025-03-02T00:00:00.000Z"
	for _, tt := range []struct {
		id   SegmentID
		text string
	}{
		{SegmentID{"wiki", day, "2025-03-04T09:12:33.120Z", 0}, "wiki_" + dayText + "_2025-03-04T09:12:33.120Z"},
		{SegmentID{"wiki", day, "2025-03-04T09:12:33.120Z", 1}, "wiki_" + dayText + "_2025-03-04T09:12:33.120Z_1"},
		{SegmentID{"wiki", day, "v", 10}, "wiki_" + dayText + "_v_10"},
		{SegmentID{"a_b_c", day, "v_x", 0}, "a_b_c_" + dayText + "_v_x"},
		{SegmentID{"a b", day, "1970-01-01T00:00:00.000ZS", 3}, "a b_" + dayText + "_1970-01-01T00:00:00.000ZS_3"},
		{SegmentID{"all", chrono.Eternity, "v", 0}, "all_-146136543-09-08T08:23:32.096Z_146140482-04-24T15:36:27.903Z_v"},
	} {
		if got := tt.id.String(); got != tt.text {
			t.Errorf("text of %+v: got %s, want %s", tt.id, got, tt.text)
		}
		if got, ok := ParseID(tt.id.DataSource, tt.text); !ok || got != tt.id {
			t.Errorf("ParseID(%s): got %+v, %v, want %+v", tt.text, got, ok, tt.id)
		}
		found := false
		for _, id := range ParseAnyID(tt.text) {
			found = found || id == tt.id
		}
		if !found {
			t.Errorf("ParseAnyID(%s) does not have %+v: %+v", tt.text, tt.id, ParseAnyID(tt.text))
		}
	}
}

func TestParseIDReadings(t *testing.T) {
	day := interval(t, "2025-03-01/2025-03-02")
	const prefix = "wiki_2025-03-01T00:00:00.000Z_2025-03-02T00:00:00.000Z_"
	for _, tt := range []struct {
		text string
		want []SegmentID
	}{
		{prefix + "v_2", []SegmentID{{"wiki", day, "v", 2}, {"wiki", day, "v_2", 0}}},
		{prefix + "v_0", []SegmentID{{"wiki", day, "v_0", 0}}},
		{prefix + "v_01", []SegmentID{{"wiki", day, "v_01", 0}}},
		{prefix + "v_-1", []SegmentID{{"wiki", day, "v_-1", 0}}},
		{prefix + "v_99999999999", []SegmentID{{"wiki", day, "v_99999999999", 0}}},
		{prefix + "_5", []SegmentID{{"wiki", day, "_5", 0}}},
		{prefix + "7", []SegmentID{{"wiki", day, "7", 0}}},
		{prefix, nil},
		{"wiki_2025-03-02T00:00:00.000Z_2025-03-01T00:00:00.000Z_v", nil},
		{"wiki_2025-03-01T00:00:00.000Z_x_v", nil},
		{"other" + prefix + "v", nil},
		{"wiki", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(tt.want, ParseIDs("wiki", tt.text)); diff != "" {
			t.Errorf("ParseIDs(%s): %s", tt.text, diff)
		}
	}
}

func FuzzParseAnyID(f *testing.F) {
	f.Add("wiki_2025-03-01T00:00:00.000Z_2025-03-02T00:00:00.000Z_v_1")
	f.Add("a_b_-146136543-09-08T08:23:32.096Z_146140482-04-24T15:36:27.903Z_1970-01-01T00:00:00.000ZS")
	f.Add("_____")
	f.Fuzz(func(t *testing.T, text string) {
		for _, id := range ParseAnyID(text) {
			again, ok := ParseID(id.DataSource, id.String())
			if !ok {
				t.Fatalf("%q was read as %+v, whose text %q can't be read", text, id, id)
			}
			if again.String() != id.String() {
				t.Fatalf("%q was read as %+v, whose text is read as %+v", text, id, again)
			}
		}
	})
}
