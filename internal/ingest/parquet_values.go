package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/ingest/parquet"
)

// leafValue converts value i of a column to that of an Object.
type leafValue func(v *parquet.Values, i int) any

// wholeScale is set for a column of whole numbers that only have to be multiplied and divided:
// dates, times.
type wholeScale struct{ multiply, divide int64 }

// scaleOf returns how the whole numbers of a column become ours: times are milliseconds, as the
// reference gives them. ok is false for other columns.
func scaleOf(c *parquet.Column) (scale wholeScale, ok bool) {
	one := wholeScale{1, 1}
	if c.Type != parquet.Int32 && c.Type != parquet.Int64 {
		return one, false
	}
	switch c.Logical {
	case parquet.Date:
		return wholeScale{86_400_000, 1}, true
	case parquet.Time, parquet.Timestamp:
		switch c.Unit {
		case parquet.Micros:
			return wholeScale{1, 1000}, true
		case parquet.Nanos:
			return wholeScale{1, 1_000_000}, true
		}
	case parquet.Decimal:
		return one, false
	case parquet.Integer:
		return one, c.Signed || c.Bits < 32
	}
	return one, true
}

func (s wholeScale) apply(n int64) int64 {
	if s.divide != 1 {
		return floorDiv(n, s.divide)
	}
	return n * s.multiply
}

func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// isText reports whether byte arrays of the column are text.
func isText(c *parquet.Column, binaryAsString bool) bool {
	if c.Type != parquet.ByteArray {
		return false
	}
	switch c.Logical {
	case parquet.String, parquet.Enum, parquet.JSON:
		return true
	case parquet.NoLogical:
		return binaryAsString
	}
	return false
}

// leafValueOf returns the conversion of a column.
func leafValueOf(c *parquet.Column, binaryAsString bool) leafValue {
	if c.Logical == parquet.Decimal && c.Scale >= 0 && c.Scale <= maxDecimalScale {
		return decimalValue(c)
	}
	switch c.Type {
	case parquet.Boolean:
		return func(v *parquet.Values, i int) any { return v.Bools[i] != 0 }
	case parquet.Int32, parquet.Int64:
		return wholeValue(c)
	case parquet.Int96:
		return func(v *parquet.Values, i int) any { return int96Millis(v.At(i)) }
	case parquet.Float:
		return func(v *parquet.Values, i int) any { return v.Floats[i] }
	case parquet.Double:
		return func(v *parquet.Values, i int) any { return v.Doubles[i] }
	}
	switch {
	case isText(c, binaryAsString):
		return func(v *parquet.Values, i int) any { return string(v.At(i)) }
	case c.Logical == parquet.UUID && c.Length == 16:
		return func(v *parquet.Values, i int) any { return uuidText(v.At(i)) }
	case c.Logical == parquet.Float16 && c.Length == 2:
		return func(v *parquet.Values, i int) any { return float16(v.At(i)) }
	}
	return func(v *parquet.Values, i int) any { return bytes.Clone(v.At(i)) }
}

func wholeValue(c *parquet.Column) leafValue {
	scale, signed := scaleOf(c)
	switch {
	case c.Type == parquet.Int32 && !signed:
		return func(v *parquet.Values, i int) any { return int64(uint32(v.Int32[i])) }
	case c.Type == parquet.Int32:
		return func(v *parquet.Values, i int) any { return scale.apply(int64(v.Int32[i])) }
	case !signed:
		return func(v *parquet.Values, i int) any {
			if n := v.Int64[i]; n >= 0 {
				return n
			}
			return Digits(strconv.FormatUint(uint64(v.Int64[i]), 10))
		}
	}
	return func(v *parquet.Values, i int) any { return scale.apply(v.Int64[i]) }
}

// int96Millis reads the timestamps of old writers: nanoseconds of the day, then the Julian day.
func int96Millis(b []byte) int64 {
	const julianEpoch = 2_440_588
	nanos := int64(binary.LittleEndian.Uint64(b))
	return (int64(binary.LittleEndian.Uint32(b[8:]))-julianEpoch)*86_400_000 + floorDiv(nanos, 1_000_000)
}

// decimalValue reads decimals, which are whole numbers of some kind with a scale.
func decimalValue(c *parquet.Column) leafValue {
	scale := int(c.Scale)
	switch c.Type {
	case parquet.Int32:
		return func(v *parquet.Values, i int) any { return decimal(big.NewInt(int64(v.Int32[i])), scale) }
	case parquet.Int64:
		return func(v *parquet.Values, i int) any { return decimal(big.NewInt(v.Int64[i]), scale) }
	case parquet.ByteArray, parquet.FixedBytes:
		return func(v *parquet.Values, i int) any { return decimal(signedBig(v.At(i)), scale) }
	}
	plain := *c
	plain.Logical = parquet.NoLogical
	return leafValueOf(&plain, false)
}

// maxDecimalScale bounds the digits after the point of a decimal: types have at most 76.
const maxDecimalScale = 1000

// signedBig reads a big-endian number in two's complement.
func signedBig(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// decimal returns n divided by ten to the power of scale: a whole number if it is one that fits,
// else its digits.
func decimal(n *big.Int, scale int) any {
	if scale == 0 {
		if n.IsInt64() {
			return n.Int64()
		}
		return Digits(n.String())
	}
	text := n.String()
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if pad := scale + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	return Digits(sign + text[:len(text)-scale] + "." + text[len(text)-scale:])
}

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// float16 widens an IEEE 754 half.
func float16(b []byte) float32 {
	h := binary.LittleEndian.Uint16(b)
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		if f = math.Inf(1); fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 != 0 {
		f = -f
	}
	return float32(f)
}
