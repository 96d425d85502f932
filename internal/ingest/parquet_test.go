package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hengedb/henge/internal/fault"
)

type parquetRow struct {
	ID     int64              `parquet:"id"`
	Small  int32              `parquet:"small"`
	Who    *string            `parquet:"who,optional,dict"`
	Plain  string             `parquet:"plain,plain"`
	D      float64            `parquet:"d"`
	F      *float32           `parquet:"f,optional"`
	Yes    bool               `parquet:"yes"`
	At     time.Time          `parquet:"at,timestamp(microsecond)"`
	Day    int32              `parquet:"day,date"`
	Price  int64              `parquet:"price,decimal(2:10)"`
	UID    [16]byte           `parquet:"uid,uuid"`
	Raw    []byte             `parquet:"raw"`
	L      []string           `parquet:"l,list"`
	Old    []int64            `parquet:"old"`
	M      map[string]float64 `parquet:"m"`
	Nested *parquetNested     `parquet:"nested,optional"`
}

type parquetNested struct {
	X     int64           `parquet:"x"`
	Lines []parquetNested `parquet:"-"`
	Parts []parquetPart   `parquet:"parts,list"`
}

type parquetPart struct {
	N *int64   `parquet:"n,optional"`
	T []string `parquet:"t,list"`
}

func parquetRows(from, to int) []parquetRow {
	var out []parquetRow
	for i := from; i < to; i++ {
		r := parquetRow{ID: int64(i), Small: int32(-i), Plain: fmt.Sprintf("p%d", i), D: float64(i) / 4, Yes: i%2 == 0, At: time.UnixMicro(int64(i)*1000 + 999).UTC(),
			Day: int32(i), Price: int64(1250 + i), UID: [16]byte{15: byte(i)}, Raw: []byte{byte('A' + i)}, Old: []int64{int64(i), 7}}
		if i%3 != 0 {
			who, f, n := fmt.Sprintf("who%d", i%5), float32(i)/2, int64(i)
			r.Who, r.F, r.L, r.M = &who, &f, []string{"a", who}, map[string]float64{"k": 1.5}
			r.Nested = &parquetNested{X: n, Parts: []parquetPart{{N: &n, T: []string{"t"}}, {}}}
		}
		out = append(out, r)
	}
	return out
}

