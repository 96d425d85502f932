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

// Each parameter says what it must, and says which one is wrong.
func TestEveryParameter(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		set   func(o *Options)
		wrong any // nil: all values are taken
		want  string
	}{
		"maxNumTasks":                  {"7", func(o *Options) { o.MaxNumTasks = 7 }, true, "an integer"},
		"taskAssignment":               {"auto", func(o *Options) { o.AutoAssignment = true }, "min", "one of [max, auto]"},
		"maxInputBytesPerWorker":       {json.Number("10737418240"), func(o *Options) { o.MaxInputBytes = 10 << 30 }, -1, "a positive integer"},
		"maxInputFilesPerWorker":       {9, func(o *Options) { o.MaxInputFiles = 9 }, 0, "a positive integer"},
		"finalizeAggregations":         {false, func(o *Options) { o.FinalizeAggregation = false }, "no", "true or false"},
		"arrayIngestMode":              {"mvd", func(o *Options) { o.ArraysAsMultiValue = true }, "none", "one of [array, mvd]"},
		"sqlJoinAlgorithm":             {"sortMerge", func(o *Options) { o.SortMergeJoin = true }, "hash", "one of [broadcast, sortMerge]"},
		"rowsPerSegment":               {5, func(o *Options) { o.RowsPerSegment = 5 }, 1.5, "an integer"},
		"maxNumSegments":               {5, func(o *Options) { o.MaxNumSegments = 5 }, 0, "a positive integer"},
		"maxPartitions":                {5, func(o *Options) { o.MaxPartitions = 5 }, 1 << 40, "a positive integer"},
		"maxClusteredByColumns":        {5, func(o *Options) { o.MaxClusteredBy = 5 }, -1, "a positive integer"},
		"rowsInMemory":                 {5, func(o *Options) { o.RowsInMemory = 5 }, "x", "an integer"},
		"maxRowsInMemory":              {5, func(o *Options) { o.RowsInMemory = 5 }, "x", "an integer"},
		"segmentSortOrder":             {[]any{"__time", "a"}, func(o *Options) { o.SegmentSortOrder = []string{"__time", "a"} }, 7, "a list of columns"},
		"forceSegmentSortByTime":       {"false", func(o *Options) { o.SortByTime = false }, 2, "true or false"},
		"indexSpec":                    {map[string]any{"a": 1}, func(o *Options) { o.IndexSpec = json.RawMessage(`{"a":1}`) }, "[]", "an object"},
		"useAutoColumnSchemas":         {true, func(o *Options) { o.AutoColumns = true }, "x", "true or false"},
		"failOnEmptyInsert":            {true, func(o *Options) { o.FailOnEmptyInsert = true }, "x", "true or false"},
		"waitUntilSegmentsLoad":        {true, func(o *Options) { o.WaitUntilLoaded = true }, "x", "true or false"},
		"maxParseExceptions":           {3, func(o *Options) { o.MaxParseExceptions = 3 }, "x", "an integer"},
		"mode":                         {"nonStrict", func(o *Options) { o.MaxParseExceptions = -1 }, "lax", "one of [strict, nonStrict]"},
		"removeNullBytes":              {true, func(o *Options) { o.RemoveNullBytes = true }, "x", "true or false"},
		"selectDestination":            {"durableStorage", func(o *Options) { o.DurableResults = true }, "x", "one of [taskReport, durableStorage]"},
		"rowsPerPage":                  {5, func(o *Options) { o.RowsPerPage = 5 }, 0, "a positive integer"},
		"durableShuffleStorage":        {true, func(o *Options) { o.DurableShuffle = true }, "x", "true or false"},
		"faultTolerance":               {true, func(o *Options) { o.FaultTolerance, o.DurableShuffle = true, true }, "x", "true or false"},
		"includeSegmentSource":         {"REALTIME", func(*Options) {}, "ALL", "one of [NONE, REALTIME]"},
		"clusterStatisticsMergeMode":   {"PARALLEL", func(*Options) {}, "BOTH", "one of [SEQUENTIAL, PARALLEL, AUTO]"},
		"backgroundFetchExternalFiles": {false, func(*Options) {}, "x", "true or false"},
		"maxConcurrentStages":          {5, func(o *Options) { o.ConcurrentStages = 5 }, 0, "a positive integer"},
		"targetPartitionsPerWorker":    {5, func(o *Options) { o.TargetPartitions = 5 }, 0, "a positive integer"},
		"maxFrameSize":                 {5, func(o *Options) { o.MaxFrameSize = 5 }, 0, "a positive integer"},
		"maxThreads":                   {5, func(o *Options) { o.MaxThreads = 5 }, 0, "a positive integer"},
		"maxRowsMaterializedInWindow":  {5, func(o *Options) { o.MaxWindowRows = 5 }, 0, "a positive integer"},
		"includeAllCounters":           {false, func(o *Options) { o.AllCounters = false }, "x", "true or false"},
		"storeCompactionState":         {true, func(o *Options) { o.StoreCompaction = true }, "x", "true or false"},
		"useConcurrentLocks":           {true, func(o *Options) { o.ConcurrentLocks = true }, "x", "true or false"},
		"taskLockType":                 {"append", func(o *Options) { o.LockType = Append }, nil, ""},
		"isReindex":                    {true, func(o *Options) { o.Reindex = true }, "x", "true or false"},
		"priority":                     {-3, func(o *Options) { o.Priority = -3 }, "x", "an integer"},
		"timeout":                      {1500, func(o *Options) { o.Timeout = 1500 * time.Millisecond }, "x", "an integer"},
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
