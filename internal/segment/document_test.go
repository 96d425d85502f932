package segment_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// document reads a file by what docs/format/segment.md says and by nothing else: it shares no code
// with the package. What does not hold of the file is a panic with a text.
type document struct {
	b        []byte
	chunk    int
	sums     []byte
	used     []bool // which bytes belong to something
	rows     int
	columns  []*docColumn
	paths    []*docColumn
	sorted   []string
	metadata string
	gran     string
	times    []int64
	chunks   int // that the parts have
}

// docColumn is a column record.
type docColumn struct {
	name, typ, metric    string
	path                 string
	mixed                bool
	nulls, enc, width    int
	distinct, estimate   int // -1: not known
	offset, length, rows int
	parts                map[int][]byte
	least, greatest      []byte
	cut                  int
	element              *docColumn
	multi                bool
	bounded              bool
}

func must(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf(format, args...))
	}
}

func docChecksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

var little = binary.LittleEndian

// take notes that n bytes at off belong to something, once.
func (d *document) take(off, n int) []byte {
	must(off >= 0 && n >= 0 && off+n <= len(d.b), "bytes %d to %d are not in the file", off, off+n)
	for i := off; i < off+n; i++ {
		must(!d.used[i], "byte %d belongs to two things", i)
		d.used[i] = true
	}
	return d.b[off : off+n]
}

// eachField calls f with the fields of a record. Numbers are the varints of a payload, if it is
// nothing but those.
func eachField(b []byte, f func(tag int, payload []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		must(n > 0, "a tag is no varint")
		b = b[n:]
		length, n := binary.Uvarint(b)
		must(n > 0 && int(length) <= len(b)-n, "the length of tag %d is wrong", tag)
		f(int(tag), b[n:n+int(length)])
		b = b[n+int(length):]
	}
}

func varints(b []byte, count int) []int {
	out := make([]int, count)
	for i := range out {
		x, n := binary.Uvarint(b)
		must(n > 0, "there are fewer than %d varints", count)
		out[i], b = int(x), b[n:]
	}
	must(len(b) == 0, "there are more than %d varints", count)
	return out
}

func readDocument(b []byte) *document {
	d := &document{b: b, used: make([]bool, len(b))}
	head, tail := d.take(0, 16), d.take(len(b)-32, 32)
	must(string(head[:8]) == "HENGESEG" && string(tail[24:]) == "HENGESEG", "magic")
	must(little.Uint32(head[8:]) == 2 && little.Uint32(tail[16:]) == 2 && little.Uint32(head[12:]) == 0, "version")
	must(docChecksum(tail[:20]) == little.Uint32(tail[20:]), "checksum of the tail")
	foot := d.take(int(little.Uint64(tail)), int(little.Uint32(tail[8:])))
	must(docChecksum(foot) == little.Uint32(tail[12:]), "checksum of the footer")
	d.rows = -1
	var records, paths [][]byte
	eachField(foot, func(tag int, p []byte) {
		switch tag {
		case 2:
			d.rows = varints(p, 1)[0]
		case 3:
			for range 2 {
				x, n := binary.Varint(p)
				d.times, p = append(d.times, x), p[n:]
			}
		case 4:
			d.chunk = 1 << varints(p, 1)[0]
		case 5:
			d.sorted = append(d.sorted, string(p))
		case 6:
			records = append(records, p)
		case 8:
			d.sums = p
		case 9:
			d.gran = string(p)
		case 11:
			d.metadata = string(p)
		case 13:
			paths = append(paths, p)
		default:
			must(tag%2 == 1, "footer tag %d is not in the document", tag)
		}
	})
	must(d.rows >= 0 && d.chunk == 1<<16, "required tags of the footer")
	end := 16
	for i, r := range append(records, paths...) {
		c := d.column(r, nil)
		must(c.offset >= end && c.offset%8 == 0 && (c.length == 0 || c.offset%64 == 0), "column %s begins at %d, the one before ends at %d", c.name, c.offset, end)
		end = c.offset + c.length
		must((i >= len(records)) == (c.path != ""), "path %q of column %s", c.path, c.name)
		if c.path == "" {
			d.columns = append(d.columns, c)
		} else {
			d.paths = append(d.paths, c)
		}
	}
	must(len(d.sums) == 4*d.chunks, "%d bytes of checksums for %d chunks", len(d.sums), d.chunks)
	for i, used := range d.used {
		must(used || b[i] == 0, "byte %d is in a gap and not 0", i)
	}
	return d
}

