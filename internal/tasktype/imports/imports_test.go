package imports_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/tasktype/imports"
	"github.com/hengedb/henge/internal/tasktype/imports/peer"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/timeline"
)

// place puts a segment of Druid, one of those that package v9 is tested with, into a deep storage.
func place(t *testing.T, dir, zip, id string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../segment/v9/testdata", zip+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id, "index.zip")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const version = "2026-11-21T19:22:35.419Z"

// years places four segments of one datasource, one for each year, the year 2020 with an older
// version of one segment.
func years(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for year, next := range map[string]string{"2020": "2021", "2021": "2022", "2022": "2023", "2023": "2024"} {
		place(t, dir, "types_"+year, "kinds/"+year+"-01-01T00:00:00.000Z_"+next+"-01-01T00:00:00.000Z/"+version+"/0")
	}
	place(t, dir, "dim", "kinds/2020-01-01T00:00:00.000Z_2021-01-01T00:00:00.000Z/2025-01-01T00:00:00.000Z/0")
	return dir
}

// run submits an import of the segments and returns how it ended.
func run(t *testing.T, s *server.Server, segments []*timeline.Segment) server.Task {
	t.Helper()
	var submitted struct {
		Task string `json:"task"`
	}
	body := map[string]any{"type": imports.Type, "dataSource": segments[0].ID.DataSource, "segments": segments}
	if err := s.Call(t.Context(), "POST", "/service/indexer/v1/task", body, &submitted); err != nil {
		t.Fatal(err)
	}
	task, err := s.Await(t.Context(), submitted.Task)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func query(t *testing.T, s *server.Server, sql string) [][]any {
	t.Helper()
	rows, err := s.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestSegmentsAreImported(t *testing.T) {
	found, err := peer.ReadFolder(t.Context(), years(t))
	if err != nil || len(found.Segments) != 4 || found.Skipped != 0 {
		t.Fatalf("found %+v, %v", found, err)
	}
	s := server.Start(t, server.Options{})
	if got := run(t, s, found.Segments); got.StatusCode != "SUCCESS" {
		t.Fatalf("the task ended with %+v", got)
	}
	for sql, want := range map[string]string{
		"SELECT COUNT(*), SUM(id), MIN(id), MAX(id) FROM kinds":                                                          "[[64,2080,1,64]]",
		"SELECT COUNT(*) FROM sys.segments WHERE datasource = 'kinds' AND version = '" + version + "' AND is_active = 1": "[[4]]",
		"SELECT COUNT(*) FROM kinds WHERE JSON_VALUE(j, '$.a' RETURNING BIGINT) = -1":                                    "[[4]]",
		"SELECT \"start\" FROM sys.segments WHERE datasource = 'kinds' ORDER BY 1 LIMIT 1":                               `[["2020-01-01T00:00:00.000Z"]]`,
	} {
		if got := text(query(t, s, sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	// Again: everything is there.
	before := query(t, s, "SELECT segment_id, size FROM sys.segments ORDER BY 1")
	if got := run(t, s, found.Segments); got.StatusCode != "SUCCESS" {
		t.Fatalf("the task ended with %+v", got)
	}
	if diff := cmp.Diff(before, query(t, s, "SELECT segment_id, size FROM sys.segments ORDER BY 1")); diff != "" {
		t.Error(diff)
	}
	// What is imported can be rewritten.
	if err := s.Ingest(t.Context(), `REPLACE INTO kinds OVERWRITE ALL SELECT * FROM kinds PARTITIONED BY ALL`, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	if got := text(query(t, s, "SELECT COUNT(*), SUM(id) FROM kinds")); got != "[[64,2080]]" {
		t.Errorf("after a REPLACE: %s", got)
	}
}

// imported starts a server that has taken one fixture over, which lay at a path below the old deep
// storage.
func imported(t *testing.T, fixture, path string) *server.Server {
	t.Helper()
	dir := t.TempDir()
	place(t, dir, fixture, path)
	found, err := peer.ReadFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := server.Start(t, server.Options{})
	if got := run(t, s, found.Segments); got.StatusCode != "SUCCESS" {
		t.Fatalf("the task ended with %+v", got)
	}
	return s
}

func TestSketchesAreImported(t *testing.T) {
	s := imported(t, "sketches", "sketched/2022-10-31T00:00:00.000Z_2022-11-07T00:00:00.000Z/"+version+"/0")
	got := text(query(t, s, `SELECT SUM(n), APPROX_COUNT_DISTINCT_DS_HLL(hll), APPROX_COUNT_DISTINCT_DS_THETA(theta), APPROX_COUNT_DISTINCT(hu),
		APPROX_QUANTILE_DS(q, 1), DS_GET_QUANTILE(DS_QUANTILES_SKETCH(q), 0) FROM sketched`))
	if !strings.HasPrefix(got, "[[") || strings.Contains(got, "null") {
		t.Errorf("got %s", got)
	}
	// Rolled-up rows stay so.
	var meta []struct {
		Rollup      bool   `json:"rollup"`
		Granularity string `json:"queryGranularity"`
	}
	body := map[string]any{"queryType": "segmentMetadata", "dataSource": "sketched", "analysisTypes": []string{"rollup", "queryGranularity"}}
	if err := s.Call(t.Context(), "POST", "/service/v2", body, &meta); err != nil {
		t.Fatal(err)
	}
	if len(meta) != 1 || !meta[0].Rollup || meta[0].Granularity != "DAY" {
		t.Errorf("metadata %+v", meta)
	}
}

// What release 33 says of first and last values, and of a sketch among whose values one does not
// fit its register.
func TestFirstAndLastValuesAreImported(t *testing.T) {
	s := imported(t, "pairs", "pairs/2024-03-01T00:00:00.000Z_2024-03-02T00:00:00.000Z/"+version+"/0")
	const (
		numbers = "EARLIEST(lFirst), LATEST(lLast), EARLIEST(dFirst), LATEST(dLast), EARLIEST(fFirst), LATEST(fLast)"
		ask     = "SELECT d, SUM(cnt), APPROX_COUNT_DISTINCT(hu), LATEST(sLast, 8), EARLIEST(sFirst, 8), " + numbers + " FROM pairs GROUP BY 1 ORDER BY 1"
		want    = `[[null,47,40,"x","x",-5,1,0.5,0.5,0.5,0.5],["",56,41,"longlong","x",0,225,1.8571428571428572,-1.0E10,1.8571428,-1.0E10],` +
			`["a",47,33,"語語","straße",-5,0,null,17.571428571428573,null,17.571428],["b",48,37,"x","longlong",1099511627776,0,0.5,null,0.5,null],` +
			`["c",42,35,null,"straße",-5,0,2.857142857142857,0.5,2.857143,0.5],["none",2,1,null,null,null,null,null,null,null,null]]`
	)
	if diff := cmp.Diff(want, text(query(t, s, ask))); diff != "" {
		t.Error(diff)
	}
	if got := text(query(t, s, "SELECT APPROX_COUNT_DISTINCT(hu) FROM pairs")); got != "[[85]]" {
		t.Errorf("different users: %s, want 85", got)
	}
	var meta []struct {
		Aggregators map[string]struct{ Type string } `json:"aggregators"`
	}
	body := map[string]any{"queryType": "segmentMetadata", "dataSource": "pairs", "analysisTypes": []string{"aggregators"}}
	if err := s.Call(t.Context(), "POST", "/service/v2", body, &meta); err != nil {
		t.Fatal(err)
	}
	if len(meta) != 1 || meta[0].Aggregators["lFirst"].Type != "longFirst" || meta[0].Aggregators["sLast"].Type != "stringLast" {
		t.Errorf("metadata %+v", meta)
	}
	// Rolled up further they are what they were.
	if err := s.Ingest(t.Context(), `REPLACE INTO pairs OVERWRITE ALL SELECT TIME_FLOOR(__time, 'P1D') AS __time, d, SUM(cnt) AS cnt, HYPER_UNIQUE(hu) AS hu,
		EARLIEST(lFirst) AS lFirst, LATEST(lLast) AS lLast, EARLIEST(dFirst) AS dFirst, LATEST(dLast) AS dLast, EARLIEST(fFirst) AS fFirst, LATEST(fLast) AS fLast,
		EARLIEST(sFirst, 60) AS sFirst, LATEST(sLast, 60) AS sLast FROM pairs GROUP BY 1, 2 PARTITIONED BY DAY`,
		map[string]any{"finalizeAggregations": false, "waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text(query(t, s, ask))); diff != "" {
		t.Error(diff)
	}
}

func TestADamagedSegmentIsNotImported(t *testing.T) {
	dir := years(t)
	damaged := filepath.Join(dir, "kinds/2022-01-01T00:00:00.000Z_2023-01-01T00:00:00.000Z", version, "0/index.zip")
	if err := os.Truncate(damaged, 2000); err != nil {
		t.Fatal(err)
	}
	found, err := peer.ReadFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := server.Start(t, server.Options{})
	task := run(t, s, found.Segments)
	if task.StatusCode != "FAILED" || !strings.Contains(task.ErrorMsg, "is not a complete zip file") {
		t.Errorf("the task ended with %+v", task)
	}
	// The newest year was there before it failed, and what was made of the damaged one is not.
	if got := text(query(t, s, `SELECT "start" FROM sys.segments WHERE datasource = 'kinds'`)); got != `[["2023-01-01T00:00:00.000Z"]]` {
		t.Errorf("segments: %s", got)
	}
}

func TestTasksThatMakeNoSenseAreRefused(t *testing.T) {
	s := server.Start(t, server.Options{})
	segment := `{"dataSource":"a","interval":"2020-01-01/2021-01-01","version":"v","loadSpec":{"type":"local","path":"/nowhere"},"dimensions":"","metrics":"","shardSpec":{"type":"none"},"binaryVersion":9,"size":1}`
	for body, want := range map[string]string{
		`{"type":"import","segments":[` + segment + `]}`:                                  "has no [dataSource]",
		`{"type":"import","dataSource":"a","segments":[]}`:                                "has [0] segments",
		`{"type":"import","dataSource":"b","segments":[` + segment + `]}`:                 "is for datasource [b]",
		`{"type":"import","dataSource":"a","segments":[` + segment + `,` + segment + `]}`: "twice",
		`{"type":"import","dataSource":"a","segments":[null]}`:                            "is null",
	} {
		status, answer, err := s.Send(t.Context(), "router", "POST", "/service/indexer/v1/task", body)
		if err != nil || status != 400 || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s %v, want %q", body, status, answer, err, want)
		}
	}
}

func TestOffsetsAreKept(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(name, offsets string) server.Task {
		t.Helper()
		var submitted struct {
			Task string `json:"task"`
		}
		body := map[string]any{"type": imports.Type, "dataSource": name, "offsets": json.RawMessage(offsets)}
		if err := s.Call(t.Context(), "POST", "/service/indexer/v1/task", body, &submitted); err != nil {
			t.Fatal(err)
		}
		task, err := s.Await(t.Context(), submitted.Task)
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	const first = `{"partitions":{"partitionSequenceNumberMap":{"0":7},"stream":"edits"},"type":"kafka"}`
	for _, offsets := range []string{first, `{"type":"kafka","partitions":{"partitionSequenceNumberMap":{"0":1}}}`} { // those that are there stay
		if got := submit("wiki", offsets); got.StatusCode != "SUCCESS" {
			t.Errorf("the task ended with %+v", got)
		}
	}
	for _, bad := range []string{`[]`, `"x"`, `null`} {
		err := s.Call(t.Context(), "POST", "/service/indexer/v1/task", map[string]any{"type": imports.Type, "dataSource": "wiki", "offsets": json.RawMessage(bad)}, nil)
		if err == nil {
			t.Errorf("offsets %s are taken", bad)
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	store, err := metastore.Open(t.Context(), metastore.Options{Path: filepath.Join(dir, "metastore.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all, err := store.AllOffsets(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "wiki" || all[0].DataSource != "wiki" || string(all[0].Payload) != first {
		t.Errorf("kept: %+v %v", all, err)
	}
}
