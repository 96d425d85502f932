package api

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestReindexKeepsValues reads a datasource by the input source druid, and by its other name, into
// datasources that must have the same values: lists of no, of one and of null elements, nested
// ones, numbers, multi-value strings, nested data and sketches.
func TestReindexKeepsValues(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	const typed = `{"dimensions":[{"type":"auto","castToType":"ARRAY<LONG>","name":"a"},{"type":"auto","castToType":"ARRAY<DOUBLE>","name":"d"},` +
		`{"type":"auto","castToType":"ARRAY<STRING>","name":"s"},"m",{"type":"json","name":"j"},{"type":"json","name":"n"},{"type":"double","name":"x"},` +
		`{"type":"long","name":"l"},"v"]}`
	src := nativeLoad{lines: []string{
		`{"t":1,"a":[],"d":[],"s":[],"m":[],"j":{},"n":[],"x":1.0,"l":null,"v":"","u":"p"}`,
		`{"t":2,"a":[1],"d":[1.0],"s":["x"],"m":["x"],"j":{"a":[]},"n":[[1],[]],"x":2,"l":5,"v":"w","u":"q"}`,
		`{"t":3,"a":null,"d":null,"s":null,"m":null,"j":null,"n":null,"x":null,"l":null,"v":null,"u":null}`,
		`{"t":4,"a":[null],"d":[null],"s":[null],"m":["b","a"],"j":[1],"n":[[null]],"x":0.5,"l":-1,"v":"z","u":"q"}`,
		`{"t":5,"a":[2,null,3],"d":[0.5,2],"s":["", "y",null],"m":["c"],"j":"text","n":[],"x":-0.0,"l":9223372036854775807,"v":"a","u":"r"}`,
	}, time: `{"column":"t","format":"millis"}`, dimensions: typed, metrics: `[{"type":"thetaSketch","name":"u","fieldName":"u"}]`,
		granularity: `{"segmentGranularity":"ALL","queryGranularity":"NONE","rollup":false}`}
	if task, _ := runNative(t, s, strings.Replace(src.spec(t), `"dataSource":"x"`, `"dataSource":"src"`, 1)); task.ErrorMsg != "" {
		t.Fatal(task.ErrorMsg)
	}
	const columns = "a, d, s, MV_TO_ARRAY(m), TO_JSON_STRING(j), TO_JSON_STRING(n), x, l, v"
	want := ask("SELECT " + columns + " FROM src ORDER BY __time")
	types := func(table string) string {
		return ask("SELECT COLUMN_NAME, DATA_TYPE, NATIVE_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = '" + table + "' ORDER BY 1")
	}
	for _, kind := range []string{"druid", "service"} {
		for name, dimensions := range map[string]string{
			"discovered": `{"useSchemaDiscovery":true,"dimensionExclusions":["u"]}`,
			"auto": `{"dimensions":[{"type":"auto","name":"a"},{"type":"auto","name":"d"},{"type":"auto","name":"s"},"m",` +
				`{"type":"auto","name":"j"},{"type":"auto","name":"n"},{"type":"auto","name":"x"},{"type":"auto","name":"l"},{"type":"auto","name":"v"}]}`,
			"typed": typed,
		} {
			load := nativeLoad{source: `{"type":"` + kind + `","dataSource":"src","interval":"1970-01-01/1970-01-02"}`, format: "null",
				time: `{"column":"__time","format":"auto"}`, dimensions: dimensions, metrics: `[{"type":"thetaSketch","name":"u","fieldName":"u","isInputThetaSketch":true}]`,
				granularity: `{"segmentGranularity":"ALL","queryGranularity":"NONE","rollup":false}`}
			if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
				t.Fatal(kind, name, task.ErrorMsg)
			}
			columns := columns
			if name == "discovered" { // lists of texts are arrays there
				columns = strings.Replace(columns, "MV_TO_ARRAY(m)", "m", 1)
			}
			if got := ask("SELECT " + columns + " FROM x ORDER BY __time"); got != want && name != "discovered" {
				t.Errorf("%s, %s: rows are\n%s, want\n%s", kind, name, got, want)
			} else if name == "discovered" && !strings.HasPrefix(got, "[[[] [] []") {
				t.Errorf("%s, %s: rows are\n%s", kind, name, got)
			}
			if got, want := ask("SELECT THETA_SKETCH_ESTIMATE(DS_THETA(u)) FROM x"), ask("SELECT THETA_SKETCH_ESTIMATE(DS_THETA(u)) FROM src"); got != want {
				t.Errorf("%s, %s: the estimate is %s, want %s", kind, name, got, want)
			}
			if name == "typed" {
				if got, want := types("x"), types("src"); got != want {
					t.Errorf("%s: columns are\n%s, want\n%s", kind, got, want)
				}
			}
		}
	}
}
