package exec

import (
	"iter"
	"math/bits"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// codeSet is a set of entries of a dictionary and, with null, of rows without a value. When settled
// it knows whether its codes are a run.
type codeSet struct {
	size  int // of the dictionary
	bits  []uint64
	n     uint32
	null  bool
	run   bool // the codes are first and the n-1 after it
	first uint32
}

func noCodes(size int) *codeSet { return &codeSet{size: size, bits: make([]uint64, size/64+1)} }

func allCodes(size int) *codeSet { return codeRun(0, uint32(size), size) }

// codeRun returns the codes from lo up to, not including, hi.
func codeRun(lo, hi uint32, size int) *codeSet {
	s := noCodes(size)
	if lo < hi {
		vector.Bitmap(s.bits).SetRange(int(lo), int(hi))
	}
	s.settle()
	return s
}

func (s *codeSet) add(code uint32) { s.bits[code>>6] |= 1 << (code & 63) }

// remove takes a code out of a settled set, which it settles again.
func (s *codeSet) remove(code uint32) {
	s.bits[code>>6] &^= 1 << (code & 63)
	s.settle()
}

func (s *codeSet) has(code uint32) bool { return s.bits[code>>6]>>(code&63)&1 != 0 }

// settle is called when all codes are in.
func (s *codeSet) settle() {
	s.n, s.run = 0, false
	last := 0
	for w, x := range s.bits {
		if x == 0 {
			continue
		}
		if s.n == 0 {
			s.first = uint32(w*64 + bits.TrailingZeros64(x))
		}
		s.n += uint32(bits.OnesCount64(x))
		last = w*64 + 63 - bits.LeadingZeros64(x)
	}
	s.run = s.n > 0 && uint32(last)-s.first == s.n-1
}

func (s *codeSet) intersect(o *codeSet) {
	for i := range s.bits {
		s.bits[i] &= o.bits[i]
	}
	s.null = s.null && o.null
	s.settle()
}

// share returns which share of the dictionary is in the set.
func (s *codeSet) share() float64 { return float64(s.n) / float64(max(s.size, 1)) }

// each yields the codes.
func (s *codeSet) each() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for w, x := range s.bits {
			for ; x != 0; x &= x - 1 {
				if !yield(uint32(w*64 + bits.TrailingZeros64(x))) {
					return
				}
			}
		}
	}
}

// codesOfTexts returns the codes of texts in the dictionary of a column, of n entries.
func codesOfTexts(texts []string, c segment.Column, n int) (*codeSet, error) {
	s := noCodes(n)
	for _, t := range texts {
		code, found, err := c.Lookup(t)
		if err != nil {
			return nil, err
		}
		if found {
			s.add(code)
		}
	}
	s.settle()
	return s, nil
}

// codesOfKeys returns the codes of a set of texts in the dictionary of a column, of n entries.
func codesOfKeys(keys *keys.Set, c segment.Column, n int) (*codeSet, error) {
	const few = 1 << 10
	if keys.N < few && keys.N < n {
		return codesOfTexts(keys.Texts, c, n)
	}
	dict, err := c.Dict()
	if err != nil {
		return nil, err
	}
	s := noCodes(n)
	if keys.N < n/8 {
		for _, t := range keys.Texts {
			if code, found := dict.Lookup(t); found {
				s.add(code)
			}
		}
	} else {
		for code := range uint32(n) {
			if keys.HasText(dict.Value(code)) {
				s.add(code)
			}
		}
	}
	s.settle()
	return s, nil
}

// codesOfComparison returns the codes of a dictionary of n entries for which the comparison of its
// text column with constants is true; nil: e is none.
func codesOfComparison(e expr.Expr, c segment.Column, n int) (*codeSet, error) {
	if _, values := textEquality(e); values != nil {
		return codesOfTexts(values, c, n)
	}
	_, op, value := comparisonOf(e)
	text, ok := value.(string)
	if !ok {
		return nil, nil
	}
	at, found, err := c.Lookup(text)
	if err != nil {
		return nil, err
	}
	lo, hi := uint32(0), uint32(n)
	switch op {
	case "<>":
		s := allCodes(n)
		if found {
			s.remove(at)
		}
		return s, nil
	case "<":
		hi = at
	case "<=":
		if hi = at; found {
			hi++
		}
	case ">":
		if lo = at; found {
			lo++
		}
	case ">=":
		lo = at
	}
	return codeRun(lo, hi, n), nil
}
