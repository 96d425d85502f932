package msq

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

func TestOptionsDefaults(t *testing.T) {
	o, err := ParseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{MaxNumTasks: 2, MaxInputBytes: 536870912, MaxInputFiles: 10000, FinalizeAggregation: true, RowsPerSegment: 3000000, MaxPartitions: 25000,
		MaxClusteredBy: 1500, RowsInMemory: 100000, SortByTime: true, RowsPerPage: 100000, MaxFrameSize: 1000000, AllCounters: true,
		Priority: 50, TargetPartitions: 1, ConcurrentStages: 1}
	if d := cmp.Diff(want, o); d != "" {
		t.Error(d)
	}
}

func TestOptionsReadTexts(t *testing.T) {
	o, err := ParseOptions(map[string]any{"numTasks": json.Number("5"), "taskAssignment": "AUTO", "rowsPerSegment": "7", "mode": "nonStrict",
		"segmentSortOrder": "__time, a", "arrayIngestMode": "mvd", "finalizeAggregations": "false", "timeout": 1500.0, "indexSpec": `{"a":1}`,
		"sqlJoinAlgorithm": "sortMerge", "selectDestination": "durableStorage", "unknown": []any{1}})
	if err != nil {
		t.Fatal(err)
	}
	if o.MaxNumTasks != 5 || !o.AutoAssignment || o.RowsPerSegment != 7 || o.MaxParseExceptions != -1 || strings.Join(o.SegmentSortOrder, "|") != "__time|a" ||
		!o.ArraysAsMultiValue || o.FinalizeAggregation || o.Timeout != 1500*time.Millisecond || string(o.IndexSpec) != `{"a":1}` || !o.SortMergeJoin ||
		!o.DurableResults {
		t.Errorf("%+v", o)
	}
	o, err = ParseOptions(map[string]any{"mode": "strict", "maxParseExceptions": 3, "rowsInMemory": 5, "maxRowsInMemory": 6})
	if err != nil || o.MaxParseExceptions != 3 || o.RowsInMemory != 6 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		want    string
	}{
		{map[string]any{"maxNumTasks": 1}, "MSQ context maxNumTasks [1] cannot be less than 2, since at least 1 controller and 1 worker is necessary"},
		{map[string]any{"maxNumTasks": "many"}, "[maxNumTasks] must be an integer"},
		{map[string]any{"rowsPerSegment": 0}, "[rowsPerSegment] must be a positive integer"},
		{map[string]any{"taskAssignment": "min"}, "[taskAssignment] must be one of [max, auto], but it is [min]"},
		{map[string]any{"finalizeAggregations": "perhaps"}, "must be true or false"},
		{map[string]any{"segmentSortOrder": "a"}, "must start with[__time]"},
		{map[string]any{"segmentSortOrder": 7}, "must be a list of columns"},
		{map[string]any{"indexSpec": "no"}, "must be an object"},
	} {
		_, err := ParseOptions(c.context)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput || !strings.Contains(f.Message, c.want) {
			t.Errorf("%v: got %v, want %q", c.context, err, c.want)
		}
	}
}

func TestJobsThatCanNotBeSubmitted(t *testing.T) {
	b := newBench(t)
	format := insert(t)
	format.Input.(*plan.Project).Input.(*plan.External).Format = json.RawMessage(`{"type":"frob"}`)
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{Plan: format}, "could not resolve type id 'frob'"},
		{Job{Plan: insert(t), Context: map[string]any{"taskLockType": "EXCLUSIVE"}},
			"TaskLock must be of type [SHARED] or [APPEND] for a INSERT query. Found invalid type [EXCLUSIVE]"},
		{Job{Plan: insert(t), Context: map[string]any{"maxNumTasks": 0}}, "maxNumTasks [0] cannot be less than 2"},
	} {
		if _, err := New(c.job, b.deps); fault.Find(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestLocksOfStatements(t *testing.T) {
	for _, c := range []struct {
		replace bool
		context map[string]any
		want    LockType
	}{
		{false, nil, Shared}, {true, nil, Exclusive},
		{false, map[string]any{"useConcurrentLocks": true}, Append}, {true, map[string]any{"useConcurrentLocks": true}, Replace},
		{true, map[string]any{"taskLockType": "replace"}, Replace},
	} {
		w := insert(t)
		w.Replace, w.ReplaceAll = c.replace, c.replace
		job, err := New(Job{ID: "q", Plan: w, Context: c.context}, Deps{})
		if err != nil {
			t.Fatal(err)
		}
		if got := job.opts.Lock(w.Replace); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestWhyTheShardSpec(t *testing.T) {
	for _, c := range []struct {
		cluster []int
		replace bool
		columns int
		details string
	}{
		{nil, false, 0, "the query is inserting rows"},
		{nil, true, 0, "does not have a CLUSTERED BY clause"},
		{[]int{1}, true, 1, "Using RangeShardSpec to generate segments."},
		{[]int{2}, true, 0, "RangeShardSpec needs VARCHAR"},
		{[]int{1, 2}, true, 1, "Using only[1] CLUSTERED BY columns"},
	} {
		w := insert(t)
		w.Replace, w.Cluster = c.replace, c.cluster
		columns, kind, details := shardColumns(w)
		if len(columns) != c.columns || !strings.Contains(details, c.details) || (kind == "DimensionRangeShardSpec") != (c.columns > 0) {
			t.Errorf("%+v: %v %s %s", c, columns, kind, details)
		}
	}
}
