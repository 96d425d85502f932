package parquet

import (
	"encoding/binary"
	"errors"
	"math"
)

// The types of Thrift's compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftInt8   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

var (
	// errShort means that the bytes end before the structure does.
	errShort  = errors.New("thrift: short")
	errThrift = errors.New("thrift: malformed")
)

// maxThriftDepth bounds the nesting of structures that are skipped.
const maxThriftDepth = 64

// thrift reads the compact protocol from bytes in memory. The first error stays; after it all
// values are zero.
type thrift struct {
	b     []byte
	at    int
	err   error
	depth int
}

func (t *thrift) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *thrift) byte() byte {
	if t.err != nil || t.at >= len(t.b) {
		t.fail(errShort)
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	if t.err != nil {
		return 0
	}
	n, size := binary.Uvarint(t.b[t.at:])
	switch {
	case size > 0:
		t.at += size
		return n
	case size == 0:
		t.fail(errShort)
	default:
		t.fail(errThrift)
	}
	return 0
}

func (t *thrift) varint() int64 {
	n := t.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// structure calls each for the fields of a structure; each must consume the field of that type.
func (t *thrift) structure(each func(id int, typ byte)) {
	if t.depth++; t.depth > maxThriftDepth {
		t.fail(errThrift)
	}
	for id := 0; t.err == nil; {
		head := t.byte()
		typ := head & 15
		if typ == thriftStop {
			break
		}
		if delta := int(head >> 4); delta != 0 {
			id += delta
		} else {
			id = int(int16(t.varint()))
		}
		if t.err == nil {
			each(id, typ)
		}
	}
	t.depth--
}

// list calls each for the elements of a list.
func (t *thrift) list(typ byte, each func(typ byte)) {
	if typ != thriftList && typ != thriftSet {
		t.fail(errThrift)
		return
	}
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	// Every element has a byte at least.
	if n > uint64(len(t.b)-t.at) {
		t.fail(errShort)
	}
	for ; n > 0 && t.err == nil; n-- {
		each(head & 15)
	}
}

// int reads a whole number of any size.
func (t *thrift) int(typ byte) int64 {
	switch typ {
	case thriftInt8:
		return int64(int8(t.byte()))
	case thriftInt16, thriftInt32, thriftInt64:
		return t.varint()
	}
	t.fail(errThrift)
	return 0
}

func (t *thrift) int32(typ byte) int32 {
	n := t.int(typ)
	if n != int64(int32(n)) {
		t.fail(errThrift)
		return 0
	}
	return int32(n)
}

// bool reads a field that is a boolean: its type is the value.
func (t *thrift) bool(typ byte) bool {
	if typ != thriftTrue && typ != thriftFalse {
		t.fail(errThrift)
	}
	return typ == thriftTrue
}

// binary reads bytes, which are those of the input.
func (t *thrift) binary(typ byte) []byte {
	if typ != thriftBinary {
		t.fail(errThrift)
		return nil
	}
	n := t.uvarint()
	if n > math.MaxInt32 {
		t.fail(errThrift)
		return nil
	}
	if t.err != nil || n > uint64(len(t.b)-t.at) {
		t.fail(errShort)
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

func (t *thrift) skipBytes(n int) {
	if t.err != nil || n > len(t.b)-t.at {
		t.fail(errShort)
		return
	}
	t.at += n
}

// skip passes over a field.
func (t *thrift) skip(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftInt8:
		t.skipBytes(1)
	case thriftInt16, thriftInt32, thriftInt64:
		t.uvarint()
	case thriftDouble:
		t.skipBytes(8)
	case thriftUUID:
		t.skipBytes(16)
	case thriftBinary:
		t.binary(typ)
	case thriftList, thriftSet:
		if t.depth++; t.depth > maxThriftDepth {
			t.fail(errThrift)
		}
		t.list(typ, t.skipElement)
		t.depth--
	case thriftMap:
		t.skipMap()
	case thriftStruct:
		t.structure(func(_ int, typ byte) { t.skip(typ) })
	default:
		t.fail(errThrift)
	}
}

// skipElement passes over an element of a list, where booleans have a byte.
func (t *thrift) skipElement(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		t.skipBytes(1)
		return
	}
	t.skip(typ)
}

func (t *thrift) skipMap() {
	if t.depth++; t.depth > maxThriftDepth {
		t.fail(errThrift)
	}
	n := t.uvarint()
	if n > 0 {
		types := t.byte()
		if n > uint64(len(t.b)-t.at) {
			t.fail(errShort)
		}
		for ; n > 0 && t.err == nil; n-- {
			t.skipElement(types >> 4)
			t.skipElement(types & 15)
		}
	}
	t.depth--
}
