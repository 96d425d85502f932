package arrow

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Array is the values of a column, or of a part of one. All that Value needs was checked when it
// was decoded.
type Array struct {
	Type *Type
	Len  int

	valid    []byte // nil: no value is null
	data     []byte
	offsets  []byte // of 4 bytes each, or 8 if wide
	wide     bool
	parts    [][]byte // what views point to
	children []*Array
	// dictionary is that of a dictionary-encoded array, whose data are indexes.
	index      *Type
	dictionary *dictionary
}

// dictionary is the values of a dictionary with those that deltas added. One that an array has does
// not change.
type dictionary struct {
	parts []*Array
	ends  []int
	n     int
}

// maxDeltas bounds the parts of a dictionary.
const maxDeltas = 10_000

// viewInline is the length up to which a value stands in its view.
const viewInline = 12

// Number is a number that no Go type holds, as text.
type Number string

// Members is a value of a struct or map.
type Members struct {
	Names  []string
	Values []any
}

// IsNull reports whether value i is null.
func (a *Array) IsNull(i int) bool {
	return a.Type.Kind == Null && a.dictionary == nil || a.valid != nil && a.valid[i>>3]&(1<<(i&7)) == 0
}

// end returns offset i.
func (a *Array) end(i int) int {
	if a.wide {
		return int(binary.LittleEndian.Uint64(a.offsets[8*i:]))
	}
	return int(binary.LittleEndian.Uint32(a.offsets[4*i:]))
}

func (a *Array) indexAt(i int) int64 { return wholeAt(a.data, i, a.index) }

// wholeAt reads a whole number; one above 2^63 reads as negative.
func wholeAt(data []byte, i int, t *Type) int64 {
	switch t.Bits {
	case 8:
		if t.Signed {
			return int64(int8(data[i]))
		}
		return int64(data[i])
	case 16:
		n := binary.LittleEndian.Uint16(data[2*i:])
		if t.Signed {
			return int64(int16(n))
		}
		return int64(n)
	case 32:
		n := binary.LittleEndian.Uint32(data[4*i:])
		if t.Signed {
			return int64(int32(n))
		}
		return int64(n)
	}
	return int64(binary.LittleEndian.Uint64(data[8*i:]))
}

// Value returns value i: nil, bool, int64, float32, float64, string, []byte, Number, []any or
// *Members. Dates, times, instants and durations are milliseconds, rounded down.
func (a *Array) Value(i int) any {
	if a.IsNull(i) {
		return nil
	}
	if a.dictionary != nil {
		part, n := a.dictionary.at(int(a.indexAt(i)))
		return part.Value(n)
	}
	switch a.Type.Kind {
	case Bool:
		return a.data[i>>3]&(1<<(i&7)) != 0
	case Int:
		n := wholeAt(a.data, i, a.Type)
		if n < 0 && !a.Type.Signed {
			return Number(strconv.FormatUint(uint64(n), 10))
		}
		return n
	case Float:
		return floatAt(a.data, i, a.Type.Bits)
	case Decimal:
		return decimalAt(a.data, i, a.Type)
	case Date, Time, Timestamp, Duration:
		return a.millis(i)
	case Utf8, LargeUtf8, Utf8View:
		return string(a.bytes(i))
	case Binary, LargeBinary, BinaryView, FixedBinary:
		return slices.Clone(a.bytes(i))
	case Map:
		return a.mapAt(i)
	case Struct:
		out := &Members{}
		for k, c := range a.children {
			out.Names = append(out.Names, a.Type.Children[k].Name)
			out.Values = append(out.Values, c.Value(i))
		}
		return out
	}
	lo, hi := a.list(i)
	out := make([]any, 0, hi-lo)
	for ; lo < hi; lo++ {
		out = append(out, a.children[0].Value(lo))
	}
	return out
}

// valueBytes is what a value takes at least where any may be.
const valueBytes = 16

// Size returns about how many bytes value i takes, counted until they are more than most: few bytes
// of a stream can stand for many where lists have elements of a dictionary.
func (a *Array) Size(i int, most int64) int64 {
	if a.IsNull(i) {
		return valueBytes
	}
	if a.dictionary != nil {
		part, n := a.dictionary.at(int(a.indexAt(i)))
		return part.Size(n, most)
	}
	size := int64(valueBytes)
	switch a.Type.Kind {
	case Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView, FixedBinary:
		return size + int64(len(a.bytes(i)))
	case Struct:
		for _, c := range a.children {
			if size > most {
				break
			}
			size += c.Size(i, most-size)
		}
	case Map, List, LargeList, FixedList:
		elements := a.children[0]
		for lo, hi := a.list(i); lo < hi && size <= most; lo++ {
			size += elements.Size(lo, most-size)
		}
	}
	return size
}

