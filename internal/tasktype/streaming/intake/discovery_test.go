package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/vector"
)

// Columns and their types grow while records come; what they were for rows before is their own.
func TestColumnsGrow(t *testing.T) {
	m, bad := maker(t, `{`+millis+`,"dimensionsSpec":{"useSchemaDiscovery":true,"dimensionExclusions":["no"]}}`, `{"type":"json"}`)
	for _, c := range []struct{ record, columns, row string }{
		{`{"t":1,"n":null,"no":1}`, "__time LONG", "__time=1"},
		{`{"t":2,"n":1}`, "__time LONG, n LONG", "__time=2 n=1"},
		{`{"t":3,"n":true,"a":"x"}`, "__time LONG, n LONG, a STRING", "__time=3 n=1 a=x"},
		{`{"t":4,"n":2.5}`, "__time LONG, n DOUBLE, a STRING", "__time=4 n=2.5"},
		{`{"t":5,"n":3,"a":7}`, "__time LONG, n DOUBLE, a STRING", "__time=5 n=3 a=7"},
		{`{"t":6,"n":"much"}`, "__time LONG, n STRING, a STRING", "__time=6 n=much"},
		{`{"t":7,"n":8}`, "__time LONG, n STRING, a STRING", "__time=7 n=8"},
		{`{"t":8,"l":[]}`, "__time LONG, n STRING, a STRING, l ARRAY<LONG>", "__time=8 l=[]"},
		{`{"t":9,"l":[1.5]}`, "__time LONG, n STRING, a STRING, l ARRAY<DOUBLE>", "__time=9 l=[1.5]"},
		{`{"t":10,"l":["p",1]}`, "__time LONG, n STRING, a STRING, l ARRAY<STRING>", "__time=10 l=[p 1]"},
		{`{"t":11,"n":[1,"x"]}`, "__time LONG, n ARRAY<STRING>, a STRING, l ARRAY<STRING>", "__time=11 n=[1 x]"},
		{`{"t":12,"n":{"k":1}}`, "__time LONG, n COMPLEX<json>, a STRING, l ARRAY<STRING>", `__time=12 n={"k":1}`},
		{`{"t":13,"n":4,"a":"y"}`, "__time LONG, n COMPLEX<json>, a STRING, l ARRAY<STRING>", "__time=13 n=4 a=y"},
	} {
		made := mustMake(t, m, values(c.record))
		if d := cmp.Diff(c.columns, shownColumns(made)); d != "" {
			t.Errorf("%s: %s", c.record, d)
		}
		if d := cmp.Diff([]string{c.row}, shownRows(made)); d != "" {
			t.Errorf("%s: %s", c.record, d)
		}
	}
	if len(*bad) > 0 {
		t.Errorf("bad: %+v", (*bad)[0])
	}
}

