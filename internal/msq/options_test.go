package msq

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasklock"
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
		!o.ArraysAsMultiValue || o.FinalizeAggregation || o.Timeout != 1500*time.Millisecond || !strings.HasPrefix(string(o.IndexSpec), `{"a":1,`) || !o.SortMergeJoin ||
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
		{map[string]any{"maxNumTasks": "many"}, "Expected key [maxNumTasks] to be in integer format, but got [many]"},
		{map[string]any{"rowsPerSegment": 0}, "[rowsPerSegment] must be a positive integer"},
		{map[string]any{"taskAssignment": "min"}, "Expected key [taskAssignment] to be referring to one of the values [MAX,AUTO] of enum [WorkerAssignmentStrategy], but got [min]"},
		{map[string]any{"maxNumTasks": "99999999999"}, "Expected key [maxNumTasks] to be in integer format, but got [99999999999]"},
		{map[string]any{"maxNumTasks": json.Number("1.9")}, "MSQ context maxNumTasks [1] cannot be less than 2, since at least 1 controller and 1 worker is necessary"},
		{map[string]any{"finalizeAggregations": 1}, "Expected key [finalizeAggregations] to be a Boolean, but got [java.lang.Integer]"},
		{map[string]any{"mode": "lax"}, "lax is an unknown multi stage query mode. Acceptable modes: [nonStrict, strict]"},
		{map[string]any{"segmentSortOrder": "a"}, "must start with[__time]"},
		{map[string]any{"segmentSortOrder": 7}, "Expected key [segmentSortOrder] to be a String, but got [java.lang.Integer]"},
		{map[string]any{"indexSpec": "no"}, "Expected key [indexSpec] to be an indexSpec, but got [no]"},
		{map[string]any{"indexSpec": `{"longEncoding":"short"}`}, `Expected key [indexSpec] to be an indexSpec, but got [{"longEncoding":"short"}]`},
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
		want    tasklock.Type
	}{
		{false, nil, tasklock.Shared}, {true, nil, tasklock.Exclusive},
		{false, map[string]any{"useConcurrentLocks": true}, tasklock.Append}, {true, map[string]any{"useConcurrentLocks": true}, tasklock.Replace},
		{true, map[string]any{"taskLockType": "replace"}, tasklock.Replace},
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

// Each parameter says what it must, and says which one is wrong.
func TestEveryParameter(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		set   func(o *Options)
		wrong any // nil: all values are taken
		want  string
	}{
		"maxNumTasks":            {"7", func(o *Options) { o.MaxNumTasks = 7 }, true, "to be an Integer, but got [java.lang.Boolean]"},
		"taskAssignment":         {"auto", func(o *Options) { o.AutoAssignment = true }, "min", "one of the values [MAX,AUTO] of enum [WorkerAssignmentStrategy], but got [min]"},
		"maxInputBytesPerWorker": {json.Number("10737418240"), func(o *Options) { o.MaxInputBytes = 10 << 30 }, -1, "a positive integer"},
		"maxInputFilesPerWorker": {9, func(o *Options) { o.MaxInputFiles = 9 }, 0, "a positive integer"},
		"finalizeAggregations":   {false, func(o *Options) { o.FinalizeAggregation = false }, 1, "to be a Boolean, but got [java.lang.Integer]"},
		"arrayIngestMode":        {"mvd", func(o *Options) { o.ArraysAsMultiValue = true }, "none", "one of the values [ARRAY,MVD] of enum [ArrayIngestMode], but got [none]"},
		"sqlJoinAlgorithm":       {"sortMerge", func(o *Options) { o.SortMergeJoin = true }, "hash", "to be one of [broadcast, sortMerge], but got [hash]"},
		"rowsPerSegment":         {5, func(o *Options) { o.RowsPerSegment = 5 }, "1.5", "to be in integer format, but got [1.5]"},
		"maxNumSegments":         {5, func(o *Options) { o.MaxNumSegments = 5 }, 0, "a positive integer"},
		"maxPartitions":          {5, func(o *Options) { o.MaxPartitions = 5 }, 0, "a positive integer"},
		"maxClusteredByColumns":  {5, func(o *Options) { o.MaxClusteredBy = 5 }, -1, "a positive integer"},
		"rowsInMemory":           {5, func(o *Options) { o.RowsInMemory = 5 }, "x", "to be in integer format, but got [x]"},
		"maxRowsInMemory":        {5, func(o *Options) { o.RowsInMemory = 5 }, "x", "to be in integer format, but got [x]"},
		"segmentSortOrder":       {[]any{"__time", "a"}, func(o *Options) { o.SegmentSortOrder = []string{"__time", "a"} }, 7, "to be a String, but got [java.lang.Integer]"},
		"forceSegmentSortByTime": {"false", func(o *Options) { o.SortByTime = false }, 2, "to be a Boolean, but got [java.lang.Integer]"},
		"indexSpec": {map[string]any{"a": 1}, func(o *Options) {
			o.IndexSpec = json.RawMessage(`{"a":1,"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","longEncoding":"longs","metricCompression":"lz4",` +
				`"stringDictionaryEncoding":{"type":"utf8"}}`)
		}, "[]", "to be an indexSpec, but got [[]]"},
		"useAutoColumnSchemas":         {true, func(o *Options) { o.AutoColumns = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"failOnEmptyInsert":            {true, func(o *Options) { o.FailOnEmptyInsert = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"waitUntilSegmentsLoad":        {true, func(o *Options) { o.WaitUntilLoaded = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"maxParseExceptions":           {3, func(o *Options) { o.MaxParseExceptions = 3 }, "x", "to be in long format, but got [x]"},
		"mode":                         {"nonStrict", func(o *Options) { o.MaxParseExceptions = -1 }, "lax", "lax is an unknown multi stage query mode"},
		"removeNullBytes":              {true, func(o *Options) { o.RemoveNullBytes = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"selectDestination":            {"durableStorage", func(o *Options) { o.DurableResults = true }, "x", "one of the values [TASKREPORT,DURABLESTORAGE] of enum [MSQSelectDestination], but got [x]"},
		"rowsPerPage":                  {5, func(o *Options) { o.RowsPerPage = 5 }, 0, "a positive integer"},
		"durableShuffleStorage":        {true, func(o *Options) { o.DurableShuffle = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"faultTolerance":               {true, func(o *Options) { o.FaultTolerance, o.DurableShuffle = true, true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"includeSegmentSource":         {"REALTIME", func(*Options) {}, "ALL", "one of the values [NONE,REALTIME] of enum [SegmentSource], but got [ALL]"},
		"clusterStatisticsMergeMode":   {"PARALLEL", func(*Options) {}, "BOTH", "one of the values [SEQUENTIAL,PARALLEL,AUTO] of enum [ClusterStatisticsMergeMode], but got [BOTH]"},
		"backgroundFetchExternalFiles": {false, func(*Options) {}, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"maxConcurrentStages":          {5, func(o *Options) { o.ConcurrentStages = 5 }, 0, "a positive integer"},
		"targetPartitionsPerWorker":    {5, func(o *Options) { o.TargetPartitions = 5 }, 0, "a positive integer"},
		"maxFrameSize":                 {5, func(o *Options) { o.MaxFrameSize = 5 }, 0, "a positive integer"},
		"maxThreads":                   {5, func(o *Options) { o.MaxThreads = 5 }, 0, "a positive integer"},
		"maxRowsMaterializedInWindow":  {5, func(o *Options) { o.MaxWindowRows = 5 }, 0, "a positive integer"},
		"includeAllCounters":           {false, func(o *Options) { o.AllCounters = false }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"storeCompactionState":         {true, func(o *Options) { o.StoreCompaction = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"useConcurrentLocks":           {true, func(o *Options) { o.ConcurrentLocks = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"taskLockType":                 {"append", func(o *Options) { o.LockType = tasklock.Append }, nil, ""},
		"isReindex":                    {true, func(o *Options) { o.Reindex = true }, []any{true}, "to be a Boolean, but got [java.util.ArrayList]"},
		"priority":                     {-3, func(o *Options) { o.Priority = -3 }, "x", "to be in integer format, but got [x]"},
		"timeout":                      {1500, func(o *Options) { o.Timeout = 1500 * time.Millisecond }, "x", "to be in long format, but got [x]"},
		"queryDeadline":                {"1970-01-01T00:00:01Z", func(o *Options) { o.Deadline = time.UnixMilli(1000).UTC() }, "x", ""},
	} {
		want, err := ParseOptions(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.set(want)
		got, err := ParseOptions(map[string]any{name: c.value})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.Deadline = got.Deadline.UTC()
		if want.Deadline.IsZero() {
			got.Deadline = want.Deadline
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.wrong == nil {
			continue
		}
		_, err = ParseOptions(map[string]any{name: c.wrong})
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput || !strings.Contains(f.Message, name) || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: [%v] gets %v, want %q", name, c.wrong, err, c.want)
		}
	}
}
