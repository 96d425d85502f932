package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
)

// Tests write segments as "from-to:version:partition/core", with one character per instant, or a
// kind in place of "partition/core".
func segments(t testing.TB, texts string) []*Segment {
	t.Helper()
	var list []*Segment
	for text := range strings.FieldsSeq(texts) {
		var id SegmentID
		var rest string
		id.DataSource = "d"
		if _, err := fmt.Sscanf(strings.NewReplacer("-", " ", ":", " ").Replace(text), "%d %d %s %s", &id.Interval.Start, &id.Interval.End, &id.Version, &rest); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var shard ShardSpec
		var core int
		switch {
		case rest == "T":
			shard = Tombstone{}
		case rest == "N":
			shard = None{}
		case strings.HasPrefix(rest, "L"):
			var s Linear
			fmt.Sscanf(rest, "L%d", &s.Partition)
			shard = s
		case strings.HasPrefix(rest, "O"): // O<partition>.<rootStart>.<rootEnd>.<minor>.<group>
			var s NumberedOverwrite
			if _, err := fmt.Sscanf(rest, "O%d.%d.%d.%d.%d", &s.Partition, &s.RootStart, &s.RootEnd, &s.Minor, &s.GroupSize); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			shard = s
		case strings.HasPrefix(rest, "S"): // S<partition>,<start>,<end> without core size
			parts := strings.Split(rest[1:], ",")
			s := Single{Dimension: "x", Core: UnknownCore}
			fmt.Sscan(parts[0], &s.Partition)
			if parts[1] != "" {
				s.Start = &parts[1]
			}
			if parts[2] != "" {
				s.End = &parts[2]
			}
			shard = s
		default:
			if _, err := fmt.Sscanf(rest, "%d/%d", &id.Partition, &core); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			shard = Numbered{Partition: id.Partition, Core: core}
		}
		id.Partition = shard.PartitionNum()
		list = append(list, &Segment{ID: id, Shard: shard, Size: 1})
	}
	return list
}

func name(s *Segment) string {
	return fmt.Sprintf("%d-%d:%s:%d", s.ID.Interval.Start, s.ID.Interval.End, s.ID.Version, s.ID.Partition)
}

func show(holders []Holder) string {
	var parts []string
	for _, h := range holders {
		var partitions []string
		for _, s := range h.Segments() {
			partitions = append(partitions, fmt.Sprint(s.ID.Partition))
		}
		parts = append(parts, fmt.Sprintf("%d-%d:%s[%s]", h.Interval.Start, h.Interval.End, h.Version(), strings.Join(partitions, " ")))
	}
	return strings.Join(parts, " ")
}

