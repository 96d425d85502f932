package segment

import (
	"hash/maphash"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// interner numbers distinct strings in the order they arrive. It is an open-addressing table over one run of bytes, so that
// millions of strings are a handful of objects to the garbage collector. The zero interner is empty.
type interner struct {
	seed    maphash.Seed
	blob    []byte
	offsets []uint32 // one more than strings
	hashes  []uint32 // of each string: what a grown table is filled from, and most unequal strings are told apart by
	slots   []uint32 // number of the string, plus one; 0: free
	added   int      // calls of add

	// loose allows that a string gets a second number, and repeats says that it may have happened: when nearly all strings are new,
	// looking for each costs more than the few that are kept twice. Sorting brings them together again.
	loose, repeats bool
}

const (
	// looseAfter is the number of distinct strings from which on an interner that may be loose looks whether it should be, and looseShare
	// how many in a hundred strings must have been new.
	looseAfter = 1 << 14
	looseShare = 90
)

func (t *interner) len() int { return max(len(t.offsets)-1, 0) }

func (t *interner) text(i uint32) string { return textOf(t.blob[t.offsets[i]:t.offsets[i+1]]) }

func (t *interner) bytes() int64 {
	return int64(cap(t.blob) + 4*(cap(t.offsets)+cap(t.hashes)+cap(t.slots)))
}

// find returns the number of s, and the slot where it is or belongs.
func (t *interner) find(s string) (number, slot, hash uint32, found bool) {
	hash = uint32(maphash.String(t.seed, s))
	mask := uint32(len(t.slots) - 1)
	for slot = hash & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if n := t.slots[slot] - 1; t.hashes[n] == hash && t.text(n) == s {
			return n, slot, hash, true
		}
	}
	return 0, slot, hash, false
}

// lookup returns the number of s, if it was added.
func (t *interner) lookup(s string) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	n, _, _, ok := t.find(s)
	return n, ok
}

// add returns the number of s, which it copies if it is new.
func (t *interner) add(s string) (uint32, error) {
	t.added++
	if t.repeats {
		return t.append(s)
	}
	if t.len()*4 >= len(t.slots)*3 {
		if t.loose && t.len() >= looseAfter && t.len() >= t.added/100*looseShare {
			t.repeats, t.slots, t.hashes = true, nil, nil
			return t.append(s)
		}
		t.grow()
	}
	n, slot, hash, ok := t.find(s)
	if ok {
		return n, nil
	}
	n, err := t.append(s)
	if err == nil {
		t.hashes = append(t.hashes, hash)
		t.slots[slot] = n + 1
	}
	return n, err
}

// append gives s a number of its own.
func (t *interner) append(s string) (uint32, error) {
	if uint64(len(t.blob))+uint64(len(s)) > maxDictBytes {
		return 0, fault.ResourceLimit("Segment column has more than [%d] bytes of distinct strings; make smaller segments", uint64(maxDictBytes))
	}
	t.blob = append(t.blob, s...)
	t.offsets = append(t.offsets, uint32(len(t.blob)))
	return uint32(t.len() - 1), nil
}

func (t *interner) grow() {
	if len(t.slots) == 0 {
		t.seed = maphash.MakeSeed()
		t.offsets = append(t.offsets, 0)
	}
	t.slots = make([]uint32, max(64, 2*len(t.slots)))
	mask := uint32(len(t.slots) - 1)
	for n, h := range t.hashes {
		slot := h & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = uint32(n) + 1
	}
}

// dict returns the strings by their numbers, without copying them.
func (t *interner) dict() *vector.Dict {
	if t.len() == 0 {
		return &vector.Dict{Offsets: []uint32{0}, Sorted: true}
	}
	return &vector.Dict{Offsets: t.offsets, Blob: t.blob}
}

// sorted returns the strings as a sorted dictionary, and the code in it of each number.
func (t *interner) sorted() (*vector.Dict, []uint32) {
	d := t.dict()
	order := sortedCodes(d)
	codes := make([]uint32, len(order))
	out := &vector.Dict{Offsets: make([]uint32, 1, len(order)+1), Blob: make([]byte, 0, len(t.blob)), Sorted: true}
	for i, number := range order {
		text := d.Value(number)
		if i == 0 || !t.repeats || text != d.Value(order[i-1]) {
			out.Blob = append(out.Blob, text...)
			out.Offsets = append(out.Offsets, uint32(len(out.Blob)))
		}
		codes[number] = uint32(out.Len() - 1)
	}
	return out, codes
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
