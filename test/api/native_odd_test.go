package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// runCounted runs a native task to its end and returns its status and its report's row counts of
// the building of segments.
func runCounted(t *testing.T, s *server.Server, spec string) (task server.Task, counts map[string]int64) {
	t.Helper()
	var submitted struct{ Task string }
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", json.RawMessage(spec), &submitted); err != nil {
		t.Fatal(err)
	}
	task, err := s.Await(t.Context(), submitted.Task)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Stats struct {
			Payload struct {
				RowStats json.RawMessage `json:"rowStats"`
			} `json:"payload"`
		} `json:"ingestionStatsAndErrors"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+submitted.Task+"/reports", nil, &report); err != nil {
		t.Fatal(err)
	}
	var phases map[string]map[string]int64
	if err := json.Unmarshal(report.Stats.Payload.RowStats, &phases); err != nil {
		t.Fatal(err, string(report.Stats.Payload.RowStats))
	}
	return task, phases["buildSegments"]
}

// One record has a list, an object or a text where all others have a number. The task goes on: the
// record counts as one with an error where a metric or a dimension takes the field as a number, and
// an expression over the field is NULL for it.
func TestOneOddRecordDoesNotEndALoad(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	const rollup = `{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true}`
	odd := map[string]string{"list": `[1,2]`, "object": `{"a":1}`, "text": `"x"`, "nested list": `[[1],{"b":[]}]`}
	for _, c := range []struct {
		name  string
		load  nativeLoad
		sql   string
		want  string // of every odd value
		wants map[string]string
		// errors is how many rows have one.
		errors int64
	}{
		{name: "two metrics of one field", load: nativeLoad{metrics: `[{"type":"longSum","name":"ls","fieldName":"m"},{"type":"doubleSum","name":"ds","fieldName":"m"}]`},
			sql: "SELECT SUM(ls), SUM(ds) FROM x", want: "[[3 3.0]]", errors: 1},
		{name: "every aggregator of numbers", load: nativeLoad{metrics: `[{"type":"longSum","name":"a","fieldName":"m"},{"type":"floatSum","name":"b","fieldName":"m"},
			{"type":"doubleMin","name":"c","fieldName":"m"},{"type":"longMax","name":"d","fieldName":"m"},{"type":"doubleMean","name":"e","fieldName":"m"},
			{"type":"longFirst","name":"f","fieldName":"m"},{"type":"floatLast","name":"g","fieldName":"m"},{"type":"doubleAny","name":"h","fieldName":"m"},
			{"type":"variance","name":"i","fieldName":"m"},{"type":"quantilesDoublesSketch","name":"q","fieldName":"m"}]`},
			sql: "SELECT SUM(a), SUM(b), MIN(c), MAX(d), DS_GET_QUANTILE(DS_QUANTILES_SKETCH(q), 1) FROM x", want: "[[3 3.0 1.0 2 2.0]]", errors: 1},
		{name: "a sum and a sketch of values", load: nativeLoad{metrics: `[{"type":"longSum","name":"ls","fieldName":"m"},{"type":"thetaSketch","name":"u","fieldName":"m"},
			{"type":"HLLSketchBuild","name":"h","fieldName":"m"}]`},
			sql: "SELECT SUM(ls), COUNT(*) > 0 FROM x", want: "[[3 true]]", errors: 1},
		{name: "a filtered aggregator", load: nativeLoad{metrics: `[{"type":"filtered","name":"f","filter":{"type":"selector","dimension":"k","value":"a"},
			"aggregator":{"type":"longSum","name":"f","fieldName":"m"}},{"type":"count","name":"n"}]`},
			sql: "SELECT SUM(f), SUM(n) FROM x", want: "[[3 3]]"},
		{name: "the expression of a metric", load: nativeLoad{metrics: `[{"type":"doubleSum","name":"ds","expression":"m * 2"},{"type":"longSum","name":"z","expression":"nvl(m, 0)"}]`},
			sql: "SELECT SUM(ds), SUM(z) FROM x", want: "[[6.0 3]]"},
		{name: "the field twice in an expression", load: nativeLoad{metrics: `[{"type":"doubleSum","name":"ds","expression":"m * m"},{"type":"longMin","name":"z","expression":"-m"}]`},
			sql: "SELECT SUM(ds), MIN(z) FROM x", want: "[[5.0 -2]]"},
		{name: "the expression of a transform", load: nativeLoad{dimensions: `{"dimensions":["k",{"type":"long","name":"x"},{"type":"string","name":"y"},{"type":"auto","name":"z"}]}`,
			granularity: `{"segmentGranularity":"DAY","rollup":false}`,
			transform: `{"transforms":[{"type":"expression","name":"x","expression":"m * 2"},{"type":"expression","name":"y","expression":"m + 1"},` +
				`{"type":"expression","name":"z","expression":"m - 1"}]}`},
			sql: "SELECT x, y, z FROM x ORDER BY x", wants: map[string]string{"text": "[[<nil> <nil> <nil>] [2 2.0 0.0] [4 3.0 1.0]]"}, want: "[[<nil> <nil> <nil>] [2 2 0] [4 3 1]]"},
		{name: "a metric of what a transform makes of it", load: nativeLoad{metrics: `[{"type":"longSum","name":"ls","fieldName":"x"},{"type":"doubleMax","name":"dm","fieldName":"x"}]`,
			transform: `{"transforms":[{"type":"expression","name":"x","expression":"m"}]}`},
			sql: "SELECT SUM(ls), MAX(dm) FROM x", want: "[[3 2.0]]"},
		{name: "a dimension that is a number, and a metric", load: nativeLoad{dimensions: `{"dimensions":["k",{"type":"long","name":"m"},{"type":"double","name":"e"}]}`,
			metrics: `[{"type":"doubleSum","name":"ds","fieldName":"m"}]`, transform: `{"transforms":[{"type":"expression","name":"e","expression":"m"}]}`},
			sql: "SELECT m, e, ds FROM x ORDER BY m", want: "[[<nil> <nil> <nil>] [1 1.0 1.0] [2 2.0 2.0]]", errors: 1},
		{name: "filters", load: nativeLoad{transform: `{"filter":{"type":"or","fields":[{"type":"expression","expression":"m > 1"},
			{"type":"bound","dimension":"m","lower":"2","ordering":"numeric"},{"type":"range","column":"m","matchValueType":"LONG","lower":2}]}}`},
			sql: "SELECT SUM(\"count\") FROM x", wants: map[string]string{"list": "[[2]]"}, want: "[[1]]"}, // a list has each of its values
	} {
		for kind, value := range odd {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				l := c.load
				l.lines = []string{`{"t":"2024-01-01","k":"a","m":1}`, `{"t":"2024-01-01","k":"a","m":2}`, `{"t":"2024-01-01","k":"a","m":` + value + `}`}
				if l.granularity == "" {
					l.granularity = rollup
				}
				if l.metrics == "" {
					l.metrics = `[{"type":"count","name":"count"}]`
				}
				task, counts := runCounted(t, s, l.spec(t))
				if task.StatusCode != "SUCCESS" {
					t.Fatalf("%s: %s", task.StatusCode, task.ErrorMsg)
				}
				want := c.want
				if w, ok := c.wants[kind]; ok {
					want = w
				}
				if got := ask(c.sql); got != want {
					t.Errorf("%s\n%s, want %s", c.sql, got, want)
				}
				if counts["processedWithError"] != c.errors {
					t.Errorf("%v, want %d with error", counts, c.errors)
				}
			})
		}
	}
}

// Records that are odd count against maxParseExceptions, and the report says which they are.
func TestOddRecordsCountAsParseExceptions(t *testing.T) {
	s := server.Start(t, server.Options{})
	l := nativeLoad{
		lines:   []string{`{"t":"2024-01-01","k":"a","m":1}`, `{"t":"2024-01-01","k":"a","m":[1,2]}`, `{"t":"2024-01-01","k":"a","m":{"x":1}}`},
		metrics: `[{"type":"longSum","name":"ls","fieldName":"m"},{"type":"doubleSum","name":"ds","fieldName":"m"}]`,
		tuning:  `{"type":"index_parallel","maxParseExceptions":1,"maxSavedParseExceptions":5}`,
	}
	task, _ := runCounted(t, s, l.spec(t))
	if task.StatusCode != "FAILED" || !strings.Contains(task.ErrorMsg, "Max parse exceptions[1] exceeded") {
		t.Errorf("%s: %s", task.StatusCode, task.ErrorMsg)
	}
}
