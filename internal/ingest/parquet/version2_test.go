package parquet

import (
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/snappy"
)

// v2 is a page of version 2 of optional values; levels are runs of RLE.
func v2(values int64, levels, body []byte) testPage {
	return testPage{typ: dataPageV2, values: values, rows: values, encoding: plain, definitions: int64(len(levels)), unpacked: -1, body: append(levels, body...)}
}

func TestPagesOfVersion2(t *testing.T) {
	c := testColumn{typ: int64(Int64), repetition: 1, values: 4, rows: 4, pages: []testPage{
		{typ: dataPageV2, encoding: plain, unpacked: -1}, // nothing at all
		v2(3, []byte{2, 1, 2, 0, 2, 1}, int64s(5, 6)),
		v2(1, []byte{2, 0}, nil), // a null, without values
	}}
	wantRows(t, c, "5", "-", "6", "-")

	// Levels are never compressed; values are, unless the page says that they are not, or there are
	// none.
	c.codec = codecSnappy
	pack := func(p *testPage) {
		p.unpacked = int64(len(p.body))
		p.body = append(p.body[:p.definitions:p.definitions], snappy.Encode(nil, p.body[p.definitions:])...)
	}
	pack(&c.pages[1])
	wantRows(t, c, "5", "-", "6", "-")
	pack(&c.pages[2])
	wantRows(t, c, "5", "-", "6", "-")
	c.pages[1] = v2(3, []byte{2, 1, 2, 0, 2, 1}, int64s(5, 6))
	c.pages[1].plain = true
	wantRows(t, c, "5", "-", "6", "-")

	c.pages[1].definitions = 100
	wantError(t, c.file(), "column [v] in row group [0]: the levels of a page of [22] bytes have [0] and [100] bytes")
	c.pages[1] = v2(3, []byte{2, 1, 2, 0, 2, 1}, int64s(5))
	c.pages[1].plain = true
	wantError(t, c.file(), "a page has [8] bytes for [2] values of [8] bytes")
	c.pages[1] = v2(3, []byte{2, 1, 2, 0}, int64s(5))
	wantError(t, c.file(), "a page ends before its last value")
}

// The counts of a column chunk, its pages and its row group agree, or the file is refused.
func TestCounts(t *testing.T) {
	page := func(values int64, numbers ...int64) testPage {
		return testPage{typ: dataPage, values: values, encoding: plain, unpacked: -1, body: int64s(numbers...)}
	}
	c := testColumn{typ: int64(Int64), values: 3, rows: 3, pages: []testPage{page(2, 1, 2), page(0), page(1, 3)}}
	wantRows(t, c, "1", "2", "3")
	c.keyWithoutValue = true // optional in the format
	wantRows(t, c, "1", "2", "3")
	c.pages = c.pages[:2]
	wantError(t, c.file(), "column [v] in row group [0]: it ends with [1] values missing")
	c.pages = append(c.pages, page(2, 3, 4))
	wantError(t, c.file(), "its pages have more values than the footer says")
	c.values = 4
	wantError(t, c.file(), "column [v] in row group [0]: there are [4] values for [3] rows")

	// Repeated values: rows begin where the repetition level is 0.
	levels := func(runs ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
	}
	list := func(rows int64, repetition []byte, values ...int64) testColumn {
		n := int64(len(values))
		body := append(append(levels(repetition...), levels(byte(n<<1), 1)...), int64s(values...)...)
		return testColumn{typ: int64(Int64), repetition: 2, values: n, rows: rows,
			pages: []testPage{{typ: dataPage, values: n, encoding: plain, unpacked: -1, body: body}}}
	}
	wantRows(t, list(2, []byte{3, 0b0010}, 1, 2, 3), "1,2", "3")
	wantError(t, list(3, []byte{3, 0b0010}, 1, 2, 3).file(), "it has [2] rows where the row group has [3]")
	wantError(t, list(1, []byte{3, 0b0010}, 1, 2, 3).file(), "it has [2] rows where the row group has [1]")
	wantError(t, list(2, []byte{3, 0b0011}, 1, 2, 3).file(), "its first value continues a row")
	wantError(t, list(2, []byte{4, 0}, 1, 2, 3).file(), "a page ends before its last value")
}

func TestEncryptedAndCutFiles(t *testing.T) {
	c := one(Int64, plain, 1, int64s(1))
	file := c.file()
	encrypted := append([]byte(nil), file...)
	copy(encrypted[len(encrypted)-4:], magicEncrypted)
	wantError(t, encrypted, "not supported: encryption")
	for n := range file {
		wantError(t, file[:n], "")
	}
}
