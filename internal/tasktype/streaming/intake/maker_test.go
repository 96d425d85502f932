package intake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/stream"
)

// maker makes a Maker of a dataSchema without its datasource and a format.
func maker(t testing.TB, schema, format string, change ...func(*Options)) (*Maker, *[]*BadRow) {
	t.Helper()
	s, err := spec.Parse(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ingest.ParseFormat(json.RawMessage(format))
	if err != nil {
		t.Fatal(err)
	}
	var bad []*BadRow
	o := Options{Schema: s, Format: f, OnBad: func(b *BadRow) error { bad = append(bad, b); return nil }}
	for _, c := range change {
		c(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, &bad
}

// values makes records of texts.
func values(texts ...string) []stream.Record {
	out := make([]stream.Record, len(texts))
	for i, text := range texts {
		out[i] = stream.Record{Topic: "t", Offset: int64(i), Time: 1000 + int64(i), Value: []byte(text)}
	}
	return out
}

// shownRows are the rows of what was made, a line each, nulls left out.
func shownRows(made *Made) []string {
	var out []string
	for i := range made.Rows.N {
		var cells []string
		for k, c := range made.Columns {
			if v := made.Rows.Cols[k]; !v.IsNull(i) {
				cells = append(cells, c.Name+"="+fmt.Sprint(v.ValueAt(i)))
			}
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

func shownColumns(made *Made) string {
	var out []string
	for _, c := range made.Columns {
		text := c.Name + " " + c.Type.String()
		if c.Multi {
			text += " multi"
		}
		if c.Metric != "" {
			text += " " + c.Metric
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func mustMake(t testing.TB, m *Maker, records []stream.Record) *Made {
	t.Helper()
	made, err := m.Make(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	if made.Rows.N > 0 && len(made.Rows.Cols) != len(made.Columns) {
		t.Fatalf("%d columns, %d described", len(made.Rows.Cols), len(made.Columns))
	}
	for k, c := range made.Columns {
		if v := made.Rows.Cols[k]; v.Type != c.Type || v.Len != made.Rows.N {
			t.Fatalf("column [%s] of [%s] has %d values of [%s], the batch has %d rows", c.Name, c.Type, v.Len, v.Type, made.Rows.N)
		}
	}
	return made
}

const millis = `"timestampSpec":{"column":"t","format":"millis"}`

func TestMake(t *testing.T) {
	for name, c := range map[string]struct {
		schema, format string
		records        []stream.Record
		columns        string
		rows           []string
		thrown         map[string]int64
	}{
		"explicit": {
			schema:  `{` + millis + `,"dimensionsSpec":{"dimensions":["a",{"type":"long","name":"n"}]}}`,
			records: values(`{"t":1,"a":"x","n":5,"other":1}`, `{"t":2,"a":null,"n":"7"}`),
			columns: "__time LONG, a STRING, n LONG",
			rows:    []string{"__time=1 a=x n=5", "__time=2 n=7"},
		},
		"several objects in a record, and on several lines": {
			schema:  `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]}}`,
			records: values(`{"t":1,"a":"x"}{"t":2,"a":"y"}`, "{\n\"t\":3,\r\n\"a\":\"z\"\n}\n{\"t\":4}", `[{"t":5},{"t":6,"a":"w"}]`),
			columns: "__time LONG, a STRING",
			rows:    []string{"__time=1 a=x", "__time=2 a=y", "__time=3 a=z", "__time=4", "__time=5", "__time=6 a=w"},
		},
		"discovered strings": {
			schema:  `{` + millis + `}`,
			records: values(`{"t":1,"a":"x","o":{"k":1}}`, `{"t":2,"b":5,"l":["p","q"]}`),
			columns: "__time LONG, a STRING, b STRING, l ARRAY<STRING> multi",
			rows:    []string{"__time=1 a=x", "__time=2 b=5 l=[p q]"},
		},
		"discovered types": {
			schema:  `{` + millis + `,"dimensionsSpec":{"useSchemaDiscovery":true}}`,
			records: values(`{"t":1,"a":"x","n":1,"o":{"k":1},"z":null}`, `{"t":2,"n":2.5,"l":[1,2],"m":3}`, `{"t":3,"m":"x"}`),
			columns: "__time LONG, a STRING, n DOUBLE, o COMPLEX<json>, l ARRAY<LONG>, m STRING",
			rows:    []string{`__time=1 a=x n=1 o={"k":1}`, "__time=2 n=2.5 l=[1 2] m=3", "__time=3 m=x"},
		},
		"rollup has the states of single rows": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]},"metricsSpec":[{"type":"count","name":"c"},
				{"type":"longSum","name":"s","fieldName":"n"}],"granularitySpec":{"queryGranularity":"minute","rollup":true}}`,
			records: values(`{"t":61000,"a":"x","n":5}`, `{"t":62000,"a":"x","n":6}`),
			columns: "__time LONG, a STRING, c LONG COUNT, s LONG SUM",
			rows:    []string{"__time=60000 a=x c=1 s=5", "__time=60000 a=x c=1 s=6"},
		},
		"transforms and filter": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a","up"]},"transformSpec":{
				"transforms":[{"type":"expression","name":"up","expression":"upper(a)"}],
				"filter":{"type":"not","field":{"type":"selector","dimension":"a","value":"y"}}}}`,
			records: values(`{"t":1,"a":"x"}`, `{"t":2,"a":"y"}`, `{"t":3,"a":"z"}`),
			columns: "__time LONG, a STRING, up STRING",
			rows:    []string{"__time=1 a=x up=X", "__time=3 a=z up=Z"},
			thrown:  map[string]int64{Filtered: 1},
		},
		"a transform makes the time": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]},"granularitySpec":{"queryGranularity":"second"},"transformSpec":{
				"transforms":[{"type":"expression","name":"__time","expression":"__time + 1500"}]}}`,
			records: values(`{"t":1000,"a":"x"}`),
			columns: "__time LONG, a STRING",
			rows:    []string{"__time=2000 a=x"},
		},
		"csv": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a","b"]}}`, format: `{"type":"csv","columns":["t","a","b"]}`,
			records: values("1,x,\"p,\nq\"", "2,y\n3,z,w\n", "4,\"\""),
			columns: "__time LONG, a STRING, b STRING",
			rows:    []string{"__time=1 a=x b=p,\nq", "__time=2 a=y", "__time=3 a=z b=w", "__time=4"},
		},
		"csv with a header in each record": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]}}`, format: `{"type":"csv","findColumnsFromHeader":true}`,
			records: values("t,a\n1,x", "a,t\ny,2"),
			columns: "__time LONG, a STRING",
			rows:    []string{"__time=1 a=x", "__time=2 a=y"},
		},
		"lines": {
			schema:  `{"timestampSpec":{"column":"none","missingValue":"1970-01-01T00:00:00.007Z"},"dimensionsSpec":{"dimensions":["line"]}}`,
			format:  `{"type":"lines"}`,
			records: values("a\nb", "c"),
			columns: "__time LONG, line STRING",
			rows:    []string{"__time=7 line=a", "__time=7 line=b", "__time=7 line=c"},
		},
		"regex": {
			schema: `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]}}`, format: `{"type":"regex","pattern":"(\\d+) (.*)","columns":["t","a"]}`,
			records: values("1 x"), columns: "__time LONG, a STRING", rows: []string{"__time=1 a=x"},
		},
		"flattened": {
			schema:  `{` + millis + `,"dimensionsSpec":{"dimensions":["k"]}}`,
			format:  `{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"k","expr":"$.o.k"}]}}`,
			records: values(`{"t":1,"o":{"k":"v"}}`), columns: "__time LONG, k STRING", rows: []string{"__time=1 k=v"},
		},
		"a number of a schema before JSON": {
			schema:  `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]}}`,
			records: values("\x00\x00\x00\x00\x07{\"t\":1,\"a\":\"x\"}"), columns: "__time LONG, a STRING", rows: []string{"__time=1 a=x"},
		},
		"records without a value": {
			schema:  `{` + millis + `,"dimensionsSpec":{"dimensions":["a"]}}`,
			records: []stream.Record{{}, values(`{"t":1}`)[0]}, columns: "__time LONG, a STRING", rows: []string{"__time=1"},
			thrown: map[string]int64{Null: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.format == "" {
				c.format = `{"type":"json"}`
			}
			m, bad := maker(t, c.schema, c.format)
			made := mustMake(t, m, c.records)
			if d := cmp.Diff(c.columns, shownColumns(made)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.rows, shownRows(made)); d != "" {
				t.Error(d)
			}
			if c.thrown == nil {
				c.thrown = map[string]int64{}
			}
			if d := cmp.Diff(c.thrown, made.ThrownAway); d != "" {
				t.Error(d)
			}
			if len(*bad) > 0 {
				t.Errorf("bad: %+v", (*bad)[0])
			}
			if made.Counters.Processed != float64(len(c.rows)) {
				t.Errorf("%v were processed", made.Counters.Processed)
			}
		})
	}
}

func TestShape(t *testing.T) {
	m, _ := maker(t, `{`+millis+`,"dimensionsSpec":{"dimensions":["b",{"type":"json","name":"j"},{"type":"auto","name":"u"}],
		"includeAllDimensions":true},"granularitySpec":{"queryGranularity":"hour"},
		"metricsSpec":[{"type":"count","name":"c"}]}`, `{"type":"json"}`)
	o := m.Shape()
	if d := cmp.Diff([]string{"__time", "b", "u"}, o.SortOrder); d != "" {
		t.Error(d)
	}
	if o.QueryGranularity != "HOUR" || !o.Rollup {
		t.Errorf("%+v", o)
	}
	made := mustMake(t, m, values(`{"t":1,"d":"x","b":"y"}`))
	o = m.Shape()
	o.Columns, o.SortOrder = made.Columns, nil
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	without, _ := maker(t, `{`+millis+`,"dimensionsSpec":{"dimensions":[{"type":"long","name":"__time"},"a"],"forceSegmentSortByTime":false},
		"metricsSpec":[{"type":"doubleMean","name":"c","fieldName":"x"}]}`, `{"type":"json"}`)
	if o := without.Shape(); !o.Rollup || cmp.Diff([]string{"__time", "a"}, o.SortOrder) != "" {
		t.Errorf("%+v", o)
	}
}
