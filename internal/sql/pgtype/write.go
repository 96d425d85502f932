package pgtype

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Style contains the session settings that affect the text of values.
type Style struct {
	// Zone is the time zone of the session; nil: UTC.
	Zone *time.Location
	// Reg returns the name of the object that a value of a reg type refers to; nil: the number is
	// shown.
	Reg func(t OID, oid int64) string
}

// AppendText appends a value that is not NULL as text of a type.
func AppendText(dst []byte, t OID, v any, s *Style) []byte {
	switch x := v.(type) {
	case bool:
		if x {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case int64:
		if s.Reg != nil && t.IsOID() && t != OIDType && t != Xid {
			return append(dst, s.Reg(t, x)...)
		}
		return strconv.AppendInt(dst, x, 10)
	case float64:
		return AppendFloat(dst, t, x)
	case Numeric:
		return append(dst, x...)
	case string:
		return append(dst, x...)
	case []byte:
		return append(append(dst, `\x`...), hex.EncodeToString(x)...)
	case Timestamp:
		return AppendTimestamp(dst, t, x, s.Zone)
	case Date:
		return AppendDate(dst, x)
	case Interval:
		return append(dst, x.String()...)
	case *Array:
		return appendArray(dst, t, x, s)
	case *Record:
		dst = append(dst, '(')
		for i, item := range x.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if item != nil {
				dst = appendQuoted(dst, string(AppendText(nil, x.Types[i], item, s)), `(),"\ `, true)
			}
		}
		return append(dst, ')')
	}
	return append(dst, fmt.Sprint(v)...)
}

// AppendFloat appends a float as PostgreSQL does with extra_float_digits of 1 or more.
func AppendFloat(dst []byte, t OID, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	}
	bits := 64
	if t == Float4 {
		bits = 32
	}
	if t == NumericT {
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e15) || bits == 32 && a >= 1e6 {
		return strconv.AppendFloat(dst, x, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, bits)
}

// AppendTimestamp appends a timestamp. With a zone, it is the wall clock time in the zone.
func AppendTimestamp(dst []byte, t OID, x Timestamp, zone *time.Location) []byte {
	switch x {
	case PositiveInfinity:
		return append(dst, "infinity"...)
	case NegativeInfinity:
		return append(dst, "-infinity"...)
	}
	at := x.Time()
	if t == Timestamptz && zone != nil {
		at = at.In(zone)
	}
	bc := at.Year() <= 0
	if bc {
		dst = fmt.Appendf(dst, "%04d", 1-at.Year())
		dst = at.AppendFormat(dst, "-01-02 15:04:05.999999")
	} else {
		dst = at.AppendFormat(dst, "2006-01-02 15:04:05.999999")
	}
	if t == Timestamptz {
		_, off := at.Zone()
		sign := byte('+')
		if off < 0 {
			sign, off = '-', -off
		}
		dst = append(dst, sign)
		dst = append(dst, byte('0'+off/36000), byte('0'+off/3600%10))
		if m := off / 60 % 60; m != 0 {
			dst = append(dst, ':', byte('0'+m/10), byte('0'+m%10))
		}
	}
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendDate appends a date.
func AppendDate(dst []byte, x Date) []byte {
	at := time.Unix(int64(x)*86400, 0).UTC()
	if at.Year() <= 0 {
		return at.AppendFormat(fmt.Appendf(dst, "%04d", 1-at.Year()), "-01-02 BC")
	}
	return at.AppendFormat(dst, "2006-01-02")
}

// Infinity is the digits of floats aside; arrays follow.

func appendArray(dst []byte, t OID, a *Array, s *Style) []byte {
	if t == Int2Vector || t == OIDVector {
		for i, item := range a.Items {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendText(dst, a.Elem, item, s)
		}
		return dst
	}
	if a.Lower != 1 && len(a.Items) > 0 {
		dst = fmt.Appendf(dst, "[%d:%d]=", a.Lower, a.Lower+len(a.Items)-1)
	}
	dst = append(dst, '{')
	for i, item := range a.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch x := item.(type) {
		case nil:
			dst = append(dst, "NULL"...)
		case *Array:
			dst = appendArray(dst, t, x, s)
		default:
			dst = AppendElement(dst, string(AppendText(nil, a.Elem, x, s)))
		}
	}
	return append(dst, '}')
}

// AppendElement appends the text of an array element, quoted if necessary.
func AppendElement(dst []byte, text string) []byte {
	if text == "" || strings.EqualFold(text, "null") {
		return append(append(append(dst, '"'), text...), '"')
	}
	return appendQuoted(dst, text, "{},\"\\ \t\n\r\v\f", false)
}

