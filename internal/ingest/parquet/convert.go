package parquet

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strconv"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/ingest/record"
)

// leafValue converts value i of a column to that of an Object.
type leafValue func(v *Values, i int) any

// Scale converts a column of integers that only need to be multiplied and divided, such as dates
// and times.
type Scale struct{ multiply, divide int64 }

// ScaleOf returns the conversion of the integers of a column. Times become milliseconds, as in
// Druid. ok is false for other columns. See quirk Q013.
func ScaleOf(c *Column) (scale Scale, ok bool) {
	one := Scale{1, 1}
	if c.Type != Int32 && c.Type != Int64 {
		return one, false
	}
	switch c.Logical {
	case Date:
		return Scale{86_400_000, 1}, true
	case Time, Timestamp:
		switch c.Unit {
		case Micros:
			return Scale{1, 1000}, true
		case Nanos:
			return Scale{1, 1_000_000}, true
		}
	case Decimal:
		return one, false
	case Integer:
		return one, c.Signed || c.Bits < 32
	}
	return one, true
}

// One reports whether numbers are unchanged.
func (s Scale) One() bool { return s == Scale{1, 1} }

// Apply converts a number of the column.
func (s Scale) Apply(n int64) int64 {
	if s.divide != 1 {
		return record.FloorDiv(n, s.divide)
	}
	return n * s.multiply
}

// IsText reports whether the byte arrays of a column are strings.
func IsText(c *Column, binaryAsString bool) bool {
	if c.Type != ByteArray {
		return false
	}
	switch c.Logical {
	case String, Enum, JSON:
		return true
	case NoLogical:
		return binaryAsString
	}
	return false
}

// leafValueOf returns the conversion of a column.
func leafValueOf(c *Column, binaryAsString bool) leafValue {
	if c.Logical == Decimal && c.Scale >= 0 && c.Scale <= record.MaxDecimalScale {
		return decimalValue(c)
	}
	switch c.Type {
	case Boolean:
		return func(v *Values, i int) any { return v.Bools[i] != 0 }
	case Int32, Int64:
		return wholeValue(c)
	case Int96:
		return func(v *Values, i int) any { return int96Millis(v.At(i)) }
	case Float:
		return func(v *Values, i int) any { return v.Floats[i] }
	case Double:
		return func(v *Values, i int) any { return v.Doubles[i] }
	}
	switch {
	case IsText(c, binaryAsString):
		return func(v *Values, i int) any { return string(v.At(i)) }
	case c.Logical == UUID && c.Length == 16:
		return func(v *Values, i int) any { return record.UUIDText(v.At(i)) }
	case c.Logical == Float16 && c.Length == 2:
		return func(v *Values, i int) any { return arrow.HalfFloat(binary.LittleEndian.Uint16(v.At(i))) }
	}
	return func(v *Values, i int) any { return bytes.Clone(v.At(i)) }
}

func wholeValue(c *Column) leafValue {
	scale, signed := ScaleOf(c)
	switch {
	case c.Type == Int32 && !signed:
		return func(v *Values, i int) any { return int64(uint32(v.Int32[i])) }
	case c.Type == Int32:
		return func(v *Values, i int) any { return scale.Apply(int64(v.Int32[i])) }
	case !signed:
		return func(v *Values, i int) any {
			if n := v.Int64[i]; n >= 0 {
				return n
			}
			return record.Digits(strconv.FormatUint(uint64(v.Int64[i]), 10))
		}
	}
	return func(v *Values, i int) any { return scale.Apply(v.Int64[i]) }
}

// int96Millis reads the timestamps of old writers: nanoseconds of the day, then the Julian day.
func int96Millis(b []byte) int64 {
	const julianEpoch = 2_440_588
	nanos := int64(binary.LittleEndian.Uint64(b))
	return (int64(binary.LittleEndian.Uint32(b[8:]))-julianEpoch)*86_400_000 + record.FloorDiv(nanos, 1_000_000)
}

// decimalValue reads decimals, which are whole numbers of some kind with a scale.
func decimalValue(c *Column) leafValue {
	scale := int(c.Scale)
	switch c.Type {
	case Int32:
		return func(v *Values, i int) any { return record.Decimal(big.NewInt(int64(v.Int32[i])), scale) }
	case Int64:
		return func(v *Values, i int) any { return record.Decimal(big.NewInt(v.Int64[i]), scale) }
	case ByteArray, FixedBytes:
		return func(v *Values, i int) any { return record.Decimal(signedBig(v.At(i)), scale) }
	}
	plain := *c
	plain.Logical = NoLogical
	return leafValueOf(&plain, false)
}

// signedBig reads a big-endian number in two's complement.
func signedBig(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}
