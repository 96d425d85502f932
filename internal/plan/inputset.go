package plan

import "math/bits"

// inputSet is a set of the inputs of a tree of joins, by their numbers.
type inputSet [maxOrderedJoins / wordBits]uint64

const wordBits = 64

func oneInput(number int) inputSet {
	var s inputSet
	s[number/wordBits] = 1 << (number % wordBits)
	return s
}

func (s inputSet) isEmpty() bool { return s == inputSet{} }

func (s inputSet) or(t inputSet) inputSet {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// within reports whether all of s is in t.
func (s *inputSet) within(t *inputSet) bool {
	for i := range s {
		if s[i]&^t[i] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether an input is in both.
func (s *inputSet) meets(t *inputSet) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// each calls f with the number of every input in s.
func (s inputSet) each(f func(number int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i*wordBits + bits.TrailingZeros64(w))
		}
	}
}
