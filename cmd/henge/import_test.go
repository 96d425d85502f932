package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

func TestTaskGroups(t *testing.T) {
	var list []*timeline.Segment
	add := func(dataSource string, days, partitions int) {
		for d := days; d > 0; d-- {
			for p := range partitions {
				list = append(list, &timeline.Segment{ID: timeline.SegmentID{
					DataSource: dataSource, Interval: chrono.Interval{Start: int64(d) * chrono.Day, End: int64(d+1) * chrono.Day}, Version: "v", Partition: p,
				}, Size: 1})
			}
		}
	}
	add("a", 30, 4)
	add("b", 1, 120)
	var got []string
	for _, g := range taskGroups(list) {
		got = append(got, fmt.Sprintf("%s %d from day %d", g[0].ID.DataSource, len(g), g[0].ID.Interval.Start/chrono.Day))
	}
	// Chunks are not cut, datasources take turns, the newest come first.
	want := []string{"a 52 from day 30", "b 120 from day 1", "a 52 from day 17", "a 16 from day 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMovedSegments(t *testing.T) {
	for spec, want := range map[string]string{
		`{"type":"local","path":"/var/druid/segments/wiki/2026/v/0/index.zip"}`: `{"type":"local","path":"/mnt/old/wiki/2026/v/0/index.zip"}`,
		`{"type":"s3_zip","bucket":"b","key":"k"}`:                              `{"type":"s3_zip","bucket":"b","key":"k"}`,
	} {
		got, err := movedSpec(json.RawMessage(spec), "wiki", "/mnt/old")
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", spec, got, err)
		}
	}
	if _, err := movedSpec(json.RawMessage(`{"type":"local","path":"/elsewhere/0"}`), "wiki", "/mnt"); err == nil || !strings.Contains(err.Error(), "does not name") {
		t.Errorf("got %v", err)
	}
}