func (d *document) column(record []byte, list *docColumn) *docColumn {
	c := &docColumn{rows: d.rows, distinct: -1, estimate: -1, parts: map[int][]byte{}}
	var element []byte
	var parts [][]int
	eachField(record, func(tag int, p []byte) {
		switch tag {
		case 2:
			c.name = string(p)
		case 3:
			c.metric = string(p)
		case 4:
			c.typ = string(p)
		case 5:
			c.nulls = varints(p, 1)[0]
		case 6:
			c.enc = varints(p, 1)[0]
		case 7:
			c.distinct = varints(p, 1)[0]
		case 8:
			x := varints(p, 2)
			c.offset, c.length = x[0], x[1]
		case 9:
			c.estimate = varints(p, 1)[0]
		case 10:
			parts = append(parts, varints(p, 4))
		case 11:
			c.least, c.bounded = p, true
		case 12:
			element = p
		case 13:
			c.greatest = p
		case 14:
			c.width = varints(p, 1)[0]
		case 15:
			c.cut = varints(p, 1)[0]
		case 16:
			c.rows = varints(p, 1)[0]
		case 17:
			c.path = string(p)
		case 18:
			c.multi = true
		case 20:
			c.mixed = true
		default:
			must(tag%2 == 1, "column tag %d is not in the document", tag)
		}
	})
	top := c
	if list != nil {
		top = list
	}
	for _, p := range parts {
		kind, at, n, sum := p[0], p[1], p[2], p[3]
		must(at%8 == 0 && n > 0 && at+n <= top.length, "part %d of %s lies at %d, %d bytes long", kind, top.name, at, n)
		b := d.take(top.offset+at, n)
		for i := 0; i*d.chunk < n; i++ {
			must(docChecksum(b[i*d.chunk:min((i+1)*d.chunk, n)]) == little.Uint32(d.sums[4*(sum+i):]), "chunk %d of part %d of %s", i, kind, top.name)
			d.chunks++
		}
		c.parts[kind] = b
	}
	_, has := c.parts[2]
	must(has == (c.nulls > 0 && c.enc != 1), "validity of %s, which has %d nulls", top.name, c.nulls)
	if element != nil {
		c.element = d.column(element, top)
	}
	return c
}

func (c *docColumn) isNull(row int) bool {
	v := c.parts[2]
	return c.enc == 1 || v != nil && little.Uint64(v[row>>6<<3:])>>(row&63)&1 == 0
}

// values returns what the column holds: nil, int64, float64, float32, string or a list.
func (c *docColumn) values() []any {
	out := make([]any, c.rows)
	var value func(row int) any
	switch c.enc {
	case 1:
	case 2:
		texts, codes := c.dictionary(), c.parts[8]
		must(c.width > 0 || codes == nil && len(texts) == 1, "codes of %s", c.name)
		must(c.width == 0 || len(codes) == c.width*c.rows, "%d bytes of codes of %s", len(codes), c.name)
		value = func(row int) any {
			var wide [8]byte
			copy(wide[:], codes[row*c.width:(row+1)*c.width])
			return texts[little.Uint64(wide[:])]
		}
		c.checkIndex(texts)
	case 3:
		value = c.frame
		must(bytes.HasSuffix(c.parts[12], make([]byte, 8)), "data of %s does not end with eight zeros", c.name)
	case 4:
		value = func(row int) any {
			if c.typ == "FLOAT" {
				return math.Float32frombits(little.Uint32(c.parts[12][4*row:]))
			}
			return math.Float64frombits(little.Uint64(c.parts[12][8*row:]))
		}
	case 5:
		elements, at := c.element.values(), c.parts[14]
		must(len(at) == 4*(c.rows+1) && little.Uint32(at) == 0, "list offsets of %s", c.name)
		value = func(row int) any {
			return append([]any{}, elements[little.Uint32(at[4*row:]):little.Uint32(at[4*row+4:])]...)
		}
	case 6:
		texts := c.blobs()
		value = func(row int) any { return texts[row] }
	default:
		panic(fmt.Sprintf("encoding %d", c.enc))
	}
	for row := range out {
		if !c.isNull(row) {
			out[row] = value(row)
		}
	}
	c.checkBlocks(out)
	return out
}

