package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The encodings of the format.
const (
	plain           = 0
	plainDictionary = 2
	rle             = 3
	bitPacked       = 4
	deltaPacked     = 5
	deltaLength     = 6
	deltaByteArray  = 7
	rleDictionary   = 8
	byteStreamSplit = 9
)

func encodingName(e int32) string {
	names := [...]string{"PLAIN", "1", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
		"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
	if e < 0 || int(e) >= len(names) {
		return fmt.Sprint(e)
	}
	return names[e]
}

// Values are values of one type, from a page or a dictionary.
type Values struct {
	Len     int
	Bools   []byte // 0 or 1
	Int32   []int32
	Int64   []int64
	Floats  []float32
	Doubles []float64
	// Bytes contains byte arrays. Value i is Bytes[Offsets[i]:Offsets[i+1]]. For fixed-length arrays
	// and INT96, Offsets is empty and value i is the i-th group of Width bytes.
	Bytes   []byte
	Offsets []uint32
	Width   int

	indexes []uint32
	lengths []int32 // of byte arrays
	shared  []int32 // bytes that byte arrays share with the one before
}

// At returns byte array i.
func (v *Values) At(i int) []byte {
	if v.Offsets != nil {
		return v.Bytes[v.Offsets[i]:v.Offsets[i+1]:v.Offsets[i+1]]
	}
	return v.Bytes[i*v.Width : (i+1)*v.Width : (i+1)*v.Width]
}

// numberRoom returns room for n numbers, in buf if it suffices. The caller writes all of them.
func numberRoom[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}

// decode reads n values of the type of a leaf from the bytes of a page.
func (v *Values) decode(leaf *Column, encoding int32, data []byte, n int) error {
	v.Len = n
	switch leaf.Type {
	case Boolean:
		return v.bools(encoding, data, n)
	case Int32:
		return integers(&v.Int32, encoding, data, n, Int32)
	case Int64:
		return integers(&v.Int64, encoding, data, n, Int64)
	case Float:
		return numbers(&v.Floats, encoding, data, n, Float)
	case Double:
		return numbers(&v.Doubles, encoding, data, n, Double)
	case ByteArray:
		return v.byteArrays(encoding, data, n)
	}
	v.Width = leaf.Length
	return v.fixed(encoding, data, n)
}

func badEncoding(encoding int32, what Type) error {
	return unsupported("encoding [%s] for [%s]", encodingName(encoding), what)
}

// exact holds the bytes of n values of width bytes to those of the page.
func exact(data []byte, n, width int) error {
	if int64(len(data)) != int64(n)*int64(width) {
		return damaged("a page has [%d] bytes for [%d] values of [%d] bytes", len(data), n, width)
	}
	return nil
}

func (v *Values) bools(encoding int32, data []byte, n int) error {
	v.Bools = room(v.Bools, n)
	switch encoding {
	case plain:
		if len(data) != (n+7)/8 {
			return damaged("a page has [%d] bytes for [%d] booleans", len(data), n)
		}
		spreadBits(v.Bools, data)
		return nil
	case rle:
		if n == 0 {
			return nil
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return errRunsEnd
		}
		return readBytes(v.Bools, data[4:4+binary.LittleEndian.Uint32(data)], 1)
	}
	return badEncoding(encoding, Boolean)
}

// numbers reads numbers as they are in memory, or cut into streams of their bytes.
func numbers[T int32 | int64 | float32 | float64](out *[]T, encoding int32, data []byte, n int, typ Type) error {
	if encoding != plain && encoding != byteStreamSplit {
		return badEncoding(encoding, typ)
	}
	width := 4
	if typ == Int64 || typ == Double {
		width = 8
	}
	if err := exact(data, n, width); err != nil {
		return err
	}
	*out = numberRoom(*out, n)
	if encoding == byteStreamSplit {
		joinStreams(bytesOf(*out), data, n, width)
	} else {
		copy(bytesOf(*out), data)
	}
	return nil
}

func integers[T int32 | int64](out *[]T, encoding int32, data []byte, n int, typ Type) error {
	if encoding != deltaPacked {
		return numbers(out, encoding, data, n, typ)
	}
	*out = numberRoom(*out, n)
	if n == 0 {
		return nil
	}
	_, err := readDelta(*out, data)
	return err
}

// fixed reads byte arrays of one length.
func (v *Values) fixed(encoding int32, data []byte, n int) error {
	v.Offsets = nil
	switch encoding {
	case plain:
		v.Bytes = append(v.Bytes[:0], data...)
		return exact(data, n, v.Width)
	case byteStreamSplit:
		if err := exact(data, n, v.Width); err != nil {
			return err
		}
		v.Bytes = room(v.Bytes, len(data))
		joinStreams(v.Bytes, data, n, v.Width)
		return nil
	case deltaByteArray:
		if err := v.deltaByteArrays(data, n); err != nil {
			return err
		}
		for i := range n {
			if size := v.Offsets[i+1] - v.Offsets[i]; int(size) != v.Width {
				return damaged("a page has a value of [%d] bytes where all have [%d]", size, v.Width)
			}
		}
		return nil
	}
	return badEncoding(encoding, FixedBytes)
}

func (v *Values) byteArrays(encoding int32, data []byte, n int) error {
	switch encoding {
	case plain:
		return v.plainByteArrays(data, n)
	case deltaLength:
		return v.deltaLengths(data, n)
	case deltaByteArray:
		return v.deltaByteArrays(data, n)
	}
	return badEncoding(encoding, ByteArray)
}

var errBytesEnd = damaged("a page ends within its byte arrays")

// plainByteArrays reads byte arrays with their lengths before them.
func (v *Values) plainByteArrays(data []byte, n int) error {
	if int64(len(data)) < 4*int64(n) {
		return errBytesEnd
	}
	v.Offsets = append(numberRoom(v.Offsets, n+1)[:0], 0)
	out := room(v.Bytes, len(data)-4*n)
	at := 0
	for range n {
		if len(data) < 4 {
			return errBytesEnd
		}
		size := int(binary.LittleEndian.Uint32(data))
		if data = data[4:]; size > len(data) || size > len(out)-at {
			return errBytesEnd
		}
		at += copy(out[at:], data[:size])
		data = data[size:]
		v.Offsets = append(v.Offsets, uint32(at))
	}
	v.Bytes = out[:at]
	if len(data) > 0 {
		return damaged("a page has [%d] bytes behind its [%d] values", len(data), n)
	}
	return nil
}

// deltaLengths reads byte arrays whose lengths come first.
func (v *Values) deltaLengths(data []byte, n int) (err error) {
	v.Offsets = append(numberRoom(v.Offsets, n+1)[:0], 0)
	if n == 0 {
		v.Bytes = v.Bytes[:0]
		return nil
	}
	v.lengths = numberRoom(v.lengths, n)
	if data, err = readDelta(v.lengths, data); err != nil {
		return err
	}
	at := int64(0)
	for _, size := range v.lengths {
		if at += int64(size); size < 0 || at > int64(len(data)) {
			return errBytesEnd
		}
		v.Offsets = append(v.Offsets, uint32(at))
	}
	if at != int64(len(data)) {
		return damaged("a page has [%d] bytes behind its [%d] values", int64(len(data))-at, n)
	}
	v.Bytes = append(v.Bytes[:0], data...)
	return nil
}

// maxBytes bounds the byte arrays of a page: each may repeat all of the one before, so that few
// bytes stand for many.
const maxBytes = math.MaxInt32

// deltaByteArrays reads byte arrays that begin as those before them.
func (v *Values) deltaByteArrays(data []byte, n int) (err error) {
	v.Offsets = append(numberRoom(v.Offsets, n+1)[:0], 0)
	v.Bytes = v.Bytes[:0]
	if n == 0 {
		return nil
	}
	v.shared, v.lengths = numberRoom(v.shared, n), numberRoom(v.lengths, n)
	if data, err = readDelta(v.shared, data); err != nil {
		return err
	}
	if data, err = readDelta(v.lengths, data); err != nil {
		return err
	}
	last := 0 // where the value before begins
	for i, size := range v.lengths {
		shared := int(v.shared[i])
		begin := len(v.Bytes)
		if shared < 0 || shared > begin-last || size < 0 || int(size) > len(data) {
			return errBytesEnd
		}
		if int64(begin)+int64(shared)+int64(size) > maxBytes {
			return unsupported("pages of more than [%d] bytes", maxBytes)
		}
		v.Bytes = append(v.Bytes, v.Bytes[last:last+shared]...)
		v.Bytes = append(v.Bytes, data[:size]...)
		data, last = data[size:], begin
		v.Offsets = append(v.Offsets, uint32(len(v.Bytes)))
	}
	if len(data) > 0 {
		return damaged("a page has [%d] bytes behind its [%d] values", len(data), n)
	}
	return nil
}