// A string has one value until a row has several; then all rows of the poll have lists.
func TestStringsBecomeMultiValue(t *testing.T) {
	for name, schema := range map[string]string{
		"explicit":   `{` + millis + `,"dimensionsSpec":{"dimensions":["a","b"]}}`,
		"discovered": `{` + millis + `,"dimensionsSpec":{"dimensions":["a"],"includeAllDimensions":true}}`,
		"sets":       `{` + millis + `,"dimensionsSpec":{"dimensions":[{"type":"string","name":"a","multiValueHandling":"SORTED_SET"},"b"]}}`,
		"as they are": `{` + millis + `,"dimensionsSpec":{"dimensions":[{"type":"string","name":"a","multiValueHandling":"ARRAY"},"b"]},
			"transformSpec":{"transforms":[{"type":"expression","name":"z","expression":"concat(b, 'x')"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := maker(t, schema, `{"type":"json"}`)
			made := mustMake(t, m, values(`{"t":1,"a":"x","b":"p"}`, `{"t":2,"a":["y"],"b":"q"}`, `{"t":3,"a":[],"b":"q"}`))
			if d := cmp.Diff("__time LONG, a STRING, b STRING", shownColumns(made)); d != "" {
				t.Error(d)
			}
			made = mustMake(t, m, values(`{"t":3,"a":"x","b":"p"}`, `{"t":4,"a":["z","y","z"],"b":"q"}`))
			want := []string{"__time=3 a=[x] b=p", "__time=4 a=[y z z] b=q"}
			switch name {
			case "sets":
				want[1] = "__time=4 a=[y z] b=q"
			case "as they are":
				want[1] = "__time=4 a=[z y z] b=q"
			}
			if d := cmp.Diff(want, shownRows(made)); d != "" {
				t.Error(d)
			}
			if made = mustMake(t, m, values(`{"t":5,"a":"w","b":"p"}`)); shownColumns(made) != "__time LONG, a ARRAY<STRING> multi, b STRING" {
				t.Errorf("later: %s", shownColumns(made))
			}
		})
	}
	csv, _ := maker(t, `{`+millis+`,"dimensionsSpec":{"dimensions":["a"]}}`, `{"type":"csv","columns":["t","a"],"listDelimiter":"|"}`)
	if d := cmp.Diff([]string{"__time=1 a=[x]", "__time=2 a=[y z]"}, shownRows(mustMake(t, csv, values("1,x", "2,z|y")))); d != "" {
		t.Error(d)
	}
}

func TestTimesThatAreNotAllowed(t *testing.T) {
	low, high := int64(100), int64(200)
	for name, more := range map[string]string{
		"of records": `"granularitySpec":{"queryGranularity":"minute"}`,
		"of a transform": `"granularitySpec":{"queryGranularity":"minute"},
			"transformSpec":{"transforms":[{"type":"expression","name":"__time","expression":"__time + 0"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := maker(t, `{`+millis+`,"dimensionsSpec":{"dimensions":["a"]},`+more+`}`, `{"type":"json"}`,
				func(o *Options) { o.MinTime, o.MaxTime = &low, &high })
			records := values(`{"t":99,"a":"u"}`, `{"t":100,"a":"v"}`, `{"t":200,"a":"w"}`, `{"t":201,"a":"x"}{"t":202,"a":"y"}`, `{"t":"no"}`)
			made := mustMake(t, m, records)
			if d := cmp.Diff([]string{"__time=0 a=v", "__time=0 a=w"}, shownRows(made)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]int64{BeforeMinimum: 1, AfterMaximum: 2}, made.ThrownAway); d != "" {
				t.Error(d)
			}
			if c := made.Counters; c.Processed != 2 || c.ThrownAway != 3 || c.Unparseable != 1 {
				t.Errorf("%+v", c)
			}
			m.Bound(nil, &low)
			if made := mustMake(t, m, records); made.ThrownAway[AfterMaximum] != 3 || made.ThrownAway[BeforeMinimum] != 0 {
				t.Errorf("%v with other bounds", made.ThrownAway)
			}
		})
	}
}

