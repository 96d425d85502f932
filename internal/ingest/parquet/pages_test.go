package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// readFile returns the values of the first leaf of a file as text, nulls as -, and continued rows
// after a comma.
func readFile(file []byte) ([]string, error) {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, g := range f.Groups {
		if len(g.leaves) == 0 {
			continue
		}
		pages, err := g.Pages(g.leaves[0])
		if err != nil {
			return nil, err
		}
		for {
			p, err := pages.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			rows = appendPage(rows, g.leaves[0], p)
		}
	}
	return rows, nil
}

func appendPage(rows []string, c *Column, p *Page) []string {
	value := 0
	for i := range p.Count {
		text := "-"
		if p.Definitions == nil || int(p.Definitions[i]) == c.MaxDefinition {
			at := value
			if p.Coded {
				at = int(p.Indexes[value])
			}
			value++
			switch v := p.Values; c.Type {
			case Boolean:
				text = fmt.Sprint(v.Bools[at])
			case Int32:
				text = fmt.Sprint(v.Int32[at])
			case Int64:
				text = fmt.Sprint(v.Int64[at])
			case Float:
				text = fmt.Sprint(v.Floats[at])
			case Double:
				text = fmt.Sprint(v.Doubles[at])
			case ByteArray:
				text = string(v.At(at))
			default:
				text = fmt.Sprintf("%x", v.At(at))
			}
		}
		if p.Repetitions != nil && p.Repetitions[i] > 0 {
			rows[len(rows)-1] += "," + text
		} else {
			rows = append(rows, text)
		}
	}
	return rows
}

func wantRows(t *testing.T, c testColumn, want ...string) {
	t.Helper()
	got, err := readFile(c.file())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func wantError(t *testing.T, file []byte, text string) {
	t.Helper()
	rows, err := readFile(file)
	damage, other := &Damage{}, &Unsupported{}
	if !errors.As(err, &damage) && !errors.As(err, &other) || !strings.Contains(err.Error(), text) {
		t.Fatalf("%v, %v; want an error with %q", rows, err, text)
	}
}

func one(typ Type, encoding, values int64, body []byte) testColumn {
	return testColumn{typ: int64(typ), values: values, rows: values, pages: []testPage{{typ: dataPage, values: values, encoding: encoding, unpacked: -1, body: body}}}
}

// Every codec gives back what was packed, at any size: that one which needs a larger buffer than
// the page before included.
func TestCodecs(t *testing.T) {
	big := func(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }
	raw := func(b []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 { // it does not shrink: one literal run
			var w bytes.Buffer
			token := min(len(b), 15)
			w.WriteByte(byte(token << 4))
			if token == 15 {
				rest := len(b) - 15
				for ; rest >= 255; rest -= 255 {
					w.WriteByte(255)
				}
				w.WriteByte(byte(rest))
			}
			w.Write(b)
			return w.Bytes()
		}
		return out[:n]
	}
	stream := func(w io.WriteCloser, out *bytes.Buffer, b []byte) []byte {
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, c := range []struct {
		name  string
		codec int64
		pack  func(b []byte) []byte
	}{
		{"none", codecNone, func(b []byte) []byte { return b }},
		{"snappy", codecSnappy, func(b []byte) []byte { return snappy.Encode(nil, b) }},
		{"gzip", codecGzip, func(b []byte) []byte { var out bytes.Buffer; return stream(gzip.NewWriter(&out), &out, b) }},
		{"gzip members", codecGzip, func(b []byte) []byte {
			var out bytes.Buffer
			stream(gzip.NewWriter(&out), &out, b[:len(b)/2])
			return stream(gzip.NewWriter(&out), &out, b[len(b)/2:])
		}},
		{"brotli", codecBrotli, func(b []byte) []byte { var out bytes.Buffer; return stream(brotli.NewWriter(&out), &out, b) }},
		{"zstd", codecZstd, func(b []byte) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.EncodeAll(b, nil)
		}},
		{"lz4 raw", codecLZ4Raw, raw},
		{"lz4 without framing", codecLZ4, raw},
		{"lz4 frame", codecLZ4, func(b []byte) []byte { var out bytes.Buffer; return stream(lz4.NewWriter(&out), &out, b) }},
		{"lz4 of Hadoop", codecLZ4, func(b []byte) []byte { p := raw(b); return append(big(big(nil, len(b)), len(p)), p...) }},
		{"lz4 of Hadoop, two frames", codecLZ4, func(b []byte) []byte {
			var out []byte
			for _, half := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
				p := raw(half)
				out = append(big(big(out, len(half)), len(p)), p...)
			}
			return out
		}},
		{"lz4 of Hadoop, two blocks", codecLZ4, func(b []byte) []byte {
			out := big(nil, len(b))
			for _, half := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
				p := raw(half)
				out = append(big(out, len(p)), p...)
			}
			return out
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			column := testColumn{typ: int64(Int64), codec: c.codec}
			var want []string
			for _, n := range []int{1, 10, 3, 1000, 20_000, 7} {
				values := make([]int64, n)
				for i := range values {
					values[i] = int64(i) * int64(i%7)
					want = append(want, fmt.Sprint(values[i]))
				}
				body := int64s(values...)
				column.pages = append(column.pages, testPage{typ: dataPage, values: int64(n), unpacked: int64(len(body)), body: c.pack(body)})
				column.values += int64(n)
			}
			column.rows = column.values
			wantRows(t, column, want...)
			if c.codec == codecNone {
				return
			}
			// A page that unpacks to another size than its header says is refused: neither cut nor
			// filled up.
			for _, other := range []int64{-8, 8, 800, 1 << 30} {
				wrong := column
				wrong.pages = append([]testPage(nil), column.pages...)
				wrong.pages[3].unpacked += other
				wantError(t, wrong.file(), "column [v] in row group [0]: a page")
			}
		})
	}
	for codec, text := range map[int64]string{codecLZO: "not supported: compression [LZO] of column [v] in row group [0]", 17: "not supported: compression [17]"} {
		c := one(Int64, plain, 1, int64s(1))
		c.codec = codec
		wantError(t, c.file(), text)
	}
}

// A run of RLE repeats all of its bits, not one in eight.
func TestBooleans(t *testing.T) {
	sixteen := strings.Fields(strings.Repeat("1 ", 16))
	wantRows(t, one(Boolean, rle, 16, []byte{2, 0, 0, 0, 32, 1}), sixteen...)
	wantRows(t, one(Boolean, rle, 16, []byte{3, 0, 0, 0, 5, 0xff, 0xff}), sixteen...)
	wantRows(t, one(Boolean, rle, 12, []byte{6, 0, 0, 0, 6, 1, 3, 0b10101010, 4, 0}), strings.Fields("1 1 1 0 1 0 1 0 1 0 1 0")...)
}
