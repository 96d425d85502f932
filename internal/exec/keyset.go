package exec

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

// keySet is a set of keys, of whole numbers or of texts, that a column is held against. It does not
// change and is used by any number of goroutines.
//
// Numbers that lie close together are a bitmap from the least on, others are in an open hash table.
type keySet struct {
	text bool
	n    int
	// numbers
	least, greatest int64 // least > greatest: none
	bits            []uint64
	slots           []int64 // 0: free
	zero            bool    // 0 is in slots
	shift           uint
	// texts, each of them once
	texts  []string
	lookup *interner
}

// longKeys returns the set of values.
func longKeys(values []int64) *keySet {
	s := &keySet{least: math.MaxInt64, greatest: math.MinInt64}
	for _, x := range values {
		s.least, s.greatest = min(s.least, x), max(s.greatest, x)
	}
	if s.least > s.greatest {
		return s
	}
	if span := uint64(s.greatest) - uint64(s.least); span < maxKeyBits && span < uint64(keyBitsPerKey*len(values)+fewKeyBits) {
		s.bits = make([]uint64, span>>6+1)
		for _, x := range values {
			at := uint64(x) - uint64(s.least)
			if s.bits[at>>6]>>(at&63)&1 == 0 {
				s.bits[at>>6] |= 1 << (at & 63)
				s.n++
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
				s.n++
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
		s.n++
	}
	return s
}

// textKeys returns the set of the values of v that are not null.
func textKeys(v *vector.Vector) *keySet {
	s := &keySet{text: true, lookup: &interner{}}
	add := func(text string) {
		if before := s.lookup.len(); int(s.lookup.number(text)) == before {
			s.texts = append(s.texts, text)
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
	s.n = len(s.texts)
	return s
}

// keysOf returns the set of the values of a key column that are not null, nil for a type that there
// are no sets of.
func keysOf(v *vector.Vector) *keySet {
	switch v.Type.Kind {
	case vector.KindLong:
		switch {
		case v.AllNull() || v.Len == 0:
			return longKeys(nil)
		case v.Const:
			return longKeys(v.Longs[:1])
		case v.Valid == nil:
			return longKeys(v.Longs[:v.Len])
		}
		values := make([]int64, 0, v.Len)
		for i, x := range v.Longs[:v.Len] {
			if v.Valid.Get(i) {
				values = append(values, x)
			}
		}
		return longKeys(values)
	case vector.KindString:
		return textKeys(v)
	}
	return nil
}

// keySetBytes is about what the set of a column's values takes at most.
func keySetBytes(v *vector.Vector) int64 {
	if v.Type.Kind == vector.KindString {
		n := int64(v.Len)
		if v.Dict != nil {
			n = min(n, int64(v.Dict.Len()))
		}
		return 64*n + 1024
	}
	return min(maxKeyBits/8, int64(v.Len)*max(keyBitsPerKey/8, 40)+fewKeyBits/8)
}

// bytes returns the memory held.
func (s *keySet) bytes() int64 {
	n := 8*int64(len(s.bits)+len(s.slots)) + 16*int64(len(s.texts))
	if s.lookup != nil {
		n += s.lookup.bytes()
	}
	return n
}

// hasLong reports whether x is in a set of numbers.
func (s *keySet) hasLong(x int64) bool {
	if s.bits != nil {
		at := uint64(x) - uint64(s.least)
		return at>>6 < uint64(len(s.bits)) && s.bits[at>>6]>>(at&63)&1 != 0
	}
	if x < s.least || x > s.greatest {
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

// hasText reports whether text is in a set of texts.
func (s *keySet) hasText(text string) bool {
	_, ok := s.lookup.find(text)
	return ok
}

// hasAll reports whether every number from least to greatest is in a set of numbers.
func (s *keySet) hasAll(least, greatest int64) bool {
	if s.bits == nil || least < s.least || greatest > s.greatest {
		return false
	}
	if uint64(s.greatest)-uint64(s.least) == uint64(s.n-1) {
		return true
	}
	n := uint64(greatest) - uint64(least)
	if n >= maxLook {
		return false
	}
	for i := uint64(0); i <= n; i++ {
		if !s.hasLong(least + int64(i)) {
			return false
		}
	}
	return true
}

// maxLook bounds how much of a bitmap is looked at to answer for a range; beyond, nothing is known.
const maxLook = 1 << 12

// hasNone reports whether certainly no number from least to greatest is in a set of numbers.
func (s *keySet) hasNone(least, greatest int64) bool {
	if s.n == 0 || greatest < s.least || least > s.greatest {
		return true
	}
	if s.bits == nil {
		return false
	}
	from := uint64(max(least, s.least)) - uint64(s.least)
	to := uint64(min(greatest, s.greatest)) - uint64(s.least)
	if to>>6-from>>6 >= maxLook {
		return false
	}
	for w := from >> 6; w <= to>>6; w++ {
		x := s.bits[w]
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
