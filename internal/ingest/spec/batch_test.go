package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartitions(t *testing.T) {
	for _, c := range []struct {
		text, shown, problem string
		rows                 int
	}{
		{`{"type":"dynamic"}`, `{"type":"dynamic","maxRowsPerSegment":5000000,"maxTotalRows":null}`, "", 5_000_000},
		{`{"type":"dynamic","maxRowsPerSegment":"7","maxTotalRows":9}`, `{"type":"dynamic","maxRowsPerSegment":7,"maxTotalRows":9}`, "", 7},
		{`{"type":"hashed","numShards":2}`, `{"type":"hashed","numShards":2,"partitionDimensions":[],"partitionFunction":"murmur3_32_abs",` +
			`"maxRowsPerSegment":null}`, "", 5_000_000},
		{`{"type":"hashed","maxRowsPerSegment":10,"partitionDimensions":["a"]}`, `{"type":"hashed","numShards":null,"partitionDimensions":["a"],` +
			`"partitionFunction":"murmur3_32_abs","maxRowsPerSegment":10}`, "", 10},
		{`{"type":"range","partitionDimensions":["a","b"],"maxRowsPerSegment":30}`, `{"type":"range","partitionDimensions":["a","b"],` +
			`"targetRowsPerSegment":null,"maxRowsPerSegment":30,"assumeGrouped":false}`, "", 20},
		{`{"type":"dimension","partitionDimension":"a","targetPartitionSize":30}`, `{"type":"single_dim","partitionDimension":"a",` +
			`"targetRowsPerSegment":30,"maxRowsPerSegment":null,"assumeGrouped":false}`, "", 30},
		{`{"type":"range","targetRowsPerSegment":3}`, "", "partitionDimensions must be specified", 0},
		{`{"type":"range","partitionDimensions":["a"]}`, "", "Exactly one of targetRowsPerSegment or maxRowsPerSegment", 0},
		{`{"type":"hashed","numShards":2,"targetRowsPerSegment":3}`, "", "At most one of numShards or targetRowsPerSegment", 0},
		{`{"type":"hashed","partitionFunction":"md5"}`, "", "Partition function [md5] is unknown", 0},
		{`{"type":"hashed","numShards":1000000}`, "", "at most [100000]", 0},
		{`{"type":"hashed","numShards":"two"}`, "", "is not a whole number", 0},
		{`{"type":"hashed","numShards":0}`, "", "numShards[0] should be positive", 0},
		{`{"type":"hashed","targetRowsPerSegment":-2}`, "", "targetRowsPerSegment[-2] should be positive", 0},
		{`{"type":"hashed","targetRowsPerSegment":4,"maxRowsPerSegment":5}`, "", "At most one of targetRowsPerSegment or maxRowsPerSegment", 0},
		{`{"type":"hashed","numShards":-1,"partitionFunction":"MURMUR3_32_ABS"}`, `{"type":"hashed","numShards":null,"partitionDimensions":[],` +
			`"partitionFunction":"murmur3_32_abs","maxRowsPerSegment":null}`, "", 5_000_000},
		{`{"type":"frob"}`, "", "Type [frob] of [partitionsSpec] is unknown", 0},
		{`{}`, "", "has no [type]", 0},
		{`7`, "", "Invalid value for the field [partitionsSpec]", 0},
	} {
		var p Partitions
		err := p.UnmarshalJSON([]byte(c.text))
		if err != nil || c.problem != "" {
			if err == nil || c.problem == "" || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %q", c.text, err, c.problem)
			}
			continue
		}
		shown, err := json.Marshal(p)
		if err != nil || string(shown) != c.shown || p.Rows() != c.rows {
			t.Errorf("%s is shown as %s, %v, with %d rows; want %s, %d", c.text, shown, err, p.Rows(), c.shown, c.rows)
		}
	}
}

