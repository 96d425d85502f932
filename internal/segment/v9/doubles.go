package v9

import (
	"encoding/binary"
	"math"
)

// doubles reads a column of doubles, floats one of floats: blocks, or one piece.
func (c *cursor) doubles(order binary.ByteOrder, parts *smoosh) []float64 {
	return numbers(c, parts, 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) })
}

func (c *cursor) floats(order binary.ByteOrder, parts *smoosh) []float32 {
	return numbers(c, parts, 4, func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) })
}

func numbers[T any](c *cursor, parts *smoosh, width int, value func([]byte) T) []T {
	version := c.version("a list of numbers", 1, 2)
	b := &blocks{total: c.count(), per: c.count(), method: lzf}
	if version == 2 {
		b.method = c.byte()
	}
	if c.err != nil {
		return nil
	}
	var out []T
	add := func(block []byte, n int) error {
		for i := range n {
			out = append(out, value(block[i*width:]))
		}
		return nil
	}
	if b.method == noneWhole {
		if b.total > len(c.b)/width {
			c.fail("[%d] numbers have no room", b.total)
			return nil
		}
		c.err = add(c.b, b.total)
		return out
	}
	b.indexed = c.indexed(parts)
	if c.err == nil {
		c.err = b.each(func(n int) int { return n * width }, add)
	}
	return out
}
