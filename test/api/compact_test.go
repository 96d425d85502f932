package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// ingestionReport is the part of the report of a native task that the tests look at.
type ingestionReport struct {
	Stats struct {
		Payload struct {
			State  string `json:"ingestionState"`
			Events map[string][]struct {
				Input   string
				Kind    string `json:"errorType"`
				Details []string
			} `json:"unparseableEvents"`
			Rows     map[string]map[string]int64 `json:"rowStats"`
			Error    *string                     `json:"errorMsg"`
			Warnings []string
		}
	} `json:"ingestionStatsAndErrors"`
}

// runNative submits a native task and waits for its end.
func runNative(t *testing.T, s *server.Server, spec string) (server.Task, ingestionReport) {
	t.Helper()
	task := awaitTask(t, s, spec)
	var r ingestionReport
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+task.ID+"/reports", nil, &r); err != nil {
		t.Fatal(err)
	}
	return task, r
}

// awaitTask submits a task of any type and waits for its end.
func awaitTask(t *testing.T, s *server.Server, spec string) server.Task {
	t.Helper()
	var submitted struct{ Task string }
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", json.RawMessage(spec), &submitted); err != nil {
		t.Fatal(err)
	}
	task, err := s.Await(t.Context(), submitted.Task)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// asker returns a function that gives the rows of a statement as text.
func asker(t *testing.T, s *server.Server) func(sql string) string {
	return func(sql string) string {
		t.Helper()
		rows, err := s.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(rows)
	}
}

const compactedSegments = "SELECT \"start\", \"end\", num_rows, shard_spec FROM sys.segments WHERE datasource = 'x' AND is_overshadowed = 0 AND num_rows > 0 ORDER BY 1, 2, partition_num"

