package v9

import (
	"encoding/binary"
)

// codes reads single dictionary codes: plain (version 0) or in compressed blocks (version 2), of 1
// to 4 bytes each.
func (c *cursor) codes(order binary.ByteOrder, parts *smoosh) []uint32 {
	switch c.version("a list of codes", 0, 2) {
	case 0:
		width := c.width()
		body := c.take(c.count())
		// Behind the values are as many bytes as let each be read as four.
		n := max(0, len(body)-(4-width)) / width
		out := make([]uint32, n)
		for i := range out {
			out[i] = codeAt(body[i*width:], width, binary.BigEndian)
		}
		return out
	case 2:
		width := c.width()
		b := &blocks{total: c.count(), per: c.count(), method: c.byte()}
		b.indexed = c.indexed(parts)
		return c.blockCodes(b, width, order)
	}
	return nil
}

// ints reads numbers of four bytes in compressed blocks.
func (c *cursor) ints(order binary.ByteOrder, parts *smoosh) []uint32 {
	c.version("a list of numbers", 2)
	b := &blocks{total: c.count(), per: c.count(), method: c.byte()}
	b.indexed = c.indexed(parts)
	return c.blockCodes(b, 4, order)
}

func (c *cursor) blockCodes(b *blocks, width int, order binary.ByteOrder) []uint32 {
	if c.err != nil {
		return nil
	}
	var out []uint32
	err := b.each(func(n int) int { return n * width }, func(block []byte, n int) error {
		for i := range n {
			out = append(out, codeAt(block[i*width:], width, order))
		}
		return nil
	})
	if err != nil {
		c.err = err
	}
	return out
}

func (c *cursor) width() int {
	w := int(c.byte())
	if w < 1 || w > 4 {
		c.fail("its codes have [%d] bytes", w)
		return 1
	}
	return w
}

func codeAt(b []byte, width int, order binary.ByteOrder) uint32 {
	switch width {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(order.Uint16(b))
	case 3:
		if order == binary.LittleEndian {
			return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		}
		return uint32(b[2]) | uint32(b[1])<<8 | uint32(b[0])<<16
	}
	return order.Uint32(b)
}

// lists reads several codes a row, as the ends of the rows in the codes: plain (version 1), or
// compressed with the starts of the rows as codes (version 2) or as numbers (version 3).
func (c *cursor) lists(order binary.ByteOrder, parts *smoosh) (ends, codes []uint32) {
	switch c.version("a list of lists of codes", 1, 2, 3) {
	case 1:
		return c.plainLists()
	case 2:
		starts := c.codes(order, parts)
		return c.ends(starts), c.codes(order, parts)
	case 3:
		starts := c.ints(order, parts)
		return c.ends(starts), c.codes(order, parts)
	}
	return nil, nil
}

// ends drops the first of n+1 starts of n rows.
func (c *cursor) ends(starts []uint32) []uint32 {
	if len(starts) == 0 || starts[0] != 0 {
		c.fail("its first row does not begin at its first code")
		return nil
	}
	return starts[1:]
}

func (c *cursor) plainLists() (ends, codes []uint32) {
	width := c.width()
	body := cursor{part: c.part, b: c.take(c.count()), err: c.err}
	n := body.count()
	if n > len(body.b)/4 {
		c.fail("[%d] rows have no room", n)
		return nil, nil
	}
	ends = make([]uint32, n)
	last := 0
	for i := range ends {
		end := body.int()
		if end < last || end%width != 0 || end > len(body.b) {
			c.fail("row [%d] ends outside of its codes", i)
			return nil, nil
		}
		ends[i], last = uint32(end/width), end
	}
	if last > len(body.b) {
		c.fail("its last row ends outside of its codes")
		return nil, nil
	}
	codes = make([]uint32, last/width)
	for i := range codes {
		codes[i] = codeAt(body.b[i*width:], width, binary.BigEndian)
	}
	return ends, codes
}
