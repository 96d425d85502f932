package keys

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// maxInterned is the text an interner takes before its owner has to start over: offsets have 32
// bits, and a batch may still follow.
const maxInterned = 3 << 30

// Interner numbers distinct strings 0, 1, 2, ... It stores copies in a growing dictionary.
type Interner struct {
	blob    []byte
	offsets []uint32
	slots   []uint64 // as in Table
	shift   uint
	made    *vector.Dict // what dict returned last
}

// Len returns the number of strings.
func (x *Interner) Len() int { return max(len(x.offsets)-1, 0) }

// text returns a text; the slice must not be changed.
func (x *Interner) text(number uint32) []byte { return x.blob[x.offsets[number]:x.offsets[number+1]] }

// Number returns the number of s, and adds s if it is new.
func (x *Interner) Number(s string) uint32 { return x.numberOf(s, tagOf(s)) }

// tagOf returns what slots have of a text.
func tagOf(s string) uint64 { return vector.HashString(s) >> 32 }

func (x *Interner) numberOf(s string, tag uint64) uint32 {
	if x.slots == nil {
		x.slots, x.shift, x.offsets = make([]uint64, 16), 32-4, make([]uint32, 1, 16)
	}
	mask := uint64(len(x.slots) - 1)
	for at := tag >> x.shift; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			n := uint32(x.Len())
			x.blob = append(x.blob, s...)
			x.offsets = append(x.offsets, uint32(len(x.blob)))
			x.slots[at] = tag<<32 | uint64(n+1)
			if int(n+1)*2 > len(x.slots) {
				x.slots, x.shift = grownSlots(x.slots)
			}
			return n
		}
		if slot>>32 == tag && string(x.text(uint32(slot)-1)) == s {
			return uint32(slot) - 1
		}
	}
}

// Find returns the number of s, if it exists.
func (x *Interner) Find(s string) (number uint32, ok bool) { return x.findOf(s, tagOf(s)) }

func (x *Interner) findOf(s string, tag uint64) (number uint32, ok bool) {
	if x.slots == nil {
		return 0, false
	}
	mask := uint64(len(x.slots) - 1)
	for at := tag >> x.shift; x.slots[at] != 0; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot>>32 == tag && string(x.text(uint32(slot)-1)) == s {
			return uint32(slot) - 1, true
		}
	}
	return 0, false
}

// together is how many texts are looked up at once: a processor waits for the memory of all of them
// together, where it would for each in turn.
const together = 32

// lookup is what is known of texts that are looked up together.
type lookup struct {
	tags    [together]uint64
	slots   [together]uint64
	begins  [together]uint32
	touched byte // what was read to bring memory near, so that it is read
}

// read takes the tags of the entries of d that are looked up next: at most so many as are looked up
// together.
func (l *lookup) read(d *vector.Dict, codes []uint32) {
	for i, c := range codes {
		l.tags[i] = tagOf(d.Value(c))
	}
}

// Approach brings the slots of n texts near.
func (l *lookup) Approach(x *Interner, n int) {
	if x.slots == nil {
		clear(l.slots[:])
		return
	}
	for i := range n {
		l.slots[i] = x.slots[l.tags[i]>>x.shift]
	}
}

// findEach sets the numbers, plus 1, of the entries of d that l has read; 0: the text has none.
func (x *Interner) findEach(d *vector.Dict, codes, numbers []uint32, l *lookup) {
	l.Approach(x, len(codes))
	for i := range codes {
		l.begins[i] = math.MaxUint32
		if slot := l.slots[i]; slot != 0 && slot>>32 == l.tags[i] {
			l.begins[i] = x.offsets[uint32(slot)-1]
		}
	}
	for i := range codes {
		if at := int(l.begins[i]); at < len(x.blob) {
			l.touched ^= x.blob[at]
		}
	}
	for i, c := range codes {
		numbers[i] = 0
		if l.slots[i] == 0 {
			continue
		}
		if n, ok := x.findOf(d.Value(c), l.tags[i]); ok {
			numbers[i] = n + 1
		}
	}
}

// numberEach sets the numbers, plus 1, of the entries of d that l has read, adding those that are
// new.
func (x *Interner) numberEach(d *vector.Dict, codes, numbers []uint32, l *lookup) {
	l.Approach(x, len(codes))
	for i, c := range codes {
		numbers[i] = x.numberOf(d.Value(c), l.tags[i]) + 1
	}
}

// Dict returns the current strings as a dictionary, which does not change when strings are added.
// Until then, Dict returns the same dictionary, so that callers can cache results by entry.
func (x *Interner) Dict() *vector.Dict {
	if x.made == nil || x.made.Len() != x.Len() {
		x.made = &vector.Dict{Offsets: slices.Clip(x.offsets), Blob: slices.Clip(x.blob)}
	}
	return x.made
}

func (x *Interner) Bytes() int64 {
	return int64(cap(x.blob)) + 4*int64(cap(x.offsets)) + 8*int64(cap(x.slots))
}

// Ahead returns the additional memory for n more strings of the same average length.
func (x *Interner) Ahead(n int) int64 {
	if x.Len() == 0 {
		return 0
	}
	return growthOf(len(x.blob), cap(x.blob), n*(len(x.blob)/x.Len()+1)) +
		4*growthOf(len(x.offsets), cap(x.offsets), n) + slotGrowth(x.slots, x.Len(), n)
}

func floatOf(w uint64) float64 { return math.Float64frombits(w) }

// appendKeyText appends the value that vector.KeyText wrote, which is not null.
func appendKeyText(b *vector.Builder, t vector.Type, p []byte) {
	readKeyText(b, t, p)
}

// readKeyText appends the value at the start of p and returns the rest. The bytes are our own: they
// were written by vector.KeyText.
func readKeyText(b *vector.Builder, t vector.Type, p []byte) []byte {
	if p[0] == 0 {
		b.AppendNull()
		return p[1:]
	}
	p = p[1:]
	switch t.Kind {
	case vector.KindLong:
		b.AppendLong(int64(binary.LittleEndian.Uint64(p)))
		return p[8:]
	case vector.KindDouble:
		b.AppendDouble(floatOf(binary.LittleEndian.Uint64(p)))
		return p[8:]
	case vector.KindFloat:
		b.AppendFloat(float32(floatOf(binary.LittleEndian.Uint64(p))))
		return p[8:]
	case vector.KindList:
		n := binary.LittleEndian.Uint32(p)
		p = p[4:]
		for range n {
			p = readKeyText(b.Child(), t.Elem(), p)
		}
		b.AppendList()
		return p
	}
	n := binary.LittleEndian.Uint32(p)
	b.AppendString(string(p[4 : 4+n]))
	return p[4+n:]
}
