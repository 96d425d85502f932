package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// load is a native spec in parts; those left out are the defaults of the test.
type nativeLoad struct {
	lines                                []string // of JSON
	source, format                       string
	time, dimensions, metrics, transform string
	granularity, tuning, io              string
}

func (l nativeLoad) spec(t *testing.T) string {
	t.Helper()
	part := func(text, def string) json.RawMessage {
		if text == "" {
			text = def
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
		return json.RawMessage(text)
	}
	inline, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(l.lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	io := map[string]json.RawMessage{"type": part(`"index_parallel"`, ""), "inputSource": part(l.source, string(inline)), "inputFormat": part(l.format, `{"type":"json"}`)}
	var more map[string]json.RawMessage
	if err := json.Unmarshal(part(l.io, "{}"), &more); err != nil {
		t.Fatal(err)
	}
	maps.Copy(io, more)
	text, err := json.Marshal(map[string]any{"type": "index_parallel", "spec": map[string]any{
		"ioConfig": io, "tuningConfig": part(l.tuning, `{"type":"index_parallel"}`), "dataSchema": map[string]any{
			"dataSource": "x", "timestampSpec": part(l.time, `{"column":"t","format":"auto"}`), "dimensionsSpec": part(l.dimensions, `{"dimensions":["k"]}`),
			"metricsSpec": part(l.metrics, "[]"), "granularitySpec": part(l.granularity, `{"segmentGranularity":"DAY","rollup":false}`),
			"transformSpec": part(l.transform, "{}"),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNativeLoads loads inline data by native specs and asks for it.
func TestNativeLoads(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	rows := []string{
		`{"t":"2024-01-01T01:00:00Z","k":"a","tags":["y","x","y"],"n":1,"f":1.5,"user":"u1","j":{"city":"Bern","at":[1,2]},"s":"10"}`,
		`{"t":"2024-01-01T02:00:00Z","k":"a","tags":"z","n":2,"f":2,"user":"u2","j":{"city":"Basel"},"s":"x"}`,
		`{"t":"2024-01-02T01:00:00Z","k":"b","tags":[],"n":3,"user":"u1","j":null,"s":"30"}`,
		`{"t":"2024-01-02T01:30:00Z","k":null,"n":null,"f":0.25,"user":"u3","j":"text","s":null}`,
	}
	const rollup = `{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true}`
	for _, c := range []struct {
		name  string
		load  nativeLoad
		asked map[string]string
	}{
		{"transforms that replace fields of text by what it says", nativeLoad{
			lines:      []string{`2024-01-01|a|{"x":1,"l":[]}|[1,2]`, "2024-01-02|||"},
			format:     `{"type":"tsv","delimiter":"|","columns":["t","k","j","l"],"findColumnsFromHeader":false}`,
			dimensions: `{"dimensions":["k",{"type":"auto","name":"j"},{"type":"auto","name":"l"}]}`,
			transform: `{"transforms":[{"type":"expression","name":"j","expression":"parse_json(j)"},` +
				`{"type":"expression","name":"l","expression":"parse_json(l)"}]}`,
		}, map[string]string{
			"SELECT k, j, l, JSON_VALUE(j, '$.x' RETURNING BIGINT) + 1 FROM x ORDER BY __time":                                              `[[a {"x":1,"l":[]} [1,2] 2] [<nil> <nil> <nil> <nil>]]`,
			"SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' AND COLUMN_NAME IN ('j', 'l') ORDER BY 1": `[[j COMPLEX<json>] [l ARRAY]]`,
		}},
		{"such transforms of discovered fields", nativeLoad{
			lines:      []string{`2024-01-01|a|{"x":1}`},
			format:     `{"type":"tsv","delimiter":"|","columns":["t","k","j"],"findColumnsFromHeader":false}`,
			dimensions: `{"useSchemaDiscovery":true}`,
			transform:  `{"transforms":[{"type":"expression","name":"j","expression":"parse_json(j)"}]}`,
		}, map[string]string{
			"SELECT k, JSON_VALUE(j, '$.x'), JSON_KEYS(j, '$') FROM x": `[[a 1 ["x"]]]`,
		}},
		{"discovered strings and what a flattenSpec names", nativeLoad{
			lines:      []string{`{"t":"2024-01-01","k":"a","o":{"z":1,"a":2},"named":{"z":1,"a":[]},"nested":[{},[],null],"flat":["p","q"],"both":{"x":1}}`, `{"t":"2024-01-02","both":3}`},
			format:     `{"type":"json","flattenSpec":{"fields":[{"type":"jq","name":"named","expr":".named"},{"type":"jq","name":"second","expr":".flat[1]"}]}}`,
			dimensions: `{}`,
		}, map[string]string{
			"SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' ORDER BY 1": "[[__time] [both] [flat] [k] [named] [second]]",
			"SELECT k, named, second, flat FROM x ORDER BY __time LIMIT 1":                         `[[a {z=1, a=[]} q ["p","q"]]]`,
		}},
		{"rollup in hashed partitions, nested", nativeLoad{
			lines:       rows,
			dimensions:  `{"dimensions":["k",{"type":"json","name":"j"}]}`,
			metrics:     `[{"type":"count","name":"c"},{"type":"longSum","name":"n","fieldName":"n"},{"type":"HLLSketchBuild","name":"users","fieldName":"user"}]`,
			granularity: rollup,
			tuning:      `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","numShards":3,"partitionDimensions":["k"]}}`,
		}, map[string]string{
			"SELECT k, JSON_VALUE(j, '$.city'), c, n FROM x ORDER BY 1 NULLS LAST, 2":                                                  "[[a Basel 1 2] [a Bern 1 1] [b <nil> 1 3] [<nil> <nil> 1 <nil>]]",
			"SELECT SUM(c), SUM(n), APPROX_COUNT_DISTINCT_DS_HLL(users) FROM x":                                                        "[[4 6 3]]",
			"SELECT COUNT(*) > 0 FROM sys.segments WHERE datasource = 'x' AND is_active = 1 AND shard_spec LIKE '%\"numBuckets\":3,%'": "[[true]]",
		}},
		{"typed dimensions and values of rows", nativeLoad{
			lines: rows,
			dimensions: `{"dimensions":[{"type":"string","name":"tags","multiValueHandling":"SORTED_SET"},{"type":"long","name":"n"},{"type":"double","name":"f"},
				{"type":"long","name":"s"},{"type":"auto","name":"user"}]}`,
		}, map[string]string{
			"SELECT MV_TO_STRING(tags, '+'), n, f, s, user FROM x": "[[x+y 1 1.5 10 u1] [z 2 2.0 <nil> u2] [<nil> 3 <nil> 30 u1] [<nil> <nil> 0.25 <nil> u3]]",
		}},
		{"discovery", nativeLoad{
			lines: rows, dimensions: `{"useSchemaDiscovery":true,"dimensionExclusions":["s"]}`,
		}, map[string]string{
			"SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' ORDER BY 1": "[[__time TIMESTAMP] [f DOUBLE] [j COMPLEX<json>] [k VARCHAR] [n BIGINT] " +
				"[tags ARRAY] [user VARCHAR]]",
		}},
		{"auto columns take the type of their values", nativeLoad{
			lines: []string{
				`{"t":"2024-01-01T01:00:00Z","e":[],"m":[true,1,0.5,"x",null],"z":[null],"j":{"n":7,"s":"y","b":true,"l":[1,2.5]},"x":1}`,
				`{"t":"2024-01-02T01:00:00Z","e":null,"m":["p"],"z":[null],"j":{"n":8},"x":"text"}`,
			},
			dimensions: `{"dimensions":[{"type":"auto","name":"e"},{"type":"auto","name":"m"},{"type":"auto","name":"z"},{"type":"auto","name":"x"},{"type":"auto","name":"n"},
				{"type":"long","name":"w"},{"type":"auto","name":"s"},{"type":"auto","name":"l"},{"type":"auto","name":"o"},
				{"type":"auto","name":"c","castToType":"ARRAY<STRING>"},{"type":"auto","name":"first"}]}`,
			transform: `{"transforms":[{"type":"expression","name":"n","expression":"json_query(j, '$.n')"},{"type":"expression","name":"w","expression":"json_query(j, '$.n')"},
				{"type":"expression","name":"s","expression":"json_query(j, '$.s')"},{"type":"expression","name":"l","expression":"json_query(j, '$.l')"},
				{"type":"expression","name":"o","expression":"json_query(j, '$')"},{"type":"expression","name":"c","expression":"\"m\""},
				{"type":"expression","name":"first","expression":"json_value(m, '$[0]')"}]}`,
		}, map[string]string{
			"SELECT COLUMN_NAME || ' ' || DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' ORDER BY ORDINAL_POSITION": "[[__time TIMESTAMP] " +
				"[e ARRAY] [m ARRAY] [z ARRAY] [x VARCHAR] [n BIGINT] [w BIGINT] [s VARCHAR] [l ARRAY] [o COMPLEX<json>] [c ARRAY] [first VARCHAR]]",
			"SELECT e, m, z, x, n, w, s, l, JSON_VALUE(o, '$.n'), c, \"first\" FROM x": `[[[] ["true","1","0.5","x",null] [null] 1 7 7 y [1.0,2.5] 7 ["true","1","0.5","x",null] true] ` +
				`[<nil> ["p"] [null] text 8 8 <nil> <nil> 8 ["p"] p]]`,
		}},
		{"points", nativeLoad{
			lines: []string{
				`{"t":"2024-01-01","k":"a","at":"46.9,7.4","x":1,"y":2}`, `{"t":"2024-01-02","k":"b","x":47.4,"y":"8.5"}`, `{"t":"2024-01-03","k":"c","x":1,"y":"east"}`,
				`{"t":"2024-01-04","k":"d","at":"nowhere","x":1,"y":2}`, `{"t":"2024-01-05","k":"e","x":1}`,
			},
			dimensions: `{"dimensions":["k",{"type":"long","name":"twice"}],"spatialDimensions":[{"dimName":"at","dims":["x","y"]}]}`,
			transform:  `{"transforms":[{"type":"expression","name":"twice","expression":"\"x\" * 2"}]}`,
		}, map[string]string{
			"SELECT k, at, twice FROM x ORDER BY k":                                                    "[[a 46.9,7.4 2] [b 47.4,8.5 94] [c <nil> 2] [d <nil> 2] [e <nil> 2]]",
			`SELECT k FROM x WHERE SPATIAL_WITHIN(at, '{"type":"radius","coords":[47,7],"radius":1}')`: "[[a]]",
		}},
		{"points alone", nativeLoad{
			lines: []string{`{"t":"2024-01-01","x":1,"y":2}`, `{"t":"2024-01-01","x":1,"y":2.5}`, `{"t":"2024-01-01","x":1,"y":2}`}, metrics: `[{"type":"count","name":"n"}]`,
			dimensions: `{"dimensions":[{"type":"spatial","name":"at","dims":["x","y"]}]}`, granularity: rollup,
		}, map[string]string{"SELECT * FROM x ORDER BY at": "[[2024-01-01T00:00:00.000Z 1,2 2] [2024-01-01T00:00:00.000Z 1,2.5 1]]"}},
		{"all fields as strings", nativeLoad{lines: rows, dimensions: `{}`}, map[string]string{
			"SELECT k, MV_TO_STRING(tags, ','), n, f, user, s FROM x WHERE k = 'a'": "[[a x,y,y 1 1.5 u1 10] [a z 2 2 u2 x]]",
		}},
		{"transforms and filter", nativeLoad{
			lines: rows, dimensions: `{"dimensions":["k","up",{"type":"long","name":"twice"}]}`,
			transform: `{"transforms":[{"type":"expression","name":"up","expression":"upper(\"user\")"},{"type":"expression","name":"twice","expression":"\"n\" * 2"},
				{"type":"expression","name":"k","expression":"concat(\"k\", '!')"}],"filter":{"type":"not","field":{"type":"selector","dimension":"n","value":"2"}}}`,
		}, map[string]string{"SELECT k, up, twice FROM x": "[[a! U1 2] [b! U1 6]]"}},
		{"metrics of single rows", nativeLoad{
			lines: rows, metrics: `[{"type":"count","name":"c"},{"type":"doubleSum","name":"f","fieldName":"f"},{"type":"thetaSketch","name":"u","fieldName":"user"},
				{"type":"filtered","name":"big","filter":{"type":"bound","dimension":"n","lower":"2","ordering":"numeric"},"aggregator":{"type":"longSum","name":"big","fieldName":"n"}}]`,
		}, map[string]string{
			"SELECT k, c, f, big FROM x":                              "[[a 1 1.5 <nil>] [a 1 2.0 2] [b 1 <nil> 3] [<nil> 1 0.25 <nil>]]",
			"SELECT APPROX_COUNT_DISTINCT_DS_THETA(u), SUM(c) FROM x": "[[3 4]]",
		}},
		{"every simple aggregator", nativeLoad{
			lines: rows, dimensions: `{"dimensions":["k"]}`, granularity: `{"segmentGranularity":"ALL","queryGranularity":"ALL","rollup":true}`,
			metrics: `[{"type":"longMin","name":"lo","fieldName":"n"},{"type":"longMax","name":"hi","fieldName":"n"},{"type":"doubleMean","name":"mean","fieldName":"f"},
				{"type":"stringFirst","name":"first","fieldName":"user"},{"type":"stringLast","name":"last","fieldName":"user"},{"type":"longAny","name":"any","fieldName":"n"},
				{"type":"variance","name":"var","fieldName":"n"},{"type":"floatMax","name":"fm","fieldName":"f"},{"type":"hyperUnique","name":"hu","fieldName":"user"},
				{"type":"quantilesDoublesSketch","name":"q","fieldName":"n"},{"type":"longSum","name":"e","expression":"n + 1"}]`,
		}, map[string]string{"SELECT k, MIN(lo), MAX(hi), AVG(mean), EARLIEST(\"first\"), LATEST(\"last\", 10), SUM(fm), SUM(e) FROM x GROUP BY k ORDER BY k": "[[<nil> <nil> <nil> 0.25 u3 u3 0.25 <nil>] [a 1 2 1.75 u1 u2 2.0 5] [b 3 3 <nil> u1 u1 <nil> 4]]"}},
		{"flattened", nativeLoad{
			lines: rows, format: `{"type":"json","flattenSpec":{"useFieldDiscovery":false,"fields":["t",{"type":"path","name":"city","expr":"$.j.city"},{"type":"jq","name":"two","expr":".n * 2"}]}}`,
			dimensions: `{"dimensions":["city",{"type":"long","name":"two"}]}`,
		}, map[string]string{"SELECT city, two FROM x": "[[Bern 2] [Basel 4] [<nil> 6] [<nil> <nil>]]"}},
		{"delimited, seconds", nativeLoad{
			source: `{"type":"inline","data":"k;at;n\na;1704067200;1\nb;;2\n"}`, format: `{"type":"tsv","delimiter":";","findColumnsFromHeader":true}`,
			time: `{"column":"at","format":"posix","missingValue":"2024-05-06"}`, dimensions: `{}`,
		}, map[string]string{"SELECT __time, k, n FROM x": "[[2024-01-01T00:00:00.000Z a 1] [2024-05-06T00:00:00.000Z b 2]]"}},
		{"range partitions", nativeLoad{
			lines: rows, granularity: `{"segmentGranularity":"YEAR","rollup":false}`,
			tuning: `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"range","partitionDimensions":["k"],"targetRowsPerSegment":1}}`,
		}, map[string]string{
			"SELECT shard_spec FROM sys.segments WHERE datasource = 'x' AND is_active = 1 AND num_rows > 0 ORDER BY partition_num": `[[{"type":"range","dimensions":["k"],"start":null,"end":["a"],"partitionNum":0,"numCorePartitions":3}] ` +
				`[{"type":"range","dimensions":["k"],"start":["a"],"end":["b"],"partitionNum":1,"numCorePartitions":3}] [{"type":"range","dimensions":["k"],"start":["b"],"end":null,"partitionNum":2,"numCorePartitions":3}]]`,
		}},
		{"ranges of the time, which is no dimension, and of what rows don't have", nativeLoad{
			lines: rows, granularity: `{"segmentGranularity":"YEAR","rollup":false}`,
			tuning: `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"range","partitionDimensions":["__time","c"],"targetRowsPerSegment":1}}`,
		}, map[string]string{
			"SELECT COUNT(*), COUNT(DISTINCT k) FROM x": "[[4 2]]",
		}},
		{"hashed by the time, which is no dimension, and by what rows don't have", nativeLoad{
			lines: rows, dimensions: `{"dimensions":["k"]}`, metrics: `[{"type":"count","name":"c"}]`, granularity: rollup,
			tuning: `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","numShards":2,"partitionDimensions":["__time","c"]}}`,
		}, map[string]string{"SELECT k, SUM(c) FROM x GROUP BY 1": "[[<nil> 1] [a 2] [b 1]]"}},
		{"hashed by target", nativeLoad{
			lines: rows, granularity: `{"segmentGranularity":"YEAR","rollup":false}`, dimensions: `{"dimensions":["user","k"]}`,
			tuning: `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","targetRowsPerSegment":1}}`,
		}, map[string]string{
			"SELECT COUNT(*), COUNT(DISTINCT user) FROM x": "[[4 3]]",
			"SELECT COUNT(*) > 1 FROM sys.segments WHERE datasource = 'x' AND is_active = 1 AND shard_spec LIKE '%\"numBuckets\":4,%'": "[[true]]",
		}},
		{"arbitrary", nativeLoad{
			lines: rows, granularity: `{"type":"arbitrary","rollup":false,"intervals":["2024-01-01T00:00/2024-01-01T12:00","2024-01-02T00:00/2024-01-02T12:00"]}`,
		}, map[string]string{
			"SELECT \"start\", \"end\", num_rows FROM sys.segments WHERE datasource = 'x' AND is_active = 1 AND num_rows > 0 ORDER BY 1": "[[2024-01-01T00:00:00.000Z 2024-01-01T12:00:00.000Z 2] " +
				"[2024-01-02T00:00:00.000Z 2024-01-02T12:00:00.000Z 2]]",
		}},
		{"intervals of different lengths", nativeLoad{
			lines: rows, granularity: `{"type":"arbitrary","rollup":false,"intervals":["2024-01-01T01:30/2024-01-02T01:15","2024-01-02T01:15/2024-01-02T01:45"]}`,
		}, map[string]string{
			"SELECT \"start\", \"end\", num_rows FROM sys.segments WHERE datasource = 'x' AND is_active = 1 AND num_rows > 0 ORDER BY 1": "[[2024-01-01T01:30:00.000Z 2024-01-02T01:15:00.000Z 2] " +
				"[2024-01-02T01:15:00.000Z 2024-01-02T01:45:00.000Z 1]]",
		}},
		{"sorted by a dimension first", nativeLoad{
			lines: rows, dimensions: `{"dimensions":["user",{"type":"long","name":"__time"},"k"],"forceSegmentSortByTime":false}`, granularity: `{"segmentGranularity":"YEAR","rollup":false}`,
		}, map[string]string{"SELECT user, k FROM x": "[[u1 a] [u1 b] [u2 a] [u3 <nil>]]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := s.Ingest(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", `{"t":"2010-01-01","k":"old","n":1}`), nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Ingest(t.Context(), "REPLACE INTO x OVERWRITE ALL SELECT __time, k FROM x WHERE k = 'none' PARTITIONED BY YEAR", nil); err != nil {
				t.Fatal(err)
			}
			task, r := runNative(t, s, c.load.spec(t))
			if task.ErrorMsg != "" {
				t.Fatal(task.ErrorMsg)
			}
			if r.Stats.Payload.State != "COMPLETED" {
				t.Errorf("the report is %+v", r)
			}
			for sql, want := range c.asked {
				if got := ask(sql); got != want {
					t.Errorf("%s: got\n%s, want\n%s", sql, got, want)
				}
			}
		})
	}
}

// TestNativeRowCounts loads records that are no rows, rows beside the intervals and rows that the
// filter drops.
func TestNativeRowCounts(t *testing.T) {
	s := server.Start(t, server.Options{})
	lines := []string{
		`{"t":"2024-01-01","k":"a","n":1}`, `not json`, `{"k":"no time"}`, `{"t":"2024-01-02","k":"a","n":"many"}`, `{"t":"2030-01-01","k":"a","n":1}`,
		`{"t":"2024-01-01","k":"drop","n":1}`,
	}
	load := nativeLoad{lines: lines, metrics: `[{"type":"longSum","name":"n","fieldName":"n"}]`,
		granularity: `{"segmentGranularity":"DAY","rollup":true,"intervals":["2024-01-01/2024-01-08"]}`,
		transform:   `{"filter":{"type":"not","field":{"type":"selector","dimension":"k","value":"drop"}}}`,
		tuning:      `{"type":"index_parallel","maxSavedParseExceptions":5,"logParseExceptions":true}`}
	task, r := runNative(t, s, load.spec(t))
	if task.ErrorMsg != "" {
		t.Fatal(task.ErrorMsg)
	}
	got := fmt.Sprint(r.Stats.Payload.Rows["buildSegments"])
	if want := "map[processed:1 processedBytes:164 processedWithError:1 thrownAway:2 unparseable:2]"; got != want {
		t.Errorf("the counts are %s, want %s", got, want)
	}
	events := r.Stats.Payload.Events["buildSegments"]
	if len(events) != 3 || events[0].Kind != "unparseable" || events[0].Input != "not json" || events[2].Kind != "processedWithError" ||
		!strings.HasPrefix(events[1].Details[0], "Timestamp[null] is unparseable! Event: {k=no time}") {
		t.Errorf("the events are %+v", events)
	}
	_, log, err := s.Send(t.Context(), "router", "GET", "/service/indexer/v1/task/"+task.ID+"/log", "")
	if err != nil || strings.Count(string(log), "failed to read a record") != 3 {
		t.Errorf("the log is %s, %v", log, err)
	}
	load.tuning = `{"type":"index_parallel","maxParseExceptions":1}`
	if task, r = runNative(t, s, load.spec(t)); !strings.HasPrefix(task.ErrorMsg, "Max parse exceptions[1] exceeded: ") || r.Stats.Payload.Error == nil {
		t.Errorf("%+v, %+v", task, r)
	}
}

// TestNativeReplaces appends, replaces chunk by chunk, and drops what gets no rows.
func TestNativeReplaces(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	day := func(d int, k string) string { return fmt.Sprintf(`{"t":"2024-01-0%d","k":%q}`, d, k) }
	for _, step := range []struct {
		load nativeLoad
		want string
	}{
		{nativeLoad{lines: []string{day(1, "a"), day(2, "a"), day(3, "a")}}, "[[1 a] [2 a] [3 a]]"},
		{nativeLoad{lines: []string{day(2, "b")}}, "[[1 a] [2 b] [3 a]]"},
		{nativeLoad{lines: []string{day(2, "c"), day(4, "c")}, io: `{"appendToExisting":true}`}, "[[1 a] [2 b] [2 c] [3 a] [4 c]]"},
		{nativeLoad{lines: []string{day(2, "d")}, granularity: `{"segmentGranularity":"DAY","rollup":false,"intervals":["2024-01-01/2024-01-04"]}`}, "[[1 a] [2 d] [3 a] [4 c]]"},
		{nativeLoad{lines: []string{day(2, "e"), day(4, "e")}, granularity: `{"segmentGranularity":"DAY","rollup":false,"intervals":["2024-01-01/2024-01-04"]}`,
			io: `{"dropExisting":true}`}, "[[2 e] [4 c]]"},
		{nativeLoad{source: `{"type":"druid","dataSource":"x","interval":"2024-01-01/2025-01-01"}`, format: "null", time: `{"column":"__time","format":"millis"}`,
			dimensions: `{}`, granularity: `{"segmentGranularity":"MONTH","rollup":false}`}, "[[2 e] [4 c]]"},
	} {
		if task, _ := runNative(t, s, step.load.spec(t)); task.ErrorMsg != "" {
			t.Fatal(task.ErrorMsg)
		}
		if got := ask("SELECT EXTRACT(DAY FROM __time), k FROM x ORDER BY 1, 2"); got != step.want {
			t.Errorf("%+v: the rows are %s, want %s", step.load, got, step.want)
		}
	}
}

// TestShardSpecsPruneSegments loads data in hashed partitions and in ranges, and asks for each
// value: no row is missed, and of the segments of a time chunk only the one that can have it is
// read.
func TestShardSpecsPruneSegments(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf(`{"t":"2024-01-01","k":"%d \\ é","tags":["%d","%d"]}`, i%20, i%20, i%20))
	}
	for name, partitions := range map[string]string{
		"hashed": `{"type":"hashed","numShards":5,"partitionDimensions":["k"]}`,
		"set":    `{"type":"hashed","numShards":5,"partitionDimensions":["tags"]}`,
		"range":  `{"type":"range","targetRowsPerSegment":80,"partitionDimensions":["k"]}`,
	} {
		load := nativeLoad{lines: lines, dimensions: `{"dimensions":["k",{"type":"string","name":"tags","multiValueHandling":"SORTED_SET"}]}`,
			tuning: `{"type":"index_parallel","forceGuaranteedRollup":true,"partitionsSpec":` + partitions + `}`}
		if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
			t.Fatal(task.ErrorMsg)
		}
		for i := range 20 {
			where := fmt.Sprintf(`k = '%d \ é'`, i)
			if name == "set" {
				where = fmt.Sprintf("tags = '%d'", i)
			}
			if got := ask("SELECT COUNT(*) FROM x WHERE " + where); got != "[[20]]" {
				t.Errorf("%s: %s has %s rows", name, where, got)
			}
			if got := ask("EXPLAIN ANALYZE SELECT COUNT(*) FROM x WHERE " + where); !strings.Contains(got, "scanned=1") {
				t.Errorf("%s: %s reads %s", name, where, got)
			}
		}
	}
}

// TestSpatialFilters asks native queries for points within bounds, with an index and by the rows
// that a filter left.
func TestSpatialFilters(t *testing.T) {
	s := server.Start(t, server.Options{})
	load := nativeLoad{
		lines:      []string{`{"t":"2024-01-01","k":"a","x":1,"y":1}`, `{"t":"2024-01-02","k":"b","x":3,"y":4}`, `{"t":"2024-01-03","k":"c","x":9,"y":9}`, `{"t":"2024-01-04","k":"d"}`},
		dimensions: `{"dimensions":["k",{"type":"spatial","name":"at","dims":["x","y"]}]}`,
	}
	if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
		t.Fatal(task.ErrorMsg)
	}
	for bound, want := range map[string]string{
		`{"type":"rectangular","minCoords":[0,0],"maxCoords":[3,4]}`:              `[a b]`,
		`{"type":"radius","coords":[0,0],"radius":5,"limit":50}`:                  `[a b]`,
		`{"type":"polygon","abscissa":[0,2,0],"ordinate":[0,2,2]}`:                `[a]`,
		`{"type":"radius","coords":[9,9],"radius":200,"radiusUnit":"kilometers"}`: `[c]`,
		`{"type":"rectangular","minCoords":[0],"maxCoords":[3]}`:                  `[]`,
		`{"type":"polygon","abscissa":[0,9.5,9.5,0],"ordinate":[0,0,9.5,9.5]}`:    `[a b c]`,
		`{"type":"radius","coords":[9,9],"radius":0.5,"radiusUnit":"furlongs"}`:   "furlongs",
	} {
		status, body, err := s.Send(t.Context(), "router", "POST", "/service/v2", `{"queryType":"scan","dataSource":"x","columns":["k"],"resultFormat":"compactedList",
			"intervals":["2024-01-01/2025-01-01"],"filter":{"type":"spatial","dimension":"at","bound":`+bound+`}}`)
		if err != nil {
			t.Fatal(err)
		}
		var parts []struct {
			Events [][]string `json:"events"`
		}
		got := []string{}
		if json.Unmarshal(body, &parts) == nil {
			for _, p := range parts {
				for _, e := range p.Events {
					got = append(got, e[0])
				}
			}
		}
		slices.Sort(got)
		if text := fmt.Sprint(got); status == 200 && text != want || status != 200 && !strings.Contains(string(body), want) {
			t.Errorf("%s: status [%d], %s, want %s", bound, status, body, want)
		}
	}
}
