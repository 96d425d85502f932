package keys

import (
	"math/bits"

	"github.com/hengedb/henge/internal/vector"
)

// How a Table looks rows of words up: open addressing, a batch at a time.

// Probe looks up n rows of words, one every w words of rows, in the hash table or in the array by
// word, and adds new rows.
func (t *Table) Probe(rows []uint64, w, n int, out []uint32) {
	if t.indexed() {
		t.probeIndex(rows, w, n, out)
		return
	}
	t.HashRows(rows, w, n)
	switch s := t.Stride; s {
	case 1:
		t.probeOne(rows, w, n, out)
	case 2:
		t.probeTwo(rows, w, n, out)
	default:
		for i := range n {
			row := rows[i*w : i*w+s]
			if i > 0 && EqualWords(row, rows[(i-1)*w:i*w]) {
				out[i] = out[i-1]
				continue
			}
			tag := t.Hashes[i] >> 32
			mask := uint64(len(t.slots) - 1)
			for at := tag >> t.shift; ; at = (at + 1) & mask {
				slot := t.slots[at]
				if slot == 0 {
					out[i] = uint32(t.N)
					t.Add(at, tag, row)
					break
				}
				if slot>>32 == tag {
					g := int(uint32(slot)) - 1
					if EqualWords(row, t.Words[g*s:g*s+s]) {
						out[i] = uint32(g)
						break
					}
				}
			}
		}
	}
}

// probeOne is probe for keys of one word. New keys are added here, as in probeTwo: a call for each
// would take as long as finding it.
func (t *Table) probeOne(rows []uint64, w, n int, out []uint32) {
	hashes, out := t.Hashes[:n], out[:n]
	words, slots, shift := t.Words, t.slots, t.shift
	last := uint64(0)
	for i, h := range hashes {
		x := rows[i*w]
		if i > 0 && x == last {
			out[i] = out[i-1]
			continue
		}
		last = x
		tag := h >> 32
		mask := uint64(len(slots) - 1)
		for at := tag >> (shift & 63); ; at++ {
			slot := slots[at&mask]
			if slot == 0 {
				if len(words) == cap(words) {
					words = roomy(words, 1)
				}
				out[i] = uint32(len(words))
				words = append(words, x)
				slots[at&mask] = tag<<32 | uint64(len(words))
				if len(words)*2 > len(slots) {
					slots, shift = grownSlots(slots)
				}
				break
			}
			if slot>>32 == tag && words[uint32(slot)-1] == x {
				out[i] = uint32(slot) - 1
				break
			}
		}
	}
	t.Words, t.slots, t.shift, t.N = words, slots, shift, len(words)
}

// probeTwo is probe for keys of two words.
func (t *Table) probeTwo(rows []uint64, w, n int, out []uint32) {
	hashes, out := t.Hashes[:n], out[:n]
	words, slots, shift := t.Words, t.slots, t.shift
	var lastX, lastY uint64
	for i, h := range hashes {
		x, y := rows[i*w], rows[i*w+1]
		if i > 0 && x == lastX && y == lastY {
			out[i] = out[i-1]
			continue
		}
		lastX, lastY = x, y
		tag := h >> 32
		mask := uint64(len(slots) - 1)
		for at := tag >> (shift & 63); ; at++ {
			slot := slots[at&mask]
			if slot == 0 {
				if len(words)+2 > cap(words) {
					words = roomy(words, 2)
				}
				out[i] = uint32(len(words) / 2)
				words = append(words, x, y)
				slots[at&mask] = tag<<32 | uint64(len(words)/2)
				if len(words) > len(slots) {
					slots, shift = grownSlots(slots)
				}
				break
			}
			if slot>>32 == tag {
				if g := 2 * (uint64(uint32(slot)) - 1); words[g] == x && words[g+1] == y {
					out[i] = uint32(slot) - 1
					break
				}
			}
		}
	}
	t.Words, t.slots, t.shift, t.N = words, slots, shift, len(words)/2
}

func EqualWords(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Add adds a new key in the free slot at.
func (t *Table) Add(at, tag uint64, row []uint64) {
	t.Words = append(roomy(t.Words, len(row)), row...)
	t.N++
	t.slots[at] = tag<<32 | uint64(t.N)
	if t.N*2 > len(t.slots) {
		t.slots, t.shift = grownSlots(t.slots)
	}
}

// grownSlots enlarges a table of slots, fourfold as long as it is small: moving entries costs more
// than the memory.
func grownSlots(old []uint64) (slots []uint64, shift uint) {
	slots = make([]uint64, slotFactor(len(old))*len(old))
	shift = uint(32 - bits.TrailingZeros(uint(len(slots))))
	mask := uint64(len(slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 >> shift
		for slots[at] != 0 {
			at = (at + 1) & mask
		}
		slots[at] = slot
	}
	return slots, shift
}

func slotFactor(n int) int {
	if n >= 1<<18 {
		return 2
	}
	return 4
}

// slotGrowth returns how many bytes more a table of slots with so many entries may take while n are
// added.
func slotGrowth(slots []uint64, entries, n int) int64 {
	if (entries+n)*2 <= len(slots) {
		return 0
	}
	return 8 * int64(slotFactor(len(slots))*len(slots))
}

// HashWords hashes one key.
func HashWords(row []uint64) uint64 {
	if len(row) == 1 {
		return vector.HashLong(row[0])
	}
	h := uint64(0)
	for _, w := range row {
		h = vector.HashLong(h ^ w)
	}
	return h
}

// Hash hashes a key whose first words are masks. The hash does not depend on whether the key has
// words for nulls.
func Hash(key []uint64, masks int) uint64 {
	h := HashWords(key[masks:])
	for _, m := range key[:masks] {
		if m != 0 {
			h = vector.HashLong(h ^ m)
		}
	}
	return h
}

func (t *Table) HashRows(rows []uint64, w, n int) {
	t.Hashes = vector.Sized(t.Hashes, n)
	s := t.Stride
	switch s {
	case 1:
		for i := range t.Hashes {
			t.Hashes[i] = vector.HashLong(rows[i*w])
		}
	case 2:
		for i := range t.Hashes {
			t.Hashes[i] = vector.HashLong(vector.HashLong(rows[i*w]) ^ rows[i*w+1])
		}
	default:
		for i := range t.Hashes {
			t.Hashes[i] = HashWords(rows[i*w : i*w+s])
		}
	}
}
