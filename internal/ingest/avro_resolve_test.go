package ingest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// avroOf is a container of records that are written with a schema of the fields given.
func avroOf(t testing.TB, fields string, records []map[string]any, opts ...ocf.WriterOpt) string {
	t.Helper()
	schema, err := avro.Parse(`{"type":"record","name":"r","fields":` + fields + `}`)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAvroResolution reads records as another schema, by the rules of Avro's specification.
func TestAvroResolution(t *testing.T) {
	one := func(v any) []map[string]any { return []map[string]any{{"a": v}} }
	for _, c := range []struct {
		name, writer, reader, columns string
		records                       []map[string]any
		rows                          [][]any
		bad                           int
	}{
		{"a branch of a union", `[{"name":"a","type":"long"},{"name":"b","type":["null","string"]}]`, `[{"name":"a","type":"long"},{"name":"b","type":"string"}]`,
			"a long b string", []map[string]any{{"a": int64(1), "b": "x"}, {"a": int64(2), "b": nil}, {"a": int64(3), "b": "z"}},
			[][]any{{int64(1), "x"}, {int64(3), "z"}}, 1},
		{"a union with fewer branches", `[{"name":"a","type":["null","string","long"]}]`, `[{"name":"a","type":["null","string"]}]`, "a string",
			[]map[string]any{{"a": "x"}, {"a": nil}, {"a": int64(7)}}, [][]any{{"x"}, {nil}}, 1},
		{"promotion within a union", `[{"name":"a","type":["null","int"]}]`, `[{"name":"a","type":"double"}]`, "a double", one(int32(3)), [][]any{{3.0}}, 0},
		{"in arrays and records", `[{"name":"a","type":{"type":"array","items":["null",{"type":"record","name":"i","fields":[{"name":"x","type":["int","null"]}]}]}}]`,
			`[{"name":"a","type":{"type":"array","items":{"type":"record","name":"i","fields":[{"name":"x","type":"long"}]}}}]`, "a COMPLEX<json>",
			[]map[string]any{{"a": []any{map[string]any{"x": int32(1)}}}, {"a": []any{map[string]any{"x": nil}}}}, [][]any{{`[{"x":1}]`}}, 1},
		{"int to long", `[{"name":"a","type":"int"}]`, `[{"name":"a","type":"long"}]`, "a long", one(int32(-5)), [][]any{{int64(-5)}}, 0},
		{"int to float", `[{"name":"a","type":"int"}]`, `[{"name":"a","type":"float"}]`, "a double", one(int32(7)), [][]any{{7.0}}, 0},
		{"long to double", `[{"name":"a","type":"long"}]`, `[{"name":"a","type":"double"}]`, "a double", one(int64(1) << 53), [][]any{{9007199254740992.0}}, 0},
		{"float to double", `[{"name":"a","type":"float"}]`, `[{"name":"a","type":"double"}]`, "a double", one(float32(0.5)), [][]any{{0.5}}, 0},
		{"bytes to string", `[{"name":"a","type":"bytes"}]`, `[{"name":"a","type":"string"}]`, "a string", one([]byte("hé")), [][]any{{"hé"}}, 0},
		{"string to bytes", `[{"name":"a","type":"string"}]`, `[{"name":"a","type":"bytes"}]`, "a string", one("hi"), [][]any{{"aGk="}}, 0},
		{"to a union", `[{"name":"a","type":"int"}]`, `[{"name":"a","type":["null","string","long"]}]`, "a long", one(int32(4)), [][]any{{int64(4)}}, 0},
		{"defaults, aliases, order, fewer fields", `[{"name":"x","type":"int"},{"name":"old","type":"string"},{"name":"y","type":"int"}]`,
			`[{"name":"d","type":"string","default":"none"},{"name":"y","type":"long"},{"name":"a","type":"string","aliases":["old"]},{"name":"n","type":["null","int"],"default":null}]`,
			"a string y long d string n long x long", []map[string]any{{"x": int32(1), "old": "o", "y": int32(2)}}, [][]any{{"o", int64(2), "none", nil, nil}}, 0},
		{"the default of an enum", `[{"name":"a","type":{"type":"enum","name":"e","symbols":["A","B","C"]}}]`,
			`[{"name":"a","type":{"type":"enum","name":"e","symbols":["C","U"],"default":"U"}}]`, "a string", []map[string]any{{"a": "B"}, {"a": "C"}}, [][]any{{"U"}, {"C"}}, 0},
	} {
		data := avroOf(t, c.writer, c.records)
		rows, bad, err := read(t, `{"type":"avro_ocf","schema":{"type":"record","name":"r","fields":`+c.reader+`}}`, data, c.columns, Options{})
		if d := cmp.Diff(c.rows, rows); d != "" || err != nil || len(bad) != c.bad {
			t.Errorf("%s: %s%q %v", c.name, d, bad, err)
		}
	}
	data := avroOf(t, `[{"name":"a","type":["null","string"]}]`, []map[string]any{{"a": nil}})
	_, _, err := read(t, `{"type":"avro_ocf","schema":{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}}`, data, "a long", Options{})
	if err != nil { // no value needs what the schema does not have, but the one that is null
		t.Error(err)
	}
	_, _, err = read(t, `{"type":"avro_ocf","schema":{"type":"record","name":"r","fields":[{"name":"b","type":"long"}]}}`, data, "b long", Options{})
	if err == nil || !strings.Contains(err.Error(), "Input [inline] can't be read with the 'schema' of its format") {
		t.Errorf("a field without a default: %v", err)
	}
}

// renamedCodec is a codec with a name that is not known.
type renamedCodec struct{ ocf.Codec }

func (renamedCodec) Name() string { return "lzma" }

// TestAvroCodecs reads what is packed with each codec of the specification, made by fastavro where
// it is there, and names the others.
func TestAvroCodecs(t *testing.T) {
	schema, records := `[{"name":"a","type":"long"}]`, []map[string]any{{"a": int64(1)}, {"a": int64(2)}}
	data := avroOf(t, schema, records, ocf.WithCodec(renamedCodec{ocf.SnappyCodec()}))
	_, _, err := read(t, `{"type":"avro_ocf"}`, data, "a long", Options{})
	if err == nil || !strings.Contains(err.Error(), "is compressed with codec [lzma], which is not supported; known are [null, deflate, "+
		"snappy, bzip2, xz, zstandard]") {
		t.Error(err)
	}
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.Command(python, "-c", "import fastavro").Run() != nil {
		t.Skip("no Python with fastavro: HENGE_PYARROW_PYTHON can name one")
	}
	dir := t.TempDir()
	const program = `
import fastavro, sys
schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}, {"name": "s", "type": "string"}]}
for codec in ["null", "deflate", "bzip2", "xz", "snappy", "zstandard"]:
    try:
        with open(sys.argv[1] + "/" + codec, "wb") as f:
            fastavro.writer(f, schema, ({"a": i, "s": "text %d" % i} for i in range(20000)), codec=codec)
    except ValueError as e:
        print(codec, e)
`
	out, err := exec.Command(python, "-c", program, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, codec := range []string{"null", "deflate", "bzip2", "xz", "snappy", "zstandard"} {
		if strings.Contains(string(out), codec) {
			continue // a module of Python is missing
		}
		path, err := json.Marshal(filepath.Join(dir, codec))
		if err != nil {
			t.Fatal(err)
		}
		source, err := ParseSource([]byte(`{"type":"local","files":[` + string(path) + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		format, err := ParseFormat([]byte(`{"type":"avro_ocf"}`))
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := readTable(t, &Table{Source: source, Format: format, Fields: fields(t, "a long s string")}, Options{}, 0)
		if err != nil || len(rows) != 20000 || rows[19999][0] != int64(19999) || rows[19999][1] != "text 19999" {
			t.Errorf("%s: [%d] rows, %v", codec, len(rows), err)
		}
	}
}
