package ingest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestJSONFeatures reads what each feature allows, and sees that it is refused without it.
func TestJSONFeatures(t *testing.T) {
	one := [][]any{{"x", 1.0}}
	for _, c := range []struct {
		features, data string
		rows           [][]any // of a string, d double
	}{
		{"ALLOW_NON_NUMERIC_NUMBERS", `{"a":"x","d":NaN}` + "\n" + `{"d":Infinity}` + "\n" + `{"d":-Infinity}{"d":+INF}`,
			[][]any{{"x", math.NaN()}, {nil, math.Inf(1)}, {nil, math.Inf(-1)}, {nil, math.Inf(1)}}},
		{"ALLOW_SINGLE_QUOTES", `{'a':'x','d':1}`, one},
		{"ALLOW_SINGLE_QUOTES", `{'a':'it\'s "{"','d':1}`, [][]any{{`it's "{"`, 1.0}}},
		{"ALLOW_TRAILING_COMMA", `{"a":"x","l":[1,2,],"d":1,}`, one},
		{"ALLOW_COMMENTS", "/* { */ {\"a\":\"x\", // it's }\n \"d\":1}", one},
		{"ALLOW_JAVA_COMMENTS", `[ /* first */ {"a":"x","d":1 /* " */ } ]`, one},
		{"ALLOW_YAML_COMMENTS", "# {\n{\"a\":\"x\", # }\n \"d\":1}\n#", one},
		{"ALLOW_UNQUOTED_FIELD_NAMES", `{a:"x",d:1,$x-1:{y_2:3}}`, one},
		{"ALLOW_UNQUOTED_CONTROL_CHARS", "{\"a\":\"x\r\ny\",\"d\":1}\n", [][]any{{"x\r\ny", 1.0}}},
		{"ALLOW_UNESCAPED_CONTROL_CHARS", "{\"a\":\"x\ny\",\"d\":1}\n", [][]any{{"x\ny", 1.0}}},
		{"ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER", `{"a":"\x","d":1}`, one},
		{"ALLOW_NUMERIC_LEADING_ZEROS", `{"a":"x","d":0001}`, one},
		{"ALLOW_LEADING_ZEROS_FOR_NUMBERS", `{"a":"x","d":-00.5}`, [][]any{{"x", -0.5}}},
		{"ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS", `{"a":"x","d":+1}`, one},
		{"ALLOW_LEADING_DECIMAL_POINT_FOR_NUMBERS", `{"a":"x","d":.5}`, [][]any{{"x", 0.5}}},
		{"ALLOW_TRAILING_DECIMAL_POINT_FOR_NUMBERS", `{"a":"x","d":1.}`, one},
		{"ALLOW_MISSING_VALUES", `{"a":,"l":[1,,2],"d":1}`, [][]any{{nil, 1.0}}},
		{"ALLOW_SINGLE_QUOTES,ALLOW_UNQUOTED_FIELD_NAMES,ALLOW_NON_NUMERIC_NUMBERS,ALLOW_TRAILING_COMMA", `{a:'x',d:NaN,}`, [][]any{{"x", math.NaN()}}},
	} {
		set := map[string]bool{}
		for name := range strings.SplitSeq(c.features, ",") {
			set[name] = true
		}
		spec, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range []Options{{}, {ChunkBytes: 4}} {
			rows, bad, err := read(t, `{"type":"json","featureSpec":`+string(spec)+`}`, c.data, "a string d double", opts)
			if d := cmp.Diff(c.rows, rows, cmpopts.EquateNaNs()); d != "" || bad != nil || err != nil {
				t.Errorf("%s, %+v: (-want +got)\n%s%v %v", c.features, opts, d, bad, err)
			}
		}
		if _, bad, err := read(t, `{"type":"json","featureSpec":{"IGNORE_UNDEFINED":true,"ALLOW_YAML_COMMENTS":false}}`, c.data, "a string d double", Options{}); err != nil ||
			bad == nil && c.features != "ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER" && c.features != "ALLOW_UNQUOTED_CONTROL_CHARS" {
			t.Errorf("%s: without it got errors %v, %v", c.features, bad, err)
		}
	}
	rows, _, err := read(t, `{"type":"json","featureSpec":{"ALLOW_NON_NUMERIC_NUMBERS":true}}`, `{"j":{"a":[NaN,1]},"s":NaN,"n":NaN}`,
		"j COMPLEX<json> s string n long", Options{})
	if d := cmp.Diff([][]any{{`{"a":["NaN",1]}`, "NaN", int64(0)}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	rows, bad, err := read(t, `{"type":"json","featureSpec":{"STRICT_DUPLICATE_DETECTION":true}}`, "{\"a\":\"x\",\"a\":\"y\"}\n{\"a\":\"z\"}", "a string", Options{})
	if d := cmp.Diff([][]any{{"z"}}, rows); d != "" || len(bad) != 1 || err != nil {
		t.Error(d, bad, err)
	}
	for spec, want := range map[string]string{
		`{"ALLOW_SINGLE_QUOTE":true}`:  "did you mean 'ALLOW_SINGLE_QUOTES'?",
		`{"ALLOW_SINGLE_QUOTES":null}`: "'ALLOW_SINGLE_QUOTES' is true or false",
	} {
		if _, err := ParseFormat([]byte(`{"type":"json","featureSpec":` + spec + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

// TestReasons says why records are none, with the place.
func TestReasons(t *testing.T) {
	for _, c := range []struct{ format, data, want string }{
		{`{"type":"json"}`, `{"a":NaN}`, "NaN is not a JSON number (ALLOW_NON_NUMERIC_NUMBERS of a featureSpec allows it) at byte 6"},
		{`{"type":"json"}`, `{'a':1}`, "a name in quotes is expected and there is ['] at byte 2"},
		{`{"type":"json"}`, `{"a":1,}`, "a name in quotes is expected and there is [}] at byte 8"},
		{`{"type":"json"}`, `{"a":"x`, "a string is not closed"},
		{`{"type":"json"}`, `{"a":1`, "a comma or } is expected behind a member of an object and the text ends at byte 7"},
		{`{"type":"json"}`, `{"a" 1}`, "a colon is expected behind the name [a] and there is [1] at byte 6"},
		{`{"type":"json"}`, `{"a":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}`, "it is nested deeper than 300 levels"},
		{`{"type":"json"}`, `[1,2]`, "it is not a JSON object"},
		{`{"type":"json"}`, `{"a":01}`, "a number is malformed"},
		{`{"type":"csv","columns":["a"]}`, "\"x\ny\n", "a quote is not closed"},
		{`{"type":"regex","pattern":"(\\d)","columns":["a"]}`, "xy", "it does not match the pattern"},
	} {
		f, err := ParseFormat([]byte(c.format))
		if err != nil {
			t.Fatal(err)
		}
		table := &Table{Source: &Inline{Data: c.data}, Format: f, Fields: fields(t, "a string")}
		r, err := table.Open(t.Context(), Split{Entity: inlineEntity{c.data}, End: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Next(t.Context()); err == nil || !strings.Contains(err.Error(), ", Line: 1): ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v", c.data, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
