package v9

import (
	"encoding/binary"
	"slices"
)

// cursor reads the bytes of a part from the front. After the first error it gives zeros, and err
// has the error.
type cursor struct {
	part string
	b    []byte
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = corrupt(c.part, format, args...)
	}
}

// take returns the next n bytes.
func (c *cursor) take(n int) []byte {
	if c.err != nil || n < 0 || n > len(c.b) {
		c.fail("it ends before its last value")
		c.b = nil
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) int() int {
	if b := c.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (c *cursor) long() int64 {
	if b := c.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// count reads a number that can't be negative.
func (c *cursor) count() int {
	n := c.int()
	if n < 0 {
		c.fail("it has a negative count")
		return 0
	}
	return n
}

// text reads a length and that many bytes.
func (c *cursor) text() string { return string(c.take(c.count())) }

// varint reads 7 bits a byte, the lowest first; the highest bit marks the last byte.
func (c *cursor) varint() int {
	v := 0
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		v |= int(b&0x7f) << shift
		if b >= 0x80 {
			if v > 1<<31-1 {
				break
			}
			return v
		}
	}
	c.fail("a number of variable length is too long")
	return 0
}

// version reads a byte and refuses other versions than those given.
func (c *cursor) version(what string, known ...byte) byte {
	v := c.byte()
	if slices.Contains(known, v) {
		return v
	}
	if c.err == nil {
		c.err = unknown(c.part, "%s has version [%d]", what, v)
	}
	return 0
}
