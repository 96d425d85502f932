package v9

import (
	"encoding/binary"
)

// encodedDictionary is the first byte of a dictionary that says how it is encoded; another one is
// already the version of a plain list.
const encodedDictionary = 0x7f

// dictionary reads a dictionary of texts: a list, or front-coded. Null, where it is one of the
// values, is the first of them.
func (c *cursor) dictionary(order binary.ByteOrder, parts *smoosh) (texts []string, hasNull bool) {
	if c.err == nil && len(c.b) > 0 && c.b[0] == encodedDictionary {
		c.byte()
		switch kind := c.byte(); kind {
		case 0:
		case 1:
			return c.frontCoded(order)
		default:
			c.err = unknown(c.part, "its dictionary has encoding [%d]", kind)
			return nil, false
		}
	}
	list := c.indexed(parts)
	if c.err != nil {
		return nil, false
	}
	texts, null, err := list.texts()
	if err != nil {
		c.err = err
		return nil, false
	}
	for i := range null {
		if null[i] && i > 0 {
			c.fail("its dictionary has null at place [%d]", i)
		}
	}
	return texts, len(null) > 0 && null[0]
}

// frontCoded reads buckets of texts, of which the first is whole and the others are the length of
// the prefix that they share, with the first (version 0) or the one before (version 1), and what
// follows it.
func (c *cursor) frontCoded(order binary.ByteOrder) (texts []string, hasNull bool) {
	version := c.version("a front-coded dictionary", 0, 1)
	body, n, bucket, hasNull := c.buckets()
	if hasNull {
		texts = append(texts, "")
	}
	first, last := "", ""
	for i := range n {
		if i%bucket == 0 {
			first = string(body.take(body.varint()))
			last = first
		} else {
			from := last
			if version == 0 {
				from = first
			}
			prefix := body.varint()
			if prefix > len(from) {
				body.fail("a text shares [%d] bytes with one of [%d]", prefix, len(from))
			}
			rest := body.take(body.varint())
			if body.err != nil {
				break
			}
			last = from[:prefix] + string(rest)
		}
		if body.err != nil {
			break
		}
		texts = append(texts, last)
	}
	if c.err == nil {
		c.err = body.err
	}
	return texts, hasNull
}

// buckets reads what front-coded dictionaries of texts and of lists have in front, and skips the
// places of the buckets, which are read in turn.
func (c *cursor) buckets() (body *cursor, n, bucket int, hasNull bool) {
	bucket = int(c.byte())
	hasNull = c.byte() == 1
	n = c.varint()
	body = &cursor{part: c.part, b: c.take(c.varint()), err: c.err}
	if bucket == 0 || bucket&(bucket-1) != 0 {
		body.fail("its buckets have [%d] values", bucket)
		return body, 0, 1, hasNull
	}
	if n > len(body.b) { // each has a length of at least a byte
		body.fail("[%d] values have no room", n)
		return body, 0, 1, hasNull
	}
	if n > 0 {
		body.take(4 * ((n+bucket-1)/bucket - 1))
	}
	return body, n, bucket, hasNull
}

// frontCodedLists reads a dictionary of lists of numbers, front-coded as in version 1 of texts.
// Null is nil.
func (c *cursor) frontCodedLists(order binary.ByteOrder) [][]uint32 {
	c.version("a dictionary of arrays", 0)
	body, n, bucket, hasNull := c.buckets()
	var out [][]uint32
	if hasNull {
		out = append(out, nil)
	}
	var last []uint32
	for i := range n {
		prefix := 0
		if i%bucket > 0 {
			prefix = body.varint()
		}
		count := body.varint()
		raw := body.take(4 * count)
		if prefix > len(last) {
			body.fail("an array shares [%d] values with one of [%d]", prefix, len(last))
		}
		if body.err != nil {
			break
		}
		list := make([]uint32, prefix, prefix+count)
		copy(list, last)
		for k := range count {
			list = append(list, order.Uint32(raw[4*k:]))
		}
		out, last = append(out, list), list
	}
	if c.err == nil {
		c.err = body.err
	}
	return out
}