func TestLookup(t *testing.T) {
	all := []chrono.Interval{{Start: 0, End: 100}}
	for _, tt := range []struct {
		name, segments string
		lookup         []chrono.Interval
		want, hidden   string
	}{
		{"empty", "", all, "", ""},
		{"one", "10-20:a:0/1", all, "10-20:a[0]", ""},
		{"clipped", "10-20:a:0/1", []chrono.Interval{{Start: 12, End: 15}}, "12-15:a[0]", ""},
		{"outside", "10-20:a:0/1", []chrono.Interval{{Start: 20, End: 25}, {Start: 0, End: 10}}, "", ""},
		{"several intervals, any order", "10-20:a:0/1", []chrono.Interval{{Start: 15, End: 25}, {Start: 5, End: 12}, {Start: 11, End: 12}}, "10-12:a[0] 15-20:a[0]", ""},
		{"newer hides", "10-20:a:0/1 10-20:b:0/1", all, "10-20:b[0]", "10-20:a:0"},
		{"newer in the middle", "10-40:a:0/1 20-30:b:0/1", all, "10-20:a[0] 20-30:b[0] 30-40:a[0]", ""},
		{"newer over many", "10-20:a:0/1 20-30:a:0/1 30-40:a:0/1 10-40:b:0/1", all, "10-40:b[0]", "10-20:a:0 20-30:a:0 30-40:a:0"},
		{"many over one", "10-30:a:0/1 10-20:b:0/1 20-30:b:0/1", all, "10-20:b[0] 20-30:b[0]", "10-30:a:0"},
		{"newer overlaps start", "10-30:a:0/1 5-15:b:0/1", all, "5-15:b[0] 15-30:a[0]", ""},
		{"newer overlaps end", "10-30:a:0/1 25-35:b:0/1", all, "10-25:a[0] 25-35:b[0]", ""},
		{"older longer", "0-100:a:0/1 10-20:b:0/1 30-40:c:0/1", all, "0-10:a[0] 10-20:b[0] 20-30:a[0] 30-40:c[0] 40-100:a[0]", ""},
		{"core incomplete", "10-20:a:0/1 10-20:b:0/2", all, "10-20:a[0]", ""},
		{"core complete", "10-20:a:0/1 10-20:b:0/2 10-20:b:1/2", all, "10-20:b[0 1]", "10-20:a:0"},
		{"core gap", "10-20:b:0/3 10-20:b:2/3", all, "", ""},
		{"appended to core", "10-20:b:0/1 10-20:b:5/1", all, "10-20:b[0 5]", ""},
		{"appended without core", "10-20:b:1/1 10-20:b:5/1", all, "", ""},
		{"core size 0", "10-20:b:3/0", all, "10-20:b[3]", ""},
		{"linear", "10-20:b:L4 10-20:b:L7", all, "10-20:b[4 7]", ""},
		{"none", "10-20:b:N", all, "10-20:b[0]", ""},
		{"tombstone", "10-20:a:0/1 10-20:b:T", all, "10-20:b[0]", "10-20:a:0"},
		{"tombstone part", "10-20:a:0/1 12-14:b:T", all, "10-12:a[0] 12-14:b[0] 14-20:a[0]", ""},
		{"append over tombstone", "10-20:a:0/1 10-20:b:T 10-20:b:1/1", all, "10-20:b[0 1]", "10-20:a:0"},
		{"incomplete below newer is hidden", "10-20:a:0/2 10-20:b:0/1", all, "10-20:b[0]", "10-20:a:0"},
		{"incomplete above hides nothing", "10-20:a:0/1 10-20:b:0/2", all, "10-20:a[0]", ""},
		{"versions are texts", "10-20:v10:0/1 10-20:v9:0/1", all, "10-20:v9[0]", "10-20:v10:0"},
		{"equal versions: later start wins, nothing is hidden for good", "10-20:a:0/1 15-20:a:0/1", all, "10-15:a[0] 15-20:a[0]", ""},
		{"unknown core, closed", "10-20:a:S0,,m 10-20:a:S1,m,", all, "10-20:a[0 1]", ""},
		{"unknown core, open", "10-20:a:S0,,m 10-20:a:S1,n,", all, "", ""},
		{"minor version", "10-20:a:0/2 10-20:a:1/2 10-20:a:O32768.0.1.1.1", all, "10-20:a[1 32768]", "10-20:a:0"},
		{"minor version stands for removed root", "10-20:a:1/2 10-20:a:O32768.0.1.1.1", all, "10-20:a[1 32768]", ""},
		{"minor version incomplete", "10-20:a:0/2 10-20:a:1/2 10-20:a:O32768.0.1.1.2", all, "10-20:a[0 1]", ""},
		{"minor over minor", "10-20:a:O32768.0.1.1.1 10-20:a:O32769.0.1.2.1", all, "10-20:a[32769]", "10-20:a:32768"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tl *Timeline
			tl = tl.Apply(Added(segments(t, tt.segments)...))
			if got := show(tl.Lookup(tt.lookup...)); got != tt.want {
				t.Errorf("visible: got %q, want %q", got, tt.want)
			}
			var hidden []string
			for _, s := range tl.FindFullyOvershadowed() {
				hidden = append(hidden, name(s))
				if !tl.SegmentIsOvershadowed(s) {
					t.Errorf("SegmentIsOvershadowed(%s) disagrees", name(s))
				}
			}
			if got := strings.Join(hidden, " "); got != tt.hidden {
				t.Errorf("overshadowed: got %q, want %q", got, tt.hidden)
			}
		})
	}
}

