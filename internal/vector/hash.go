package vector

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Multipliers of wyhash's mixing step (github.com/wangyi-fudan/wyhash, public domain).
const (
	hashA = 0xa0761d6478bd642f
	hashB = 0xe7037ed1a0b428db
	hashC = 0x8ebc6af09c88c6e3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashLong hashes one word.
func HashLong(x uint64) uint64 { return mix(x^hashA, hashB) }

// HashString hashes a string, eight bytes at a time. It is not a cryptographic hash.
func HashString(s string) uint64 {
	h := uint64(len(s)) ^ hashC
	for len(s) > 16 {
		h = mix(load64(s)^hashA, load64(s[8:])^h)
		s = s[16:]
	}
	var a, b uint64
	switch {
	case len(s) >= 8:
		a, b = load64(s), load64(s[len(s)-8:])
	case len(s) >= 4:
		a, b = uint64(load32(s)), uint64(load32(s[len(s)-4:]))
	case len(s) > 0:
		a = uint64(s[0])<<16 | uint64(s[len(s)>>1])<<8 | uint64(s[len(s)-1])
	}
	return mix(a^hashA^h, b^hashB)
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// DoubleWord returns bits of x that are equal for all values of one group: all NaNs have the same
// bits. Zeros of different signs are different groups, as in Druid, although the operator =
// considers them equal. See quirk Q019.
func DoubleWord(x float64) uint64 {
	if x != x {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(x)
}

// OneZero returns v with each -0.0 replaced by 0.0, also in lists. Values then belong to one group
// if and only if the operator = considers them equal, as keys of joins require. It does not change
// v.
func OneZero(v *Vector) *Vector {
	switch v.Type.Kind {
	case KindDouble:
		c := *v
		c.Doubles = make([]float64, len(v.Doubles))
		for i, x := range v.Doubles {
			c.Doubles[i] = x + 0
		}
		return &c
	case KindFloat:
		c := *v
		c.Floats = make([]float32, len(v.Floats))
		for i, x := range v.Floats {
			c.Floats[i] = x + 0
		}
		return &c
	case KindList:
		if child := OneZero(v.Child); child != v.Child {
			c := *v
			c.Child = child
			return &c
		}
	}
	return v
}

const nullHash = 0x9e3779b97f4a7c15

// HashRows sets out[i] to a hash of row i of cols, for len(out) rows. Equal rows have equal hashes
// in all encodings and in every process of this protocol version; exchanges and spilled partitions
// rely on it.
func HashRows(cols []*Vector, out []uint64) {
	for i := range out {
		out[i] = hashC
	}
	for _, c := range cols {
		hashColumn(c, out)
	}
}

func hashColumn(v *Vector, out []uint64) {
	n := len(out)
	if v.Const {
		h := hashOne(v, 0)
		for i := range out {
			out[i] = mix(out[i]^h, hashB)
		}
		return
	}
	switch {
	case v.Valid != nil || v.Type.Kind == KindList:
		for i := range out {
			out[i] = mix(out[i]^hashOne(v, i), hashB)
		}
	case v.Dict != nil && v.Dict.Len() <= n:
		table := make([]uint64, v.Dict.Len())
		for c := range table {
			table[c] = HashString(v.Dict.Value(uint32(c)))
		}
		for i, c := range v.Codes[:n] {
			out[i] = mix(out[i]^table[c], hashB)
		}
	case v.Dict != nil:
		for i, c := range v.Codes[:n] {
			out[i] = mix(out[i]^HashString(v.Dict.Value(c)), hashB)
		}
	case v.Type.Kind == KindLong:
		for i, x := range v.Longs[:n] {
			out[i] = mix(out[i]^HashLong(uint64(x)), hashB)
		}
	case v.Type.Kind == KindDouble:
		for i, x := range v.Doubles[:n] {
			out[i] = mix(out[i]^HashLong(DoubleWord(x)), hashB)
		}
	case v.Type.Kind == KindFloat:
		for i, x := range v.Floats[:n] {
			out[i] = mix(out[i]^HashLong(DoubleWord(float64(x))), hashB)
		}
	default:
		for i, x := range v.Strings[:n] {
			out[i] = mix(out[i]^HashString(x), hashB)
		}
	}
}

func hashOne(v *Vector, i int) uint64 {
	if v.IsNull(i) {
		return nullHash
	}
	switch v.Type.Kind {
	case KindLong:
		return HashLong(uint64(v.LongAt(i)))
	case KindDouble, KindFloat:
		return HashLong(DoubleWord(v.DoubleAt(i)))
	case KindString, KindComplex:
		return HashString(v.StringAt(i))
	case KindList:
		lo, hi := v.ListAt(i)
		h := uint64(hi - lo)
		for ; lo < hi; lo++ {
			h = mix(h^hashOne(v.Child, lo), hashB)
		}
		return h
	}
	return 0
}

// KeyText appends bytes that are equal if and only if the values belong to one group. It is the
// grouping form of lists and of other values that do not fit in one word. Null differs from all
// other values.
func KeyText(dst []byte, v *Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.Type.Kind {
	case KindLong:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.LongAt(i)))
	case KindDouble, KindFloat:
		return binary.LittleEndian.AppendUint64(dst, DoubleWord(v.DoubleAt(i)))
	case KindString, KindComplex:
		s := v.StringAt(i)
		return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
	case KindList:
		lo, hi := v.ListAt(i)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(hi-lo))
		for ; lo < hi; lo++ {
			dst = KeyText(dst, v.Child, lo)
		}
	}
	return dst
}