func appendQuoted(dst []byte, text, special string, double bool) []byte {
	if text != "" && !strings.ContainsAny(text, special) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && double:
			dst = append(dst, '"')
		case c == '"' || c == '\\':
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

// epoch is the first day of 2000 in microseconds since 1970: binary times count from there.
const epoch = 946684800_000_000

// AppendBinary appends a value that is not NULL in binary.
func AppendBinary(dst []byte, t OID, v any, s *Style) []byte {
	switch x := v.(type) {
	case bool:
		if x {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int64:
		switch t {
		case Int2:
			return binary.BigEndian.AppendUint16(dst, uint16(x))
		case Int8:
			return binary.BigEndian.AppendUint64(dst, uint64(x))
		case Float8:
			return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(x)))
		case Float4:
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(x)))
		case NumericT:
			return appendNumeric(dst, strconv.FormatInt(x, 10))
		}
		return binary.BigEndian.AppendUint32(dst, uint32(x))
	case float64:
		switch t {
		case Float4:
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(x)))
		case NumericT:
			return appendNumeric(dst, strconv.FormatFloat(x, 'f', -1, 64))
		}
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(x))
	case Numeric:
		return appendNumeric(dst, string(x))
	case string:
		switch t {
		case JSONB:
			return append(append(dst, 1), x...)
		case UUID:
			if b, err := hex.DecodeString(strings.ReplaceAll(x, "-", "")); err == nil {
				return append(dst, b...)
			}
		}
		return append(dst, x...)
	case []byte:
		return append(dst, x...)
	case Timestamp:
		if x != PositiveInfinity && x != NegativeInfinity {
			x -= epoch
		}
		return binary.BigEndian.AppendUint64(dst, uint64(x))
	case Date:
		return binary.BigEndian.AppendUint32(dst, uint32(int32(int64(x)-epoch/86400_000_000)))
	case Interval:
		dst = binary.BigEndian.AppendUint64(dst, uint64(x.Micros))
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(x.Days)), uint32(x.Months))
	case *Array:
		return appendBinaryArray(dst, x, s)
	case *Record:
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(x.Items)))
		for i, item := range x.Items {
			dst = binary.BigEndian.AppendUint32(dst, uint32(x.Types[i]))
			dst = appendField(dst, x.Types[i], item, s)
		}
		return dst
	}
	return AppendText(dst, t, v, s)
}

// appendField writes a value with its length before it.
func appendField(dst []byte, t OID, v any, s *Style) []byte {
	at := len(dst)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff)
	if v == nil {
		return dst
	}
	dst = AppendBinary(dst, t, v, s)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendBinaryArray(dst []byte, a *Array, s *Style) []byte {
	var dims []int
	for x := a; ; {
		dims = append(dims, len(x.Items))
		if len(x.Items) == 0 {
			dims = nil
			break
		}
		inner, ok := x.Items[0].(*Array)
		if !ok {
			break
		}
		x = inner
	}
	var flat []any
	var walk func(x *Array)
	nulls := uint32(0)
	walk = func(x *Array) {
		for _, item := range x.Items {
			if inner, ok := item.(*Array); ok {
				walk(inner)
				continue
			}
			if item == nil {
				nulls = 1
			}
			flat = append(flat, item)
		}
	}
	walk(a)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(dims)))
	dst = binary.BigEndian.AppendUint32(dst, nulls)
	dst = binary.BigEndian.AppendUint32(dst, uint32(a.Elem))
	for _, n := range dims {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		dst = binary.BigEndian.AppendUint32(dst, uint32(a.Lower))
	}
	for _, item := range flat {
		dst = appendField(dst, a.Elem, item, s)
	}
	return dst
}

// appendNumeric writes a decimal number: groups of four digits with a weight.
func appendNumeric(dst []byte, text string) []byte {
	put := func(n uint16) { dst = binary.BigEndian.AppendUint16(dst, n) }
	sign := uint16(0)
	if strings.EqualFold(text, "nan") {
		for _, n := range []uint16{0, 0, 0xC000, 0} {
			put(n)
		}
		return dst
	}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = 0x4000, rest
	}
	whole, part, _ := strings.Cut(text, ".")
	scale := len(part)
	whole = strings.TrimLeft(whole, "0")
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	part += strings.Repeat("0", (4-len(part)%4)%4)
	weight := len(whole)/4 - 1
	digits := whole + part
	for strings.HasPrefix(digits, "0000") {
		digits = digits[4:]
		weight--
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-4]
	}
	if digits == "" {
		weight, sign = 0, 0
	}
	put(uint16(len(digits) / 4))
	put(uint16(int16(weight)))
	put(sign)
	put(uint16(scale))
	for ; digits != ""; digits = digits[4:] {
		n, _ := strconv.Atoi(digits[:4])
		put(uint16(n))
	}
	return dst
}
