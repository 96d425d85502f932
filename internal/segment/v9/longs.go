package v9

import (
	"encoding/binary"
)

// The encodings of longs.
const (
	encodingDelta = 0x00
	encodingTable = 0x01
	encodingLongs = 0xFF
)

// longWidths are the bits that packed values can have.
var longWidths = []int{1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64}

// longs reads a column of longs: compressed blocks or one piece, of plain values, of differences to
// the least one, or of places in a table.
func (c *cursor) longs(order binary.ByteOrder, parts *smoosh) []int64 {
	version := c.version("a list of longs", 1, 2)
	b := &blocks{total: c.count(), per: c.count(), method: lzf}
	encoding := byte(encodingLongs)
	if version == 2 {
		// A method below -2 says that the encoding follows, and is the method less 126.
		if b.method = c.byte(); int8(b.method) < -2 {
			encoding = c.byte()
			b.method = byte(int8(b.method) + 126)
		}
	}
	decode := longDecoder{order: order, bits: 64}
	switch encoding {
	case encodingLongs:
	case encodingDelta:
		c.version("a list of differences", 1)
		decode.packed, decode.base = true, c.long()
		decode.bits = c.int()
	case encodingTable:
		c.version("a table of longs", 1)
		n := c.count()
		if n > maxTable {
			c.fail("it has a table of [%d] values", n)
			return nil
		}
		for range n {
			decode.table = append(decode.table, c.long())
		}
		decode.packed, decode.bits = true, bitsFor(n)
	default:
		c.err = unknown(c.part, "its longs have encoding [%d]", encoding)
	}
	known := false
	for _, w := range longWidths {
		known = known || w == decode.bits
	}
	if !known {
		c.fail("its longs have [%d] bits", decode.bits)
	}
	if c.err != nil {
		return nil
	}
	if b.method == noneWhole {
		if decode.need(b.total) > len(c.b) {
			c.fail("[%d] longs have no room", b.total)
			return nil
		}
		out := make([]int64, 0, b.total)
		out, c.err = decode.append(out, c.b, b.total, c.part)
		return out
	}
	b.indexed = c.indexed(parts)
	if c.err != nil {
		return nil
	}
	var out []int64
	c.err = b.each(decode.need, func(block []byte, n int) (err error) {
		out, err = decode.append(out, block, n, c.part)
		return err
	})
	return out
}

// bitsFor is the width that writers choose for values up to n.
func bitsFor(n int) int {
	for _, w := range longWidths {
		if w >= 31 || n <= 1<<w {
			return w
		}
	}
	return 64
}

// longDecoder reads the longs of a block.
type longDecoder struct {
	order  binary.ByteOrder
	packed bool // in bits, big-endian
	bits   int
	base   int64
	table  []int64 // nil: values are differences to base
}

func (d *longDecoder) need(n int) int { return (n*d.bits + 7) / 8 }

func (d *longDecoder) append(out []int64, block []byte, n int, part string) ([]int64, error) {
	if !d.packed {
		for i := range n {
			out = append(out, int64(d.order.Uint64(block[8*i:])))
		}
		return out, nil
	}
	for i := range n {
		v := unpack(block, i, d.bits)
		if d.table == nil {
			out = append(out, d.base+int64(v))
			continue
		}
		if v >= uint64(len(d.table)) {
			return nil, corrupt(part, "value [%d] is not in its table of [%d]", i, len(d.table))
		}
		out = append(out, d.table[v])
	}
	return out, nil
}

// unpack returns value i of values with so many bits each, the highest bit first.
func unpack(b []byte, i, bits int) uint64 {
	at := i * bits
	v := uint64(0)
	for left := bits; left > 0; {
		skip := at & 7
		take := min(8-skip, left)
		v = v<<take | uint64(b[at>>3])>>(8-skip-take)&(1<<take-1)
		at, left = at+take, left-take
	}
	return v
}