func (c *docColumn) dictionary() (out []string) {
	if blocks := c.parts[30]; blocks != nil {
		for ; len(blocks) > 0; blocks = blocks[32:] {
			u := func(at int) int { return int(little.Uint32(blocks[at:])) }
			must(u(0) == len(out), "first code of a block of %s", c.name)
			n := c.distinct - len(out)
			if len(blocks) > 32 {
				n = int(little.Uint32(blocks[32:])) - len(out)
			}
			must(n >= 1 && n <= 1024 && (n == 1 || u(4) <= 64<<10), "a block of %d values", n)
			data := c.parts[32][little.Uint64(blocks[24:]):]
			first, rest := string(data[:u(8)]), data[u(8):u(8)+u(16)]
			if u(20) == 1 {
				rest = unzstd(rest)
			}
			must(len(rest) == u(12), "%d bytes of the rest of a block", len(rest))
			lengths := make([]int, 2*(n-1))
			for i := range lengths {
				x, k := binary.Uvarint(rest)
				lengths[i], rest = int(x), rest[k:]
			}
			out, data = append(out, first), nil
			size := len(first)
			for i := range n - 1 {
				before := out[len(out)-1]
				shared, other := lengths[i], lengths[n-1+i]
				text := before[:shared] + string(rest[:other])
				must(shared == len(text) || shared == len(before) || text[shared] != before[shared], "more bytes than %d are shared", shared)
				out, rest, size = append(out, text), rest[other:], size+len(text)
			}
			must(len(rest) == 0 && size == u(4), "bytes of a block")
		}
	} else {
		at := c.parts[4]
		for i := 0; i+8 <= len(at); i += 4 {
			out = append(out, string(c.parts[6][little.Uint32(at[i:]):little.Uint32(at[i+4:])]))
		}
	}
	for i := range out[1:] {
		must(out[i] < out[i+1], "the dictionary of %s does not ascend", c.name)
	}
	must(c.distinct == len(out), "%d values of %s, the record says %d", len(out), c.name, c.distinct)
	return out
}

func unzstd(b []byte) []byte {
	r, err := zstd.NewReader(nil)
	must(err == nil, "%v", err)
	defer r.Close()
	out, err := r.DecodeAll(b, nil)
	must(err == nil, "%v", err)
	return out
}

// checkIndex compares bitmaps with codes; those of elements of lists are compared by who has the
// list.
func (c *docColumn) checkIndex(texts []string) {
	at := c.parts[21]
	if at == nil || c.name == "" {
		return
	}
	must(len(at) == 8*(len(texts)+1), "index offsets of %s", c.name)
	for i := range texts {
		bitmap := roaring.New()
		_, err := bitmap.FromBuffer(c.parts[23][little.Uint64(at[8*i:]):little.Uint64(at[8*i+8:])])
		must(err == nil, "bitmap %d of %s: %v", i, c.name, err)
		var want []uint32
		for row := range c.rows {
			var wide [8]byte
			copy(wide[:], c.parts[8][row*c.width:(row+1)*c.width])
			if !c.isNull(row) && little.Uint64(wide[:]) == uint64(i) {
				want = append(want, uint32(row))
			}
		}
		must(slices.Equal(want, bitmap.ToArray()), "bitmap %d of %s", i, c.name)
	}
}

func (c *docColumn) frame(row int) any {
	block := c.parts[10][row/4096*32:]
	place := little.Uint64(block[24:])
	data, width, i := c.parts[12][place>>8:], int(place&255), row%4096
	stored := uint64(0)
	switch {
	case width == 8:
		return int64(little.Uint64(data[8*i:]))
	case width < 8:
		for k := range width {
			stored |= uint64(data[i*width+k]) << (8 * k)
		}
	default:
		must(width >= 17 && width <= 44, "width %d", width)
		for bit := range width - 16 {
			at := i*(width-16) + bit
			stored |= uint64(data[at/8]>>(at%8)&1) << bit
		}
	}
	return int64(little.Uint64(block) + stored*little.Uint64(block[16:]))
}