func TestLookupIncomplete(t *testing.T) {
	var tl *Timeline
	tl = tl.Apply(Added(segments(t, "10-20:a:0/1 10-20:b:0/2")...))
	if got := show(tl.LookupIncomplete(chrono.Interval{Start: 0, End: 50})); got != "10-20:b[0]" {
		t.Errorf("got %q", got)
	}
}

func TestApplySharesAndKeeps(t *testing.T) {
	var before *Timeline
	before = before.Apply(Added(segments(t, "10-20:a:0/1 20-30:a:0/1")...))
	after := before.Apply(append(
		Added(segments(t, "10-20:b:0/1")...),
		Change{ID: segments(t, "20-30:a:0/1")[0].ID},
		Change{ID: segments(t, "90-99:zz:0/1")[0].ID},
	))
	iv := chrono.Interval{Start: 0, End: 100}
	if got := show(before.Lookup(iv)); got != "10-20:a[0] 20-30:a[0]" {
		t.Errorf("the old timeline changed: %s", got)
	}
	if got := show(after.Lookup(iv)); got != "10-20:b[0]" {
		t.Errorf("the new timeline: %s", got)
	}
	if before.Len() != 2 || after.Len() != 2 || after.Bytes() != 2 {
		t.Errorf("lengths: %d, %d; bytes %d", before.Len(), after.Len(), after.Bytes())
	}
	replaced := *segments(t, "10-20:b:0/1")[0]
	replaced.Size = 5
	after = after.Apply(Added(&replaced))
	if after.Len() != 2 || after.Bytes() != 6 || after.Segment(replaced.ID) != &replaced {
		t.Errorf("replacing a descriptor: %d segments, %d bytes", after.Len(), after.Bytes())
	}
}

func TestTombstoneIntervals(t *testing.T) {
	day := func(from, to int64) chrono.Interval {
		return chrono.Interval{Start: from * chrono.Day, End: to * chrono.Day}
	}
	daily, err := chrono.ParseGranularity("day")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		drop, used []chrono.Interval
		want       []chrono.Interval
	}{
		{"nothing used", []chrono.Interval{day(0, 10)}, nil, nil},
		{"one bucket each", []chrono.Interval{day(0, 10)}, []chrono.Interval{day(2, 4), day(8, 12)}, []chrono.Interval{day(2, 3), day(3, 4), day(8, 9), day(9, 10)}},
		{"finer data, one bucket once", []chrono.Interval{day(0, 10)},
			[]chrono.Interval{{Start: chrono.Hour, End: 2 * chrono.Hour}, {Start: 5 * chrono.Hour, End: 6 * chrono.Hour}}, []chrono.Interval{day(0, 1)}},
		{"hole of the new segments", []chrono.Interval{day(0, 2), day(3, 4)}, []chrono.Interval{day(0, 4)}, []chrono.Interval{day(0, 1), day(1, 2), day(3, 4)}},
		{"without start", []chrono.Interval{{Start: chrono.MinInstant, End: 2 * chrono.Day}}, []chrono.Interval{chrono.Eternity},
			[]chrono.Interval{{Start: chrono.MinInstant, End: 2 * chrono.Day}}},
	} {
		got, err := TombstoneIntervals(tt.drop, tt.used, daily, 10)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if _, err := TombstoneIntervals([]chrono.Interval{day(0, 11)}, []chrono.Interval{day(0, 11)}, daily, 10); err == nil {
		t.Error("eleven buckets passed a limit of ten")
	}
}
