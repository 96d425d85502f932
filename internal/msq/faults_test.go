package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// rowsOf is an INSERT of the given data; columns read "name type name type", the first is the time.
func rowsOf(t *testing.T, data, columns string) *plan.Write {
	x := external(data, columns)
	var names []string
	for i, c := range x.Out {
		if i == 0 {
			names = append(names, "__time="+c.Name)
		} else {
			names = append(names, c.Name)
		}
	}
	return &plan.Write{Input: project(x, names...), DataSource: "w", PartitionBy: days(t)}
}

func many(n int, row string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, row+"\n", i)
	}
	return b.String()
}

func TestFaults(t *testing.T) {
	bounds := func(t *testing.T, w *plan.Write, text string) *plan.Write {
		w.Replace, w.Intervals = true, []chrono.Interval{interval(t, text)}
		return w
	}
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.json.gz")
	if err := os.WriteFile(cut, []byte("\x1f\x8b\x08\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	local := func(path string) func(*testing.T, *bench) plan.Node {
		return func(t *testing.T, _ *bench) plan.Node {
			w := rowsOf(t, "x", "t time k string")
			w.Input.(*plan.Project).Input.(*plan.External).Source = json.RawMessage(fmt.Sprintf(`{"type":"local","files":[%q]}`, path))
			return w
		}
	}
	wide := func(columns int) func(*testing.T, *bench) plan.Node {
		return func(t *testing.T, _ *bench) plan.Node {
			w := rowsOf(t, `{"t":0}`, "t time k string")
			p := w.Input.(*plan.Project)
			for i := range columns {
				p.Exprs = append(p.Exprs, p.Exprs[1])
				p.Names = append(p.Names, fmt.Sprintf("c%d", i))
			}
			return w
		}
	}
	bad := "{\"t\":0,\"k\":\"a\"}\nnot json\n{\"t\":1,\"k\":\"b\"}"
	for _, c := range []struct {
		name    string
		job     func(*testing.T, *bench) plan.Node
		context map[string]any
		// error is the JSON of the report's error; stage and worker are where it was met.
		error  string
		stage  int
		worker string
	}{
		{"bad row", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, bad, "t time k string") }, nil,
			`{"errorCode":"CannotParseExternalData","errorMessage":"Unable to parse row [not json] (Record: 2, Line: 2): it is not a JSON object at byte 1"}`, 0, "query-1-worker0_0"},
		{"too many bad rows", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, many(9, "bad %d"), "t time k string") },
			map[string]any{"maxParseExceptions": 5},
			`{"errorCode":"TooManyWarnings","maxWarnings":5,"rootErrorCode":"CannotParseExternalData",
				"errorMessage":"Too many warnings of type CannotParseExternalData generated (max = 5)"}`, 0, "query-1-worker0_0"},
		{"null time", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, `{"k":"a"}`, "t time k string") }, nil,
			`{"errorCode":"InsertTimeNull","errorMessage":"Null timestamp (__time) encountered during INSERT or REPLACE."}`, 0, "query-1-worker0_0"},
		{"outside of OVERWRITE WHERE", func(t *testing.T, _ *bench) plan.Node {
			return bounds(t, rowsOf(t, `{"t":1577923200000,"k":"a"}`, "t time k string"), "2019-01-01/2019-01-02")
		}, nil, `{"errorCode":"InsertTimeOutOfBounds","interval":"2020-01-02T00:00:00.000Z/2020-01-03T00:00:00.000Z",
			"intervalBounds":["2019-01-01T00:00:00.000Z/2019-01-02T00:00:00.000Z"],
			"errorMessage":"Inserted data contains time chunk[2020-01-02T00:00:00.000Z/2020-01-03T00:00:00.000Z] outside of bounds specified by OVERWRITE WHERE[[2019-01-01T00:00:00.000Z/2019-01-02T00:00:00.000Z]]. If you want to include this data, expand your OVERWRITE WHERE. If you do not want to include this data, use SELECT ... WHERE to filter it from your inserted data."}`,
			-1, ""},
		{"empty", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, "\n", "t time k string") }, map[string]any{"failOnEmptyInsert": true},
			`{"errorCode":"InsertCannotBeEmpty","dataSource":"w","errorMessage":"No rows to insert for dataSource[w]. Set failOnEmptyInsert : false in the query context to allow empty inserts."}`,
			-1, ""},
		{"reserved name", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, `{"t":0}`, "t time __boost string") }, nil,
			`{"errorCode":"ColumnNameRestricted","columnName":"__boost","errorMessage":"[__boost] column name is reserved for MSQ's internal purpose. Please retry the query after renaming the column."}`,
			-1, ""},
		{"columns", wide(1999), nil,
			`{"errorCode":"TooManyColumns","numColumns":2001,"maxColumns":2000,"errorMessage":"Too many output columns (requested = 2001, max = 2000)"}`, -1, ""},
		{"clustered by", func(t *testing.T, b *bench) plan.Node {
			w := wide(5)(t, b).(*plan.Write)
			w.Cluster = []int{1, 2, 3, 4, 5}
			return w
		}, map[string]any{"maxClusteredByColumns": 4},
			`{"errorCode":"TooManyClusteredByColumns","numColumns":7,"maxColumns":4,"stage":"query-1_0","errorMessage":"Too many cluster by columns present in stage [query-1_0] (requested = 7, max = 4)"}`,
			-1, ""},
		{"buckets", func(t *testing.T, _ *bench) plan.Node {
			return rowsOf(t, many(5001, `{"t":1%05d00000000,"k":"a"}`), "t time k string")
		}, nil,
			`{"errorCode":"TooManyBuckets","maxBuckets":5000,"errorMessage":"Too many partition buckets (max = 5,000); try breaking your query up into smaller queries or using a wider PARTITIONED BY"}`,
			0, "query-1-worker0_0"},
		{"partitions", func(t *testing.T, _ *bench) plan.Node {
			return rowsOf(t, many(20, `{"t":%d,"k":"a"}`), "t time k string")
		},
			map[string]any{"rowsPerSegment": 1, "maxPartitions": 7},
			`{"errorCode":"TooManyPartitions","maxPartitions":7,"errorMessage":"Too many partitions (max = 7). Try increasing the limit using the maxPartitions query context parameter, breaking your query up into smaller queries, or using a larger value for rowsPerSegment."}`,
			-1, ""},
		{"segments in a chunk", func(t *testing.T, _ *bench) plan.Node {
			return rowsOf(t, many(20, `{"t":%d,"k":"a"}`), "t time k string")
		},
			map[string]any{"rowsPerSegment": 5, "maxNumSegments": 3},
			`{"errorCode":"TooManySegmentsInTimeChunk","timeChunk":"1970-01-01T00:00:00.000Z/1970-01-02T00:00:00.000Z","numSegments":4,"maxNumSegments":3,"segmentGranularity":"DAY",
				"errorMessage":"Too many segments requested to be generated in time chunk[1970-01-01T00:00:00.000Z/1970-01-02T00:00:00.000Z] with granularity[DAY] (requested = [4], maximum = [3]). Please try breaking up your query or change the maximum using the query context parameter[maxNumSegments]."}`,
			-1, ""},
		{"workers", func(t *testing.T, _ *bench) plan.Node { return insert(t) }, map[string]any{"maxNumTasks": 1002},
			`{"errorCode":"TooManyWorkers","workers":1001,"maxWorkers":1000,"errorMessage":"Too many workers (current = 1001; max = 1000)"}`, -1, ""},
		{"files", func(t *testing.T, _ *bench) plan.Node {
			w := insert(t)
			w.Input.(*plan.Project).Input.(*plan.External).Source = json.RawMessage(`{"type":"combining","delegates":[` +
				strings.TrimSuffix(strings.Repeat(`{"type":"inline","data":"x"},`, 5), ",") + `]}`)
			return w
		}, map[string]any{"maxInputFilesPerWorker": 2},
			`{"errorCode":"TooManyInputFiles","numInputFiles":5,"maxInputFiles":2,"minNumWorkers":3,"errorMessage":"Too many input files/segments [5] encountered. Maximum input files/segments per worker is set to [2]. Try increasing the limit using the maxInputFilesPerWorker query context parameter, breaking your query up into smaller queries, or setting [maxNumTasks] to at least [4] in your query context"}`,
			-1, ""},
		{"large row", func(t *testing.T, _ *bench) plan.Node {
			return rowsOf(t, `{"t":0,"k":"`+strings.Repeat("x", 3000)+`"}`, "t time k string")
		}, map[string]any{"maxFrameSize": 2000},
			`{"errorCode":"RowTooLarge","maxFrameSize":2000,"errorMessage":"Encountered row that cannot fit in a single frame (max frame size = 2,000). Reduce your row size or increase the context parameter[maxFrameSize]."}`,
			0, "query-1-worker0_0"},
		{"null byte", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, `{"t":0,"k":"a\u0000"}`, "t time k string") }, nil,
			`{"errorCode":"InvalidNullByte","source":"","rowNumber":1,"column":"k","value":"a\u0000","position":1,
				"errorMessage":"Invalid null byte at source[], rowNumber[1], column[k], value[a\u0000], position[1]. Consider sanitizing the input string column using \"REPLACE(\"k\", U&'\\0000', '') AS k\" or setting 'removeNullBytes' to true in the query context."}`,
			0, "query-1-worker0_0"},
		{"allocation refused", func(t *testing.T, b *bench) plan.Node { b.meta.refuse = true; return insert(t) }, nil,
			`{"errorCode":"InsertCannotAllocateSegment","dataSource":"w","interval":"2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z","allocatedInterval":null,
				"errorMessage":"Cannot allocate segment for dataSource [w], interval [2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z]. This can happen if the prior ingestion uses non-extendable shard specs or if the partitioned by granularity is different from the granularity of the pre-existing segments. Check the granularities of the pre-existing segments or re-run the ingestion with REPLACE to overwrite over the existing data."}`,
			-1, ""},
		{"allocation elsewhere", func(t *testing.T, b *bench) plan.Node {
			iv := interval(t, "2020-01-01/2020-02-01")
			b.meta.interval = &iv
			return insert(t)
		}, nil, `{"errorCode":"InsertCannotAllocateSegment","dataSource":"w","interval":"2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z","allocatedInterval":"2020-01-01T00:00:00.000Z/2020-02-01T00:00:00.000Z",
				"errorMessage":"Requested segment for dataSource [w], interval [2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z], but got [2020-01-01T00:00:00.000Z/2020-02-01T00:00:00.000Z] interval instead. This happens when an overlapping segment is already present with a coarser granularity for the requested interval. Either set the partition granularity for the INSERT to [MONTH] to append to existing data or use REPLACE to overwrite over the pre-existing segment."}`,
			-1, ""},
		{"lock lost", func(t *testing.T, b *bench) plan.Node { b.meta.preempted = true; return insert(t) }, nil,
			`{"errorCode":"InsertLockPreempted","errorMessage":"Lock preempted while trying to ingest the data. This can occur if there are higher priority tasks, such as real-time ingestion, running on the same time chunks."}`,
			-1, ""},
		{"broadcast", func(t *testing.T, b *bench) plan.Node {
			b.deps.BroadcastBytes = 100
			side := func() plan.Node { return project(external(twelve(), "t time k string n long"), "k", "n") }
			return &plan.Join{Kind: plan.Inner, Left: side(), Right: side(), Keys: []plan.EquiKey{{}}}
		}, nil, `{"errorCode":"BroadcastTablesTooLarge","maxBroadcastTablesSize":100,"configuredJoinAlgorithm":"broadcast",
				"errorMessage":"Size of broadcast tables in JOIN exceeds reserved memory limit (memory reserved for broadcast tables = [100] bytes). Increase available memory, or set [sqlJoinAlgorithm: sortMerge] in query context to use a shuffle-based join."}`,
			-1, ""},
		{"large window", func(t *testing.T, _ *bench) plan.Node {
			in := project(external(twelve(), "t time k string n long"), "k", "n")
			return &plan.Window{Input: in, Partition: []int{0}, Calls: []plan.WindowCall{{Fn: "ROW_NUMBER",
				AggCall: plan.AggCall{Filter: -1, Name: "r", Type: expr.Of(expr.BigInt)}, Frame: plan.Frame{FromUnbounded: true, ToUnbounded: true, FromColumn: -1, ToColumn: -1}}}}
		}, map[string]any{"maxRowsMaterializedInWindow": 2}, `{"errorCode":"TooManyRowsInAWindow","numRows":3,"maxRows":2,
			"errorMessage":"Too many rows in a window (requested = 3, max = 2). Try creating a window with a higher cardinality column or change the query shape."}`,
			1, "query-1-worker0_0"},
		{"durable where nothing is", func(t *testing.T, b *bench) plan.Node { b.deps.Durable = false; return insert(t) }, map[string]any{"durableShuffleStorage": true},
			`{"errorCode":"DurableStorageConfiguration","message":"service.msq.intermediate.storage.enable is false","errorMessage":"Durable storage mode can only be enabled when service.msq.intermediate.storage.enable is set to true and the connector is configured correctly. Check the documentation on how to enable durable storage mode. If you want to still query without durable storage mode, set durableShuffleStorage to false in the query context. Got error service.msq.intermediate.storage.enable is false"}`,
			-1, ""},
		{"several values in a single one", func(t *testing.T, _ *bench) plan.Node {
			w := rowsOf(t, `{"t":0,"k":["a","b"]}`, "t time k string")
			w.Cluster = []int{1}
			return w
		}, nil, `{"errorCode":"UnknownError","message":"Column [k] is a multi-value string. Please wrap the column using MV_TO_ARRAY() to proceed further.",
			"errorMessage":"Column [k] is a multi-value string. Please wrap the column using MV_TO_ARRAY() to proceed further."}`, 0, "query-1-worker0_0"},
		{"numeric array as multi-value", func(t *testing.T, _ *bench) plan.Node { return rowsOf(t, `{"t":0}`, "t time a longs") },
			map[string]any{"arrayIngestMode": "mvd"},
			`{"errorCode":"ColumnTypeNotSupported","columnName":"a","columnType":"ARRAY<LONG>","errorMessage":"Cannot handle column [a] with type [ARRAY<LONG>]"}`, -1, ""},
		{"missing file", local("/nosuch/file.json"), nil,
			`{"errorCode":"UnknownError","message":"Input file [/nosuch/file.json] does not exist on the server that reads it",
			"errorMessage":"Input file [/nosuch/file.json] does not exist on the server that reads it"}`, -1, ""},
		{"directory", local(dir), nil, `{"errorCode":"UnknownError","message":"Input file [` + dir + `] is a directory; name files, or use baseDir with filter",
			"errorMessage":"Input file [` + dir + `] is a directory; name files, or use baseDir with filter"}`, -1, ""},
		{"truncated gzip", local(cut), nil, `{"errorCode":"UnknownError","message":"Input [file:` + cut + `] is truncated: its gzip data ends too early",
			"errorMessage":"Input [file:` + cut + `] is truncated: its gzip data ends too early"}`, 0, "query-1-worker0_0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			_, _, err := b.run(c.job(t, b), c.context)
			var f *Fault
			if !errors.As(err, &f) {
				t.Fatalf("got %v", err)
			}
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tree(t, c.error), tree(t, string(text))); d != "" {
				t.Error(d)
			}
			if f.Stage != c.stage || f.Worker != c.worker {
				t.Errorf("met at stage %d by %q", f.Stage, f.Worker)
			}
			if f.Structured().Code != f.Code {
				t.Errorf("structured: %+v", f.Structured())
			}
			if len(b.meta.used) > 0 {
				t.Errorf("published: %v", b.published())
			}
		})
	}
}

