package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

var multiString = vector.ListOf(vector.String)

// Fields reads "name type name type"; the type mv is a multi-value string.
func fields(t testing.TB, text string) []Field {
	t.Helper()
	words := strings.Fields(text)
	var out []Field
	for i := 0; i+1 < len(words); i += 2 {
		if words[i+1] == "mv" {
			out = append(out, Field{Name: words[i], Type: multiString, Multi: true})
			continue
		}
		typ, err := vector.ParseType(words[i+1])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Field{Name: words[i], Type: typ})
	}
	return out
}

// read reads inline data wholly: rows and the messages of what did not parse.
func read(t testing.TB, format, data, columns string, opts Options) (rows [][]any, bad []string, err error) {
	t.Helper()
	f, err := ParseFormat(json.RawMessage(format))
	if err != nil {
		t.Fatal(err)
	}
	return readTable(t, &Table{Source: &Inline{Data: data}, Format: f, Fields: fields(t, columns)}, opts, 0)
}

func readTable(t testing.TB, table *Table, opts Options, splitSize int64) (rows [][]any, bad []string, err error) {
	t.Helper()
	ctx := context.Background()
	opts.OnParseError = func(e *ParseError) error {
		bad = append(bad, e.position())
		return nil
	}
	splits, err := table.Splits(ctx, &opts, splitSize)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range splits {
		r, err := table.Open(ctx, s, &opts)
		if err != nil {
			return rows, bad, err
		}
		for {
			b, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return rows, bad, errors.Join(err, r.Close())
			}
			for i := range b.N {
				row := make([]any, len(b.Cols))
				for c, v := range b.Cols {
					row[c] = v.ValueAt(i)
				}
				rows = append(rows, row)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	return rows, bad, nil
}

func TestJSONRows(t *testing.T) {
	for _, c := range []struct {
		name, data, columns string
		rows                [][]any
		bad                 []string
	}{
		{"lines", `{"a":"x","n":1}` + "\n" + `{"n":2}` + "\n", "a string n long", [][]any{{"x", int64(1)}, {nil, int64(2)}}, nil},
		{"crlf and blank lines", "\r\n{\"a\":\"x\"}\r\n\r\n{\"a\":\"y\"}\r\n", "a string", [][]any{{"x"}, {"y"}}, nil},
		{"byte order mark", "\xEF\xBB\xBF{\"a\":\"x\"}", "a string", [][]any{{"x"}}, nil},
		{"concatenated", `{"a":"x"}{"a":"y"} {"a":"z"}`, "a string", [][]any{{"x"}, {"y"}, {"z"}}, nil},
		{"indented", "{\n  \"a\": \"x\",\n  \"o\": {\n\"k\": [\n{\n}\n]\n}\n}\n{\n \"a\": \"}{\"\n}", "a string", [][]any{{"x"}, {"}{"}}, nil},
		{"one array", "[{\"a\":\"x\"},\n {\"a\":\"y\"}\n,{\"a\":\"z\"}]\n", "a string", [][]any{{"x"}, {"y"}, {"z"}}, nil},
		{"not json between", "{\"a\":\"x\"}\nnot json\n{\"a\":\"y\"}", "a string", [][]any{{"x"}, {"y"}},
			[]string{"Unable to parse row [not json] (Record: 2, Line: 2)"}},
		{"cut-off row", "{\"a\":\"x\"\n{\"a\":\"y\"}\n{\"a\":", "a string", [][]any{{"y"}},
			[]string{`Unable to parse row [{"a":"x"] (Record: 1, Line: 1)`, `Unable to parse row [{"a":] (Record: 3, Line: 3)`}},
		{"cut-off after comma", "{\"a\":\"x\",\n{\"a\":\"y\"}\n", "a string", [][]any{{"y"}},
			[]string{`Unable to parse row [{"a":"x",] (Record: 1, Line: 1)`}},
		{"missing quote", "{\"a\":\"x}\n{\"a\":\"y\"}\n", "a string", [][]any{{"y"}}, []string{`Unable to parse row [{"a":"x}] (Record: 1, Line: 1)`}},
		{"scalars are no rows", "1\n\"x\"\n[1]\nnull\n{\"a\":\"y\"}", "a string", [][]any{{"y"}}, []string{
			"Unable to parse row [1] (Record: 1, Line: 1)", `Unable to parse row ["x"] (Record: 2, Line: 2)`,
			"Unable to parse row [[1]] (Record: 3, Line: 3)", "Unable to parse row [null] (Record: 4, Line: 4)"}},
		{"invalid UTF-8", "{\"a\":\"x\xffy\xe2\x82z\"}", "a string", [][]any{{"x\uFFFDy\uFFFDz"}}, nil},
		{"escapes", `{"a":"\u00e9\n\"\\\ud83d\ude00"}`, "a string", [][]any{{"é\n\"\\😀"}}, nil},
		{"last of duplicates", `{"a":"x","a":"y"}`, "a string", [][]any{{"y"}}, nil},
		{"members in another order", "{\"a\":\"x\",\"b\":\"1\"}\n{\"b\":\"2\",\"a\":\"y\"}", "a string b string", [][]any{{"x", "1"}, {"y", "2"}}, nil},
		{"long from anything", `{"a":"12","b":1.9,"c":-1.9,"d":true,"e":"x","f":1e30,"g":" +1,234 ","h":""}`,
			"a long b long c long d long e long f long g long h long",
			[][]any{{int64(12), int64(1), int64(-1), int64(1), nil, int64(9223372036854775807), int64(1234), nil}}, nil},
		{"exact integers", `{"a":9007199254740993,"b":9223372036854775807,"c":-9223372036854775808,"d":9223372036854775808}`,
			"a long b long c long d long", [][]any{{int64(9007199254740993), int64(9223372036854775807), int64(-9223372036854775808), int64(9223372036854775807)}}, nil},
		{"string from anything", `{"a":12345678901234567890123,"b":1.50,"c":true,"d":{"x":[1,"\u0001"]},"e":1e10,"f":-0,"g":1e-4,"h":0.1}`,
			"a string b string c string d string e string f string g string h string",
			[][]any{{"12345678901234567890123", "1.5", "true", "{x=[1, \x01]}", "1.0E10", "0", "1.0E-4", "0.1"}}, nil},
		{"doubles", `{"a":"1.5","b":9007199254740993,"c":1e400,"d":"NaN","e":false}`, "a double b double c double d string e float",
			[][]any{{1.5, 9007199254740992.0, inf(), "NaN", float32(0)}}, nil},
		{"malformed number", "{\"a\":01}\n{\"a\":1-2}\n{\"a\":3}", "a long", [][]any{{int64(3)}},
			[]string{`Unable to parse row [{"a":01}] (Record: 1, Line: 1)`, `Unable to parse row [{"a":1-2}] (Record: 2, Line: 2)`}},
		{"multi-value", `{"a":["x",null,1,true,{"k":1}],"b":"y","c":[],"d":null}`, "a mv b mv c mv d mv",
			[][]any{{[]any{"x", nil, "1", "true", "{k=1}"}, []any{"y"}, []any{}, nil}}, nil},
		{"arrays", `{"a":[1,"2",null,3.7],"b":[1,2.5],"c":7}`, "a ARRAY<LONG> b ARRAY<DOUBLE> c ARRAY<LONG>",
			[][]any{{[]any{int64(1), int64(2), nil, int64(3)}, []any{1.0, 2.5}, []any{int64(7)}}}, nil},
		{"one value in a list is a value", `{"a":["x"],"b":[]}`, "a string b string", [][]any{{"x", nil}}, nil},
		{"objects as text", `{"a":{"k":{"z":1.50,"y":"two, three"},"l":[1,[true,{"m":null}],{}],"":"é"},"b":[{"k":"v"}],"c":{}}`, "a string b string c string",
			[][]any{{"{k={z=1.5, y=two, three}, l=[1, [true, {m=null}], {}], =é}", "{k=v}", "{}"}}, nil},
		{"nested", `{"a":{"k":{"z":1.50,"y":"two"}, "arr":[1, true,null,12345678901234567890,10000000000.0,-0]},"b":"plain","c":3,"d":1e-4}`,
			"a COMPLEX<json> b COMPLEX<json> c COMPLEX<json> d COMPLEX<json>",
			[][]any{{`{"k":{"z":1.5,"y":"two"},"arr":[1,true,null,12345678901234567890,1.0E10,0]}`, `"plain"`, "3", "1.0E-4"}}, nil},
		{"too deep", strings.Repeat(`{"a":`, 400) + "1" + strings.Repeat("}", 400) + "\n{\"a\":1}", "a long", [][]any{{int64(1)}},
			[]string{"Unable to parse row [" + strings.Repeat(`{"a":`, 204) + `{"a"` + "...] (Record: 1, Line: 1)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, opts := range []Options{{}, {Decoders: 3, ChunkBytes: 64}, {ChunkBytes: 7}} {
				rows, bad, err := read(t, `{"type":"json"}`, c.data, c.columns, opts)
				if err != nil {
					t.Fatalf("%+v: %v", opts, err)
				}
				if d := cmp.Diff(c.rows, rows); d != "" {
					t.Errorf("%+v: rows (-want +got):\n%s", opts, d)
				}
				if d := cmp.Diff(c.bad, bad); d != "" {
					t.Errorf("%+v: errors (-want +got):\n%s", opts, d)
				}
			}
		})
	}
}

func inf() float64 {
	f, _ := record.JavaDouble("Infinity")
	return f
}

func TestDelimitedRows(t *testing.T) {
	for _, c := range []struct {
		name, format, data, columns string
		rows                        [][]any
		bad                         []string
	}{
		{"columns given", `{"type":"csv","columns":["t","k","n"]}`, "2020-01-01,a,1\n2020-01-02,b,2", "t string k string n long",
			[][]any{{"2020-01-01", "a", int64(1)}, {"2020-01-02", "b", int64(2)}}, nil},
		{"header", `{"type":"csv","findColumnsFromHeader":true}`, "\xEF\xBB\xBFa,b\r\nx,1\r\n\r\ny\r\n", "b long a string", [][]any{{int64(1), "x"}, {nil, "y"}}, nil},
		{"old name of the header", `{"type":"csv","hasHeaderRow":true}`, "a\nx", "a string", [][]any{{"x"}}, nil},
		{"rows to skip", `{"type":"csv","findColumnsFromHeader":true,"skipHeaderRows":2}`, "#1\n#2\na\nx", "a string", [][]any{{"x"}}, nil},
		{"skipped without header", `{"type":"csv","columns":["a"],"skipHeaderRows":1}`, "junk\nx", "a string", [][]any{{"x"}}, nil},
		{"numbered columns", `{"type":"csv","findColumnsFromHeader":false}`, "x,y", "column_2 string", [][]any{{"y"}}, nil},
		{"extra fields are ignored", `{"type":"csv","columns":["a"]}`, "x,y,z", "a string b string", [][]any{{"x", nil}}, nil},
		{"quotes", `{"type":"csv","columns":["a","b"]}`, "\"x,\"\"y\"\"\nz\",1\n\"\",\"a\"b\nq\"r,\" s \"", "a string b string",
			[][]any{{"x,\"y\"\nz", "1"}, {nil, "ab"}, {"q\"r", " s "}}, nil},
		{"open quote", `{"type":"csv","columns":["a","b"]}`, "x,1\n\"y,2\nz,3\n", "a string b long", [][]any{{"x", int64(1)}, {"z", int64(3)}},
			[]string{`Unable to parse row ["y,2] (Record: 2, Line: 2)`}},
		{"lists", `{"type":"csv","columns":["a","b"],"listDelimiter":"|"}`, "x|y,1|2\nz,3", "a mv b ARRAY<LONG>",
			[][]any{{[]any{"x", "y"}, []any{int64(1), int64(2)}}, {[]any{"z"}, []any{int64(3)}}}, nil},
		{"list by default", `{"type":"csv","columns":["a"]}`, "x\x01y", "a mv", [][]any{{[]any{"x", "y"}}}, nil},
		{"tsv keeps quotes", `{"type":"tsv","columns":["a","b"]}`, "\"x\ty\"\n1\t2", "a string b string", [][]any{{`"x`, `y"`}, {"1", "2"}}, nil},
		{"tsv delimiter", `{"type":"tsv","columns":["a","b"],"delimiter":"||"}`, "x||y", "a string b string", [][]any{{"x", "y"}}, nil},
		{"json from text", `{"type":"csv","columns":["a"]}`, `"say ""hi"""`, "a COMPLEX<json>", [][]any{{`"say \"hi\""`}}, nil},
		{"numbers", `{"type":"csv","columns":["a","b","c"]}`, "9223372036854775807,1e3,x", "a long b long c double", [][]any{{int64(9223372036854775807), int64(1000), nil}}, nil},
		{"lines", `{"type":"lines"}`, "a,b\r\n\nc", "line string other long", [][]any{{"a,b", nil}, {nil, nil}, {"c", nil}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, opts := range []Options{{}, {Decoders: 2, ChunkBytes: 100}} {
				rows, bad, err := read(t, c.format, c.data, c.columns, opts)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.rows, rows); d != "" {
					t.Errorf("%+v: rows (-want +got):\n%s", opts, d)
				}
				if d := cmp.Diff(c.bad, bad); d != "" {
					t.Errorf("%+v: errors (-want +got):\n%s", opts, d)
				}
			}
		})
	}
}

