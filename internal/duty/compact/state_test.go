package compact

import (
	"encoding/json"
	"testing"
)

// Each difference between what is wanted and what is there is the reason; what the settings leave
// open is none.
func TestReasons(t *testing.T) {
	const state = `{"partitionsSpec":{"type":"dynamic","maxRowsPerSegment":5000000,"maxTotalRows":9223372036854775807},"dimensionsSpec":{"dimensions":[` +
		`{"type":"string","name":"channel","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":true},` +
		`{"type":"long","name":"cnt","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":false}],"dimensionExclusions":[]},` +
		`"metricsSpec":[{"type":"longSum","name":"added","fieldName":"added","expression":null}],"transformSpec":{"filter":{"type":"selector","dimension":"channel","value":"x"}},` +
		`"indexSpec":{"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","stringDictionaryEncoding":{"type":"utf8"},"metricCompression":"lz4","longEncoding":"longs"},` +
		`"granularitySpec":{"type":"uniform","segmentGranularity":"DAY","queryGranularity":{"type":"none"},"rollup":false}}`
	const ranged = `{"partitionsSpec":{"type":"range","targetRowsPerSegment":100,"maxRowsPerSegment":null,"partitionDimensions":["cnt"],"assumeGrouped":false},` +
		`"dimensionsSpec":{"dimensions":["cnt","channel"]},"granularitySpec":{"segmentGranularity":"DAY"}}`
	for name, c := range map[string]struct{ state, config, want string }{
		"no state":               {"", `{}`, "not compacted yet"},
		"nothing wanted":         {state, `{}`, ""},
		"dynamic":                {state, `{"tuningConfig":{"partitionsSpec":{"type":"dynamic"}}}`, ""},
		"rows":                   {state, `{"tuningConfig":{"partitionsSpec":{"type":"dynamic","maxRowsPerSegment":1000}}}`, "'partitionsSpec' mismatch: required['dynamic' with 1,000 rows], current['dynamic' with 5,000,000 rows]"},
		"rows, deprecated":       {state, `{"maxRowsPerSegment":1000}`, "'partitionsSpec' mismatch: required['dynamic' with 1,000 rows], current['dynamic' with 5,000,000 rows]"},
		"total rows":             {state, `{"tuningConfig":{"maxTotalRows":7}}`, "'partitionsSpec' mismatch: required['dynamic' with 5,000,000 rows], current['dynamic' with 5,000,000 rows]"},
		"range":                  {state, `{"tuningConfig":{"partitionsSpec":{"type":"range","targetRowsPerSegment":100,"partitionDimensions":["channel"]}}}`, "'partitionsSpec' mismatch: required['range' on [channel] with 150 rows], current['dynamic' with 5,000,000 rows]"},
		"range kept":             {ranged, `{"tuningConfig":{"partitionsSpec":{"type":"range","maxRowsPerSegment":150,"partitionDimensions":["cnt"]}}}`, ""},
		"single is a range":      {ranged, `{"tuningConfig":{"partitionsSpec":{"type":"single_dim","targetRowsPerSegment":100,"partitionDimension":"cnt"}}}`, ""},
		"dimensions of ranges":   {ranged, `{"tuningConfig":{"partitionsSpec":{"type":"range","targetRowsPerSegment":100,"partitionDimensions":["cnt"]}},"dimensionsSpec":{"dimensions":["channel","cnt"]}}`, ""},
		"index as it is":         {state, `{"tuningConfig":{"indexSpec":{"bitmap":{"type":"roaring"}}}}`, ""},
		"segment granularity":    {state, `{"granularitySpec":{"segmentGranularity":"MONTH"}}`, "'segmentGranularity' mismatch: required[MONTH], current[DAY]"},
		"its period":             {state, `{"granularitySpec":{"segmentGranularity":{"type":"period","period":"P1D","timeZone":"UTC","origin":null}}}`, ""},
		"query granularity":      {state, `{"granularitySpec":{"queryGranularity":"HOUR"}}`, "'queryGranularity' mismatch: required[HOUR], current[NONE]"},
		"rollup":                 {state, `{"granularitySpec":{"rollup":true}}`, "'rollup' mismatch: required[true], current[false]"},
		"dimensions":             {state, `{"dimensionsSpec":{"dimensions":["channel"]}}`, "'dimensionsSpec' mismatch: required[channel], current[channel, cnt]"},
		"dimensions in full":     {state, `{"dimensionsSpec":{"dimensions":["channel",{"type":"long","name":"cnt"}]}}`, ""},
		"type of a dimension":    {state, `{"dimensionsSpec":{"dimensions":["channel","cnt"]}}`, "'dimensionsSpec' mismatch: required[channel, cnt], current[channel, cnt]"},
		"metrics":                {state, `{"metricsSpec":[{"type":"longSum","name":"added","fieldName":"added"}]}`, ""},
		"other metrics":          {state, `{"metricsSpec":[{"type":"longMax","name":"added","fieldName":"added"}]}`, `'metricsSpec' mismatch: required[{"fieldName":"added","name":"added","type":"longMax"}], current[{"fieldName":"added","name":"added","type":"longSum"}]`},
		"filter":                 {state, `{"transformSpec":{"filter":{"type":"selector","value":"x","dimension":"channel"}}}`, ""},
		"another filter":         {ranged, `{"transformSpec":{"filter":{"type":"selector","value":"x","dimension":"channel"}}}`, `'transformSpec filter' mismatch: required[{"dimension":"channel","type":"selector","value":"x"}], current[null]`},
		"what is only for tasks": {state, `{"taskPriority":1,"skipOffsetFromLatest":"PT1H","ioConfig":{"dropExisting":true},"taskContext":{"x":1},"tuningConfig":{"maxRowsInMemory":5}}`, ""},
		"unreadable":             {`[]`, `{}`, "its compaction state is not readable"},
	} {
		t.Run(name, func(t *testing.T) {
			config := DefaultConfig()
			config.DataSource = "wiki"
			if err := json.Unmarshal([]byte(c.config), &config); err != nil {
				t.Fatal(err)
			}
			if err := config.Validate(); err != nil {
				t.Fatal(err)
			}
			target, err := newTarget(&config)
			if err != nil {
				t.Fatal(err)
			}
			list := segments(t, "wiki", "1", "2026-03-01/P1D")
			if c.state != "" {
				list = compacted(list, c.state)
			}
			if got := target.reason(list); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Settings for the engine msq are refused as the interface says.
func TestMSQSettings(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "Invalid config: MSQ: tuningConfig.partitionsSpec must be specified",
		`{"tuningConfig":{"partitionsSpec":{"type":"hashed"}}}`:                                                                                                               "Invalid config: MSQ: Invalid partitioning type [hashed]. Must be either 'dynamic' or 'range'",
		`{"tuningConfig":{"partitionsSpec":{"type":"dynamic","maxTotalRows":5}}}`:                                                                                             "Invalid config: MSQ: 'maxTotalRows' not supported with 'dynamic' partitioning",
		`{"maxRowsPerSegment":5,"granularitySpec":{"rollup":true}}`:                                                                                                           "Invalid config: MSQ: 'granularitySpec.rollup' must be true if and only if 'metricsSpec' is specified",
		`{"maxRowsPerSegment":5,"granularitySpec":{"rollup":false}}`:                                                                                                          "",
		`{"maxRowsPerSegment":5,"taskContext":{"maxNumTasks":1}}`:                                                                                                             "Invalid config: MSQ: Context maxNumTasks [1] must be at least 2 (1 controller + 1 worker)",
		`{"maxRowsPerSegment":5,"metricsSpec":[{"type":"longSum","name":"a","fieldName":"b"}]}`:                                                                               "Invalid config: MSQ: Aggregator [a] not supported in 'metricsSpec': it does not combine into its own column",
		`{"maxRowsPerSegment":5,"metricsSpec":[{"type":"longSum","name":"a","fieldName":"a"}],"engine":"native"}`:                                                             "",
		`{"dimensionsSpec":{"dimensions":[{"type":"long","name":"n"}]},"tuningConfig":{"partitionsSpec":{"type":"range","maxRowsPerSegment":9,"partitionDimensions":["n"]}}}`: "Invalid config: MSQ: Non-string partition dimension [n] of type [long] not supported with 'range' partition spec",
	} {
		c := DefaultConfig()
		c.DataSource = "wiki"
		if err := json.Unmarshal([]byte(config), &c); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.ValidateEngine(&Cluster{Engine: EngineMSQ, UseSupervisors: true}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", config, got, want)
		}
	}
}

// Whatever a segment carries as its state, and whatever the settings are, comparing them ends.
func FuzzReason(f *testing.F) {
	f.Add(dayState, `{"granularitySpec":{"segmentGranularity":"DAY"}}`)
	f.Add(`{"dimensionsSpec":{"dimensions":["a",{"type":"json","name":"b"}]}}`, `{"dimensionsSpec":{"dimensions":["a"]},"metricsSpec":[{"type":"longSum","name":"x"}]}`)
	f.Add(`null`, `{"tuningConfig":{"partitionsSpec":{"type":"range","targetRowsPerSegment":3,"partitionDimensions":["a"]},"indexSpec":{"bitmap":null}}}`)
	f.Fuzz(func(t *testing.T, state, settings string) {
		config := DefaultConfig()
		if json.Unmarshal([]byte(settings), &config) != nil {
			return
		}
		config.DataSource = "wiki"
		if config.Validate() != nil {
			return
		}
		target, err := newTarget(&config)
		if err != nil {
			return
		}
		target.reason(compacted(segments(t, "wiki", "1", "2026-03-01/P1D"), state))
		text, err := json.Marshal(&config)
		if err != nil {
			t.Fatal(err)
		}
		again := DefaultConfig()
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