func (c *docColumn) blobs() (out []string) {
	for blocks := c.parts[16]; len(blocks) > 0; blocks = blocks[24:] {
		u := func(at int) int { return int(little.Uint32(blocks[at:])) }
		must(u(0) == len(out) && little.Uint64(blocks[16:])%8 == 0, "blob block of %s", c.name)
		m := c.rows - len(out)
		if len(blocks) > 24 {
			m = int(little.Uint32(blocks[24:])) - len(out)
		}
		data := c.parts[18][little.Uint64(blocks[16:]):][:u(8)]
		if u(12) == 1 {
			data = unzstd(data)
		}
		must(len(data) == u(4), "a blob block of %s decodes to %d bytes", c.name, len(data))
		text := data[4*(m+1):]
		for i := range m {
			out = append(out, string(text[little.Uint32(data[4*i:]):little.Uint32(data[4*i+4:])]))
		}
	}
	return out
}

// checkBlocks compares the directories and sums of numbers with the values.
func (c *docColumn) checkBlocks(values []any) {
	size := map[int]int{3: 32, 4: 24}[c.enc]
	if size == 0 {
		return
	}
	blocks := (len(values) + 4095) / 4096
	must(len(c.parts[10]) == blocks*size && (c.parts[31] == nil || len(c.parts[31]) == 8*blocks), "blocks of %s", c.name)
	for b := range blocks {
		entry, sums := c.parts[10][b*size:], c.parts[31]
		least, greatest := int64(little.Uint64(entry)), int64(little.Uint64(entry[8:]))
		low, high := math.Float64frombits(uint64(least)), math.Float64frombits(uint64(greatest))
		longs, doubles, any, nan := int64(0), 0.0, false, false
		for _, x := range values[b*4096 : min((b+1)*4096, len(values))] {
			if f, ok := x.(float32); ok {
				x = float64(f)
			}
			switch x := x.(type) {
			case int64:
				must(least <= x && x <= greatest, "block %d of %s", b, c.name)
				longs, any = longs+x, true
			case float64:
				nan = nan || x != x
				any = any || x == x
				must(x != x || low <= x && x <= high, "block %d of %s: %v is not between %v and %v", b, c.name, x, low, high)
				doubles += x
			}
		}
		if c.enc == 3 {
			must(any || greatest < least, "bounds of an empty block of %s", c.name)
			must(sums == nil || longs == int64(little.Uint64(sums[8*b:])), "sum of block %d of %s", b, c.name)
			continue
		}
		flags := little.Uint64(entry[16:])
		must(flags&1 != 0 == nan && flags&2 != 0 == !any, "flags %d of block %d of %s", flags, b, c.name)
		if sums != nil {
			x := math.Float64frombits(little.Uint64(sums[8*b:]))
			must(x == doubles || x != x && doubles != doubles || math.Abs(x-doubles) <= 1e-9*math.Abs(x), "sum %v of block %d of %s, want %v", x, b, c.name, doubles)
		}
	}
}

// checkRecord compares the statistics of a column record with the values.
func (c *docColumn) checkRecord(values []any) {
	nulls, distinct := 0, map[string]bool{}
	for _, x := range values {
		if x == nil {
			nulls++
			continue
		}
		distinct[fmt.Sprintf("%T %v", x, x)] = true
		if f, ok := x.(float32); ok {
			x = float64(f)
		}
		if !c.bounded || x != x {
			continue
		}
		switch x := x.(type) {
		case int64:
			least, _ := binary.Varint(c.least)
			greatest, _ := binary.Varint(c.greatest)
			must(least <= x && x <= greatest, "bounds of %s", c.name)
		case float64:
			must(math.Float64frombits(little.Uint64(c.least)) <= x && x <= math.Float64frombits(little.Uint64(c.greatest)), "bounds of %s", c.name)
		case string:
			least, greatest := string(c.least), string(c.greatest)
			must(len(least) <= 64 && len(greatest) <= 64 && least <= x && x <= greatest, "bounds of %s", c.name)
			must(c.cut&1 == 0 || least < x, "the least value of %s is a value", c.name)
			must(c.cut&2 == 0 || x < greatest, "the greatest value of %s is a value", c.name)
		}
	}
	must(nulls == c.nulls, "%d nulls of %s, the record says %d", nulls, c.name, c.nulls)
	if c.distinct >= 0 && !strings.HasPrefix(c.typ, "ARRAY") {
		must(c.distinct == len(distinct), "%d different values of %s, the record says %d", len(distinct), c.name, c.distinct)
	}
}