// What is said of workers that are lost or given up, and of statements that can't be asked.
func TestFaultsOfWorkers(t *testing.T) {
	order := &workOrder{id: "w"}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"lost": {peerLost(order, "host:1", errors.New("it is gone")), `{"errorCode":"WorkerFailed","workerTaskId":"w","errorMsg":"it is gone",
			"errorMessage":"Worker[w] failed: it is gone (at host:1)"}`},
		"not reached": {LostFrame("host:1", errors.New("it is gone")), `{"errorCode":"WorkerRpcFailed","workerTaskId":"host:1","errorMsg":"it is gone",
			"errorMessage":"RPC to worker[host:1] failed: it is gone"}`},
		"too often": {tooManyWorkerAttempts(2, "w_2", 0, "why"), `{"errorCode":"TooManyAttemptsForWorker","maxPerWorkerRelaunchCount":2,"taskId":"w_2","workerNumber":0,
			"rootErrorMessage":"why","errorMessage":"Worker[0] exceeded max relaunch count of 2 for task[w_2]. Latest failure reason: why."}`},
		"too often together": {tooManyJobAttempts(100, 101, "w_2", "why"), `{"errorCode":"TooManyAttemptsForJob","maxRelaunchCount":100,"currentRelaunchCount":101,
			"taskId":"w_2","rootErrorMessage":"why",
			"errorMessage":"Total relaunch count across all workers 101 exceeded max relaunch limit 100 . Latest task[w_2] failure reason: why"}`},
		"not supported": {queryNotSupported(), `{"errorCode":"QueryNotSupported"}`},
		"a full disk":   {toFault(t.Context(), diskFault(syscall.ENOSPC)), `{"errorCode":"NotEnoughTemporaryStorageFault","errorMessage":"Not enough temporary storage space for intermediate files. The disk is full."}`},
		"a disk limit": {toFault(t.Context(), &budget.Exceeded{Disk: true, Needed: 3000, Limit: 2000}), `{"errorCode":"NotEnoughTemporaryStorageFault",
			"suggestedMinimumStorage":3000,"configuredTemporaryStorage":2000,"errorMessage":"Not enough temporary storage space for intermediate files. Requires at least 3,000 bytes. (configured = 2,000 bytes). Increase service.spill.limit, or set durableShuffleStorage to true in the query context."}`},
	} {
		text, err := json.Marshal(toFault(t.Context(), c.err))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tree(t, c.want), tree(t, string(text))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestBadRowsAreSampledAndCounted(t *testing.T) {
	b := newBench(t)
	data := many(20, "bad %d") + `{"t":0,"k":"a"}`
	for _, context := range []map[string]any{{"mode": "nonStrict"}, {"maxParseExceptions": 20}, {"maxParseExceptions": -1}} {
		c, out, err := b.run(rowsOf(t, data, "t time k string"), context)
		if err != nil {
			t.Fatal(err)
		}
		if out.Rows != 1 {
			t.Errorf("%d rows", out.Rows)
		}
		p := payload(t, c)
		list := p["status"].(map[string]any)["warnings"].([]any)
		if len(list) != verboseParseWarnings {
			t.Errorf("%d warnings", len(list))
		}
		first := list[0].(map[string]any)
		delete(first, "exceptionStackTrace")
		if d := cmp.Diff(tree(t, `{"taskId":"query-1-worker0_0","host":"localhost:8091","stageNumber":0,
			"error":{"errorCode":"CannotParseExternalData","errorMessage":"Unable to parse row [bad 0] (Record: 1, Line: 1): it is not a `+
			`JSON object at byte 1"}}`), any(first)); d != "" {
			t.Error(d)
		}
		counted := p["counters"].(map[string]any)["0"].(map[string]any)["0"].(map[string]any)["warnings"]
		if d := cmp.Diff(tree(t, `{"type":"warnings","CannotParseExternalData":20}`), counted); d != "" {
			t.Error(d)
		}
	}
}

func TestEmptyStatementsSucceed(t *testing.T) {
	b := newBench(t)
	w := rowsOf(t, "\n", "t time k string")
	if _, out, err := b.run(w, nil); err != nil || out.Rows != 0 || len(out.Segments) != 0 {
		t.Errorf("insert: %+v %v", out, err)
	}
	if _, _, err := b.run(insert(t), nil); err != nil {
		t.Fatal(err)
	}
	w = rowsOf(t, "\n", "t time k string")
	w.Replace, w.ReplaceAll = true, true
	if _, out, err := b.run(w, nil); err != nil || len(out.Segments) != 3 || !out.Segments[0].IsTombstone() {
		t.Errorf("replace: %+v %v", out, err)
	}
	if _, out, err := b.run(external("\n", "n long"), nil); err != nil || out.Results.Rows() != 0 || len(out.Results.Pages) != 0 {
		t.Errorf("select: %+v %v", out, err)
	}
}

func TestStatementsWithoutTimeGetTheEpoch(t *testing.T) {
	b := newBench(t)
	w := &plan.Write{Input: external(`{"k":"a"}`, "k string"), DataSource: "w", PartitionBy: chrono.All}
	if _, _, err := b.run(w, nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"__time=1970-01-01T00:00:00.000Z k=a"}, b.rows(b.meta.used[0])); d != "" || b.meta.used[0].ID.Interval != chrono.Eternity {
		t.Error(d, b.meta.used[0].ID)
	}
}

