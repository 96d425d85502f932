package batch

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/vector"
)

func interval(t *testing.T, text string) chrono.Interval {
	t.Helper()
	iv, err := chrono.ParseInterval(text)
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

func TestGroups(t *testing.T) {
	segments := []string{"2024-02-01/2024-03-01", "2024-01-01/2024-01-02", "2024-01-01/2024-01-02", "2024-01-02/2024-01-03", "2024-01-02T06:00/2024-01-02T07:00"}
	var sources []source
	for _, text := range segments {
		sources = append(sources, source{interval: interval(t, text)})
	}
	for _, c := range []struct{ spec, within, want string }{
		{`{"interval":"2024-01-01/2024-03-01"}`, "2024-01-01/2024-03-01", "2 2024-01-01/2024-01-02 DAY, 2 2024-01-02/2024-01-03 DAY, 1 2024-02-01/2024-03-01 MONTH"},
		{`{"interval":"2024-01-01/2024-03-01","segmentGranularity":"YEAR"}`, "2024-01-01/2025-01-01", "5 2024-01-01/2025-01-01 YEAR"},
		{`{"interval":"2024-01-01/2024-02-01","segmentGranularity":"WEEK"}`, "2024-01-01/2024-02-05", "5 2024-01-01/2024-02-05 WEEK"},
		{`{"interval":"2024-01-01/2024-03-01","segmentGranularity":"ALL"}`, "-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z",
			"5 -146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z ALL"},
	} {
		spec, err := spec.ParseCompaction(json.RawMessage(c.spec))
		if err != nil {
			t.Fatal(err)
		}
		within := searched(spec, "d")
		if within != interval(t, c.within) {
			t.Errorf("%s: searches %s, want %s", c.spec, within, c.within)
		}
		var got []string
		for _, g := range groupsOf(spec, within, sources) {
			text := strings.ReplaceAll(g.replaced.String(), "T00:00:00.000Z", "")
			got = append(got, strings.Join([]string{string(rune('0' + len(g.sources))), text, g.granularity.String()}, " "))
		}
		if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s: %s", c.spec, d)
		}
	}
}

func TestColumnsOfSegments(t *testing.T) {
	info := func(columns ...segment.ColumnInfo) source { return source{info: &segment.Info{Columns: columns}} }
	got := columnsOf([]source{
		info(segment.ColumnInfo{Name: "__time", Type: vector.Long}, segment.ColumnInfo{Name: "b", Type: vector.String}, segment.ColumnInfo{Name: "n", Type: vector.Long, Metric: "SUM"},
			segment.ColumnInfo{Name: "m", Type: vector.Long, Metric: "SUM"}),
		info(segment.ColumnInfo{Name: "a", Type: vector.Double}, segment.ColumnInfo{Name: "b", Type: vector.ListOf(vector.String), Multi: true},
			segment.ColumnInfo{Name: "n", Type: vector.Long, Metric: "SUM"}, segment.ColumnInfo{Name: "m", Type: vector.Long, Metric: "MAX"}),
	})
	var text []string
	for _, c := range got {
		text = append(text, c.name+" "+c.typ.Runtime().String()+" "+c.metric)
	}
	if d := cmp.Diff([]string{"b ARRAY<STRING> ", "n LONG SUM", "m LONG ", "a DOUBLE "}, text); d != "" {
		t.Error(d)
	}
}

func TestReport(t *testing.T) {
	c := fakeclock.New(time.UnixMilli(1_000_000))
	r := newReport(&task.Task{ID: "t"}, json.RawMessage(`{"x":1}`), c)
	p := r.add()
	p.enter("BUILD_SEGMENTS")
	p.build.processed.Add(100)
	c.Advance(10 * time.Second)
	var live struct {
		Stats struct {
			Payload struct {
				State string `json:"ingestionState"`
				Rows  struct {
					Averages map[string]map[string]map[string]float64 `json:"movingAverages"`
					Totals   map[string]map[string]int64
				} `json:"rowStats"`
			}
		} `json:"ingestionStatsAndErrors"`
	}
	if err := json.Unmarshal(r.live(), &live); err != nil {
		t.Fatal(err)
	}
	rows := live.Stats.Payload.Rows
	if rows.Averages["buildSegments"]["1m"]["processed"] != 10 || rows.Totals["buildSegments"]["processed"] != 100 || live.Stats.Payload.State != "BUILD_SEGMENTS" {
		t.Errorf("live: %+v", live)
	}
	for i := range 2000 { // a client that polls every second
		p.build.processed.Add(int64(i % 2))
		c.Advance(time.Second)
		r.live()
	}
	if err := json.Unmarshal(r.live(), &live); err != nil {
		t.Fatal(err)
	}
	if rate := live.Stats.Payload.Rows.Averages["buildSegments"]["1m"]["processed"]; rate < 0.4 || rate > 0.6 || len(p.mu.samples) > maxSamples+1 {
		t.Errorf("the rate is %v of %d samples", rate, len(p.mu.samples))
	}
	second := r.add()
	second.build.processed.Add(11)
	reads := loadOf(second, subtasksAt(""), "", 1, 10).reader(buildSegments, 0)
	for _, input := range []string{"x", "y"} {
		if err := reads.bad(input, "unparseable"); err != nil {
			t.Fatal(err)
		}
	}
	second.onePass()
	r.finish(errors.New("why"))
	final, err := r.final()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(final)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Payload struct {
			Error  *string                             `json:"errorMsg"`
			Rows   map[string]map[string]int64         `json:"rowStats"`
			Events map[string][]struct{ Input string } `json:"unparseableEvents"`
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if n := all["ingestionStatsAndErrors"].Payload.Rows["buildSegments"]["processed"]; n != 1111 {
		t.Errorf("together they processed %d", n)
	}
	last := all["ingestionStatsAndErrors_1"].Payload
	if last.Error == nil || *last.Error != "why" || all["ingestionStatsAndErrors_0"].Payload.Error != nil || last.Rows["determinePartitions"]["processed"] != 11 ||
		len(last.Events["buildSegments"]) != 1 || last.Events["determinePartitions"][0].Input != "x" {
		t.Errorf("the report is %s", text)
	}
}

func TestReportsThatKeepBadRecords(t *testing.T) {
	p := newPart(0)
	p.enter("BUILD_SEGMENTS")
	if shown := p.json(0); len(shown.Events) != 0 {
		t.Errorf("a load that keeps none shows %v", shown.Events)
	}
	p.saves = true
	p.finish(errors.New("why"))
	shown := p.json(0)
	if shown.State != "BUILD_SEGMENTS" || len(shown.Events) != 2 || shown.Events[buildSegments] == nil || shown.Events[determinePartitions] == nil {
		t.Errorf("%+v", shown)
	}
}
