package segment

import (
	"hash/maphash"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// interner numbers distinct strings in the order they arrive. It is an open-addressing table over
// one run of bytes, so that millions of strings are a handful of objects to the garbage collector.
// The zero interner is empty.
type interner struct {
	seed    maphash.Seed
	blob    []byte
	offsets []uint32 // one more than strings
	slots   []uint64 // the hash of a string in the upper half, its number plus one in the lower; 0: free
	added   int      // strings that were given to add

	// Of addAll, by string: hashes, and what stands where they begin to look.
	hashes  [internAhead]uint32
	met     [internAhead]uint64
	touched byte

	// loose allows that a string gets a second number, and repeats says that it may have happened:
	// when nearly all strings are new, looking for each costs more than the few that are kept twice.
	// Sorting brings them together again.
	loose, repeats bool

	// expected is how many strings there may be at most, expectedBytes how many bytes may be reserved
	// for them; 0: that is not known.
	expected      int
	expectedBytes int64
}

const (
	// looseAfter is the number of distinct strings from which on an interner that may be loose looks
	// whether it should be, and looseShare how many in a hundred strings must have been new.
	looseAfter = 1 << 14
	looseShare = 90
	// internAhead is how many strings addAll looks up at a time.
	internAhead = 128
)

func (t *interner) len() int { return max(len(t.offsets)-1, 0) }

func (t *interner) text(i uint32) string { return textOf(t.blob[t.offsets[i]:t.offsets[i+1]]) }

func (t *interner) bytes() int64 {
	return int64(cap(t.blob) + 4*cap(t.offsets) + 8*cap(t.slots))
}

func (t *interner) hash(s string) uint32 { return uint32(maphash.String(t.seed, s)) }

// find returns the number of s, whose hash is given, and the slot where it is or belongs.
func (t *interner) find(s string, hash uint32) (number, slot uint32, found bool) {
	mask := uint32(len(t.slots) - 1)
	for slot = hash & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if x := t.slots[slot]; uint32(x>>32) == hash && t.text(uint32(x)-1) == s {
			return uint32(x) - 1, slot, true
		}
	}
	return 0, slot, false
}

// lookup returns the number of s, if it was added.
func (t *interner) lookup(s string) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	n, _, ok := t.find(s, t.hash(s))
	return n, ok
}

// add returns the number of s, which it copies if it is new.
func (t *interner) add(s string) (uint32, error) {
	t.added++
	if t.room(1); t.repeats {
		return t.append(s)
	}
	return t.insert(s, t.hash(s))
}

// addAll sets numbers to those of texts, as add does. A large table is not in the processor's
// caches: what the strings will need of it is touched before, so that many loads are under way at
// the same time.
func (t *interner) addAll(texts []string, numbers []uint32) (err error) {
	for len(texts) > 0 && err == nil {
		n := min(len(texts), internAhead)
		t.added += n
		if t.room(n); t.repeats {
			for i, s := range texts[:n] {
				if numbers[i], err = t.append(s); err != nil {
					return err
				}
			}
		} else if err = t.placeAll(texts[:n], numbers); err != nil {
			return err
		}
		texts, numbers = texts[n:], numbers[n:]
	}
	return nil
}

// touch brings a string into the processor's caches. Several that are touched one after the other
// are loaded at the same time.
func (t *interner) touch(number uint32) {
	if at := t.offsets[number]; at < uint32(len(t.blob)) {
		t.touched += t.blob[at] // kept, or the compiler would leave out the read
	}
}

func (t *interner) placeAll(texts []string, numbers []uint32) (err error) {
	mask := uint32(len(t.slots) - 1)
	for i, s := range texts {
		h := t.hash(s)
		t.hashes[i], t.met[i] = h, t.slots[h&mask]
	}
	for i := range texts {
		if x := t.met[i]; x != 0 && uint32(x>>32) == t.hashes[i] {
			t.touch(uint32(x) - 1)
		}
	}
	for i, s := range texts {
		if numbers[i], err = t.insert(s, t.hashes[i]); err != nil {
			return err
		}
	}
	return nil
}

// insert returns the number of s, whose hash is given, when there is room for one more.
func (t *interner) insert(s string, hash uint32) (uint32, error) {
	n, slot, ok := t.find(s, hash)
	if ok {
		return n, nil
	}
	n, err := t.append(s)
	if err == nil {
		t.slots[slot] = uint64(hash)<<32 | uint64(n+1)
	}
	return n, err
}

// room makes room for n more strings, or gives up looking for them.
func (t *interner) room(n int) {
	for !t.repeats && (t.len()+n-1)*4 >= len(t.slots)*3 {
		if t.loose && t.len() >= looseAfter && t.len() >= t.added/100*looseShare {
			t.repeats, t.slots = true, nil
			t.reserve()
			return
		}
		t.grow()
	}
}

// reserve makes room for all expected strings, which are as long as those that are there.
func (t *interner) reserve() {
	more := int64(t.expected - t.len())
	if bytes := int64(len(t.blob)) * more / int64(t.len()); more > 0 && bytes <= t.expectedBytes {
		t.blob, t.offsets = slices.Grow(t.blob, int(bytes+bytes/32)), slices.Grow(t.offsets, int(more))
	}
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
	old := t.slots
	t.slots = make([]uint64, max(64, 2*len(old)))
	mask := uint32(len(t.slots) - 1)
	for _, x := range old {
		if x == 0 {
			continue
		}
		slot := uint32(x>>32) & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = x
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
	for ahead := range slices.Chunk(order, internAhead) {
		for _, number := range ahead {
			t.touch(number)
		}
		for _, number := range ahead {
			text := d.Value(number)
			if last := out.Len() - 1; last < 0 || !t.repeats || text != out.Value(uint32(last)) {
				out.Blob = append(out.Blob, text...)
				out.Offsets = append(out.Offsets, uint32(len(out.Blob)))
			}
			codes[number] = uint32(out.Len() - 1)
		}
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