func sameValue(a, b any) bool {
	x, isList := a.([]any)
	y, isList2 := b.([]any)
	if isList && isList2 {
		return slices.EqualFunc(x, y, sameValue)
	}
	text := func(x any) string {
		if f, ok := x.(float64); ok {
			return strconv.FormatUint(math.Float64bits(f), 16)
		}
		return fmt.Sprintf("%T %v", x, x)
	}
	nan := func(x any) bool { f, ok := x.(float64); return ok && f != f }
	return nan(a) && nan(b) || !isList && !isList2 && text(a) == text(b)
}

// docAtPath is what the text of an object has as the member that a path of one name leads to.
func docAtPath(text any, path string) any {
	object := map[string]any{}
	if text, ok := text.(string); ok {
		reader := json.NewDecoder(strings.NewReader(text))
		reader.UseNumber()
		err := reader.Decode(&object)
		must(err == nil, "%s: %v", text, err)
	}
	switch x := object[strings.TrimPrefix(path, "$.")].(type) {
	case json.Number:
		n, err := x.Int64()
		must(err == nil, "%s is no whole number", x)
		return n
	default:
		return x
	}
}

// Files are what the document says: somebody who has only it reads every value of every kind of
// column, and its statistics.
func TestFilesAreWhatTheDocumentSays(t *testing.T) {
	for _, n := range []int{0, 1, 70, 9000} {
		for _, nulls := range []float64{0, 0.2, 1} {
			t.Run(fmt.Sprintf("%d rows, %v of them null", n, nulls), func(t *testing.T) {
				rows := segment.TestRows(rand.New(rand.NewPCG(31, uint64(n))), n, nulls)
				file := segment.WriteTestRows(t, segment.TestColumns, rows,
					segment.Options{SortOrder: []string{segment.TimeColumn}, QueryGranularity: "HOUR", Metadata: []byte(`{"a":1}`)}, 4096)
				defer func() {
					if text := recover(); text != nil {
						if text, ok := text.(string); ok {
							t.Fatal(errors.New(text))
						}
						panic(text)
					}
				}()
				d, want := readDocument(file), segment.TestRowsAsKept(rows)
				must(d.rows == n && len(d.columns) == len(segment.TestColumns), "%d rows of %d columns", d.rows, len(d.columns))
				must(slices.Equal(d.sorted, []string{"__time"}) && d.gran == "HOUR" && d.metadata == `{"a":1}`, "what the footer keeps")
				if n > 0 {
					must(d.times[0] == want[0][0] && d.times[1] == want[n-1][0], "times %v", d.times)
				}
				kinds := map[int]bool{}
				for i, c := range d.columns {
					values := c.values()
					c.checkRecord(values)
					for row := range want {
						must(sameValue(want[row][i], values[row]), "column %s row %d: %#v, want %#v", c.name, row, values[row], want[row][i])
					}
					must(c.name == segment.TestColumns[i].Name && c.metric == segment.TestColumns[i].Metric, "column %d is called %s", i, c.name)
					for ; c != nil; c = c.element {
						kinds[c.enc] = true
						for kind := range c.parts {
							kinds[100+kind] = true
						}
					}
				}
				must(len(d.paths) == 3 || n == 0 || nulls == 1 || n == 1, "%d columns of paths", len(d.paths))
				for _, c := range d.paths {
					at := slices.IndexFunc(segment.TestColumns, func(s segment.ColumnSpec) bool { return s.Name == c.name })
					must(at >= 0 && segment.TestColumns[at].Type == vector.JSON, "a path of %s", c.name)
					values := c.values()
					c.checkRecord(values)
					for row := range want {
						x := docAtPath(want[row][at], c.path)
						must(sameValue(x, values[row]), "path %s of %s row %d: %#v, want %#v", c.path, c.name, row, values[row], x)
					}
				}
				if n == 9000 && nulls == 0.2 {
					for _, k := range []int{1, 2, 3, 4, 5, 6, 102, 104, 106, 108, 110, 112, 114, 116, 118, 121, 123, 130, 131, 132} {
						must(kinds[k], "no column has encoding or part [%d]", k)
					}
				}
			})
		}
	}
}
