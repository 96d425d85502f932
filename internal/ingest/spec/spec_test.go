package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

func object(pairs ...any) *record.Object {
	o := &record.Object{}
	for i := 0; i < len(pairs); i += 2 {
		o.Add(pairs[i].(string), pairs[i+1])
	}
	return o
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		spec  string
		value any
		want  int64
		error string
	}{
		{`{"column":"t"}`, "2020-01-01T00:00:00Z", 1577836800000, ""},
		{`{"column":"t"}`, "1577836800000", 1577836800000, ""},
		{`{"column":"t","format":"posix"}`, int64(5), 5000, ""},
		{`{"column":"t","format":"micro"}`, int64(5000), 5, ""},
		{`{"column":"t","format":"nano"}`, "5000000", 5, ""},
		{`{"column":"t","format":"ruby"}`, 1.5, 1500, ""},
		{`{"column":"t","format":"dd/MM/yyyy"}`, "02/01/1970", 86400000, ""},
		{`{"column":"t","missingValue":"1970-01-01T00:00:01Z"}`, nil, 1000, ""},
		{`{"column":"t","missingValue":"1970"}`, "oops", 0, "Timestamp[oops] is unparseable! Event: {t=oops, l=[1, null], o={x=2.0}}"},
		{`{"column":"t"}`, nil, 0, "Timestamp[null] is unparseable! Event: {t=null, l=[1, null], o={x=2.0}}"},
	} {
		ts, err := parseTimestamp(json.RawMessage(c.spec))
		if err != nil {
			t.Fatal(err)
		}
		o := object("t", c.value, "l", []any{int64(1), nil}, "o", object("x", 2.0))
		got, problem := ts.Of(o, o)
		if got != c.want || problem != c.error {
			t.Errorf("%s of %v: %d %q", c.spec, c.value, got, problem)
		}
	}
}

func TestDiscovery(t *testing.T) {
	records := []*record.Object{
		object("t", int64(1), "k", "a", "n", int64(1), "d", int64(1), "mixed", int64(1), "l", []any{"x"}, "nums", []any{int64(1), 2.5}, "o", object("y", int64(1)), "b", true, "m_in", int64(1)),
		object("t", int64(2), "d", 1.5, "mixed", "text", "new", nil),
	}
	names := func(list []Dimension) string {
		var out []string
		for _, d := range list {
			out = append(out, d.Name+":"+d.Type)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ spec, logical, physical string }{
		{`{}`, "k:string n:string d:string mixed:string l:string nums:string b:string new:string", ""},
		{`{"dimensionExclusions":["k","o"]}`, "n:string d:string mixed:string l:string nums:string b:string new:string", ""},
		{`{"dimensions":["k",{"type":"long","name":"n"}]}`, "k:string n:long", ""},
		{`{"dimensions":[{"type":"long","name":"n"}],"includeAllDimensions":true}`, "n:long k:string d:string mixed:string l:string nums:string b:string new:string", ""},
		{`{"useSchemaDiscovery":true}`, "k:string n:long d:double mixed:auto l:auto nums:auto o:auto b:long new:string",
			"k:auto n:auto d:auto mixed:auto l:auto nums:auto o:auto b:auto new:auto"},
	} {
		s, err := Parse(json.RawMessage(`{"timestampSpec":{"column":"t"},"dimensionsSpec":` + c.spec + `,"metricsSpec":[{"type":"longSum","name":"m","fieldName":"m_in"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		columns := s.NewColumns()
		for _, r := range records {
			columns.Add(r)
		}
		logical, physical := columns.List()
		if c.physical == "" {
			c.physical = c.logical
		}
		if d := cmp.Diff([]string{c.logical, c.physical}, []string{names(logical), names(physical)}); d != "" {
			t.Errorf("%s: %s", c.spec, d)
		}
		if c.spec != `{"useSchemaDiscovery":true}` {
			continue
		}
		want := []string{"STRING", "LONG", "DOUBLE", "COMPLEX<json>", "ARRAY<STRING>", "ARRAY<DOUBLE>", "COMPLEX<json>", "LONG", "STRING"}
		for i, d := range physical {
			if got := columns.ColumnType(d).Runtime().String(); got != want[i] {
				t.Errorf("[%s] has type %s, want %s", d.Name, got, want[i])
			}
		}
	}
}

func TestSchemaRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"dimensionsSpec":{"dimensions":["a","a"]}}`:                                         "more than once",
		`{"dimensionsSpec":{"dimensions":["a"]},"metricsSpec":[{"type":"count","name":"a"}]}`: "more than once",
		`{"dimensionsSpec":{"dimensions":["a"],"dimensionExclusions":["a"]}}`:                 "cannot overlap",
		`{"dimensionsSpec":{"dimensions":[{"name":"a","multiValueHandling":"x"}]}}`:           "multiValueHandling",
		`{"timestampSpec":{"format":"no such letters: b"}}`:                                   "Unable to parse timestamps",
		`{"timestampSpec":{"missingValue":"soon"}}`:                                           "missingValue",
		`{"granularitySpec":{"segmentGranularity":"SOMETIMES"}}`:                              "",
		`{"granularitySpec":{"intervals":["2020"]}}`:                                          "",
		`{"parser":{"type":"string"}}`:                                                        "[parser]",
		`{"metricsSpec":[{"type":"count"}]}`:                                                  "has no name",
		`{"dimensionsSpec":7}`:                                                                "dimensionsSpec",
		`{"dimensionsSpec":{"dimensions":["a"]}}`:                                             "[timestampSpec]",
		`{"timestampSpec":null}`:                                                              "[timestampSpec]",
	} {
		_, err := Parse(json.RawMessage(text))
		if fault.Find(err) == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestDimensionsPrintWithAllMembers(t *testing.T) {
	var d Dimension
	if err := json.Unmarshal([]byte(`{"type":"DOUBLE","name":"x","multiValueHandling":"array"}`), &d); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if want := `{"type":"double","name":"x","multiValueHandling":"ARRAY","createBitmapIndex":false}`; err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}
