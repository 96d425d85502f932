package ingest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// recovered is the error of a panic in a library that reads hostile bytes.
func recovered(x any) error {
	if err, ok := x.(error); ok {
		return err
	}
	return fmt.Errorf("%v", x)
}

// groupOffset returns where the data of a row group begins in the file.
func groupOffset(m *format.FileMetaData, i int) int64 {
	if i >= len(m.RowGroups) {
		return 0
	}
	at := int64(math.MaxInt64)
	for _, c := range m.RowGroups[i].Columns {
		at = min(at, c.MetaData.DataPageOffset)
	}
	return at
}

// leafValue converts the values of a column to those of Objects.
type leafValue func(v parquet.Value) any

// wholeScale is set for a column of whole numbers that only have to be multiplied and divided: dates, times.
type wholeScale struct{ multiply, divide int64 }

// scaleOf returns how the whole numbers of a column become ours: times are milliseconds, as the reference gives them. ok is false for other columns.
func scaleOf(t parquet.Type) (wholeScale, bool) {
	one := wholeScale{1, 1}
	switch t.Kind() {
	case parquet.Int32, parquet.Int64:
	default:
		return one, false
	}
	if l := t.LogicalType(); l != nil && l.Value != nil {
		switch l := l.Value.(type) {
		case *format.DateType:
			return wholeScale{86_400_000, 1}, true
		case *format.TimestampType:
			return scaleOfUnit(l.Unit), true
		case *format.TimeType:
			return scaleOfUnit(l.Unit), true
		case *format.DecimalType:
			return one, false
		case *format.IntType:
			return one, l.IsSigned || l.BitWidth < 32
		}
		return one, true
	}
	if c := t.ConvertedType(); c != nil {
		switch *c {
		case deprecated.Date:
			return wholeScale{86_400_000, 1}, true
		case deprecated.TimestampMicros, deprecated.TimeMicros:
			return wholeScale{1, 1000}, true
		case deprecated.Decimal, deprecated.Uint32, deprecated.Uint64:
			return one, false
		}
	}
	return one, true
}

func scaleOfUnit(u format.TimeUnit) wholeScale {
	switch u.Value.(type) {
	case *format.MicroSeconds:
		return wholeScale{1, 1000}
	case *format.NanoSeconds:
		return wholeScale{1, 1_000_000}
	}
	return wholeScale{1, 1}
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
func isText(t parquet.Type, binaryAsString bool) bool {
	if t.Kind() != parquet.ByteArray {
		return false
	}
	if l := t.LogicalType(); l != nil && l.Value != nil {
		switch l.Value.(type) {
		case *format.StringType, *format.EnumType, *format.JsonType:
			return true
		}
		return false
	}
	if c := t.ConvertedType(); c != nil {
		return *c == deprecated.UTF8 || *c == deprecated.Enum || *c == deprecated.Json
	}
	return binaryAsString
}

// leafValueOf returns the conversion of a column.
func leafValueOf(t parquet.Type, binaryAsString bool) leafValue {
	if scale, ok := decimalScale(t); ok {
		return func(v parquet.Value) any { return decimal(unscaled(v), scale) }
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(v parquet.Value) any { return v.Boolean() }
	case parquet.Int32, parquet.Int64:
		return wholeValue(t)
	case parquet.Int96:
		return func(v parquet.Value) any { return int96Millis(v.Int96()) }
	case parquet.Float:
		return func(v parquet.Value) any { return v.Float() }
	case parquet.Double:
		return func(v parquet.Value) any { return v.Double() }
	}
	if isText(t, binaryAsString) {
		return func(v parquet.Value) any { return string(validUTF8(v.ByteArray())) }
	}
	if l := t.LogicalType(); l != nil {
		switch l.Value.(type) {
		case *format.UUIDType:
			return func(v parquet.Value) any { return uuidText(v.ByteArray()) }
		case *format.Float16Type:
			return func(v parquet.Value) any { return float16(v.ByteArray()) }
		}
	}
	return func(v parquet.Value) any { return append([]byte(nil), v.ByteArray()...) }
}

func wholeValue(t parquet.Type) leafValue {
	scale, signed := scaleOf(t)
	if t.Kind() == parquet.Int32 {
		if !signed {
			return func(v parquet.Value) any { return int64(uint32(v.Int32())) }
		}
		return func(v parquet.Value) any { return scale.apply(int64(v.Int32())) }
	}
	if !signed {
		return func(v parquet.Value) any {
			if n := v.Int64(); n >= 0 {
				return n
			}
			return Digits(new(big.Int).SetUint64(uint64(v.Int64())).String())
		}
	}
	return func(v parquet.Value) any { return scale.apply(v.Int64()) }
}

// int96Millis reads the timestamps of old writers: nanoseconds of the day, then the Julian day.
func int96Millis(v deprecated.Int96) int64 {
	const julianEpoch = 2_440_588
	nanos := int64(v[0]) | int64(v[1])<<32
	return (int64(v[2])-julianEpoch)*86_400_000 + floorDiv(nanos, 1_000_000)
}

func decimalScale(t parquet.Type) (scale int, ok bool) {
	if l := t.LogicalType(); l != nil {
		if d, ok := l.Value.(*format.DecimalType); ok && d.Scale >= 0 && d.Scale <= maxDecimalScale {
			return int(d.Scale), true
		}
	}
	return 0, false
}

// maxDecimalScale bounds the digits after the point of a decimal: types have at most 76.
const maxDecimalScale = 1000

func unscaled(v parquet.Value) *big.Int {
	switch v.Kind() {
	case parquet.Int32:
		return big.NewInt(int64(v.Int32()))
	case parquet.Int64:
		return big.NewInt(v.Int64())
	}
	return signedBig(v.ByteArray())
}

// signedBig reads a big-endian number in two's complement.
func signedBig(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// decimal returns n divided by ten to the power of scale: a whole number if it is one that fits, else its digits.
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

func uuidText(b []byte) any {
	if len(b) != 16 {
		return append([]byte(nil), b...)
	}
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// float16 widens an IEEE 754 half.
func float16(b []byte) any {
	if len(b) != 2 {
		return nil
	}
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