func TestCompact(t *testing.T) {
	load := func(t *testing.T) (*server.Server, func(string) string) {
		s := server.Start(t, server.Options{})
		for i := range 3 {
			err := s.Ingest(t.Context(), inline("INSERT INTO x", fmt.Sprintf(`{"t":"2024-01-01T0%d:00:00Z","k":"a","n":1}`, i),
				fmt.Sprintf(`{"t":"2024-01-02T0%d:00:00Z","k":"b%d","n":2}`, i, i)), nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		return s, asker(t, s)
	}
	compact := func(more string) string { return `{"type":"compact","dataSource":"x"` + more + `}` }
	const all = `,"ioConfig":{"type":"compact","inputSpec":{"type":"interval","interval":"2024-01-01/2024-01-03"}}`
	for _, c := range []struct{ name, spec, segments, rows string }{
		{"chunks stay", compact(all), `[[2024-01-01T00:00:00.000Z 2024-01-02T00:00:00.000Z 3 {"type":"numbered","partitionNum":0,"partitions":1}] ` +
			`[2024-01-02T00:00:00.000Z 2024-01-03T00:00:00.000Z 3 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[6 9]]"},
		{"months", compact(`,"interval":"2024-01-01/2024-01-02","granularitySpec":{"segmentGranularity":"MONTH"}`),
			`[[2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 6 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[6 9]]"},
		{"rollup", compact(all + `,"granularitySpec":{"segmentGranularity":"YEAR","queryGranularity":"DAY","rollup":true},` +
			`"dimensionsSpec":{"dimensions":["k"]},"metricsSpec":[{"type":"longSum","name":"n","fieldName":"n"},{"type":"count","name":"c"}]`),
			`[[2024-01-01T00:00:00.000Z 2025-01-01T00:00:00.000Z 4 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[4 9]]"},
		{"filter", compact(all + `,"transformSpec":{"filter":{"type":"selector","dimension":"k","value":"a"}},"granularitySpec":{"segmentGranularity":"ALL"}`),
			`[[-146136543-09-08T08:23:32.096Z 146140482-04-24T15:36:27.903Z 3 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[3 3]]"},
		{"transforms", compact(all + `,"transformSpec":{"transforms":[{"type":"expression","name":"n","expression":"n * 10"},` +
			`{"type":"expression","name":"big","expression":"upper(k)"}],"filter":{"type":"selector","dimension":"big","value":"A"}},` +
			`"dimensionsSpec":{"dimensions":["k","big",{"type":"long","name":"n"}]},"granularitySpec":{"segmentGranularity":"MONTH"}`),
			`[[2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 3 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[3 30]]"},
		{"rows move", compact(all + `,"transformSpec":{"transforms":[{"type":"expression","name":"__time","expression":"__time + 12 * 3600 * 1000"}]},` +
			`"granularitySpec":{"segmentGranularity":"HOUR","queryGranularity":"DAY"}`),
			`[[2024-01-01T00:00:00.000Z 2024-01-01T01:00:00.000Z 3 {"type":"numbered","partitionNum":0,"partitions":1}] ` +
				`[2024-01-02T00:00:00.000Z 2024-01-02T01:00:00.000Z 3 {"type":"numbered","partitionNum":0,"partitions":1}]]`, "[[6 9]]"},
		{"hashed", compact(all + `,"granularitySpec":{"segmentGranularity":"MONTH"},"tuningConfig":{"type":"index_parallel","forceGuaranteedRollup":true,` +
			`"partitionsSpec":{"type":"hashed","numShards":2,"partitionDimensions":["k"]}}`),
			`[[2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 1 {"type":"hashed","partitionNum":0,"partitions":2,"bucketId":0,"numBuckets":2,` +
				`"partitionDimensions":["k"],"partitionFunction":"murmur3_32_abs"}] [2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 5 ` +
				`{"type":"hashed","partitionNum":1,"partitions":2,"bucketId":1,"numBuckets":2,"partitionDimensions":["k"],"partitionFunction":"murmur3_32_abs"}]]`, "[[6 9]]"},
		{"range", compact(all + `,"granularitySpec":{"segmentGranularity":"MONTH"},"tuningConfig":{"type":"index_parallel","forceGuaranteedRollup":true,` +
			`"partitionsSpec":{"type":"single_dim","partitionDimension":"k","targetRowsPerSegment":3}}`),
			`[[2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 3 {"type":"single","dimension":"k","start":null,"end":"b0","partitionNum":0,"numCorePartitions":2}] ` +
				`[2024-01-01T00:00:00.000Z 2024-02-01T00:00:00.000Z 3 {"type":"single","dimension":"k","start":"b0","end":null,"partitionNum":1,"numCorePartitions":2}]]`, "[[6 9]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ask := load(t)
			task, _ := runNative(t, s, c.spec)
			if task.ErrorMsg != "" {
				t.Fatal(task.ErrorMsg)
			}
			if got := ask(compactedSegments); got != c.segments {
				t.Errorf("the segments are\n%s, want\n%s", got, c.segments)
			}
			if got := ask("SELECT COUNT(*), SUM(n) FROM x"); got != c.rows {
				t.Errorf("the rows are %s, want %s", got, c.rows)
			}
		})
	}
	t.Run("again", func(t *testing.T) {
		s, ask := load(t)
		rollup := compact(all + `,"granularitySpec":{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true},` +
			`"dimensionsSpec":{"dimensions":["k"]},"metricsSpec":[{"type":"longSum","name":"n","fieldName":"n"},{"type":"count","name":"c"}]`)
		for _, spec := range []string{rollup, rollup, compact(`,"interval":"2024","granularitySpec":{"segmentGranularity":"YEAR"}`)} {
			if task, _ := runNative(t, s, strings.Replace(spec, `"2024"`, `"2024-01-01/2025-01-01"`, 1)); task.ErrorMsg != "" {
				t.Fatal(task.ErrorMsg)
			}
			// Counts are summed, whether the metricsSpec is given again or left out.
			if got := ask("SELECT TIME_FORMAT(__time, 'dd'), k, n, c FROM x ORDER BY 1, 2"); got != "[[01 a 3 3] [02 b0 2 1] [02 b1 2 1] [02 b2 2 1]]" {
				t.Errorf("the rows are %s", got)
			}
		}
		if got := ask("SELECT last_compaction_state FROM sys.segments WHERE datasource = 'x' AND is_overshadowed = 0"); !strings.Contains(got, `"segmentGranularity":"YEAR","type":"uniform"`) {
			t.Errorf("the state is %s", got)
		}
	})
	t.Run("rows that leave what is compacted", func(t *testing.T) {
		s, ask := load(t)
		task, _ := runNative(t, s, compact(all+`,"transformSpec":{"transforms":[{"type":"expression","name":"__time","expression":"__time + 24 * 3600 * 1000"}]},`+
			`"granularitySpec":{"segmentGranularity":"DAY"}`))
		if !strings.Contains(task.ErrorMsg, "2024-01-03T00:00:00.000Z") || ask("SELECT COUNT(*), SUM(n) FROM x") != "[[6 9]]" {
			t.Errorf("%+v, %s", task, ask("SELECT COUNT(*), SUM(n) FROM x"))
		}
	})
	t.Run("some segments, the others stay", func(t *testing.T) {
		s, ask := load(t)
		rows, err := s.Query(t.Context(), `SELECT version FROM sys.segments WHERE datasource = 'x' LIMIT 1`)
		if err != nil {
			t.Fatal(err)
		}
		minor := func(more string, parts ...int) string {
			var list []string
			for _, p := range parts {
				list = append(list, fmt.Sprintf(`{"itvl":"2024-01-01/2024-01-02","ver":"%s","part":%d}`, rows[0][0], p))
			}
			return compact(`,"ioConfig":{"type":"compact","dropExisting":true,"inputSpec":{"type":"minor","interval":"2024-01-01/2024-01-03","segments":[` +
				strings.Join(list, ",") + `]}},"context":{"useConcurrentLocks":true}` + more)
		}
		const want = `[[2024-01-01T00:00:00.000Z 2024-01-02T00:00:00.000Z 2 {"type":"numbered","partitionNum":0,"partitions":2}] ` +
			`[2024-01-01T00:00:00.000Z 2024-01-02T00:00:00.000Z 1 {"type":"numbered","partitionNum":1,"partitions":2}] `
		for _, step := range []struct {
			spec, segments, problem string
		}{
			{minor("", 0, 7), "", "Specified segments in the spec are different"},
			{minor("", 0, 2), want, ""},
		} {
			task, _ := runNative(t, s, step.spec)
			if !strings.Contains(task.ErrorMsg, step.problem) || step.problem == "" && task.ErrorMsg != "" {
				t.Fatal(task.ErrorMsg)
			}
			if got := ask("SELECT COUNT(*), SUM(n), COUNT(DISTINCT __time) FROM x"); got != "[[6 9 6]]" {
				t.Errorf("the rows are %s", got)
			}
			if got := ask(compactedSegments); !strings.Contains(got, step.segments) || strings.Count(got, "2024-01-02T00:00:00.000Z 2024-01-03") != 3 {
				t.Errorf("the segments are\n%s, want\n%s", got, step.segments)
			}
		}
		var refused struct{ Error string }
		err = s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", json.RawMessage(strings.Replace(minor("", 0), `"dropExisting":true,`, "", 1)), &refused)
		if err == nil || !strings.Contains(err.Error(), "[dropExisting]") {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing there", func(t *testing.T) {
		s, _ := load(t)
		task := awaitTask(t, s, compact(`,"interval":"1990-01-01/1991-01-01"`))
		if !strings.Contains(task.ErrorMsg, "Can't find segments") {
			t.Errorf("%+v", task)
		}
		err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+task.ID+"/reports", nil, nil) // it never began
		if err == nil || !strings.Contains(err.Error(), "No task reports were found") {
			t.Errorf("%v", err)
		}
	})
}

// TestStoredMeans keeps the states of AVG in rolled-up segments: means over groups that are stored
// apart, and over those that a compaction makes of them, are those of the rows.
func TestStoredMeans(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	rollup := func(lines ...string) string {
		return strings.NewReplacer("SELECT TIME_PARSE(t) AS __time, k, n", "SELECT TIME_FLOOR(TIME_PARSE(t), 'P1D') AS __time, k, AVG(n) AS mean, AVG(n) FILTER (WHERE n > 100) AS none",
			"PARTITIONED BY", "GROUP BY 1, 2 PARTITIONED BY").Replace(inline("INSERT INTO x", lines...))
	}
	for _, lines := range [][]string{
		{`{"t":"2024-01-01T01:00:00Z","k":"a","n":1}`, `{"t":"2024-01-01T02:00:00Z","k":"a","n":2}`, `{"t":"2024-01-01","k":"b","n":7}`},
		{`{"t":"2024-01-01T03:00:00Z","k":"a","n":6}`, `{"t":"2024-01-01","k":"b","n":null}`},
	} {
		if err := s.Ingest(t.Context(), rollup(lines...), map[string]any{"finalizeAggregations": false}); err != nil {
			t.Fatal(err)
		}
	}
	const means, rows = "SELECT k, AVG(mean), AVG(none) FROM x GROUP BY k ORDER BY k", "SELECT COUNT(*), AVG(mean) FROM x"
	for _, step := range []struct{ spec, rows string }{
		{"", "[[4 4.0]]"},
		{`{"type":"compact","dataSource":"x","interval":"2024-01-01/2024-01-02","granularitySpec":{"segmentGranularity":"DAY","rollup":true}}`, "[[2 4.0]]"},
	} {
		if step.spec != "" {
			if task, _ := runNative(t, s, step.spec); task.ErrorMsg != "" {
				t.Fatal(task.ErrorMsg)
			}
		}
		if got := ask(means); got != "[[a 3.0 <nil>] [b 7.0 <nil>]]" {
			t.Errorf("the means are %s", got)
		}
		if got := ask(rows); got != step.rows {
			t.Errorf("the rows are %s, want %s", got, step.rows)
		}
	}
}
