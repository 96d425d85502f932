package v9

import (
	"encoding/binary"
)

// fixed reads a dictionary of values of one width. Null, where it is one of the values, is the
// first and has no bytes.
func fixed[T any](c *cursor, order binary.ByteOrder, width int, value func([]byte) T) (values []T, hasNull bool) {
	c.version("a dictionary of numbers", 0)
	hasNull = c.byte()&1 != 0
	n := 0
	if b := c.take(4); b != nil {
		n = int(int32(order.Uint32(b)))
	}
	if c.err == nil && (n < 0 || n > len(c.b)/width) {
		c.fail("[%d] values have no room", n)
	}
	if c.err != nil {
		return nil, false
	}
	if hasNull {
		var zero T
		values = append(values, zero)
	}
	for range n {
		values = append(values, value(c.take(width)))
	}
	return values, hasNull
}
