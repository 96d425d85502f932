package segment

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// annotator prints the bytes of a file with what they mean. It reads the format by itself, as
// docs/format/segment.md tells it, and shares only the parsing of the footer with the code that it
// describes.
type annotator struct {
	strings.Builder
	b  []byte
	at int
}

// take prints n bytes as one item, sixteen to a line.
func (a *annotator) take(n int, format string, args ...any) []byte {
	taken := a.b[a.at : a.at+n]
	text := fmt.Sprintf(format, args...)
	for lo := 0; lo < n || lo == 0; lo += 16 {
		fmt.Fprintf(a, "%06d  %-47s  %s\n", a.at+lo, fmt.Sprintf("% x", taken[lo:min(lo+16, n)]), text)
		text = "  ."
	}
	a.at += n
	return taken
}

func (a *annotator) gap(to int) {
	if to > a.at {
		a.take(to-a.at, "(gap)")
	}
}

func annotate(t *testing.T, b []byte) string {
	t.Helper()
	a := &annotator{b: b}
	tail := b[len(b)-tailSize:]
	footAt, footLen := int(binary.LittleEndian.Uint64(tail)), int(binary.LittleEndian.Uint32(tail[8:]))
	foot, err := parseFooter(b[footAt : footAt+footLen])
	if err != nil {
		t.Fatal(err)
	}
	if err := foot.check(int64(footAt)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(a, "# header\n")
	a.take(8, "magic")
	a.take(4, "format version %d", Version)
	a.take(4, "zero")
	for _, c := range foot.columns {
		if c.length == 0 {
			fmt.Fprintf(a, "# column %q, %s, %s: no bytes\n", c.label(), c.Type, c.enc)
			continue
		}
		a.gap(int(c.off))
		fmt.Fprintf(a, "# column %q, %s, %s: %d bytes\n", c.label(), c.Type, c.enc, c.length)
		type placed struct {
			part
			of *columnMeta
		}
		var parts []placed
		for x := c; x != nil; x = x.element {
			for _, p := range x.parts {
				parts = append(parts, placed{p, x})
			}
		}
		sort.Slice(parts, func(i, j int) bool { return parts[i].off < parts[j].off })
		for _, p := range parts {
			a.gap(int(c.off + p.off))
			a.part(p.part, p.of, p.of != c)
		}
	}
	a.gap(footAt)
	fmt.Fprintf(a, "# footer\n")
	a.record("", footerTags)
	fmt.Fprintf(a, "# tail\n")
	a.take(8, "offset of the footer: %d", footAt)
	a.take(4, "length of the footer: %d", footLen)
	a.take(4, "checksum of the footer")
	a.take(4, "format version %d", Version)
	a.take(4, "checksum of the 20 bytes before")
	a.take(8, "magic")
	if a.at != len(b) {
		t.Fatalf("annotated %d of %d bytes", a.at, len(b))
	}
	return a.String()
}

func (a *annotator) part(p part, c *columnMeta, element bool) {
	name := p.kind.String()
	if element {
		name = "elements: " + name
	}
	n := int(p.length)
	b := a.b[a.at : a.at+n]
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	switch p.kind {
	case partDictOffsets, partListOffsets:
		var xs []uint32
		for i := 0; i < n; i += 4 {
			xs = append(xs, u32(i))
		}
		a.take(n, "%s: %v", name, xs)
	case partIndexOffsets:
		var xs []uint64
		for i := 0; i < n; i += 8 {
			xs = append(xs, u64(i))
		}
		a.take(n, "%s: %v", name, xs)
	case partValid:
		a.take(n, "%s: %0*b", name, c.rows, u64(0))
	case partDictBytes:
		a.take(n, "%s: %q", name, b)
	case partCodes:
		a.take(n, "%s, %d wide", name, c.width)
	case partBlocks:
		for i := 0; i < n; {
			a.take(8, "%s: least", name)
			a.take(8, "greatest")
			if c.enc == encRaw {
				a.take(8, "flags %d", u64(i+16))
				i += rawBlockSize
				continue
			}
			a.take(8, "unit %d", u64(i+16))
			a.take(8, "data at %d, width %d", u64(i+24)>>8, u64(i+24)&0xff)
			i += frameBlockSize
		}
	case partSums:
		for range n / 8 {
			a.take(8, "%s", name)
		}
	case partBlobBlocks:
		for i := 0; i < n; i += blobBlockSize {
			a.take(16, "%s: first row %d, decoded %d, stored %d, codec %d", name, u32(i), u32(i+4), u32(i+8), u32(i+12))
			a.take(8, "at %d", u64(i+16))
		}
	default:
		a.take(n, "%s", name)
	}
}

var footerTags = map[uint64]string{tagRows: "rows", tagChunkLog2: "log2 of the bytes per checksum", tagColumn: "column", tagChecksums: "checksums of parts",
	tagTimes: "least and greatest time", tagSortColumn: "sorted by", tagRollup: "rollup", tagGranularity: "query granularity", tagMetadata: "metadata", tagPathColumn: "path column"}

var columnTags = map[uint64]string{tagName: "name", tagType: "type", tagEncoding: "encoding", tagRange: "range: offset, length",
	tagPart: "part: kind, offset, length, first checksum", tagElement: "elements", tagWidth: "bytes per code", tagElements: "number of elements",
	tagMulti: "multi-value", tagMetric: "metric", tagNulls: "nulls", tagDistinct: "distinct values", tagDistinctEstimate: "distinct values, estimate",
	tagMin: "least value", tagMax: "greatest value", tagBounds: "bounds are cut", tagPath: "path",
	tagMixed: "integers among other numbers"}

func (a *annotator) record(indent string, names map[uint64]string) {
	a.fields(indent, names, len(a.b)-tailSize)
}

func (a *annotator) fields(indent string, names map[uint64]string, end int) {
	for a.at < end {
		tag, n := binary.Uvarint(a.b[a.at:])
		length, m := binary.Uvarint(a.b[a.at+n:])
		a.take(n+m, "%s%d %s, %d bytes", indent, tag, names[tag], length)
		if strings.HasSuffix(names[tag], "column") || names[tag] == "elements" {
			a.fields(indent+"    ", columnTags, a.at+int(length))
			continue
		}
		body := a.b[a.at : a.at+int(length)]
		switch names[tag] {
		case "name", "type", "metric", "path", "sorted by", "query granularity", "metadata":
			a.take(len(body), "%s  %q", indent, body)
		case "least value", "greatest value", "checksums of parts", "least and greatest time", "rollup", "multi-value", "integers among other " +
			"numbers":
			if len(body) > 0 {
				a.take(len(body), "%s  .", indent)
			}
		default:
			var xs []uint64
			for at := 0; at < len(body); {
				x, n := binary.Uvarint(body[at:])
				xs = append(xs, x)
				at += n
			}
			a.take(len(body), "%s  %v", indent, xs)
		}
	}
}

// TestGoldenFile holds every byte of a small file. A difference is a change of the format: it needs
// a new version, or a file of the old kind beside this one that is still read.
func TestGoldenFile(t *testing.T) {
	specs := []ColumnSpec{
		{Name: TimeColumn, Type: vector.Long},
		{Name: "page", Type: vector.String},
		{Name: "tags", Type: vector.ListOf(vector.String), Multi: true},
		{Name: "price", Type: vector.Double},
		{Name: "nothing", Type: vector.Float},
		{Name: "extra", Type: vector.JSON},
		{Name: "count", Type: vector.Long, Metric: "longSum"},
	}
	hour := int64(3600000)
	rows := rowsOf{
		{1700000000000 + hour, "Main", []any{"a", "b"}, 1.5, nil, `{"x":1}`, int64(1)},
		{int64(1700000000000), nil, []any{}, -2.25, nil, nil, int64(1)},
		{1700000000000 + 300*hour, "Talk", nil, nil, nil, `{"x":[1,null]}`, int64(1)},
		{1700000000000 + 2*hour, "Main", []any{"b", nil}, 0.0, nil, `{}`, int64(1)},
	}
	file := writeRows(t, specs, rows, Options{SortOrder: []string{TimeColumn}, QueryGranularity: "HOUR", Metadata: []byte(`{"by":"golden"}`)}, 4096)
	raw, text := filepath.Join("testdata", "tiny.segment"), filepath.Join("testdata", "tiny.txt")
	got := annotate(t, file)
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(raw, file, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(text, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the format has changed (-rewrite, if it should have): %s", diff)
	}
	s, err := Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	read, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rowsOf{rows[1], rows[0], rows[3], rows[2]}, read); diff != "" {
		t.Errorf("the golden file reads as something else: %s", diff)
	}
	if err := s.Verify(); err != nil {
		t.Error(err)
	}
}
