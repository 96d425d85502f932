package segment

import (
	"cmp"
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
	items := make([]keyed, len(codes))
	for i := range items {
		items[i].id = uint32(i)
	}
	s := textSorter{dict: d}
	s.sort(items, make([]keyed, len(items)), 0, 0)
	for i, it := range items {
		codes[i] = it.id
	}
	return codes
}

// textSorter sorts texts eight bytes at a time: by these as numbers, then what is still equal by
// the next eight. Comparing two texts costs two reads of far memory; sorting numbers costs none.
type textSorter struct{ dict *vector.Dict }

const (
	// fewTexts are sorted by comparing.
	fewTexts = 32
	// maxTextRounds bounds the depth of recursion. Texts that are still equal after so many
	// differences are sorted by comparing.
	maxTextRounds = 64
)

// sort sorts items, which are equal in their first depth bytes. Other has room for as many.
func (s *textSorter) sort(items, other []keyed, depth uint32, round int) {
	if len(items) < fewTexts || round == maxTextRounds {
		slices.SortStableFunc(items, func(a, b keyed) int { return strings.Compare(s.rest(a.id, depth), s.rest(b.id, depth)) })
		return
	}
	depth += s.common(items, depth)
	for i := range items {
		items[i].key = s.prefix(items[i].id, depth)
	}
	sortByKey(items, other)
	for lo := 0; lo < len(items); {
		hi := lo + 1
		for hi < len(items) && items[hi].key == items[lo].key {
			hi++
		}
		if hi-lo > 1 {
			// Those that end here come before those that go on, the shorter first: they differ by zero bytes
			// only.
			ended := s.partition(items[lo:hi], other[lo:hi], depth+8)
			slices.SortStableFunc(items[lo:lo+ended], func(a, b keyed) int { return cmp.Compare(s.length(a.id), s.length(b.id)) })
			s.sort(items[lo+ended:hi], other[lo+ended:hi], depth+8, round+1)
		}
		lo = hi
	}
}

func (s *textSorter) length(code uint32) uint32 { return s.dict.Offsets[code+1] - s.dict.Offsets[code] }

func (s *textSorter) rest(code, depth uint32) string { return s.dict.Value(code)[depth:] }

// common returns how many bytes all items share from depth on.
func (s *textSorter) common(items []keyed, depth uint32) uint32 {
	first := s.rest(items[0].id, depth)
	for _, it := range items[1:] {
		t := s.rest(it.id, depth)
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

// prefix returns the eight bytes from depth on, which is at most the text's length, as a number
// with the same order.
func (s *textSorter) prefix(code, depth uint32) uint64 {
	return vector.PrefixWord(s.dict.Blob[s.dict.Offsets[code]+depth : s.dict.Offsets[code+1]])
}

// partition moves the texts of at most length bytes to the front, keeping the order of both parts,
// and returns how many they are.
func (s *textSorter) partition(items, other []keyed, length uint32) int {
	n, rest := 0, other[:0]
	for _, it := range items {
		if s.length(it.id) <= length {
			items[n] = it
			n++
		} else {
			rest = append(rest, it)
		}
	}
	copy(items[n:], rest)
	return n
}
