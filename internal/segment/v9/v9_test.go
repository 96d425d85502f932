package v9

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

var update = flag.Bool("update", false, "write the texts in testdata")

// unzip returns the files of a segment of testdata.
func unzip(t testing.TB, path string) fstest.MapFS {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := fstest.MapFS{}
	for _, entry := range archive.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name] = &fstest.MapFile{Data: data}
	}
	return files
}

// describe writes a segment as text.
func describe(s *Segment) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %d rows, rollup %v, %d aggregators\n", s.info.Interval, s.info.Rows, s.info.Meta.Rollup, len(s.info.Meta.Aggregators))
	for _, c := range s.info.Columns {
		v, err := s.Read(c.Name)
		if err != nil {
			return "", fmt.Errorf("column [%s]: %w", c.Name, err)
		}
		fmt.Fprintf(&out, "%s %s multi %v\n", c.Name, c.Type, c.Multi)
		for i := range v.Len {
			x := v.ValueAt(i)
			if s, ok := x.(string); ok && c.Type != vector.String && c.Type != vector.JSON {
				x = []byte(s)
			}
			if f, ok := x.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				x = fmt.Sprint(f)
			}
			if f, ok := x.(float32); ok {
				x = fmt.Sprint(f)
			}
			text, err := json.Marshal(x)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "  %s\n", text)
		}
	}
	return out.String(), nil
}

func TestSegmentsOfTheReference(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			reads(t, path, strings.TrimSuffix(path, ".zip")+".txt")
		})
	}
}

