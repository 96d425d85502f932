package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
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
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"github.com/ulikunitz/xz"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/fault"
)

func TestRegexFormat(t *testing.T) {
	rows, bad, err := read(t, `{"type":"regex","pattern":"^(\\S+) - (?<who>[a-z]+)?(.*)$","columns":["host","user","rest"],"listDelimiter":"|"}`,
		"h1 - joe x|y\nbad\nh2 - \r\n", "host string user string rest mv", Options{})
	want := [][]any{{"h1", "joe", []any{" x", "y"}}, {"h2", nil, []any{""}}} // an empty group is a text, one that took no part is none
	if d := cmp.Diff(want, rows); d != "" || err != nil || len(bad) != 1 || !strings.Contains(bad[0], "[bad] (Record: 2, Line: 2)") {
		t.Error(d, bad, err)
	}
	// Without columns they are numbered; a whole line must match; look-ahead is Java's.
	rows, bad, err = read(t, `{"type":"regex","pattern":"(?=a)(\\w+),(\\d++)"}`, "ab,12\nab,12x\nb,1\n", "column_1 string column_2 long", Options{})
	if d := cmp.Diff([][]any{{"ab", int64(12)}}, rows); d != "" || err != nil || len(bad) != 2 {
		t.Error(d, bad, err)
	}
	if _, err := ParseFormat(json.RawMessage(`{"type":"regex","pattern":"("}`)); fault.Find(err) == nil {
		t.Error("a broken pattern was taken", err)
	}
}