// typed adds the type to a tuningConfig that is not empty.
func typed(text string) json.RawMessage {
	return json.RawMessage(strings.Replace(text, "{", `{"type":"index_parallel",`, 1))
}

func TestTuning(t *testing.T) {
	for text, problem := range map[string]string{
		`{"maxRowsInMemory":"many"}`:                                                         `["many"] is not a whole number`,
		`{"forceGuaranteedRollup":true,"partitionsSpec":{"type":"dynamic"}}`:                 "cannot be used for perfect rollup",
		`{"partitionsSpec":{"type":"hashed","numShards":2}}`:                                 "DynamicPartitionsSpec must be used for best-effort rollup",
		`{"indexSpec":{"bitmap":{"type":"frob"}}}`:                                           "Type [frob] of [bitmap]",
		`{"indexSpec":{"longEncoding":"short"}}`:                                             "known are [longs auto]",
		`{"maxNumConcurrentSubTasks":0}`:                                                     "must be positive",
		`{"splitHintSpec":{}}`:                                                               "[splitHintSpec] has no [type]",
		`{"splitHintSpec":{"type":"half"}}`:                                                  "known are [maxSize, segments]",
		`{"splitHintSpec":{"type":"maxSize","maxNumFiles":0}}`:                               "[maxNumFiles] in [splitHintSpec] must be larger than 0",
		`{"splitHintSpec":"maxSize"}`:                                                        "[splitHintSpec] must be an object",
		`{"appendableIndexSpec":"onheap"}`:                                                   "[appendableIndexSpec] must be an object",
		`{"segmentWriteOutMediumFactory":"tmpFile"}`:                                         "[segmentWriteOutMediumFactory] must be an object",
		`{"chatHandlerTimeout":"a while"}`:                                                   "[chatHandlerTimeout] in [tuningConfig] is not a period",
		`{"indexSpec":{"stringDictionaryEncoding":{"type":"frontCoded","bucketSize":6}}}`:    "must be a power of two",
		`{"indexSpec":{"stringDictionaryEncoding":{"type":"frontCoded","formatVersion":2}}}`: "[formatVersion] in [stringDictionaryEncoding] must be 0 or 1",
	} {
		if _, err := ParseTuning(TuningParallel, typed(text)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", text, err, problem)
		}
	}
	type facts struct {
		Type           string
		Rows, Shards   int
		Errors, Saved  int64
		Workers, Locks int
	}
	for text, want := range map[string]facts{
		"":                               {"dynamic", 5_000_000, 0, 2147483647, 0, 1, 0},
		`{"maxRowsPerSegment":9}`:        {"dynamic", 9, 0, 2147483647, 0, 1, 0},
		`{"forceGuaranteedRollup":true}`: {"hashed", 5_000_000, 0, 2147483647, 0, 1, 0},
		`{"forceGuaranteedRollup":true,"numShards":3,"maxAllowedLockCount":4}`:                                     {"hashed", 5_000_000, 3, 2147483647, 0, 1, 4},
		`{"reportParseExceptions":true,"maxNumSubTasks":5}`:                                                        {"dynamic", 5_000_000, 0, 0, 1, 5, 0},
		`{"maxParseExceptions":7,"maxSavedParseExceptions":99999999,"maxNumConcurrentSubTasks":2,"maxRetry":null}`: {"dynamic", 5_000_000, 0, 7, 10000, 2, 0},
	} {
		tuning, err := ParseTuning(TuningParallel, typed(text))
		if err != nil {
			t.Fatal(err)
		}
		p := tuning.Given()
		got := facts{p.Type, p.Rows(), p.Shards, tuning.MaxParseErrors, tuning.SavedParseErrors, tuning.Workers, tuning.MaxLocks}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	for kind, members := range map[string]int{TuningIndex: 22, TuningParallel: 31, TuningCompaction: 31} {
		tuning, err := ParseTuning(kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(tuning)
		var shown map[string]any
		if err != nil || json.Unmarshal(text, &shown) != nil || len(shown) != members || shown["type"] != kind {
			t.Errorf("%s has %d members: %s, %v", kind, len(shown), text, err)
		}
	}
}

// Parts that are kept as they were written are shown with what was not said, and members of older
// releases with what the partitionsSpec says.
func TestTuningIsShownWhole(t *testing.T) {
	tuning, err := ParseTuning(TuningParallel, typed(`{"forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","numShards":4,"partitionDimensions":["a"]},
		"appendableIndexSpec":{},"segmentWriteOutMediumFactory":{},"splitHintSpec":{"type":"maxSize","maxSplitSize":"1GiB"},"chatHandlerTimeout":"PT2S",
		"indexSpec":{"stringDictionaryEncoding":{"type":"frontCoded"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tuning)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"appendableIndexSpec":{"preserveExistingMetrics":false,"type":"onheap"}`, `"segmentWriteOutMediumFactory":{"type":"tmpFile"}`,
		`"splitHintSpec":{"maxNumFiles":1000,"maxSplitSize":"1GiB","type":"maxSize"}`, `"chatHandlerTimeout":"PT2S"`,
		`"stringDictionaryEncoding":{"bucketSize":4,"formatVersion":0,"type":"frontCoded"}`, `"numShards":4,"partitionDimensions":["a"]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}

const someIndex = `{"dataSchema":{"dataSource":"d","timestampSpec":{"column":"t"},"dimensionsSpec":{"dimensions":["a"]},"metricsSpec":[{"type":"longSum","name":"n",
	"fieldName":"m"}],"granularitySpec":{"segmentGranularity":"MONTH","intervals":["2024-01-01/2024-01-02","2024-01-02/2024-01-03"]}},
	"ioConfig":{"type":"index","inputSource":{"type":"inline","data":"x"},"inputFormat":{"type":"csv","columns":["a"]}}}`

func TestIndex(t *testing.T) {
	x, err := ParseIndex("index", json.RawMessage(someIndex))
	if err != nil {
		t.Fatal(err)
	}
	text, err := x.Fill()
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		DataSchema map[string]any
		IOConfig   map[string]any
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"dataSource": "d", "timestampSpec": map[string]any{"column": "t", "format": "auto", "missingValue": nil},
		"dimensionsSpec": map[string]any{"dimensions": []any{map[string]any{"type": "string", "name": "a", "multiValueHandling": "SORTED_ARRAY", "createBitmapIndex": true}},
			"dimensionExclusions": []any{"__time", "t", "n", "m"}, "includeAllDimensions": false, "useSchemaDiscovery": false},
		"metricsSpec": []any{map[string]any{"type": "longSum", "name": "n", "fieldName": "m"}},
		"granularitySpec": map[string]any{"type": "uniform", "segmentGranularity": "MONTH", "queryGranularity": map[string]any{"type": "none"}, "rollup": true,
			"intervals": []any{"2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z", "2024-01-02T00:00:00.000Z/2024-01-03T00:00:00.000Z"}},
		"transformSpec": map[string]any{"filter": nil, "transforms": []any{}},
	}
	if d := cmp.Diff(want, shown.DataSchema); d != "" {
		t.Error(d)
	}
	if shown.IOConfig["appendToExisting"] != false || shown.IOConfig["type"] != "index" {
		t.Errorf("the ioConfig is shown as %v", shown.IOConfig)
	}
	again, err := ParseIndex("index", text)
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := again.Fill(); err != nil || string(twice) != string(text) {
		t.Errorf("what is shown is read as\n%s, %v; want\n%s", twice, err, text)
	}
	for change, problem := range map[string]string{
		`"ioConfig":{"type":"index_parallel",>"ioConfig":{`:              "[ioConfig] has no [type]; it is [index_parallel]",
		`"ioConfig":{"type":"index_parallel">"ioConfig":{"type":"kafka"`: "Type [kafka] of [ioConfig] is unknown; known are [index_parallel]",
		`"ioConfig":{>"tuningConfig":{"maxRetry":1},"ioConfig":{`:        "[tuningConfig] has no [type]; it is [index_parallel]",
		`"ioConfig":{>"tuningConfig":{"type":"index"},"ioConfig":{`:      "Type [index] of [tuningConfig] is unknown",
		`"intervals":["2024-01-01/2024-01-02","2024-01-02/2024-01-03"]}},
	"ioConfig":{>"rollup":true}},"ioConfig":{"dropExisting":true,`: "[dropExisting] needs [intervals]",
		`["a"]>["__time"]`: "as a dimension",
		`"ioConfig":{>"ioConfig":{"appendToExisting":true,"dropExisting":true,`:                                                   "Cannot simultaneously replace and append",
		`"ioConfig":{>"tuningConfig":{"type":"index_parallel","forceGuaranteedRollup":true},"ioConfig":{"appendToExisting":true,`: "Perfect rollup cannot be guaranteed",
		`"inputSource">"other"`:                         "[spec.ioConfig.inputSource] is required",
		`"inputFormat">"other"`:                         "inputFormat required for input source [inline]",
		`"dataSource":"d",>`:                            "has no [dataSource]",
		`"dataSchema">"other"`:                          "[spec.dataSchema] is required",
		`"name":"n">"name":"a"`:                         "[a] seen in dimensions list, metricsSpec list",
		`"dataSource":"d">"dataSource":"d","parser":{}`: "[parser] in [dataSchema] is not supported",
	} {
		from, to, _ := strings.Cut(change, ">")
		text := strings.Replace(someIndex, `"type":"index"`, `"type":"index_parallel"`, 1)
		if _, err := ParseIndex("index_parallel", json.RawMessage(strings.Replace(text, from, to, 1))); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", change, err, problem)
		}
	}
}

func TestChunks(t *testing.T) {
	for spec, want := range map[string]string{
		`"segmentGranularity":"HOUR"`: "HOUR",
		`"type":"arbitrary"`:          "ALL",
		`"type":"arbitrary","intervals":["2024-01-01/2024-01-02","2024-03-01/2024-03-02"]`: "DAY",
		`"type":"arbitrary","intervals":["2024-01-01T00:00/2024-01-01T00:20"]`:             `{"type":"intervals","intervals":["2024-01-01T00:00:00.000Z/2024-01-01T00:20:00.000Z"]}`,
		`"type":"arbitrary","intervals":["2024-01-01/2024-01-02","2024-03-01/2024-03-04"]`: `{"type":"intervals","intervals":["2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z",` +
			`"2024-03-01T00:00:00.000Z/2024-03-04T00:00:00.000Z"]}`,
		`"type":"arbitrary","intervals":["2024-01-01/2024-01-03","2024-01-02/2024-01-04"]`: "Overlapping intervals",
	} {
		text := strings.Replace(someIndex, `"segmentGranularity":"MONTH","intervals":["2024-01-01/2024-01-02","2024-01-02/2024-01-03"]`, spec, 1)
		x, err := ParseIndex("index", json.RawMessage(text))
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", spec, err)
			}
			continue
		}
		if g, err := x.Chunks(); err != nil || g.String() != want {
			t.Errorf("%s: %s, %v, want %s", spec, g, err, want)
		}
	}
}

func TestCompaction(t *testing.T) {
	for text, problem := range map[string]string{
		`{}`: "no [ioConfig]",
		`{"interval":"2020/2021","segments":["a"]}`: "At most one of properties[[ioConfig, interval, segments]]",
		`{"interval":"2020/2020"}`:                  "is empty",
		`{"segments":[]}`:                           "[segments] of a compact task is empty",
		`{"segments":[7]}`:                          "are ids of segments",
		`{"ioConfig":{"type":"compact"}}`:           "no [inputSpec]",
		`{"ioConfig":{"inputSpec":{"type":"minor","interval":"2020/2021"}}}`:                                  "[minor] has no [segments]",
		`{"ioConfig":{"inputSpec":{"type":"frob"}}}`:                                                          "Type [frob] of [inputSpec]",
		`{"interval":"2020/2021","segmentGranularity":"DAY","granularitySpec":{"segmentGranularity":"HOUR"}}`: "Conflicting segment granularities",
		`{"interval":"2020/2021","granularitySpec":{"segmentGranularity":"NONE"}}`:                            "can't be [NONE]",
		`{"interval":"2020/2021","metricsSpec":[{"type":"count"}]}`:                                           "has no name",
		`{"interval":"2020/2021","compactionRunner":{"type":"spark"}}`:                                        "Type [spark] of [compactionRunner]",
	} {
		if _, err := ParseCompaction(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", text, err, problem)
		}
	}
	c, err := ParseCompaction(json.RawMessage(`{"interval":"2020/2021","segmentGranularity":"DAY"}`))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]json.RawMessage{"interval": json.RawMessage(`"2020/2021"`)}
	if err := c.Fill(fields); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range fields {
		got[name] = string(text)
	}
	want := map[string]string{
		"ioConfig": `{"allowNonAlignedInterval":false,"dropExisting":false,"inputSpec":{"interval":"2020-01-01T00:00:00.000Z/2021-01-01T00:00:00.000Z",` +
			`"sha256OfSortedSegmentIds":null,"type":"interval"},"type":"compact"}`,
		"dimensionsSpec": "null", "metricsSpec": "null", "transformSpec": "null", "tuningConfig": "null", "segmentGranularity": `"DAY"`,
		"granularitySpec": `{"segmentGranularity":"DAY","queryGranularity":null,"rollup":null}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzBatchSpecs reads specs that may be anything. What is read is shown in a form that is read
// again.
func FuzzBatchSpecs(f *testing.F) {
	f.Add(someIndex)
	f.Add(`{"interval":"2020/2021","tuningConfig":{"partitionsSpec":{"type":"hashed"}}}`)
	f.Add(`{"segments":["a"],"dimensionsSpec":{"dimensions":[{"type":"auto","name":"x"}]},"metricsSpec":[{"type":"filtered","aggregator":{"name":"n"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := ParseIndex("index", json.RawMessage(text)); err == nil {
			shown, err := x.Fill()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseIndex("index", shown); err != nil {
				t.Fatalf("%s is shown as %s: %v", text, shown, err)
			}
		}
		if c, err := ParseCompaction(json.RawMessage(text)); err == nil {
			fields := map[string]json.RawMessage{}
			if err := c.Fill(fields); err != nil {
				t.Fatal(err)
			}
			shown, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseCompaction(shown); err != nil {
				t.Fatalf("%s is shown as %s: %v", text, shown, err)
			}
		}
	})
}

// Scalars of another JSON type that say the same are taken, as clients of Druid write them.
func TestScalarsOfOtherTypes(t *testing.T) {
	text := `{"dataSchema":{"dataSource":"d","timestampSpec":{"column":"t"},"dimensionsSpec":{"dimensions":[{"name":7,"createBitmapIndex":"false"}]},
		"metricsSpec":[{"type":"longSum","name":8,"fieldName":9}],"granularitySpec":{"segmentGranularity":"DAY","rollup":"false"}},
		"ioConfig":{"type":"index","appendToExisting":"true","inputSource":{"type":"inline","data":"x"},"inputFormat":{"type":"csv","columns":["t"],"skipHeaderRows":"1"}}}`
	x, err := ParseIndex("index", json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	d := x.Schema.Dimensions.Explicit[0]
	if d.Name != "7" || d.Bitmap || x.Schema.Metrics[0].Name != "8" || x.Schema.Granularity.Rollup || !x.Append {
		t.Errorf("%+v of %+v", d, x.Schema)
	}
}