// reads compares what is read of a segment with a text.
func reads(t *testing.T, path, golden string) {
	t.Helper()
	s, err := Open(unzip(t, path))
	if err != nil {
		t.Fatal(err)
	}
	got, err := describe(s)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// The same rows are read from all that index settings make of them.
func TestIndexSettingsOfTheReference(t *testing.T) {
	paths, err := filepath.Glob("testdata/index/*.zip")
	if err != nil || len(paths) != 10 {
		t.Fatalf("segments: %q, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { reads(t, path, "testdata/index/rows.txt") })
	}
}

// maker makes the parts of a segment as Druid writes them.
type maker struct {
	names []string
	parts map[string][]byte
}

func newMaker() *maker { return &maker{parts: map[string][]byte{}} }

func (m *maker) add(name string, data []byte) { m.parts[name] = data }

// column adds a column with a descriptor.
func (m *maker) column(name, valueType, part string, data []byte) {
	descriptor := fmt.Sprintf(`{"valueType":"%s","hasMultipleValues":%v,"parts":[%s]}`, valueType, strings.HasPrefix(name, "multi"), part)
	m.add(name, append(sized([]byte(descriptor)), data...))
	if name != segment.TimeColumn {
		m.names = append(m.names, name)
	}
}

const littleRoaring = `"byteOrder":"LITTLE_ENDIAN","bitmapSerdeFactory":{"type":"roaring"}`

func (m *maker) files() fstest.MapFS {
	var names [][]byte
	for _, n := range m.names {
		names = append(names, []byte(n))
	}
	index := append(list(names...), list()...)
	index = binary.BigEndian.AppendUint64(index, 0)
	index = binary.BigEndian.AppendUint64(index, 86_400_000)
	m.add("index.drd", append(index, sized([]byte(`{"type":"roaring"}`))...))
	meta, whole := "v1,2147483647,1\n", []byte(nil)
	for name, data := range m.parts {
		meta += fmt.Sprintf("%s,0,%d,%d\n", name, len(whole), len(whole)+len(data))
		whole = append(whole, data...)
	}
	return fstest.MapFS{
		"version.bin": {Data: []byte{0, 0, 0, 9}}, "meta.smoosh": {Data: []byte(meta)}, "00000.smoosh": {Data: whole},
	}
}

// sized puts the length in front.
func sized(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

// list is values in one piece; nil is null.
func list(values ...[]byte) []byte {
	var ends, body []byte
	for _, v := range values {
		mark := uint32(0)
		if v == nil {
			mark = math.MaxUint32
		}
		body = append(binary.BigEndian.AppendUint32(body, mark), v...)
		ends = binary.BigEndian.AppendUint32(ends, uint32(len(body)))
	}
	whole := binary.BigEndian.AppendUint32(nil, uint32(len(values)))
	return append([]byte{1, 0}, sized(append(append(whole, ends...), body...))...)
}

func ints(n ...int) (out []byte) {
	for _, x := range n {
		out = binary.BigEndian.AppendUint32(out, uint32(x))
	}
	return out
}

func littleLongs(n ...int64) (out []byte) {
	for _, x := range n {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out
}

// pack compresses a block.
func pack(t testing.TB, method byte, b []byte) []byte {
	t.Helper()
	switch method {
	case lzf: // one chunk as it is, and one of a run of bytes that is then copied
		out := append([]byte{'Z', 'V', 0}, binary.BigEndian.AppendUint16(nil, uint16(len(b)-8))...)
		out = append(out, b[:len(b)-8]...)
		tail := b[len(b)-8:]
		if bytes.Equal(tail[:4], tail[4:]) {
			packed := append([]byte{3}, tail[:4]...)
			packed = append(packed, 2<<5, 3) // four bytes from four before
			out = append(out, 'Z', 'V', 1, 0, byte(len(packed)), 0, 8)
			return append(out, packed...)
		}
		out = append(out, 'Z', 'V', 0, 0, 8)
		return append(out, tail...)
	case lz4Block:
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlockHC(b, out, lz4.Level9, nil, nil)
		if err != nil || n == 0 {
			t.Fatalf("lz4: %d, %v", n, err)
		}
		return out[:n]
	case zstdFrame:
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	}
	return b
}

// timed returns a maker with a time column of n rows.
func timed(n int) *maker {
	m := newMaker()
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(i)
	}
	m.column(segment.TimeColumn, "LONG", `{"type":"long","byteOrder":"LITTLE_ENDIAN"}`,
		append(append([]byte{2}, ints(n, max(n, 1))...), append([]byte{uncompressed}, list(littleLongs(times...))...)...))
	return m
}

// read opens the parts and reads a column.
func read(t *testing.T, m *maker, name string) []any {
	t.Helper()
	s, err := Open(m.files())
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for i := range v.Len {
		out = append(out, v.ValueAt(i))
	}
	return out
}

func wants(t *testing.T, got []any, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompressions(t *testing.T) {
	for name, method := range map[string]byte{"lzf": lzf, "lz4": lz4Block, "zstd": zstdFrame, "uncompressed": uncompressed} {
		t.Run(name, func(t *testing.T) {
			values := []int64{7, 7, 7, 7, 7, 7, 0x0101010101010101}
			m := timed(7)
			data := append(append([]byte{2}, ints(7, 4)...), method)
			data = append(data, list(pack(t, method, littleLongs(values[:4]...)), pack(t, method, littleLongs(values[4:]...)))...)
			m.column("n", "LONG", `{"type":"long","byteOrder":"LITTLE_ENDIAN"}`, data)
			wants(t, read(t, m, "n"), int64(7), int64(7), int64(7), int64(7), int64(7), int64(7), int64(0x0101010101010101))
		})
	}
}

func TestEncodingsOfLongs(t *testing.T) {
	column := func(n int, head []byte, body []byte) *maker {
		m := timed(n)
		data := append(append([]byte{2}, ints(n, n)...), head...)
		m.column("n", "LONG", `{"type":"longV2",`+littleRoaring+`}`, sized(append(data, body...)))
		return m
	}
	flagged := func(method byte) byte { return byte(int8(method) - 126) }
	for _, bits := range longWidths {
		t.Run(fmt.Sprintf("delta %d", bits), func(t *testing.T) {
			if bits == 64 {
				t.Skip("a writer of 64 bits stores plain longs")
			}
			max := int64(1)<<bits - 1
			var packed []byte
			packed = appendBits(packed, 0, bits, 0)
			packed = appendBits(packed, uint64(max), bits, 1)
			packed = appendBits(packed, uint64(max/2), bits, 2)
			head := append([]byte{flagged(lz4Block), encodingDelta, 1}, binary.BigEndian.AppendUint64(nil, uint64(0xFFFFFFFFFFFFFFF6))...)
			head = append(head, ints(bits)...)
			plain := append(slices.Clone(packed), 0, 0, 0, 0)
			m := column(3, append([]byte{flagged(uncompressed)}, head[1:]...), list(plain))
			wants(t, read(t, m, "n"), int64(-10), -10+max, -10+max/2)
			m = column(3, append([]byte{flagged(noneWhole)}, head[1:]...), plain)
			wants(t, read(t, m, "n"), int64(-10), -10+max, -10+max/2)
		})
	}
	t.Run("table", func(t *testing.T) {
		head := append([]byte{flagged(uncompressed), encodingTable, 1}, ints(3)...)
		for _, v := range []int64{100, -5, 1 << 60} {
			head = binary.BigEndian.AppendUint64(head, uint64(v))
		}
		m := column(4, head, list([]byte{0b10_00_01_01, 0, 0, 0, 0}))
		wants(t, read(t, m, "n"), int64(1<<60), int64(100), int64(-5), int64(-5))
		m = column(4, head, list([]byte{0b11_00_01_01, 0, 0, 0, 0}))
		refused(t, m, "n", segment.ErrCorrupt)
	})
	t.Run("none", func(t *testing.T) {
		m := column(2, []byte{noneWhole}, littleLongs(3, -4))
		wants(t, read(t, m, "n"), int64(3), int64(-4))
	})
	t.Run("first version", func(t *testing.T) {
		m := timed(2)
		m.column("n", "LONG", `{"type":"long","byteOrder":"LITTLE_ENDIAN"}`, append(append([]byte{1}, ints(2, 2)...), list(pack(t, lzf, littleLongs(3, -4)))...))
		wants(t, read(t, m, "n"), int64(3), int64(-4))
	})
}

// appendBits appends value i of values of so many bits, the highest bit first.
func appendBits(b []byte, v uint64, bits, i int) []byte {
	for k := range bits {
		at := i*bits + k
		for at/8 >= len(b) {
			b = append(b, 0)
		}
		b[at/8] |= byte(v>>(bits-1-k)&1) << (7 - at%8)
	}
	return b
}

func TestNullsOfNumbers(t *testing.T) {
	rows := roaring.BitmapOf(1)
	portable, err := rows.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	concise := ints(1<<31 | 0b10)
	for kind, nulls := range map[string][]byte{"roaring": portable, "concise": concise} {
		m := timed(2)
		values := append(append([]byte{2}, ints(2, 2)...), uncompressed)
		double := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5))
		values = append(values, list(append(double, make([]byte, 8)...))...)
		m.column("x", "DOUBLE", `{"type":"doubleV2","byteOrder":"LITTLE_ENDIAN","bitmapSerdeFactory":{"type":"`+kind+`"}}`, append(sized(values), sized(nulls)...))
		wants(t, read(t, m, "x"), 1.5, nil)
	}
}

func TestConcise(t *testing.T) {
	for _, test := range []struct {
		words []int
		want  []uint64
	}{
		{[]int{1<<31 | 0b101}, []uint64{0, 2}},
		{[]int{0<<30 | 2, 1<<31 | 1}, []uint64{93}},                  // three empty blocks
		{[]int{4 << 25, 1<<31 | 1}, []uint64{3, 31}},                 // an empty block but for the fourth row
		{[]int{1<<30 | 31<<25, 1<<31 | 1<<30}, append(upTo(30), 61)}, // a full block but for its last row
	} {
		var got []uint64
		ok := eachConcise(ints(test.words...), func(row uint64) bool { got = append(got, row); return true })
		if !ok || !slices.Equal(got, test.want) {
			t.Errorf("%x: %v, %v; want %v", test.words, got, ok, test.want)
		}
	}
}

func upTo(n int) (out []uint64) {
	for i := range n {
		out = append(out, uint64(i))
	}
	return out
}

func varint(n int) []byte {
	var out []byte
	for n >= 128 {
		out, n = append(out, byte(n&127)), n>>7
	}
	return append(out, byte(n)|128)
}

func blob(s string) []byte { return append(varint(len(s)), s...) }

func TestDictionaries(t *testing.T) {
	codes := append([]byte{2, 1}, append(ints(5, 8), append([]byte{uncompressed}, list([]byte{0, 1, 2, 3, 3})...)...)...)
	front := func(version byte, buckets ...[]byte) []byte {
		var ends, body []byte
		for i, b := range buckets {
			if body = append(body, b...); i < len(buckets)-1 {
				ends = binary.LittleEndian.AppendUint32(ends, uint32(len(body)))
			}
		}
		whole := append(ends, body...)
		out := append([]byte{encodedDictionary, 1, version, 2, 1}, varint(3)...)
		return append(append(out, varint(len(whole))...), whole...)
	}
	first := append(append(blob("abc"), varint(2)...), blob("d")...)
	for name, dictionary := range map[string][]byte{
		"list":                   list(nil, []byte("abc"), []byte("abd"), []byte("z")),
		"list that is named":     append([]byte{encodedDictionary, 0}, list(nil, []byte("abc"), []byte("abd"), []byte("z"))...),
		"front-coded, version 0": front(0, first, blob("z")),
		"front-coded, version 1": front(1, first, blob("z")),
	} {
		t.Run(name, func(t *testing.T) {
			m := timed(5)
			data := append([]byte{2, 0, 0, 0, 4}, dictionary...)
			m.column("s", "STRING", `{"type":"stringDictionary",`+littleRoaring+`}`, append(data, codes...))
			wants(t, read(t, m, "s"), nil, "abc", "abd", "z", "z")
		})
	}
}

func TestPlainCodes(t *testing.T) {
	m := timed(3)
	dictionary := list([]byte("a"), []byte("b"))
	m.column("s", "STRING", `{"type":"stringDictionary",`+littleRoaring+`}`,
		slices.Concat([]byte{0}, dictionary, []byte{0, 1}, sized([]byte{1, 0, 1, 0, 0, 0}), []byte("an index")))
	wants(t, read(t, m, "s"), "b", "a", "b")
}

func TestSeveralValues(t *testing.T) {
	dictionary := list(nil, []byte("a"), []byte("b"))
	codes := append([]byte{2, 1}, append(ints(4, 4), append([]byte{uncompressed}, list([]byte{1, 2, 0, 2})...)...)...)
	starts := binary.LittleEndian.AppendUint16
	offsets := func(width int, n ...uint16) []byte {
		var b []byte
		for _, x := range n {
			if b = starts(b, x); width == 4 {
				b = append(b, 0, 0)
			}
		}
		return b
	}
	plain := slices.Concat([]byte{1, 1}, sized(slices.Concat(ints(4, 2, 2, 3, 4), []byte{1, 2, 0, 2, 0, 0, 0})))
	for name, data := range map[string][]byte{
		"plain":               slices.Concat([]byte{1}, dictionary, plain),
		"plain with flags":    slices.Concat([]byte{3}, ints(5), dictionary, plain),
		"compressed":          slices.Concat([]byte{2}, ints(5), dictionary, []byte{2, 2, 2}, ints(5, 8), []byte{uncompressed}, list(offsets(2, 0, 2, 2, 3, 4)), codes),
		"compressed streamed": slices.Concat([]byte{2}, ints(6), dictionary, []byte{3, 2}, ints(5, 8), []byte{uncompressed}, list(offsets(4, 0, 2, 2, 3, 4)), codes),
	} {
		t.Run(name, func(t *testing.T) {
			m := timed(4)
			m.column("multi", "STRING", `{"type":"stringDictionary",`+littleRoaring+`}`, data)
			wants(t, read(t, m, "multi"), []any{"a", "b"}, nil, nil, []any{"b"})
		})
	}
}

func TestListsInSeveralParts(t *testing.T) {
	m := timed(3)
	value := func(s string) []byte { return append(make([]byte, 4), s...) }
	m.add("s_value_0", slices.Concat(value("a"), value("bb")))
	m.add("s_value_1", value("c"))
	var ends []byte
	for _, n := range []uint32{5, 11, 5} {
		ends = binary.LittleEndian.AppendUint32(ends, n)
	}
	m.add("s_header", ends)
	dictionary := slices.Concat([]byte{2, 1}, ints(1, 3), sized([]byte("s")))
	codes := append([]byte{2, 1}, append(ints(3, 4), append([]byte{uncompressed}, list([]byte{2, 1, 0})...)...)...)
	m.column("s", "STRING", `{"type":"stringDictionary",`+littleRoaring+`}`, slices.Concat([]byte{2}, ints(4), dictionary, codes))
	wants(t, read(t, m, "s"), "c", "bb", "a")
}

func TestSmile(t *testing.T) {
	for want, body := range map[string]string{
		`{"a":1,"b":[true,false,null,""]}`:      "\xfa\x80a\xc2\x80b\xf8\x23\x22\x21\x20\xf9\xfb",
		`[-1,15,64,-123456789]`:                 "\xf8\xc1\x24\x9e\x24\x02\x80\x24\x01\x6b\x3c\x68\xa9\xf9",
		`[{"n":1},{"n":2}]`:                     "\xf8\xfa\x80n\xc2\xfb\xfa\x40\xc4\xfb\xf9",
		`"\"\\\n\u0001ü"`:                       "\x84\"\\\n\x01\xc3\xbc",
		`[0.5,1.0E10]`:                          "\xf8" + sevens(0x3f000000, 5, 0x28) + sevens(math.Float64bits(1e10), 10, 0x29) + "\xf9",
		`"` + strings.Repeat("long ", 20) + `"`: "\xe0" + strings.Repeat("long ", 20) + "\xfc",
	} {
		got, err := smileJSON("test", ":)\n\x01"+body)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", body, got, err, want)
		}
	}
	for name, body := range map[string]string{
		"no end":        "\xfa\x80a\xc2",
		"too deep":      strings.Repeat("\xf8", 1000),
		"no such name":  "\xfa\x41\xc2\xfb",
		"no such text":  "\x01",
		"unknown token": "\xf6",
		"no text end":   "\xe0abc",
	} {
		if _, err := smileJSON("test", ":)\n\x01"+body); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sevens writes n bytes of 7 bits behind a token.
func sevens(v uint64, n int, token byte) string {
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		out[i], v = byte(v&0x7f), v>>7
	}
	return string(token) + string(out)
}

func refused(t *testing.T, m *maker, name string, mark error) {
	t.Helper()
	s, err := Open(m.files())
	if err == nil {
		_, err = s.Read(name)
	}
	if !errors.Is(err, mark) || fault.Find(err) == nil {
		t.Errorf("got %v, want %v", err, mark)
	}
}

func TestUnknownThingsAreRefused(t *testing.T) {
	for part, valueType := range map[string]string{
		`{"type":"complex","typeName":"somethingElse"}`:                                "COMPLEX",
		`{"type":"shapeshift"}`:                                                        "LONG",
		`{"type":"nestedCommonFormat","logicalType":"ROW<A>",` + littleRoaring + `}`:   "COMPLEX",
		`{"type":"long","byteOrder":"LITTLE_ENDIAN"},{"type":"second"}`:                "LONG",
		`{"type":"nestedCommonFormat","logicalType":"COMPLEX<json>","hasNulls":false}`: "COMPLEX",
	} {
		m := timed(1)
		m.column("x", valueType, part, []byte{0, 0x81, 'x'})
		refused(t, m, "x", ErrUnknown)
	}
	files := timed(1).files()
	files["version.bin"] = &fstest.MapFile{Data: []byte{0, 0, 0, 8}}
	if _, err := Open(files); !errors.Is(err, ErrUnknown) {
		t.Errorf("version 8: %v", err)
	}
}

// TestDamageIsTold cuts and changes a segment: no byte may make reading it panic, and a cut is
// always told. blocked is bytes in blocks of so many, as cells are kept.
func blocked(t *testing.T, b []byte, size int) []byte {
	t.Helper()
	places, blocks := littleInts(0), []byte(nil)
	for part := range slices.Chunk(b, size) {
		blocks = append(blocks, pack(t, lz4Block, part)...)
		places = append(places, littleInts(len(blocks))...)
	}
	all := slices.Concat(littleInts(len(places)), places, littleInts(len(blocks)), blocks)
	return append(littleInts(len(all)), all...)
}

func littleInts(n ...int) (out []byte) {
	for _, x := range n {
		out = binary.LittleEndian.AppendUint32(out, uint32(x))
	}
	return out
}

// Texts with their times may be kept in cells, too, if a property of the releases after 26 says so:
// in blocks that cut values anywhere.
func TestPairsInCells(t *testing.T) {
	text := strings.Repeat("aaaabbbb", 20)
	for name, x := range map[string]struct {
		flag     byte
		distance func(n int) []byte
	}{
		"short": {shortTimes, func(n int) []byte { return littleInts(n) }},
		"long":  {0, func(n int) []byte { return littleLongs(int64(n)) }},
	} {
		cells := [][]byte{
			slices.Concat(x.distance(0), littleInts(len(text)), []byte(text)), nil, slices.Concat(x.distance(5), littleInts(0)),
			slices.Concat(x.distance(7), littleInts(-1)), slices.Concat(x.distance(9), littleInts(1), []byte("x")),
		}
		column := func(cells [][]byte) *maker {
			ends, body := littleLongs(0), []byte(nil)
			for _, cell := range cells {
				body = append(body, cell...)
				ends = append(ends, littleLongs(int64(len(body)))...)
			}
			m := timed(5)
			data := append([]byte{pairCells, x.flag, 0, 0}, littleLongs(1000)...)
			m.column("s", "COMPLEX", `{"type":"complex","typeName":"serializablePairLongString"}`,
				slices.Concat(data, blocked(t, ends, 24), blocked(t, body, 64)))
			return m
		}
		at := func(time byte, value string) string {
			return "\x00\x00\x00\x00\x00\x00\x03" + string([]byte{0xe8 + time}) + value
		}
		t.Run(name, func(t *testing.T) {
			wants(t, read(t, column(cells), "s"), at(0, "\x01"+text), nil, at(5, ""), at(7, "\x01"), at(9, "\x01x"))
			cells[4] = slices.Concat(x.distance(9), littleInts(100), []byte("x"))
			refused(t, column(cells), "s", segment.ErrCorrupt)
			refused(t, column(cells[:4]), "s", segment.ErrCorrupt)
		})
	}
}

func TestDamageIsTold(t *testing.T) {
	for _, name := range []string{"types_2020", "pairs"} {
		t.Run(name, func(t *testing.T) { damaged(t, "testdata/"+name+".zip") })
	}
}

// damaged cuts a segment off, and changes bytes in it.
func damaged(t *testing.T, path string) {
	t.Helper()
	files := unzip(t, path)
	whole := files["00000.smoosh"].Data
	try := func(files fstest.MapFS) error {
		s, err := Open(files)
		if err != nil {
			return err
		}
		_, err = describe(s)
		return err
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/150 {
		cut := fstest.MapFS{"version.bin": files["version.bin"], "meta.smoosh": files["meta.smoosh"], "00000.smoosh": {Data: whole[:n]}}
		if err := try(cut); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("cut off at %d: %v", n, err)
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0x55
		damaged := fstest.MapFS{"version.bin": files["version.bin"], "meta.smoosh": files["meta.smoosh"], "00000.smoosh": {Data: changed}}
		if err := try(damaged); err != nil && fault.Find(err) == nil {
			t.Errorf("changed at %d: %v", n, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"dim", "arrays", "types_2023", "pairs"} {
		files := unzip(f, "testdata/"+name+".zip")
		f.Add(files["meta.smoosh"].Data, files["00000.smoosh"].Data)
	}
	f.Fuzz(func(t *testing.T, meta, whole []byte) {
		s, err := Open(fstest.MapFS{"version.bin": {Data: []byte{0, 0, 0, 9}}, "meta.smoosh": {Data: meta}, "00000.smoosh": {Data: whole}})
		if err == nil {
			_, err = describe(s)
		}
		if err != nil && fault.Find(err) == nil && !strings.Contains(err.Error(), "json") {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzSmile(f *testing.F) {
	f.Add(":)\n\x01\xfa\x80a\xc2\x80b\xf8\x23\x22\x21\x20\xf9\xfb")
	f.Add(":)\n\x03\xf8\x26\x82\x01\x02\x2a\x80\x81\x7f\xf9")
	f.Fuzz(func(t *testing.T, document string) {
		text, err := smileJSON("fuzz", document)
		switch {
		case err != nil && fault.Find(err) == nil:
			t.Errorf("got %v", err)
		case err == nil && !json.Valid([]byte(text)):
			t.Errorf("not JSON: %q", text)
		}
	})
}
