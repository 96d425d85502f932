package segment

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// sortedCodes returns the codes of d in the order of their entries; equal entries keep theirs.
func sortedCodes(d *vector.Dict) []uint32 {
	codes := make([]uint32, d.Len())
	for i := range codes {
		codes[i] = uint32(i)
	}
	if d.Sorted {
		return codes
	}
	items := make([]prefixed, len(codes))
	for i := range items {
		items[i].code = uint32(i)
	}
	s := textSorter{dict: d}
	s.sort(items, make([]prefixed, len(items)), 0, 0)
	for i, it := range items {
		codes[i] = it.code
	}
	return codes
}

// textSorter sorts texts eight bytes at a time: by these as numbers, then what is still equal by the next eight. Comparing two texts costs
// two reads of far memory; sorting numbers costs none.
type textSorter struct{ dict *vector.Dict }

// prefixed is a text with eight bytes of it, as a number that orders like them; zeros stand for what is beyond its end.
type prefixed struct {
	prefix uint64
	code   uint32
}

const (
	// fewTexts are sorted by comparing.
	fewTexts = 32
	// maxTextRounds bounds the depth of recursion. Texts that are still equal after so many differences are sorted by comparing.
	maxTextRounds = 64
)

// sort sorts items, which are equal in their first depth bytes. Other has room for as many.
func (s *textSorter) sort(items, other []prefixed, depth uint32, round int) {
	if len(items) < fewTexts || round == maxTextRounds {
		slices.SortStableFunc(items, func(a, b prefixed) int { return strings.Compare(s.rest(a.code, depth), s.rest(b.code, depth)) })
		return
	}
	depth += s.common(items, depth)
	for i := range items {
		items[i].prefix = s.prefix(items[i].code, depth)
	}
	sortPrefixed(items, other)
	for lo := 0; lo < len(items); {
		hi := lo + 1
		for hi < len(items) && items[hi].prefix == items[lo].prefix {
			hi++
		}
		if hi-lo > 1 {
			// Those that end here come before those that go on, the shorter first: they differ by zero bytes only.
			ended := s.partition(items[lo:hi], other[lo:hi], depth+8)
			slices.SortStableFunc(items[lo:lo+ended], func(a, b prefixed) int { return cmp.Compare(s.length(a.code), s.length(b.code)) })
			s.sort(items[lo+ended:hi], other[lo+ended:hi], depth+8, round+1)
		}
		lo = hi
	}
}

func (s *textSorter) length(code uint32) uint32 { return s.dict.Offsets[code+1] - s.dict.Offsets[code] }

func (s *textSorter) rest(code, depth uint32) string { return s.dict.Value(code)[depth:] }

// common returns how many bytes all items share from depth on.
func (s *textSorter) common(items []prefixed, depth uint32) uint32 {
	first := s.rest(items[0].code, depth)
	for _, it := range items[1:] {
		t := s.rest(it.code, depth)
		n := 0
		for n < len(first) && n < len(t) && first[n] == t[n] {
			n++
		}
		if first = first[:n]; n == 0 {
			return 0
		}
	}
	return uint32(len(first))
}

// prefix returns the eight bytes from depth on, which is at most the text's length.
func (s *textSorter) prefix(code, depth uint32) uint64 {
	lo, hi := s.dict.Offsets[code]+depth, s.dict.Offsets[code+1]
	if hi-lo >= 8 {
		return binary.BigEndian.Uint64(s.dict.Blob[lo:])
	}
	var p uint64
	for i, b := range s.dict.Blob[lo:hi] {
		p |= uint64(b) << (56 - 8*i)
	}
	return p
}

// partition moves the texts of at most length bytes to the front, keeping the order of both parts, and returns how many they are.
func (s *textSorter) partition(items, other []prefixed, length uint32) int {
	n, rest := 0, other[:0]
	for _, it := range items {
		if s.length(it.code) <= length {
			items[n] = it
			n++
		} else {
			rest = append(rest, it)
		}
	}
	copy(items[n:], rest)
	return n
}

// sortPrefixed sorts by prefix, keeping the order of equal ones: few by comparing, many by a radix sort that leaves out the bytes in which
// there are no differences.
func sortPrefixed(items, other []prefixed) {
	if len(items) < 512 {
		slices.SortStableFunc(items, func(a, b prefixed) int { return cmp.Compare(a.prefix, b.prefix) })
		return
	}
	var counts [8][256]uint32
	for _, it := range items {
		for b := range counts {
			counts[b][byte(it.prefix>>(8*b))]++
		}
	}
	from, to := items, other
	for b := range counts {
		count := &counts[b]
		if count[byte(items[0].prefix>>(8*b))] == uint32(len(items)) {
			continue
		}
		start := uint32(0)
		for i, n := range count {
			count[i] = start
			start += n
		}
		for _, it := range from {
			at := &count[byte(it.prefix>>(8*b))]
			to[*at] = it
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}