// TestCancellationLeavesNothing ends jobs at different places.
func TestCancellationLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		cause  error
		reason string
		at     string
	}{
		{"shutdown while waiting for the lock", ErrShutdown, ReasonShutdown, "lock"},
		{"user before publishing", ErrUserRequest, ReasonUserRequest, "tables"},
		{"timeout while reading", ErrTimeout, ReasonTimeout, "tables"},
		{"unknown", context.Canceled, ReasonUnknown, "tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			w := insert(t)
			w.Replace, w.ReplaceAll = true, true
			switch c.at {
			case "lock":
				b.meta.onLock = func(ctx context.Context) error {
					cancel(c.cause)
					<-ctx.Done()
					return ctx.Err()
				}
			case "tables":
				b.meta.onLock = func(context.Context) error {
					cancel(c.cause)
					return nil
				}
			}
			job, err := New(Job{ID: "query-1", Plan: w}, b.deps)
			if err != nil {
				t.Fatal(err)
			}
			_, err = job.Run(ctx)
			var f *Fault
			if !errors.As(err, &f) || f.Code != "Canceled" || f.Fields[0].Value != c.reason {
				t.Fatalf("got %v", err)
			}
			if left := b.leftovers(); len(left) > 0 || len(b.meta.used) > 0 || len(b.meta.released) != 1 {
				t.Errorf("left %v, used %v, released %v", left, b.meta.used, b.meta.released)
			}
			if s := payload(t, job)["status"].(map[string]any); s["status"] != "FAILED" {
				t.Errorf("status %v", s)
			}
		})
	}
}