// While a registry is away nothing is made, counted or told; the same records are made later.
func TestMakeWhileARegistryIsAway(t *testing.T) {
	var there atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !there.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"schema":"{}","schemaType":"JSON"}`))
	}))
	defer s.Close()
	format := fmt.Sprintf(`{"type":"avro_stream","avroBytesDecoder":{"type":"schema_registry","url":%q}}`, s.URL)
	m, bad := maker(t, `{`+millis+`,"dimensionsSpec":{"useSchemaDiscovery":true}}`, format)
	records := values("no number", "\x00\x00\x00\x00\x07{\"t\":1,\"n\":1}", "\x00\x00\x00\x00\x07{\"t\":2,\"n\":1.5}")
	for range 3 {
		made, err := m.Make(t.Context(), records)
		if made != nil || !Passes(err) || len(*bad) > 0 {
			t.Fatalf("%+v %v %v", made, err, *bad)
		}
	}
	there.Store(true)
	made := mustMake(t, m, records)
	d := cmp.Diff([]string{"__time=1 n=1", "__time=2 n=1.5"}, shownRows(made))
	if d != "" || made.Counters.Unparseable != 1 || len(*bad) != 1 {
		t.Errorf("%s %+v", d, made.Counters)
	}
	refused := func(o *Options) { o.Access = &ingest.Access{HTTPProtocols: []string{"https"}} }
	m, _ = maker(t, `{`+millis+`}`, format, refused)
	if _, err := m.Make(t.Context(), records[1:]); err == nil || Passes(err) {
		t.Errorf("a registry that may not be asked: %v", err)
	}
}

// However records are divided into polls, their rows are those that a load makes of the same lines,
// in the wider types that all of them have together.
func TestRowsAreThoseOfALoad(t *testing.T) {
	lines := slices.Clone(wikiLines(600))
	for i := 7; i < len(lines); i += 50 { // records of all kinds
		lines[i] = bytes.Replace(lines[i], []byte(`"metroCode":null`), fmt.Appendf(nil, `"metroCode":%d,"more":{"k":%d}`, i, i), 1)
		lines[i+1] = bytes.Replace(lines[i+1], []byte(`"user":"`), []byte(`"user":"é\u0000 \"`), 1)
		lines[i+2] = []byte(`{"time":"oops"}`)
		lines[i+3] = []byte(`{"time":`)
		lines[i+4] = bytes.Replace(lines[i+4], []byte(`"cityName":null`), []byte(`"cityName":["Bern","Aarau"]`), 1)
		lines[i+5] = bytes.Replace(lines[i+5], []byte(`"delta":`), []byte(`"delta":"x","gone":`), 1)
	}
	records := make([]stream.Record, len(lines))
	for i, line := range lines {
		records[i].Value = line
	}
	for name, schema := range wikiSchemas {
		t.Run(name, func(t *testing.T) {
			known, _ := maker(t, schema, `{"type":"json"}`)
			all := mustMake(t, known, records)
			batch := readBatch(t, known, lines)
			if d := cmp.Diff(asOf(batch, all.Columns), asOf(all, all.Columns)); d != "" {
				t.Fatal(d)
			}
			r := rand.New(rand.NewPCG(3, uint64(len(name))))
			for range 5 {
				m, _ := maker(t, schema, `{"type":"json"}`)
				var got []string
				var counters, thrown float64
				for at := 0; at < len(records); {
					to := min(at+1+r.IntN(1+r.IntN(200)), len(records))
					made := mustMake(t, m, records[at:to])
					got = append(got, asOf(made, all.Columns)...)
					counters += made.Counters.Processed + made.Counters.ProcessedWithError
					thrown += made.Counters.ThrownAway + made.Counters.Unparseable
					at = to
				}
				if d := cmp.Diff(asOf(all, all.Columns), got); d != "" {
					t.Fatal(d)
				}
				if int(counters) != len(got) || int(counters+thrown) != len(records) {
					t.Errorf("%v rows and %v others are counted of %d records", counters, thrown, len(records))
				}
			}
		})
	}
}

// asOf shows rows with the types of columns, a line of JSON each.
func asOf(made *Made, columns []segment.ColumnSpec) []string {
	out := make([]string, made.Rows.N)
	for i := range out {
		row := map[string]any{}
		for k, c := range made.Columns {
			at := slices.IndexFunc(columns, func(w segment.ColumnSpec) bool { return w.Name == c.Name })
			v := made.Rows.Cols[k]
			if v.IsNull(i) {
				continue
			}
			value := v.ValueAt(i)
			if _, list := value.([]any); columns[at].Multi && !list {
				value = []any{value}
			}
			if columns[at].Type == vector.String && v.Type != vector.String {
				value = fmt.Sprint(value)
			}
			row[c.Name] = value
		}
		text, _ := json.Marshal(row) // it has a form
		out[i] = string(text)
	}
	return out
}

// FuzzKafka holds that any record of the format kafka is a row, or is counted as none, and is the
// same whatever comes with it.
func FuzzKafka(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte("k"), "h", []byte("v"), int64(5))
	f.Add([]byte(`{"kafka.timestamp":"x"}`), []byte(nil), "", []byte("\xff"), int64(-1))
	f.Add([]byte(nil), []byte("\x00"), "a.b", []byte(nil), int64(1)<<62)
	schema := `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"useSchemaDiscovery":true}}`
	format := `{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"tsv","columns":["x"]},"headerFormat":{"type":"string"}}`
	f.Fuzz(func(t *testing.T, value, key []byte, header string, of []byte, at int64) {
		m, bad := maker(t, schema, format)
		r := stream.Record{Topic: "t", Value: value, Key: key, Headers: []stream.Header{{Name: header, Value: of}}, Time: at}
		alone := mustMake(t, m, []stream.Record{r})
		if alone.Rows.N == 0 && len(*bad) == 0 {
			t.Fatalf("%q is neither row nor error", value)
		}
		m, _ = maker(t, schema, format)
		good := stream.Record{Topic: "t", Value: []byte(`{}`), Time: 1}
		if three := mustMake(t, m, []stream.Record{good, r, good}); three.Rows.N != alone.Rows.N+2 {
			t.Fatalf("%q is %d rows alone, %d among others", value, alone.Rows.N, three.Rows.N-2)
		}
	})
}
