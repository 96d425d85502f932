package msq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// standing is a clock that stands still.
type standing struct{ clock.Clock }

func (standing) Now() time.Time { return time.UnixMilli(1741079550418) }

// payload returns the payload of a job's report as a tree.
func payload(t *testing.T, c *Controller) map[string]any {
	t.Helper()
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var top struct {
		Report struct {
			Type, TaskID string
			Payload      map[string]any
		} `json:"multiStageQuery"`
	}
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if top.Report.Type != "multiStageQuery" || top.Report.TaskID != "query-1" {
		t.Errorf("report of %q %q", top.Report.Type, top.Report.TaskID)
	}
	return top.Report.Payload
}

// tree parses JSON for comparison.
func tree(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReportOfAnInsert(t *testing.T) {
	b := newBench(t)
	b.deps.Clock = standing{clock.System()}
	c, _, err := b.run(insert(t), map[string]any{"includeAllCounters": false, "waitUntilSegmentsLoad": true})
	if err != nil {
		t.Fatal(err)
	}
	p := payload(t, c)
	if d := cmp.Diff(tree(t, `{
		"status": "SUCCESS", "startTime": "2025-03-04T09:12:30.418Z", "durationMs": 0,
		"workers": {"0": [{"workerId": "query-1-worker0_0", "state": "SUCCESS", "status": "SUCCESS", "durationMs": 0, "pendingMs": 0}]},
		"pendingTasks": 0, "runningTasks": 2,
		"segmentLoadStatus": {"state": "SUCCESS", "dataSource": "w", "startTime": "2025-03-04T09:12:30.418Z", "duration": 0, "totalSegments": 3,
			"usedSegments": 3, "precachedSegments": 3, "onDemandSegments": 0, "pendingSegments": 0, "unknownSegments": 0},
		"segmentLoadWaiterStatus": {"state": "SUCCESS", "dataSource": "w", "startTime": "2025-03-04T09:12:30.418Z", "duration": 0, "totalSegments": 3,
			"usedSegments": 3, "precachedSegments": 3, "onDemandSegments": 0, "pendingSegments": 0, "unknownSegments": 0},
		"segmentReport": {"shardSpec": "NumberedShardSpec", "details": "Using NumberedShardSpec to generate segments since the query is inserting rows."}
	}`), p["status"]); d != "" {
		t.Error(d)
	}
	counters := p["counters"].(map[string]any)
	zero := counters["0"].(map[string]any)["0"].(map[string]any)
	for _, name := range []string{"output", "shuffle"} {
		delete(zero[name].(map[string]any), "bytes")
	}
	delete(counters["1"].(map[string]any)["0"].(map[string]any)["input0"].(map[string]any), "bytes")
	if d := cmp.Diff(tree(t, fmt.Sprintf(`{
		"0": {"0": {
			"input0": {"type": "channel", "rows": [12], "bytes": [%d], "files": [1], "totalFiles": [1]},
			"output": {"type": "channel", "rows": [12], "frames": [1]},
			"shuffle": {"type": "channel", "rows": [4, 4, 4], "frames": [1, 1, 1]},
			"sortProgress": {"type": "sortProgress", "totalMergingLevels": 3, "levelToTotalBatches": {"0": 1, "1": 1, "2": 3},
				"levelToMergedBatches": {"0": 1, "1": 1, "2": 3}, "totalMergersForUltimateLevel": 3, "progressDigest": 1.0}}},
		"1": {"0": {
			"input0": {"type": "channel", "rows": [4, 4, 4], "frames": [1, 1, 1]},
			"segmentGenerationProgress": {"type": "segmentGenerationProgress", "rowsProcessed": 12, "rowsPersisted": 12, "rowsMerged": 12, "rowsPushed": 12}}}
	}`, len(twelve()))), counters); d != "" {
		t.Error(d)
	}
	for i, want := range []string{
		`{"stageNumber": 0, "phase": "FINISHED", "workerCount": 1, "partitionCount": 3, "shuffle": "globalSort", "output": "localStorage",
			"startTime": "2025-03-04T09:12:30.418Z", "sort": true}`,
		`{"stageNumber": 1, "phase": "FINISHED", "workerCount": 1, "partitionCount": 3, "output": "localStorage", "startTime": "2025-03-04T09:12:30.418Z"}`,
	} {
		stage := p["stages"].([]any)[i].(map[string]any)
		definition := stage["definition"].(map[string]any)
		delete(stage, "definition")
		if d := cmp.Diff(tree(t, want), any(stage)); d != "" {
			t.Error(d)
		}
		if definition["id"] != fmt.Sprintf("query-1_%d", i) {
			t.Errorf("id %v", definition["id"])
		}
	}
}

func TestDefinitionsOfAnInsert(t *testing.T) {
	b := newBench(t)
	w := insert(t)
	w.Cluster = []int{1}
	c, _, err := b.run(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(twelve())
	if err != nil {
		t.Fatal(err)
	}
	source := `{"type": "external", "inputSource": {"type": "inline", "data": ` + string(text) + `},
			"inputFormat": {"type": "json", "keepNullColumns": false, "assumeNewlineDelimited": false, "useJsonNodeReader": false},
			"signature": [{"name": "t", "type": "LONG"}, {"name": "k", "type": "STRING"}, {"name": "n", "type": "LONG"}]}`
	for i, want := range []string{`{
		"id": "query-1_0", "input": [` + source + `],
		"processor": {"type": "scan", "query": {"queryType": "scan", "dataSource": ` + source + `,
			"intervals": {"type": "intervals", "intervals": ["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},
			"resultFormat": "compactedList", "orderBy": [{"columnName": "k", "order": "ascending"}], "columns": ["k", "n", "t"], "legacy": false,
			"context": {"__timeColumn": "t", "finalize": true, "maxParseExceptions": 0, "queryId": "1", "sqlQueryId": "1", "sqlInsertSegmentGranularity": "\"DAY\"",
				"scanSignature": "[{\"name\":\"k\",\"type\":\"STRING\"},{\"name\":\"n\",\"type\":\"LONG\"},{\"name\":\"t\",\"type\":\"LONG\"}]"},
			"granularity": {"type": "all"}}},
		"signature": [{"name": "__bucket", "type": "LONG"}, {"name": "k", "type": "STRING"}, {"name": "__boost", "type": "LONG"},
			{"name": "n", "type": "LONG"}, {"name": "t", "type": "LONG"}],
		"shuffleSpec": {"type": "targetSize", "clusterBy": {"columns": [{"columnName": "__bucket", "order": "ASCENDING"},
			{"columnName": "k", "order": "ASCENDING"}, {"columnName": "__boost", "order": "ASCENDING"}], "bucketByCount": 1}, "targetSize": 3000000},
		"maxWorkerCount": 1, "shuffleCheckHasMultipleValues": true}`,
		`{"id": "query-1_1", "input": [{"type": "stage", "stage": 0}], "processor": {"type": "segmentGenerator",
		"dataSchema": {"dataSource": "w", "timestampSpec": {"column": "__time", "format": "millis", "missingValue": null},
			"dimensionsSpec": {"dimensions": [
				{"type": "string", "name": "k", "multiValueHandling": "SORTED_ARRAY", "createBitmapIndex": true},
				{"type": "long", "name": "n", "multiValueHandling": "SORTED_ARRAY", "createBitmapIndex": false}],
				"dimensionExclusions": ["__time"], "includeAllDimensions": false, "useSchemaDiscovery": false},
			"metricsSpec": [], "granularitySpec": {"type": "arbitrary", "queryGranularity": {"type": "none"}, "rollup": false,
				"intervals": ["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},
			"transformSpec": {"filter": null, "transforms": []}},
		"columnMappings": [{"queryColumn": "t", "outputColumn": "__time"}, {"queryColumn": "k", "outputColumn": "k"},
			{"queryColumn": "n", "outputColumn": "n"}],
		"tuningConfig": {"maxNumWorkers": 1, "maxRowsInMemory": 100000, "rowsPerSegment": 3000000}}, "signature": [], "maxWorkerCount": 1}`,
	} {
		if d := cmp.Diff(tree(t, want), tree(t, string(c.stages[i].definition))); d != "" {
			t.Errorf("stage %d:\n%s", i, d)
		}
	}
}

// TestReportsMoveWhileTheJobRuns looks at a job that waits for its publication and for its
// segments.
func TestReportsMoveWhileTheJobRuns(t *testing.T) {
	b := newBench(t)
	c, err := New(Job{ID: "query-1", Plan: insert(t), Context: map[string]any{"waitUntilSegmentsLoad": true}}, b.deps)
	if err != nil {
		t.Fatal(err)
	}
	status := func() map[string]any { return payload(t, c)["status"].(map[string]any) }
	if s := status(); s["status"] != "RUNNING" || s["durationMs"] != -1.0 || s["startTime"] != nil {
		t.Errorf("before: %v", s)
	}
	looked := 0
	b.meta.onPublish = func(Publication) {
		looked++
		p := payload(t, c)
		stages := p["stages"].([]any)
		if phase := stages[1].(map[string]any)["phase"]; phase != "RESULTS_COMPLETE" {
			t.Errorf("phase of the generator: %v", phase)
		}
		if w := p["status"].(map[string]any)["workers"].(map[string]any)["0"].([]any)[0].(map[string]any); w["state"] != "RUNNING" || w["durationMs"] != -1.0 {
			t.Errorf("worker: %v", w)
		}
		generated := p["counters"].(map[string]any)["1"].(map[string]any)["0"].(map[string]any)["segmentGenerationProgress"].(map[string]any)
		if generated["rowsPushed"] != 12.0 {
			t.Errorf("generated: %v", generated)
		}
	}
	b.meta.await = func(context.Context) error {
		looked++
		if l := status()["segmentLoadStatus"].(map[string]any); l["state"] != "WAITING" || l["pendingSegments"] != 3.0 {
			t.Errorf("load: %v", l)
		}
		return nil
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if looked != 2 {
		t.Errorf("looked %d times", looked)
	}
}

func TestReportOfASelectHasItsRows(t *testing.T) {
	b := newBench(t)
	n := &plan.Sort{Input: project(external(twelve(), "t time k string n long"), "k", "n"), Keys: []plan.SortKey{{Column: 1}}, Limit: 2}
	c, out, err := b.run(n, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	encode := func(dst []byte, columns []ResultColumn, b *vector.Batch, i int) []byte {
		return append(strconv.AppendQuote(append(dst, '['), b.Cols[0].StringAt(i)), fmt.Sprintf(",%d]", b.Cols[1].LongAt(i))...)
	}
	var text bytes.Buffer
	err = r.Write(&text, Dialect{}, encode, func(f func(*vector.Batch) error) error { return out.Results.ReadAll(t.Context(), f) })
	if err != nil {
		t.Fatal(err)
	}
	var top struct {
		Report struct{ Payload map[string]any } `json:"multiStageQuery"`
	}
	if err := json.Unmarshal(text.Bytes(), &top); err != nil {
		t.Fatalf("%v in %s", err, text.Bytes())
	}
	if d := cmp.Diff(tree(t, `{"signature":[{"name":"k","type":"STRING"},{"name":"n","type":"LONG"}],"sqlTypeNames":["VARCHAR","BIGINT"],
		"results":[["k0",0],["k1",1]],"resultsTruncated":false,"resultsTruncted":false}`), top.Report.Payload["results"]); d != "" {
		t.Error(d)
	}
}

func TestDurableReportsKeepTheFirstRows(t *testing.T) {
	b := newBench(t)
	var data strings.Builder
	for i := range reportRows + 500 {
		fmt.Fprintf(&data, "{\"n\":%d}\n", i)
	}
	for durable, want := range map[bool]int{true: reportRows, false: reportRows + 500} {
		if err := DeleteResults(t.Context(), b.store, "query-1"); err != nil { // the first run of a query counts
			t.Fatal(err)
		}
		context := map[string]any{}
		if durable {
			context["selectDestination"] = "durableStorage"
		}
		c, out, err := b.run(external(data.String(), "n long"), context)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Report()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		encode := func(dst []byte, _ []ResultColumn, _ *vector.Batch, _ int) []byte { return append(dst, "[1]"...) }
		if err := r.Write(&text, Dialect{}, encode, func(f func(*vector.Batch) error) error { return out.Results.ReadAll(t.Context(), f) }); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text.Bytes(), []byte("[1],[1]")) * 2; n < want-2 || n > want {
			t.Errorf("durable %v: about %d rows", durable, n)
		}
		if truncated := bytes.Contains(text.Bytes(), []byte(`"resultsTruncated":true`)); truncated != durable || !json.Valid(text.Bytes()) {
			t.Errorf("durable %v: truncated %v", durable, truncated)
		}
	}
}

func TestPhasesMoveForward(t *testing.T) {
	all := []phase{phaseNone, phaseNew, phaseReading, phasePost, phaseResults, phaseFinished, phaseFailed}
	allowed := map[string]bool{" NEW": true, "NEW READING_INPUT": true, "READING_INPUT POST_READING": true, "READING_INPUT RESULTS_COMPLETE": true,
		"POST_READING RESULTS_COMPLETE": true, "RESULTS_COMPLETE FINISHED": true,
		"NEW FAILED": true, "READING_INPUT FAILED": true, "POST_READING FAILED": true, "RESULTS_COMPLETE FAILED": true}
	for _, from := range all {
		for _, to := range all {
			if got := from.may(to); got != allowed[string(from)+" "+string(to)] {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

func TestDialects(t *testing.T) {
	r := &Report{TaskID: "q", Status: Running, Stages: []StageReport{{Definition: json.RawMessage("{}"), Phase: string(phaseResults)}}}
	for d, want := range map[Dialect]string{{}: "RESULTS_COMPLETE", {ResultsPhase: "RESULTS_READY"}: "RESULTS_READY"} {
		text, err := r.Render(d)
		if err != nil || !bytes.Contains(text, []byte(`"phase":"`+want+`"`)) {
			t.Errorf("%v: %s %v", d, text, err)
		}
	}
}

func TestColumnTypesSurviveTheManifest(t *testing.T) {
	for _, want := range []expr.Type{expr.Of(expr.BigInt), expr.Of(expr.Timestamp).NotNull(), expr.MultiString, expr.JSON, expr.ArrayOf(expr.Of(expr.Double)),
		expr.ArrayOf(expr.ArrayOf(expr.Of(expr.Varchar)))} {
		text, err := json.Marshal(encodeColumn("c", want))
		if err != nil {
			t.Fatal(err)
		}
		var c columnJSON
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if got, err := c.sqlType(0); err != nil || got != want {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
	}
}