func TestFailureWhileWaitingForLoadKeepsTheData(t *testing.T) {
	b := newBench(t)
	b.meta.await = func(context.Context) error { return fault.Unavailable("No broker answers.") }
	_, _, err := b.run(insert(t), nil)
	var f *Fault
	if !errors.As(err, &f) || f.Code != "DruidException" {
		t.Fatalf("got %v", err)
	}
	if len(b.meta.used) != 3 || len(b.leftovers()) > 0 {
		t.Errorf("used %v", b.meta.used)
	}
	for _, s := range b.meta.used {
		b.rows(s) // the files are there
	}
}

func TestMetricsOfARollup(t *testing.T) {
	b := newBench(t)
	in := project(external(twelve(), "t time k string n long"), "t", "n")
	sum := plan.AggCall{Agg: spec("SUM", in.Columns()[1].Type.Runtime()), Args: []int{1}, Filter: -1, Name: "s", Type: expr.Of(expr.BigInt)}
	count := plan.AggCall{Agg: spec("COUNT"), Filter: -1, Name: "c", Type: expr.Of(expr.BigInt)}
	w := &plan.Write{Input: project(&plan.Aggregate{Input: in, Keys: []int{0}, Aggs: []plan.AggCall{sum, count}}, "__time=t", "total=s", "rows=c"),
		DataSource: "w", PartitionBy: days(t), Rollup: true}
	if _, _, err := b.run(w, nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"__time=2020-01-01T00:00:00.000Z total=18 rows=4"}, b.rows(b.meta.used[0])); d != "" {
		t.Error(d)
	}
	r, err := b.open(b.meta.used[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if info := r.Info(); !info.Rollup || info.Column("total").Metric != "SUM" || info.Column("rows").Metric != "COUNT" {
		t.Errorf("info: %+v", info)
	}
}

func TestDeadlineInThePast(t *testing.T) {
	b := newBench(t)
	_, _, err := b.run(insert(t), map[string]any{"queryDeadline": "2020-01-01T00:00:00Z"})
	var f *Fault
	if !errors.As(err, &f) || f.Code != "Canceled" || f.Fields[0].Value != ReasonTimeout {
		t.Errorf("got %v", err)
	}
	if _, err := ParseOptions(map[string]any{"queryDeadline": "soon"}); err == nil || !strings.Contains(err.Error(), "[soon]") {
		t.Errorf("a deadline that is no time: %v", err)
	}
}

// TestTimesBeyondEternity refuses times that no interval holds, however rows are divided by time.
func TestTimesBeyondEternity(t *testing.T) {
	for _, granularity := range append(chrono.SegmentGranularities(), chrono.All) {
		for _, at := range []string{"9223372036854775807", "4611686018427387903", "-4611686018427387905", "-9223372036854775808"} {
			for _, replace := range []bool{false, true} {
				b := newBench(t)
				w := rowsOf(t, `{"t":0,"k":"a"}`+"\n"+`{"t":`+at+`,"k":"b"}`, "t time k string")
				w.PartitionBy, w.Replace, w.ReplaceAll = granularity, replace, replace
				_, _, err := b.run(w, nil)
				f, ok := errors.AsType[*Fault](err)
				if !ok || f.Code != "InsertTimeOutOfBounds" || !strings.Contains(f.Message, "["+at+"] milliseconds") {
					t.Errorf("%s, %s: %v", granularity, at, err)
				}
				if len(b.meta.used) != 0 {
					t.Errorf("%s, %s: [%d] segments were published", granularity, at, len(b.meta.used))
				}
			}
		}
	}
}