func writeParquet[T any](t testing.TB, groups ...[]T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.PageBufferSize(16<<10))
	for _, rows := range groups {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parquetFixture(t testing.TB) []byte {
	return writeParquet(t, parquetRows(0, 20), parquetRows(20, 30))
}

func TestParquetTypes(t *testing.T) {
	data := string(writeParquet(t, parquetRows(0, 6)))
	const columns = "id long small long who string plain string d double f float yes string at long day long price double uid string raw string l mv old ARRAY<LONG> " +
		"m COMPLEX<json> nested COMPLEX<json> nosuch string"
	rows, _, err := read(t, `{"type":"parquet"}`, data, columns, Options{})
	if err != nil || len(rows) != 6 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := [][]any{
		{int64(3), int64(-3), nil, "p3", 0.75, nil, "false", int64(3), int64(3 * 86400000), 12.53, "00000000-0000-0000-0000-000000000003", "RA==", []any{},
			[]any{int64(3), int64(7)}, `{}`, nil, nil},
		{int64(4), int64(-4), "who4", "p4", 1.0, float32(2), "true", int64(4), int64(4 * 86400000), 12.54, "00000000-0000-0000-0000-000000000004", "RQ==",
			[]any{"a", "who4"}, []any{int64(4), int64(7)}, `{"k":1.5}`, `{"x":4,"parts":[{"n":4,"t":["t"]},{"n":null,"t":[]}]}`, nil},
	}
	if d := cmp.Diff(want, rows[3:5]); d != "" {
		t.Error(d)
	}
	// Everything can be read as text, and as numbers.
	rows, _, err = read(t, `{"type":"parquet"}`, data, "who mv plain mv", Options{})
	if d := cmp.Diff([][]any{{nil, []any{"p3"}}, {[]any{"who4"}, []any{"p4"}}}, rows[3:5]); d != "" || err != nil {
		t.Error(d, err)
	}
	rows, _, err = read(t, `{"type":"parquet","binaryAsString":true}`, data, "id string d string price string at string raw string yes long who long", Options{})
	if d := cmp.Diff([]any{"4", "1.0", "12.54", "4", "E", int64(1), nil}, rows[4]); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestParquetFlattened(t *testing.T) {
	rows, _, err := read(t, `{"type":"parquet","flattenSpec":{"fields":[{"type":"path","name":"n","expr":"$.nested.parts[0].n"},{"type":"path","name":"all","expr":"$.nested.parts[*].n"}]}}`,
		string(writeParquet(t, parquetRows(0, 3))), "n long all COMPLEX<json> id long", Options{})
	if d := cmp.Diff([][]any{{nil, "[]", int64(0)}, {int64(1), "[1,null]", int64(1)}, {int64(2), "[2,null]", int64(2)}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
}

// Row groups are read in parallel and given in order, whole or in splits, and rows span pages and
// batches.
func TestParquetRowGroups(t *testing.T) {
	data := writeParquet(t, parquetRows(0, 9000), parquetRows(9000, 9001), parquetRows(9001, 20000))
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	format, err := ParseFormat(json.RawMessage(`{"type":"parquet"}`))
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Source: &Local{Files: []string{path}}, Format: format, Fields: fields(t, "id long who string plain string f double who mv")}
	for _, c := range []struct {
		decoders int
		split    int64
	}{{1, 0}, {3, 0}, {1, int64(len(data) / 7)}, {2, 100}} {
		rows, _, err := readTable(t, table, Options{Decoders: c.decoders}, c.split)
		if err != nil || len(rows) != 20000 {
			t.Fatalf("%+v: %d rows, %v", c, len(rows), err)
		}
		for i, row := range rows {
			want := []any{int64(i), any(nil), fmt.Sprintf("p%d", i), any(nil), any(nil)}
			if i%3 != 0 {
				want[1], want[3] = fmt.Sprintf("who%d", i%5), float64(float32(i)/2)
				want[4] = []any{want[1]}
			}
			if d := cmp.Diff(want, row); d != "" {
				t.Fatalf("%+v: row %d: %s", c, i, d)
			}
		}
	}
}

// Files of one table may differ in their columns: what is missing is null, what has another type is
// converted.
func TestParquetSchemaDrift(t *testing.T) {
	type early struct {
		ID string `parquet:"id"`
		X  int32  `parquet:"x"`
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a": writeParquet(t, []early{{"17", 1}, {"none", 2}}), "b": writeParquet(t, parquetRows(5, 6))} {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	format, err := ParseFormat(json.RawMessage(`{"type":"parquet"}`))
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := readTable(t, &Table{Source: &Local{BaseDir: dir, Filter: "*"}, Format: format, Fields: fields(t, "id long x double plain string")}, Options{}, 0)
	if d := cmp.Diff([][]any{{int64(17), 1.0, nil}, {nil, 2.0, nil}, {int64(5), nil, "p5"}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestDamagedParquetIsAFault(t *testing.T) {
	data := parquetFixture(t)
	for _, text := range []string{"", " ", "PAR1", "not parquet at all, but text", string(data[:len(data)/2]), string(data[:len(data)-9]), string(data[4:]), strings.Repeat("PAR1", 10)} {
		if _, _, err := read(t, `{"type":"parquet"}`, text+" ", "id long", Options{}); fault.Find(err) == nil {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	// A byte changed anywhere gives all rows, or a fault in words of ours: never fewer rows, or
	// more.
	for i := 0; i < len(data); i += 7 {
		broken := bytes.Clone(data)
		broken[i] ^= 0xff
		for _, columns := range []string{"id long who string l mv", "m COMPLEX<json> nested COMPLEX<json>", "f double at double price string raw string yes long"} {
			rows, _, err := read(t, `{"type":"parquet"}`, string(broken), columns, Options{})
			checkDamage(t, i, len(rows), err)
		}
	}
}

func checkDamage(t *testing.T, at, rows int, err error) {
	t.Helper()
	nullByte := &NullByteError{}
	switch f := fault.Find(err); {
	case err == nil && rows != 30:
		t.Fatalf("byte %d: %d rows", at, rows)
	case errors.As(err, &nullByte):
		t.Fatalf("byte %d: %v", at, err)
	case err != nil && (f == nil || f.Category == fault.CategoryDefensive):
		t.Fatalf("byte %d: %v", at, err)
	case err != nil && (strings.Contains(f.Message, "runtime error") || strings.Contains(f.Message, "parquet:")):
		t.Fatalf("byte %d: %s", at, f.Message)
	}
}

// TestParquetTimesAsDoubles: a time is the same number as a DOUBLE as it is as a BIGINT, whatever
// its unit is.
func TestParquetTimesAsDoubles(t *testing.T) {
	type row struct {
		Micros time.Time `parquet:"micros,timestamp(microsecond)"`
		Nanos  time.Time `parquet:"nanos,timestamp(nanosecond)"`
		Millis time.Time `parquet:"millis,timestamp(millisecond)"`
	}
	var rows []row
	for _, micros := range []int64{253402300799999_999, -62135596799000_001, -1, 1, 999, -999, -1000, 1<<53*1000 - 1} {
		rows = append(rows, row{time.UnixMicro(micros), time.UnixMicro(micros % 1e15), time.UnixMicro(micros)})
	}
	data := string(writeParquet(t, rows))
	const columns = "micros %[1]s nanos %[1]s millis %[1]s"
	whole, _, err := read(t, `{"type":"parquet"}`, data, fmt.Sprintf(columns, "long"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	doubles, _, err := read(t, `{"type":"parquet"}`, data, fmt.Sprintf(columns, "double"), Options{})
	if err != nil || whole[0][0] != int64(253402300799999) || whole[2][0] != int64(-1) || whole[2][2] != int64(-1) {
		t.Fatal(whole, err)
	}
	for i, w := range whole {
		for k := range w {
			if doubles[i][k] != float64(w[k].(int64)) {
				t.Errorf("row %d, column %d: %v, want %v", i, k, doubles[i][k], w[k])
			}
		}
	}
}

// TestParquetHalfFloats reads FLOAT16 as numbers.
func TestParquetHalfFloats(t *testing.T) {
	// One column of FLOAT16 with 1.5, -2, NaN, the smallest and the largest number, as pyarrow
	// writes it.
	data, err := os.ReadFile("testdata/parquet/half.parquet")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := read(t, `{"type":"parquet"}`, string(data), "v double", Options{})
	if err != nil || len(rows) != 6 {
		t.Fatal(rows, err)
	}
	if nan, ok := rows[3][0].(float64); !ok || nan == nan {
		t.Error(rows[3])
	}
	rows[3][0] = "NaN"
	if d := cmp.Diff([][]any{{1.5}, {-2.0}, {nil}, {"NaN"}, {1.0 / (1 << 24)}, {65504.0}}, rows); d != "" {
		t.Error(d)
	}
	rows, _, err = read(t, `{"type":"parquet"}`, string(data), "v string", Options{})
	if d := cmp.Diff([]any{"1.5"}, rows[0]); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestParquetFaults: what can't be read is said with its place, and what is not supported as such.
func TestParquetFaults(t *testing.T) {
	var lzo bytes.Buffer
	w := parquet.NewGenericWriter[struct {
		N int64 `parquet:"n"`
	}](&lzo, parquet.Compression(otherCodec{}))
	if _, err := w.Write(make([]struct {
		N int64 `parquet:"n"`
	}, 3)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := read(t, `{"type":"parquet"}`, lzo.String(), "n long", Options{})
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryUnsupported || !strings.HasSuffix(f.Message, "not supported: compression [LZO] of column [n] in row group [0]") {
		t.Error(err)
	}
	data := parquetFixture(t)
	broken := bytes.Clone(data)
	copy(broken[4:], make([]byte, 200))
	_, _, err = read(t, `{"type":"parquet"}`, string(broken), "id long", Options{})
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput || !strings.Contains(f.Message, "damaged or no Parquet file: column [id] in row group [0]: ") {
		t.Error(err)
	}
}

// otherCodec says that it is LZO.
type otherCodec struct{}

func (otherCodec) String() string                            { return "LZO" }
func (otherCodec) CompressionCodec() format.CompressionCodec { return format.LZO }
func (otherCodec) Encode(dst, src []byte) ([]byte, error)    { return append(dst[:0], src...), nil }
func (otherCodec) Decode(dst, src []byte) ([]byte, error)    { return append(dst[:0], src...), nil }