// at returns where a value of a dictionary is.
func (d *dictionary) at(n int) (*Array, int) {
	part := sort.SearchInts(d.ends, n+1)
	if part > 0 {
		n -= d.ends[part-1]
	}
	return d.parts[part], n
}

// list returns the bounds of list i in its child.
func (a *Array) list(i int) (lo, hi int) {
	if a.Type.Kind == FixedList {
		return i * a.Type.Size, (i + 1) * a.Type.Size
	}
	return a.end(i), a.end(i + 1)
}

// bytes returns the bytes of a text or binary value.
func (a *Array) bytes(i int) []byte {
	switch {
	case a.Type.Kind == FixedBinary:
		return a.data[i*a.Type.Size : (i+1)*a.Type.Size]
	case a.offsets != nil:
		return a.data[a.end(i):a.end(i+1)]
	}
	v := a.data[16*i : 16*i+16]
	n := int(binary.LittleEndian.Uint32(v))
	if n <= viewInline {
		return v[4 : 4+n]
	}
	at := int(binary.LittleEndian.Uint32(v[12:]))
	return a.parts[binary.LittleEndian.Uint32(v[8:])][at : at+n]
}

// millis returns a date, time, instant or duration in milliseconds.
func (a *Array) millis(i int) int64 {
	if a.Type.Kind == Date {
		if a.Type.Bits == 32 {
			return int64(int32(binary.LittleEndian.Uint32(a.data[4*i:]))) * 86_400_000
		}
		return int64(binary.LittleEndian.Uint64(a.data[8*i:]))
	}
	var n int64
	if a.Type.Kind == Time && a.Type.Bits == 32 {
		n = int64(int32(binary.LittleEndian.Uint32(a.data[4*i:])))
	} else {
		n = int64(binary.LittleEndian.Uint64(a.data[8*i:]))
	}
	switch a.Type.Unit {
	case Second:
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return n // no instant that anything could hold
		}
		return n * 1000
	case Micro:
		return floorDiv(n, 1000)
	case Nano:
		return floorDiv(n, 1_000_000)
	}
	return n
}

func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// mapAt returns a map as members, whose names are the texts of its keys.
func (a *Array) mapAt(i int) *Members {
	entries := a.children[0]
	out := &Members{}
	for lo, hi := a.list(i); lo < hi; lo++ {
		name := ""
		switch key := entries.children[0].Value(lo).(type) {
		case string:
			name = key
		case []byte:
			name = string(key)
		case int64:
			name = strconv.FormatInt(key, 10)
		case bool:
			name = strconv.FormatBool(key)
		case Number:
			name = string(key)
		default:
			continue // a key that is null, or no name
		}
		out.Names = append(out.Names, name)
		out.Values = append(out.Values, entries.children[1].Value(lo))
	}
	return out
}

func floatAt(data []byte, i, bits int) any {
	switch bits {
	case 16:
		return HalfFloat(binary.LittleEndian.Uint16(data[2*i:]))
	case 32:
		return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
}

// HalfFloat widens a number of 16 bits: 1 of sign, 5 of exponent, 10 of fraction (IEEE 754,
// binary16).
func HalfFloat(h uint16) float32 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
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

// decimalAt reads a decimal: as a whole number if it is one of 64 bits, otherwise as text.
func decimalAt(data []byte, i int, t *Type) any {
	width := t.Bits / 8
	raw := slices.Clone(data[i*width : (i+1)*width])
	slices.Reverse(raw)
	n := new(big.Int).SetBytes(raw)
	if raw[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(t.Bits)))
	}
	if t.Scale <= 0 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-t.Scale)), nil))
		if n.IsInt64() {
			return n.Int64()
		}
		return Number(n.String())
	}
	digits := new(big.Int).Abs(n).String()
	if missing := t.Scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	text := digits[:len(digits)-t.Scale] + "." + digits[len(digits)-t.Scale:]
	if n.Sign() < 0 {
		text = "-" + text
	}
	return Number(text)
}
