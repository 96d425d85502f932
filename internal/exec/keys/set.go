package keys

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// maxKeyBits bounds the bitmap of a set of whole numbers: 8 MiB.
	maxKeyBits = 1 << 26
	// keyBitsPerKey and fewKeyBits say how sparse such a bitmap may be.
	keyBitsPerKey = 512
	fewKeyBits    = 1 << 18
)

// Set is an immutable set of keys, integers or strings, that filters a column. It is safe for use
// by many goroutines.
//
// Integers in a dense range are stored as a bitmap, others in an open-addressing hash table.
type Set struct {
	Text bool
	N    int
	// numbers
	Least, Greatest int64 // least > greatest: none
	Bits            []uint64
	slots           []int64 // 0: free
	zero            bool    // 0 is in slots
	shift           uint
	// Texts, each of them once
	Texts  []string
	lookup *Interner
}

// LongSet returns the set of values.
func LongSet(values []int64) *Set {
	s := &Set{Least: math.MaxInt64, Greatest: math.MinInt64}
	for _, x := range values {
		s.Least, s.Greatest = min(s.Least, x), max(s.Greatest, x)
	}
	if s.Least > s.Greatest {
		return s
	}
	if span := uint64(s.Greatest) - uint64(s.Least); span < maxKeyBits && span < uint64(keyBitsPerKey*len(values)+fewKeyBits) {
		s.Bits = make([]uint64, span>>6+1)
		for _, x := range values {
			at := uint64(x) - uint64(s.Least)
			if s.Bits[at>>6]>>(at&63)&1 == 0 {
				s.Bits[at>>6] |= 1 << (at & 63)
				s.N++
			}
		}
		return s
	}
	size := 16
	for size < 2*len(values) {
		size *= 2
	}
	s.slots, s.shift = make([]int64, size), 64
	for ; size > 1; size /= 2 {
		s.shift--
	}
	mask := uint64(len(s.slots) - 1)
next:
	for _, x := range values {
		if x == 0 {
			if !s.zero {
				s.zero = true
				s.N++
			}
			continue
		}
		at := vector.HashLong(uint64(x)) >> s.shift
		for ; s.slots[at] != 0; at = (at + 1) & mask {
			if s.slots[at] == x {
				continue next
			}
		}
		s.slots[at] = x
		s.N++
	}
	return s
}

// textSet returns the set of the values of v that are not null.
func textSet(v *vector.Vector) *Set {
	s := &Set{Text: true, lookup: &Interner{}}
	add := func(text string) {
		if before := s.lookup.Len(); int(s.lookup.Number(text)) == before {
			s.Texts = append(s.Texts, text)
		}
	}
	switch {
	case v.AllNull() || v.Len == 0:
	case v.Const:
		add(v.StringAt(0))
	case v.Dict != nil:
		seen := make([]bool, v.Dict.Len())
		for i, c := range v.Codes[:v.Len] {
			if !seen[c] && v.Valid.Get(i) {
				seen[c] = true
				add(v.Dict.Value(c))
			}
		}
	default:
		for i, text := range v.Strings[:v.Len] {
			if v.Valid.Get(i) {
				add(text)
			}
		}
	}
	s.N = len(s.Texts)
	return s
}

// SetOf returns the set of the non-null values of a key column, nil if its type is not supported.
func SetOf(v *vector.Vector) *Set {
	switch v.Type.Kind {
	case vector.KindLong:
		switch {
		case v.AllNull() || v.Len == 0:
			return LongSet(nil)
		case v.Const:
			return LongSet(v.Longs[:1])
		case v.Valid == nil:
			return LongSet(v.Longs[:v.Len])
		}
		values := make([]int64, 0, v.Len)
		for i, x := range v.Longs[:v.Len] {
			if v.Valid.Get(i) {
				values = append(values, x)
			}
		}
		return LongSet(values)
	case vector.KindString:
		return textSet(v)
	}
	return nil
}

// SetBytes is the approximate maximum size of the set of the values of a column.
func SetBytes(v *vector.Vector) int64 {
	if v.Type.Kind == vector.KindString {
		n := int64(v.Len)
		if v.Dict != nil {
			n = min(n, int64(v.Dict.Len()))
		}
		return 64*n + 1024
	}
	return min(maxKeyBits/8, int64(v.Len)*max(keyBitsPerKey/8, 40)+fewKeyBits/8)
}

// Bytes returns the memory held.
func (s *Set) Bytes() int64 {
	n := 8*int64(len(s.Bits)+len(s.slots)) + 16*int64(len(s.Texts))
	if s.lookup != nil {
		n += s.lookup.Bytes()
	}
	return n
}

// HasLong reports whether x is in a set of integers.
func (s *Set) HasLong(x int64) bool {
	if s.Bits != nil {
		at := uint64(x) - uint64(s.Least)
		return at>>6 < uint64(len(s.Bits)) && s.Bits[at>>6]>>(at&63)&1 != 0
	}
	if x < s.Least || x > s.Greatest {
		return false
	}
	if x == 0 {
		return s.zero
	}
	mask := uint64(len(s.slots) - 1)
	for at := vector.HashLong(uint64(x)) >> s.shift; ; at = (at + 1) & mask {
		if s.slots[at] == x {
			return true
		}
		if s.slots[at] == 0 {
			return false
		}
	}
}

// HasText reports whether text is in a set of strings.
func (s *Set) HasText(text string) bool {
	_, ok := s.lookup.Find(text)
	return ok
}

// HasAll reports whether every integer from least to greatest is in a set of integers.
func (s *Set) HasAll(least, greatest int64) bool {
	if s.Bits == nil || least < s.Least || greatest > s.Greatest {
		return false
	}
	if uint64(s.Greatest)-uint64(s.Least) == uint64(s.N-1) {
		return true
	}
	n := uint64(greatest) - uint64(least)
	if n >= maxLook {
		return false
	}
	for i := uint64(0); i <= n; i++ {
		if !s.HasLong(least + int64(i)) {
			return false
		}
	}
	return true
}

// maxLook bounds how much of a bitmap is looked at to answer for a range; beyond, nothing is known.
const maxLook = 1 << 12

// HasNone reports whether certainly no integer from least to greatest is in a set of integers.
func (s *Set) HasNone(least, greatest int64) bool {
	if s.N == 0 || greatest < s.Least || least > s.Greatest {
		return true
	}
	if s.Bits == nil {
		return false
	}
	from := uint64(max(least, s.Least)) - uint64(s.Least)
	to := uint64(min(greatest, s.Greatest)) - uint64(s.Least)
	if to>>6-from>>6 >= maxLook {
		return false
	}
	for w := from >> 6; w <= to>>6; w++ {
		x := s.Bits[w]
		if w == from>>6 {
			x &= ^uint64(0) << (from & 63)
		}
		if w == to>>6 {
			x &= ^uint64(0) >> (63 - to&63)
		}
		if x != 0 {
			return false
		}
	}
	return true
}