// packed returns text packed in every way that is known.
func packed(t testing.TB, text string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	pack := func(name string, w interface {
		Write([]byte) (int, error)
		Close() error
	}, b *bytes.Buffer) {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	var b bytes.Buffer
	pack("gzip", gzip.NewWriter(&b), &b)
	z := new(bytes.Buffer)
	zw, err := zstd.NewWriter(z)
	if err != nil {
		t.Fatal(err)
	}
	pack("zstd", zw, z)
	l := new(bytes.Buffer)
	pack("lz4", lz4.NewWriter(l), l)
	s := new(bytes.Buffer)
	pack("snappy", snappy.NewBufferedWriter(s), s)
	x := new(bytes.Buffer)
	xw, err := xz.NewWriter(x)
	if err != nil {
		t.Fatal(err)
	}
	pack("xz", xw, x)
	a := new(bytes.Buffer)
	archive := zip.NewWriter(a)
	if _, err := archive.Create("folder/"); err != nil {
		t.Fatal(err)
	}
	entry, err := archive.Create("folder/data.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	out["zip"] = a.Bytes()
	return out
}

func TestPackedInputIsToldByItsContent(t *testing.T) {
	text := strings.Repeat("{\"n\":1}\n", 3000)
	for name, data := range packed(t, text) {
		rows, _, err := read(t, `{"type":"json"}`, string(data), "n long", Options{})
		if err != nil || len(rows) != 3000 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		for _, cut := range []int{len(data) / 2, 11} {
			if name == "zip" {
				cut = min(cut, 100) // the directory at the end is not needed
			}
			_, _, err := read(t, `{"type":"json"}`, string(data[:cut]), "n long", Options{})
			if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput {
				t.Errorf("%s cut at %d of %d: %v", name, cut, len(data), err)
			}
		}
	}
}

func TestDecompressionBombIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks some hundred MB")
	}
	pack := func(t *testing.T, w io.WriteCloser, err error, size int) {
		t.Helper()
		zeros := make([]byte, 1<<20)
		for range size {
			if err == nil {
				_, err = w.Write(zeros)
			}
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	archive := func(t *testing.T, sizes ...int) string {
		t.Helper()
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i, size := range sizes {
			w, err := z.Create(fmt.Sprintf("%d.csv", i))
			pack(t, struct {
				io.Writer
				io.Closer
			}{w, io.NopCloser(nil)}, err, size)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const bomb = 300 // MiB
	for name, c := range map[string]struct {
		make   func(*testing.T) string
		access *Access
		why    string
	}{
		"zstd": {func(t *testing.T) string {
			var b bytes.Buffer
			w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
			pack(t, w, err, bomb)
			return b.String()
		}, nil, "decompresses to more than [500] times its size, the limit of service.ingestion.maxExpansion"},
		"gzip": {func(t *testing.T) string {
			var b bytes.Buffer
			pack(t, gzip.NewWriter(&b), nil, bomb)
			return b.String()
		}, &Access{Expansion: 300}, "decompresses to more than [300] times"},
		"zip": {func(t *testing.T) string { return archive(t, bomb) }, &Access{Expansion: 100}, "decompresses to more than [100] times"},
		"zip, behind": {func(t *testing.T) string { return archive(t, 1, bomb) }, nil, "decompresses to more than " +
			"[500] times"}, // what is left out
		"allowed": {func(t *testing.T) string { return archive(t, bomb) }, &Access{Expansion: 100_000}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.make(t)
			_, _, err := read(t, `{"type":"lines"}`, text, "line string", Options{Access: c.access, RemoveNullBytes: true})
			if c.why == "" && err != nil && strings.Contains(err.Error(), "times its size") ||
				c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%d bytes: %v, want %q", len(text), err, c.why)
			}
		})
	}
}

const orderSchema = `{"type":"record","name":"Order","namespace":"shop","fields":[
 {"name":"id","type":"long"},{"name":"who","type":["null","string"]},{"name":"tags","type":{"type":"array","items":"string"}},
 {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
 {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
 {"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}},
 {"name":"attrs","type":{"type":"map","values":"int"}},
 {"name":"next","type":["null","Order"]},{"name":"raw","type":"bytes"},{"name":"either","type":["null","long","string"]}]}`

func order(id int64, next any) map[string]any {
	return map[string]any{"id": id, "who": "joe", "tags": []any{"x", "y"}, "price": "12.50", "at": int64(1000), "kind": "B",
		"attrs": map[string]any{"b": int32(2), "a": int32(1)}, "next": next, "raw": []byte("hi"), "either": "text"}
}

const orderColumns = "id long who string tags mv price double at long kind string attrs COMPLEX<json> next COMPLEX<json> raw string either string nosuch string"

func orderRow(id int64, next any) []any {
	return []any{id, "joe", []any{"x", "y"}, 12.5, int64(1000), "B", `{"a":1,"b":2}`, next, base64.StdEncoding.EncodeToString([]byte("hi")), "text", nil}
}

func avroFile(t testing.TB, rows int, opts ...ocf.WriterOpt) []byte {
	t.Helper()
	schema, err := avro.Parse(orderSchema)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		o := order(int64(i), nil)
		o["price"] = json.Number("12.50")
		if err := w.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAvroFiles(t *testing.T) {
	for name, opts := range map[string][]ocf.WriterOpt{"plain": nil, "snappy": {ocf.WithCodec(ocf.SnappyCodec())}} {
		rows, bad, err := read(t, `{"type":"avro_ocf"}`, string(avroFile(t, 5000, opts...)), orderColumns, Options{})
		if err != nil || len(rows) != 5000 || len(bad) > 0 {
			t.Fatalf("%s: %d rows, %v, %v", name, len(rows), bad, err)
		}
		if d := cmp.Diff(orderRow(4999, nil), rows[4999]); d != "" {
			t.Error(name, d)
		}
	}
	data := avroFile(t, 2, nil...)
	rows, _, err := read(t, `{"type":"avro_ocf","binaryAsString":true,"extractUnionsByType":true,"flattenSpec":{"fields":[{"type":"path","name":"b","expr":"$.attrs.b"}]}}`,
		string(data), "b long raw string either COMPLEX<json>", Options{})
	if d := cmp.Diff([][]any{{int64(2), "hi", `{"string":"text"}`}, {int64(2), "hi", `{"string":"text"}`}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, cut := range []int{0, 3, 20, len(data) / 2, len(data) - 1} {
		if _, _, err := read(t, `{"type":"avro_ocf"}`, string(data[:cut])+" ", orderColumns, Options{}); fault.Find(err) == nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// A byte that is turned over anywhere, or a block that claims what it does not hold, gives rows or
// a fault, and takes no memory for what is claimed.
func TestDamagedAvroIsAFault(t *testing.T) {
	header := avroFile(t, 0)
	block := func(count, size int64, body string) string {
		return string(header) + string(binary.AppendVarint(binary.AppendVarint(nil, count), size)) + body
	}
	for name, text := range map[string]string{
		"more records than bytes": block(1<<60, 3, "abc"), "more bytes than there are": block(1, 1<<60, "abc"), "fewer than no records": block(-1, 3, "abc"),
		"fewer than no bytes": block(1, -3, "abc"), "no sync": block(1, 3, "abc"), "a count that does not end": string(header) + strings.Repeat("\xff", 20),
	} {
		if rows, _, err := read(t, `{"type":"avro_ocf"}`, text, orderColumns, Options{}); fault.Find(err) == nil {
			t.Errorf("%s: [%d] rows, %v", name, len(rows), err)
		}
	}
	data := avroFile(t, 3)
	for i := range data {
		broken := bytes.Clone(data)
		broken[i] ^= 0xff
		_, _, err := read(t, `{"type":"avro_ocf"}`, string(broken), orderColumns, Options{})
		nullByte := &NullByteError{}
		if err != nil && fault.Find(err) == nil && !errors.As(err, &nullByte) {
			t.Errorf("byte [%d]: %v", i, err)
		}
	}
}

func TestAvroMessages(t *testing.T) {
	schema, err := avro.Parse(orderSchema)
	if err != nil {
		t.Fatal(err)
	}
	o := order(7, nil)
	o["price"] = json.Number("12.50")
	data, err := schema.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	inline := `{"type":"avro_stream","avroBytesDecoder":{"type":"schema_inline","schema":` + orderSchema + `}}`
	several := `{"type":"avro_stream","avroBytesDecoder":{"type":"multiple_schemas_inline","schemas":{"3":` + orderSchema + `}}}`
	for format, message := range map[string][]byte{inline: data, several: append([]byte{1, 0, 0, 0, 3}, data...)} {
		rows, bad, err := read(t, format, string(message), orderColumns, Options{})
		if d := cmp.Diff([][]any{orderRow(7, nil)}, rows); d != "" || err != nil {
			t.Error(d, bad, err)
		}
	}
	if _, bad, err := read(t, several, string(append([]byte{1, 0, 0, 0, 4}, data...)), orderColumns, Options{}); err != nil || len(bad) != 1 {
		t.Error("unknown schema", bad, err)
	}
}

const orderProto = `syntax = "proto3"; package shop;
message Order { int64 id = 1; string who = 2; repeated string tags = 3; Line line = 4; map<string, int32> attrs = 5; Kind kind = 6; double price = 7; bytes raw = 8; }
message Line { string sku = 1; uint32 n = 2; }
enum Kind { A = 0; B = 1; }`

func TestProtobufMessages(t *testing.T) {
	var line, b []byte
	line = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "s1")
	line = protowire.AppendVarint(protowire.AppendTag(line, 2, protowire.VarintType), 4)
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 42)
	b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), "x")
	b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), "y")
	b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), line)
	b = protowire.AppendVarint(protowire.AppendTag(b, 6, protowire.VarintType), 1)
	path := filepath.Join(t.TempDir(), "order.proto")
	if err := os.WriteFile(path, []byte(orderProto), 0o600); err != nil {
		t.Fatal(err)
	}
	format := fmt.Sprintf(`{"type":"protobuf","protoBytesDecoder":{"type":"file","descriptor":%q,"protoMessageType":"shop.Order"},`+
		`"flattenSpec":{"fields":[{"type":"path","name":"sku","expr":"$.line.sku"}]}}`, "file://"+path)
	rows, bad, err := read(t, format, string(b), "id long who string tags mv sku string kind string price double line COMPLEX<json>", Options{})
	want := [][]any{{int64(42), "", []any{"x", "y"}, "s1", "B", 0.0, `{"sku":"s1","n":4}`}}
	if d := cmp.Diff(want, rows); d != "" || err != nil {
		t.Error(d, bad, err)
	}
	inline := fmt.Sprintf(`{"type":"protobuf","protoBytesDecoder":{"type":"inline","descriptorString":%q,"protoMessageType":"shop.Order"}}`,
		base64.StdEncoding.EncodeToString([]byte(orderProto)))
	rows, bad, err = read(t, inline, string(b), "id long kind string", Options{})
	if err != nil || !cmp.Equal(rows, [][]any{{int64(42), "B"}}) {
		t.Error("inline", rows, bad, err)
	}
	if _, bad, err := read(t, format, string(b[:3]), "id long", Options{}); err != nil || len(bad) != 1 {
		t.Error("truncated", bad, err)
	}
	_, _, err = read(t, format, string(b), "id long", Options{Access: &Access{LocalDirs: []string{t.TempDir()}}})
	if fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryForbidden {
		t.Error("a descriptor outside of the allowed folders was read", err)
	}
}

