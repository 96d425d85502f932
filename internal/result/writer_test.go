package result

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// users is the table of the examples of the interface: user VARCHAR, n BIGINT.
var users = []Column{{Name: "user", Type: expr.Of(expr.Varchar)}, {Name: "n", Type: expr.Of(expr.BigInt)}}

func usersBatch() *vector.Batch {
	return &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromStrings([]string{"x", "y"}), vector.FromLongs([]int64{1, 2})}}
}

func render(t *testing.T, columns []Column, o Options, batches ...*vector.Batch) string {
	t.Helper()
	var out strings.Builder
	w := NewWriter(&out, columns, o)
	for _, b := range batches {
		if err := w.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Bytes() != int64(out.Len()) {
		t.Errorf("Bytes = %d, written %d", w.Bytes(), out.Len())
	}
	return out.String()
}

func TestFormats(t *testing.T) {
	for format, want := range map[Format]string{
		Object:      `[{"user":"x","n":1},{"user":"y","n":2}]` + "\n",
		Array:       `[["x",1],["y",2]]` + "\n",
		ObjectLines: `{"user":"x","n":1}` + "\n" + `{"user":"y","n":2}` + "\n\n",
		ArrayLines:  `["x",1]` + "\n" + `["y",2]` + "\n\n",
		CSV:         "x,1\ny,2\n\n",
	} {
		if diff := cmp.Diff(want, render(t, users, Options{Format: format}, usersBatch())); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestRowsOfSeveralBatchesAreOneAnswer(t *testing.T) {
	first, second := usersBatch(), usersBatch()
	first.Sel = []uint32{1} // a selection: the first row was filtered out
	empty := &vector.Batch{N: 2, Cols: usersBatch().Cols, Sel: []uint32{}}
	for format, want := range map[Format]string{
		Object:     `[{"user":"y","n":2},{"user":"x","n":1},{"user":"y","n":2}]` + "\n",
		ArrayLines: `["y",2]` + "\n" + `["x",1]` + "\n" + `["y",2]` + "\n\n",
		CSV:        "y,2\nx,1\ny,2\n\n",
	} {
		if diff := cmp.Diff(want, render(t, users, Options{Format: format}, first, empty, second)); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

// Spec/sql.md, section 1.3: header rows, with rows and without.
func TestHeaders(t *testing.T) {
	type kind struct{ types, sqlTypes bool }
	for _, tc := range []struct {
		format      Format
		kind        kind
		empty, full string
	}{
		{Object, kind{}, `[{"user":null,"n":null}]` + "\n", `[{"user":null,"n":null},{"user":"x","n":1},{"user":"y","n":2}]` + "\n"},
		{Object, kind{types: true}, `[{"user":{"type":"STRING"},"n":{"type":"LONG"}}]` + "\n", ""},
		{Object, kind{sqlTypes: true}, `[{"user":{"sqlType":"VARCHAR"},"n":{"sqlType":"BIGINT"}}]` + "\n", ""},
		{Object, kind{true, true}, `[{"user":{"type":"STRING","sqlType":"VARCHAR"},"n":{"type":"LONG","sqlType":"BIGINT"}}]` + "\n", ""},
		{ObjectLines, kind{}, `{"user":null,"n":null}` + "\n\n", `{"user":null,"n":null}` + "\n" + `{"user":"x","n":1}` + "\n" + `{"user":"y","n":2}` + "\n\n"},
		{Array, kind{}, `[["user","n"]]` + "\n", ""},
		{Array, kind{true, true}, `[["user","n"],["STRING","LONG"],["VARCHAR","BIGINT"]]` + "\n", `[["user","n"],["STRING","LONG"],["VARCHAR","BIGINT"],["x",1],["y",2]]` + "\n"},
		{ArrayLines, kind{types: true}, `["user","n"]` + "\n" + `["STRING","LONG"]` + "\n\n", ""},
		{ArrayLines, kind{sqlTypes: true}, `["user","n"]` + "\n" + `["VARCHAR","BIGINT"]` + "\n\n", ""},
		{CSV, kind{}, "user,n\n\n", "user,n\nx,1\ny,2\n\n"},
		{CSV, kind{true, true}, "user,n\nSTRING,LONG\nVARCHAR,BIGINT\n\n", ""},
	} {
		o := Options{Format: tc.format, Header: true, TypesHeader: tc.kind.types, SQLTypesHeader: tc.kind.sqlTypes}
		if diff := cmp.Diff(tc.empty, render(t, users, o)); diff != "" {
			t.Errorf("%s %+v, no rows: %s", tc.format, tc.kind, diff)
		}
		if tc.full == "" {
			continue
		}
		if diff := cmp.Diff(tc.full, render(t, users, o, usersBatch())); diff != "" {
			t.Errorf("%s %+v: %s", tc.format, tc.kind, diff)
		}
	}
}

func TestNoRowsNoHeader(t *testing.T) {
	for format, want := range map[Format]string{Object: "[]\n", Array: "[]\n", ObjectLines: "\n\n", ArrayLines: "\n\n", CSV: "\n"} {
		if got := render(t, users, Options{Format: format}); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}

func TestTypeNamesInHeaders(t *testing.T) {
	columns := []Column{
		{"ts", expr.Of(expr.Timestamp)}, {"d", expr.Of(expr.Date)}, {"f", expr.Of(expr.Float)}, {"x", expr.Of(expr.Decimal)}, {"b", expr.Of(expr.Boolean)},
		{"a", expr.ArrayOf(expr.Of(expr.BigInt))}, {"mv", expr.MultiString}, {"j", expr.JSON}, {"hll", expr.ComplexOf("hyperUnique")}, {"u", expr.Of(expr.Null)},
		{"r", expr.Of(expr.Row)},
	}
	o := Options{Format: ArrayLines, Header: true, TypesHeader: true, SQLTypesHeader: true}
	want := `["ts","d","f","x","b","a","mv","j","hll","u","r"]` + "\n" +
		`["LONG","LONG","FLOAT","DOUBLE","LONG","ARRAY<LONG>","STRING","COMPLEX<json>","COMPLEX<hyperUnique>",null,null]` + "\n" +
		`["TIMESTAMP","DATE","FLOAT","DECIMAL","BOOLEAN","ARRAY","VARCHAR","OTHER","OTHER","NULL","ROW"]` + "\n\n"
	if diff := cmp.Diff(want, render(t, columns, o)); diff != "" {
		t.Error(diff)
	}
	o.Format = CSV
	want = "ts,d,f,x,b,a,mv,j,hll,u,r\nLONG,LONG,FLOAT,DOUBLE,LONG,ARRAY<LONG>,STRING,COMPLEX<json>,COMPLEX<hyperUnique>,,\n" +
		"TIMESTAMP,DATE,FLOAT,DECIMAL,BOOLEAN,ARRAY,VARCHAR,OTHER,OTHER,NULL,ROW\n\n"
	if diff := cmp.Diff(want, render(t, columns, o)); diff != "" {
		t.Error(diff)
	}
}

func build(typ expr.Type, values ...any) *vector.Vector {
	b := vector.NewBuilder(typ.Runtime(), len(values))
	for _, v := range values {
		b.Append(v)
	}
	return b.Build()
}

// value renders one value in a row of two columns, so that csv shows it as it stands.
func value(t *testing.T, typ expr.Type, v any, o Options) string {
	t.Helper()
	columns := []Column{{"v", typ}, {"end", expr.Of(expr.BigInt)}}
	text := render(t, columns, o, &vector.Batch{N: 1, Cols: []*vector.Vector{build(typ, v), vector.FromLongs([]int64{7})}})
	text = strings.TrimRight(text, "\n")
	if o.Format == CSV {
		return strings.TrimSuffix(text, ",7")
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "[["), ",7]]")
}

// Spec/sql.md, section 1.4.
func TestValues(t *testing.T) {
	angeles, err := chrono.LoadZone("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	const millennium = 946684800000 // 2000-01-01T00:00:00Z
	longs := expr.ArrayOf(expr.Of(expr.BigInt))
	texts := expr.ArrayOf(expr.Of(expr.Varchar))
	nested := expr.ArrayOf(longs)
	for _, tc := range []struct {
		name      string
		typ       expr.Type
		value     any
		json, csv string
		o         Options
	}{
		{"long", expr.Of(expr.BigInt), int64(math.MinInt64), "-9223372036854775808", "-9223372036854775808", Options{}},
		{"integer", expr.Of(expr.Integer), int64(5), "5", "5", Options{}},
		{"null", expr.Of(expr.BigInt), nil, "null", "", Options{}},
		{"whole double", expr.Of(expr.Double), 1.0, "1.0", "1.0", Options{}},
		{"small double", expr.Of(expr.Double), 1e-4, "1.0E-4", "1.0E-4", Options{}},
		{"plain double", expr.Of(expr.Double), 0.001, "0.001", "0.001", Options{}},
		{"large double", expr.Of(expr.Double), 1e7, "1.0E7", "1.0E7", Options{}},
		{"digits", expr.Of(expr.Double), 12345678.0, "1.2345678E7", "1.2345678E7", Options{}},
		{"decimal", expr.Of(expr.Decimal), 0.5, "0.5", "0.5", Options{}},
		{"float", expr.Of(expr.Float), float32(0.1), "0.1", "0.1", Options{}},
		{"float NaN", expr.Of(expr.Float), float32(math.NaN()), `"NaN"`, "NaN", Options{}},
		{"NaN", expr.Of(expr.Double), math.NaN(), `"NaN"`, "NaN", Options{}},
		{"infinity", expr.Of(expr.Double), math.Inf(1), `"Infinity"`, "Infinity", Options{}},
		{"negative infinity", expr.Of(expr.Double), math.Inf(-1), `"-Infinity"`, "-Infinity", Options{}},
		{"true", expr.Of(expr.Boolean), int64(1), "true", "true", Options{}},
		{"false", expr.Of(expr.Boolean), int64(0), "false", "false", Options{}},
		{"text", expr.Of(expr.Varchar), `a"b`, `"a\"b"`, `"a""b"`, Options{}},
		{"empty text", expr.Of(expr.Varchar), "", `""`, "", Options{}},
		{"time", expr.Of(expr.Timestamp), int64(1), `"1970-01-01T00:00:00.001Z"`, "1970-01-01T00:00:00.001Z", Options{}},
		{"time in a zone", expr.Of(expr.Timestamp), int64(millennium), `"1999-12-31T16:00:00.000-08:00"`, "1999-12-31T16:00:00.000-08:00", Options{Zone: angeles}},
		{"time of statements", expr.Of(expr.Timestamp), int64(millennium), "946684800000", "946684800000", Options{Epoch: true}},
		{"time of statements in a zone", expr.Of(expr.Timestamp), int64(millennium), "946656000000", "946656000000", Options{Epoch: true, Zone: angeles}},
		{"date", expr.Of(expr.Date), int64(millennium), `"2000-01-01T00:00:00.000Z"`, "2000-01-01T00:00:00.000Z", Options{}},
		{"date in a zone", expr.Of(expr.Date), int64(millennium + 8*3600000), `"2000-01-01T00:00:00.000-08:00"`, "2000-01-01T00:00:00.000-08:00", Options{Zone: angeles}},
		{"date of statements", expr.Of(expr.Date), int64(millennium), "10957", "10957", Options{Epoch: true}},
		{"date of statements in a zone", expr.Of(expr.Date), int64(millennium + 8*3600000), "10957", "10957", Options{Epoch: true, Zone: angeles}},
		{"date of statements before 1970", expr.Of(expr.Date), int64(-msPerDay), "-1", "-1", Options{Epoch: true}},
		{"far year", expr.Of(expr.Timestamp), int64(math.MinInt64 / 2), `"-146136543-09-08T08:23:32.096Z"`, "-146136543-09-08T08:23:32.096Z", Options{}},
		{"array as text", texts, []any{"a", "b"}, `"[\"a\",\"b\"]"`, `"[""a"",""b""]"`, Options{StringifyArrays: true}},
		{"array as text with a line end", texts, []any{"a\nb"}, `"[\"a\\nb\"]"`, `"[""a\nb""]"`, Options{StringifyArrays: true}},
		{"array", texts, []any{"a", nil}, `["a",null]`, `"[""a"",null]"`, Options{}},
		{"array of numbers", longs, []any{int64(1), int64(2)}, `[1,2]`, `"[1,2]"`, Options{}},
		{"array of one number", longs, []any{int64(1)}, `"[1]"`, `[1]`, Options{StringifyArrays: true}},
		{"empty array", longs, []any{}, `[]`, `[]`, Options{}},
		{"nested array", nested, []any{[]any{int64(1)}, []any{}}, `[[1],[]]`, `"[[1],[]]"`, Options{}},
		{"several values", expr.MultiString, []any{"a", "b"}, `"[\"a\",\"b\"]"`, `"[""a"",""b""]"`, Options{}},
		{"one of several values", expr.MultiString, []any{"a,b"}, `"a,b"`, `"a,b"`, Options{}},
		{"no value of several", expr.MultiString, []any{}, `"[]"`, `[]`, Options{}},
		{"one null of several values", expr.MultiString, []any{nil}, `null`, ``, Options{}},
		{"json", expr.JSON, `{"b":1,"a":[]}`, `"{\"b\":1,\"a\":[]}"`, `"{""b"":1,""a"":[]}"`, Options{}},
		{"sketch", expr.ComplexOf("hyperUnique"), "\x01\x00\x00\xff", `"\"AQAA/w==\""`, `"""AQAA/w=="""`, Options{}},
	} {
		for format, want := range map[Format]string{Array: tc.json, CSV: tc.csv} {
			o := tc.o
			o.Format = format
			if got := value(t, tc.typ, tc.value, o); got != want {
				t.Errorf("%s as %s: %s, want %s", tc.name, format, got, want)
			}
		}
	}
}

// The encoding of a vector must not show.
func TestEncodingsOfVectors(t *testing.T) {
	dict := vector.NewDict([]string{"", "a", "b"})
	nulls := vector.FromLongs([]int64{4, 0, 4})
	nulls.Valid = vector.FullBitmap(3)
	nulls.Valid.Clear(1)
	list := expr.ArrayOf(expr.Of(expr.BigInt))
	columns := []Column{
		{"dict", expr.Of(expr.Varchar)}, {"const", expr.Of(expr.Varchar)}, {"nullConst", expr.Of(expr.Double)}, {"long", expr.Of(expr.BigInt)},
		{"constTime", expr.Of(expr.Timestamp)}, {"list", list}, {"constBool", expr.Of(expr.Boolean)},
	}
	b := &vector.Batch{N: 3, Cols: []*vector.Vector{
		vector.FromCodes([]uint32{2, 0, 1}, dict), vector.Constant(vector.String, "k", 3), vector.Nulls(vector.Double, 3), nulls,
		vector.Constant(vector.Long, int64(0), 3), build(list, []any{int64(1)}, nil, []any{}), vector.Constant(vector.Long, int64(1), 3),
	}}
	const epoch = `"1970-01-01T00:00:00.000Z"`
	want := `["b","k",null,4,` + epoch + `,[1],true]` + "\n" + `["","k",null,null,` + epoch + `,null,true]` + "\n" + `["a","k",null,4,` + epoch + `,[],true]` + "\n\n"
	if diff := cmp.Diff(want, render(t, columns, Options{Format: ArrayLines}, b)); diff != "" {
		t.Error(diff)
	}
	b.Sel = []uint32{2, 1}
	lines := strings.Split(want, "\n")
	if diff := cmp.Diff(lines[2]+"\n"+lines[1]+"\n\n", render(t, columns, Options{Format: ArrayLines}, b)); diff != "" {
		t.Errorf("selected rows: %s", diff)
	}
}

// A line that is empty ends a csv answer, so a lone empty value may not be one.
func TestCSVNeverWritesAnEmptyRow(t *testing.T) {
	for name, tc := range map[string]struct {
		typ   expr.Type
		value any
		want  string
	}{
		"empty text":     {expr.Of(expr.Varchar), "", "\"\"\n\n"},
		"null":           {expr.Of(expr.Varchar), nil, "\"\"\n\n"},
		"null number":    {expr.Of(expr.BigInt), nil, "\"\"\n\n"},
		"multi null":     {expr.MultiString, []any{nil}, "\"\"\n\n"},
		"text":           {expr.Of(expr.Varchar), "a", "a\n\n"},
		"comma":          {expr.Of(expr.Varchar), "a,b", "\"a,b\"\n\n"},
		"line end":       {expr.Of(expr.Varchar), "a\nb", "\"a\nb\"\n\n"},
		"carriage":       {expr.Of(expr.Varchar), "a\rb", "\"a\rb\"\n\n"},
		"control":        {expr.Of(expr.Varchar), "a\x01\tb", "a\x01\tb\n\n"},
		"beyond U+FFFF":  {expr.Of(expr.Varchar), "😀", "😀\n\n"},
		"backslash":      {expr.Of(expr.Varchar), `a\b`, `a\b` + "\n\n"},
		"leading blank":  {expr.Of(expr.Varchar), " a ", " a \n\n"},
		"only a quote":   {expr.Of(expr.Varchar), `"`, `""""` + "\n\n"},
		"beyond in list": {expr.ArrayOf(expr.Of(expr.Varchar)), []any{"😀"}, `"[""\uD83D\uDE00""]"` + "\n\n"},
	} {
		b := &vector.Batch{N: 1, Cols: []*vector.Vector{build(tc.typ, tc.value)}}
		if got := render(t, []Column{{"v", tc.typ}}, Options{Format: CSV}, b); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := render(t, []Column{{"", expr.Of(expr.Row)}}, Options{Format: CSV, Header: true, TypesHeader: true}); got != "\"\"\n\"\"\n\n" {
		t.Errorf("header without text: %q", got)
	}
	if got := render(t, []Column{{`a"b`, users[0].Type}, {"c,d", users[1].Type}}, Options{Format: CSV, Header: true}); got != "\"a\"\"b\",\"c,d\"\n\n" {
		t.Errorf("header with quotes: %q", got)
	}
}

func TestJSONText(t *testing.T) {
	for in, want := range map[string]string{
		"":                   `""`,
		`plain`:              `"plain"`,
		`"\/`:                `"\"\\/"`,
		"\b\f\n\r\t":         `"\b\f\n\r\t"`,
		"\x00\x1f\x0b\x7f":   `"\u0000\u001F\u000B` + "\x7f" + `"`,
		"<>&\u2028\u2029":    "\"<>&\u2028\u2029\"",
		"é€\uFFFF":           "\"é€\uFFFF\"",
		"😀":                  `"\uD83D\uDE00"`,
		"a😀b\U0010FFFF":      `"a\uD83D\uDE00b\uDBFF\uDFFF"`,
		"a\xffb":             "\"a\uFFFDb\"",
		"a\xe2\x82":          "\"a\uFFFD\uFFFD\"",
		"\U00010000\n\xf0 x": `"\uD800\uDC00\n` + "\uFFFD x\"",
		"\uFFFD":             "\"\uFFFD\"",
	} {
		if got := string(appendString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestNamesAreEscapedToo(t *testing.T) {
	columns := []Column{{"a\"b\n😀", expr.Of(expr.BigInt)}}
	b := &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}}
	if got, want := render(t, columns, Options{Format: ObjectLines}, b), `{"a\"b\n\uD83D\uDE00":1}`+"\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNoStringEndsInABackslashAsItIs(t *testing.T) {
	columns := []Column{{`k\`, expr.Of(expr.Varchar)}, {"n", expr.ArrayOf(expr.Of(expr.Varchar))}}
	b := &vector.Batch{N: 1, Cols: []*vector.Vector{build(columns[0].Type, `a\b\`), build(columns[1].Type, []any{`c\`})}}
	for format, want := range map[Format]string{
		Object: `[{"k\u005c":null,"n":null},{"k\u005c":"a\\b\u005c","n":"[\"c\\\\\"]"}]` + "\n",
		Array:  `[["k\u005c","n"],["a\\b\u005c","[\"c\\\\\"]"]]` + "\n",
		CSV:    `k\,n` + "\n" + `a\b\,"[""c\\""]"` + "\n\n",
	} {
		if got := render(t, columns, Options{Format: format, Header: true, StringifyArrays: true}, b); got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
	if got := string(hideFinalBackslash([]byte(`"a\""`))); got != `"a\""` {
		t.Errorf("an escaped quote at the end became %s", got)
	}
}

func TestRawIsARowOfItsOwn(t *testing.T) {
	for format, want := range map[Format]string{
		Object:     `[{"user":"x","n":1},{"user":"y","n":2},{"error":"e,f"}]` + "\n",
		ArrayLines: `["x",1]` + "\n" + `["y",2]` + "\n" + `{"error":"e,f"}` + "\n\n",
		CSV:        "x,1\ny,2\n\"{\"\"error\"\":\"\"e,f\"\"}\"\n\n",
	} {
		var out strings.Builder
		w := NewWriter(&out, users, Options{Format: format})
		if err := w.Batch(usersBatch()); err != nil {
			t.Fatal(err)
		}
		w.Raw([]byte(`{"error":"e,f"}`))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestAnAnswerThatIsNotClosedHasNoEnd(t *testing.T) {
	for _, format := range []Format{Object, Array, ObjectLines, ArrayLines, CSV} {
		var out strings.Builder
		w := NewWriter(&out, users, Options{Format: format})
		if err := w.Batch(usersBatch()); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		whole := render(t, users, Options{Format: format}, usersBatch())
		if !strings.HasPrefix(whole, out.String()) || len(whole) == out.Len() {
			t.Errorf("%s: %q of %q", format, out.String(), whole)
		}
	}
}

func TestAppendRow(t *testing.T) {
	w := NewWriter(io.Discard, users, Options{Format: Array})
	if got := string(w.AppendRow([]byte("rows: "), usersBatch(), 1)); got != `rows: ["y",2]` {
		t.Errorf("got %s", got)
	}
}

var errGone = errors.New("gone")

type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errGone }

func TestWriterHandsOnErrors(t *testing.T) {
	big := &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromStrings([]string{strings.Repeat("x", flushBytes)}), vector.FromLongs([]int64{1})}}
	if err := NewWriter(deaf{}, users, Options{}).Batch(big); !errors.Is(err, errGone) {
		t.Errorf("Batch = %v", err)
	}
	if err := NewWriter(deaf{}, users, Options{}).Close(); !errors.Is(err, errGone) {
		t.Errorf("Close = %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	for in, want := range map[string]Format{"object": Object, "ARRAY": Array, "objectlines": ObjectLines, "arrayLines": ArrayLines, "Csv": CSV} {
		if got, err := ParseFormat(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "[object, array, objectLines, arrayLines, csv, arrow]") {
		t.Errorf("xml: %v", err)
	}
	for f, want := range map[Format]string{Object: "application/json", Array: "application/json", ObjectLines: "text/plain", ArrayLines: "text/plain", CSV: "text/csv"} {
		if got := f.ContentType(); got != want {
			t.Errorf("%s: %s, want %s", f, got, want)
		}
	}
}

// What is written as JSON must read back as the same text, each byte that is no UTF-8 replaced.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\x00😀\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		encoded := appendString(nil, s)
		var back string
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		if want := string([]rune(s)); back != want {
			t.Fatalf("%q comes back as %q", s, back)
		}
	})
}