func TestSeveralValuesInASingleValueColumn(t *testing.T) {
	for _, c := range []struct{ format, data string }{
		{`{"type":"json"}`, `{"a":["x","y"]}`},
		{`{"type":"csv","columns":["a"],"listDelimiter":"|"}`, "x|y"},
	} {
		_, _, err := read(t, c.format, c.data, "a string", Options{})
		if err == nil || !strings.Contains(err.Error(), "Column [a] is a multi-value string. Please wrap the column using MV_TO_ARRAY()") {
			t.Errorf("%s: got %v", c.format, err)
		}
	}
}

func TestNullBytes(t *testing.T) {
	data := "{\"a\":\"ok\"}\n{\"a\":\"x\\u0000y\"}"
	_, _, err := read(t, `{"type":"json"}`, data, "a string", Options{})
	var null *NullByteError
	if !errors.As(err, &null) {
		t.Fatalf("got %v", err)
	}
	if d := cmp.Diff(NullByteError{RowNumber: 2, Column: "a", Value: "x\x00y", Position: 1}, *null); d != "" {
		t.Error(d)
	}
	rows, _, err := read(t, `{"type":"json"}`, data, "a string", Options{RemoveNullBytes: true})
	if d := cmp.Diff([][]any{{"ok"}, {"xy"}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestRecordsLargerThanAllowed(t *testing.T) {
	long := strings.Repeat("x", 300)
	data := `{"a":"1"}` + "\n" + `{"a":"` + long + `"}` + "\n" + `{"a":"2"}` + "\n"
	rows, bad, err := read(t, `{"type":"json"}`, data, "a string", Options{ChunkBytes: 16, MaxRecordBytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]any{{"1"}, {"2"}}, rows); d != "" {
		t.Error(d)
	}
	if len(bad) != 1 || !strings.Contains(bad[0], "(Record: 2, Line: 2)") {
		t.Errorf("errors: %q", bad)
	}
}

func TestFirstBadRecordEndsReadingWithoutHandler(t *testing.T) {
	table := &Table{Source: &Inline{Data: "{\"a\":1}\n{\n"}, Format: &JSON{}, Fields: fields(t, "a long")}
	r, err := table.Open(t.Context(), Split{Entity: inlineEntity{"{\"a\":1}\n{\n"}, End: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next(t.Context())
	var bad *ParseError
	if !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("got %v", err)
	}
}

// TestSplitsReadEveryRecordOnce cuts files at every kind of place and counts.
func TestSplitsReadEveryRecordOnce(t *testing.T) {
	var lines, indented, tabs, quotes strings.Builder
	var want [][]any
	tabs.WriteString("n\ts\n")
	quotes.WriteString("\xEF\xBB\xBF\"n\",s\n")
	for i := range 500 {
		s := strings.Repeat("{}\\n", i%7)
		fmt.Fprintf(&lines, "{\"n\":%d,\"s\":\"%s\"}\n", i, s)
		fmt.Fprintf(&indented, "{\n  \"n\": %d,\n  \"o\": [\n{\n},\n{\n}\n],\n \"s\": \"%s\"\n}\n", i, s)
		fmt.Fprintf(&tabs, "%d\tx%s\n", i, s)
		fmt.Fprintf(&quotes, "\"%d\",\"\"\"\n7,%s\n\"\n", i, strings.Repeat("8,\n", i%7))
		want = append(want, []any{int64(i)})
	}
	for name, c := range map[string]struct{ format, data string }{
		"lines.json":    {`{"type":"json"}`, lines.String()},
		"indented.json": {`{"type":"json"}`, indented.String()},
		"tabs.tsv":      {`{"type":"tsv","findColumnsFromHeader":true}`, tabs.String()},
		"quotes.csv":    {`{"type":"csv","findColumnsFromHeader":true}`, quotes.String()},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			format, err := ParseFormat(json.RawMessage(c.format))
			if err != nil {
				t.Fatal(err)
			}
			table := &Table{Source: &Local{Files: []string{path}}, Format: format, Fields: fields(t, "n long")}
			for _, size := range []int64{50, 97, 1000, 2000} {
				splits, err := table.Splits(t.Context(), &Options{}, size)
				if err != nil {
					t.Fatal(err)
				}
				if len(splits) < 2 {
					t.Fatalf("size %d: %d splits", size, len(splits))
				}
				rows, bad, err := readTable(t, table, Options{ChunkBytes: 64}, size)
				if err != nil || bad != nil {
					t.Fatal(err, bad)
				}
				if d := cmp.Diff(want, rows); d != "" {
					t.Fatalf("size %d:\n%s", size, d)
				}
			}
		})
	}
}

func TestPlacesOfErrorsInSplits(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "{\"n\":%d}\n", i)
	}
	b.WriteString("bad\n{\"n\":1}\n")
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	table := &Table{Source: &Local{Files: []string{path}}, Format: &JSON{}, Fields: fields(t, "n long")}
	_, bad, err := readTable(t, table, Options{}, 100)
	if d := cmp.Diff([]string{"Unable to parse row [bad] (Path: file:" + path + ", Record: 101, Line: 101)"}, bad); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestCompression(t *testing.T) {
	plain := []byte(strings.Repeat("{\"a\":\"x\"}\n", 1000))
	var gz, zst bytes.Buffer
	for range 2 { // members follow each other
		w := gzip.NewWriter(&gz)
		w.Write(plain[:len(plain)/2])
		w.Close()
	}
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(plain)
	z.Close()
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		data []byte
		rows int
		err  string
	}{
		{"plain.gz", plain, 1000, ""}, // the content counts, not the name
		{"a.json", gz.Bytes(), 1000, ""},
		{"b.json", zst.Bytes(), 1000, ""},
		{"cut.json.gz", gz.Bytes()[:gz.Len()-9], 0, "is truncated: its gzip data ends too early"},
		{"cut.json.zst", zst.Bytes()[:zst.Len()/2], 0, "is truncated: its zstd data ends too early"},
		{"bad.json.gz", append(append([]byte(nil), gz.Bytes()[:30]...), bytes.Repeat([]byte{0xAA}, 50)...), 0, "its gzip data"},
		{"head.gz", gz.Bytes()[:5], 0, "is truncated"},
		{"utf16.json", []byte("\xFF\xFE{\x00"), 0, "is encoded in UTF-16"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		table := &Table{Source: &Local{Files: []string{path}}, Format: &JSON{}, Fields: fields(t, "a string")}
		rows, _, err := readTable(t, table, Options{Decoders: 2}, 0)
		if c.err == "" {
			if err != nil || len(rows) != c.rows {
				t.Errorf("%s: %d rows, %v", c.name, len(rows), err)
			}
			continue
		}
		if fault.Find(err) == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestWireForms(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`{"type":"json"}`, `{"type":"json","keepNullColumns":false,"assumeNewlineDelimited":false,"useJsonNodeReader":false}`},
		{`{"type":"csv","columns":["t","k"]}`, `{"type":"csv","columns":["t","k"]}`},
		{`{"type":"tsv","delimiter":"|","findColumnsFromHeader":true}`, `{"type":"tsv","delimiter":"|","findColumnsFromHeader":true}`},
	} {
		f, err := ParseFormat(json.RawMessage(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(f); err != nil || string(got) != c.out {
			t.Errorf("%s: got %s, %v", c.in, got, err)
		}
	}
	for _, c := range []struct{ in, out string }{
		{`{"type":"inline","data":"a<b"}`, `{"type":"inline","data":"a<b"}`},
		{`{"type":"local","baseDir":"/x","filter":"*.json","unknown":1}`, `{"type":"local","baseDir":"/x","filter":"*.json"}`},
		{`{"type":"http","uris":"http://u:p@h/x","httpAuthenticationUsername":"u","httpAuthenticationPassword":"secret","requestHeaders":{"A":"b"}}`,
			`{"type":"http","uris":["http://********@h/x"],"httpAuthenticationUsername":"u","httpAuthenticationPassword":"********","requestHeaders":{"A":"********"}}`},
		{`{"type":"combining","delegates":[{"type":"inline","data":"x"}]}`, `{"type":"combining","delegates":[{"type":"inline","data":"x"}]}`},
	} {
		s, err := ParseSource(json.RawMessage(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.MarshalJSON(); err != nil || string(got) != c.out {
			t.Errorf("%s: got %s, %v", c.in, got, err)
		}
	}
}

func TestRefusedWireForms(t *testing.T) {
	source := func(text string) error { _, err := ParseSource(json.RawMessage(text)); return err }
	format := func(text string) error { _, err := ParseFormat(json.RawMessage(text)); return err }
	for _, c := range []struct {
		parse    func(string) error
		in, want string
	}{
		{format, `{"type":"frob"}`, "[inputFormat]. Reason: [could not resolve type id 'frob': known type ids = ["},
		{format, `{"type":"jsn"}`, "did you mean 'json'"},
		{format, `{}`, "missing type id"},
		{format, `[1]`, "not a JSON object"},
		{format, `{"type":"json"`, "ends too early"},
		{format, `{"type":"csv","columns":["a","a"]}`, "Duplicate column entries found : [a]"},
		{format, `{"type":"csv","columns":7}`, "field 'columns' can't be a JSON number"},
		{format, `{"type":"tsv","delimiter":""}`, "'delimiter'"},
		{format, `{"type":"csv","findColumnsFromHeader":true,"skipHeaderRows":-1}`, "must not be negative"},
		{format, `{"type":"csv"}`, "either 'columns' or 'findColumnsFromHeader' must be set"},
		{format, `{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"a","expr":"$.a["}]}}`, "flattenSpec"},
		{format, `{"type":"csv","findColumnsFromHeader":true,"hasHeaderRow":true}`, "Cannot accept both"},
		{format, `{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"a"}]}}`, "has no 'expr'"},
		{format, `{"type":"json","featureSpec":{"ALLOW_ALL":true}}`, "there is no feature 'ALLOW_ALL'"},
		{format, `{"type":"json","featureSpec":"ALLOW_COMMENTS"}`, "featureSpec"},
		{format, `{"type":"json","assumeNewlineDelimited":true,"useJsonNodeReader":true}`, "'useJsonNodeReader' can't be true"},
		{source, `{"type":"http","uris":["ftp://localhost/x"]}`, "Only [http, https] protocols are allowed"},
		{source, `{"type":"druid","dataSource":"d","interval":"2020/2021","segments":[]}`, "Specify exactly one of 'interval' and 'segments'"},
		{source, `{"type":"inlin"}`, "did you mean 'inline'"},
		{source, `{"type":"inline"}`, "non-empty 'data'"},
		{source, `{"type":"local"}`, "needs 'baseDir'"},
		{source, `{"type":"local","baseDir":"/x"}`, "needs a 'filter'"},
		{source, `{"type":"local","baseDir":"/x","filter":"*","files":["a"]}`, "not both"},
		{source, `{"type":"local","baseDir":"/x","filter":"[a"}`, "not a valid pattern"},
		{source, `{"type":"http","uris":["x"]}`, "not an absolute URI"},
		{source, `{"type":"http","uris":["ftp://localhost/x"]}`, "Only [http, https] protocols are allowed"},
		{source, `{"type":"http"}`, "needs 'uris'"},
		{source, strings.Repeat(`{"type":"combining","delegates":[`, 20) + `{"type":"inline","data":"x"}` + strings.Repeat(`]}`, 20), "nest deeper"},
	} {
		err := c.parse(c.in)
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: got %v, want %q", c.in, err, c.want)
		}
	}
}

func TestRefusedSignatures(t *testing.T) {
	for _, c := range []struct {
		fields []Field
		want   string
	}{
		{[]Field{{Type: vector.Long}}, "Column [1] of the signature of EXTERN has an empty name"},
		{[]Field{{Name: "a", Type: vector.Long}, {Name: "a", Type: vector.Long}}, "Column [a] occurs more than once"},
		{[]Field{{Name: "a", Type: vector.ComplexOf("hyperUnique")}}, "has type [COMPLEX<hyperUnique>]"},
	} {
		if _, err := NewTable(&Inline{}, &JSON{}, c.fields); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func FuzzFormats(f *testing.F) {
	for _, seed := range []string{"{\"a\":1}\n{", "[{\"a\":[1,{}]},", "a,\"b\nc\"\"d\",\n\"", "\"\xff\n", "{\"a\":\"\\u00", "}\n{", "[[{", "\n0000000"} {
		f.Add(seed)
	}
	columns := fields(f, "a string b long c mv d COMPLEX<json> column_1 mv")
	formats := []Format{&JSON{}, Lines{}}
	for _, text := range []string{`{"type":"csv","findColumnsFromHeader":true}`, `{"type":"csv","findColumnsFromHeader":false,"listDelimiter":";"}`, `{"type":"tsv","columns":["a","b"]}`} {
		p, err := ParseFormat(json.RawMessage(text))
		if err != nil {
			f.Fatal(err)
		}
		formats = append(formats, p)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if data == "" {
			return
		}
		for _, format := range formats {
			table := &Table{Source: &Inline{Data: data}, Format: format, Fields: columns}
			whole, wholeBad, err := readTable(t, table, Options{RemoveNullBytes: true}, 0)
			pieces, piecesBad, err2 := readTable(t, table, Options{RemoveNullBytes: true, ChunkBytes: 8, Decoders: 2}, 0)
			if (err == nil) != (err2 == nil) {
				t.Fatalf("%s: %v against %v", format.Type(), err, err2)
			}
			if err == nil && len(wholeBad) == 0 && len(piecesBad) == 0 && !cmp.Equal(whole, pieces) {
				t.Fatalf("%s: chunks change the rows:\n%s", format.Type(), cmp.Diff(whole, pieces))
			}
		}
	})
}