// FuzzFiles reads damaged files of the formats that have a structure of their own: an error or
// rows, never a panic.
func FuzzFiles(f *testing.F) {
	f.Add(uint8(0), avroFile(f, 3))
	f.Add(uint8(1), parquetFixture(f))
	f.Add(uint8(2), packed(f, "{\"n\":1}\n")["zip"])
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		format := []string{`{"type":"avro_ocf"}`, `{"type":"parquet"}`, `{"type":"json"}`}[kind%3]
		source := &Inline{Data: string(data)}
		parsed, err := ParseFormat(json.RawMessage(format))
		if err != nil {
			t.Fatal(err)
		}
		table := &Table{Source: source, Format: parsed, Fields: fields(t, "id long who string tags mv l mv m COMPLEX<json> d double s string")}
		if _, _, err := readTable(t, table, Options{MaxSpoolBytes: 1 << 20}, 0); err != nil && fault.Find(err) == nil {
			nullByteError := &NullByteError{}
			if errors.As(err, &nullByteError) {
				t.Errorf("no fault: %v", err)
			}
		}
	})
}

// What is read of formats that are not text counts as bytes, too: once the whole file, unpacked.
func TestBytesOfBinaryFormatsAreCounted(t *testing.T) {
	avro := string(avroFile(t, 5000))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(avro)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"plain": avro, "packed": packed.String()} {
		format, err := ParseFormat(json.RawMessage(`{"type":"avro_ocf"}`))
		if err != nil {
			t.Fatal(err)
		}
		table := &Table{Source: &Inline{Data: data}, Format: format, Fields: fields(t, "id long")}
		splits, err := table.Splits(t.Context(), &Options{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := table.Open(t.Context(), splits[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next(t.Context())
		}
		if got := r.Stats(); !errors.Is(err, io.EOF) || got.Bytes != int64(len(avro)) || got.Records != 5000 {
			t.Errorf("%s: %+v of [%d] bytes, %v", name, got, len(avro), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
