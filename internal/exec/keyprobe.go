package exec

import (
	"math/bits"

	"github.com/hengedb/henge/internal/vector"
)

// How a keyTable looks rows of words up: open addressing, a batch at a time.

// probe looks n rows of words up, one every w words of rows, in the hash table or in the array by
// word, and adds those that are new.
func (t *keyTable) probe(rows []uint64, w, n int, out []uint32) {
	if t.indexed() {
		t.probeIndex(rows, w, n, out)
		return
	}
	t.hashRows(rows, w, n)
	switch s := t.stride; s {
	case 1:
		t.probeOne(rows, w, n, out)
	case 2:
		t.probeTwo(rows, w, n, out)
	default:
		for i := range n {
			row := rows[i*w : i*w+s]
			if i > 0 && equalWords(row, rows[(i-1)*w:i*w]) {
				out[i] = out[i-1]
				continue
			}
			tag := t.hashes[i] >> 32
			mask := uint64(len(t.slots) - 1)
			for at := tag >> t.shift; ; at = (at + 1) & mask {
				slot := t.slots[at]
				if slot == 0 {
					out[i] = uint32(t.n)
					t.add(at, tag, row)
					break
				}
				if slot>>32 == tag {
					g := int(uint32(slot)) - 1
					if equalWords(row, t.words[g*s:g*s+s]) {
						out[i] = uint32(g)
						break
					}
				}
			}
		}
	}
}

// probeOne is probe for keys of one word.
func (t *keyTable) probeOne(rows []uint64, w, n int, out []uint32) {
	hashes := t.hashes[:n]
	last := uint64(0)
	for i, h := range hashes {
		x := rows[i*w]
		if i > 0 && x == last {
			out[i] = out[i-1]
			continue
		}
		last = x
		tag := h >> 32
		mask := uint64(len(t.slots) - 1)
		for at := tag >> t.shift; ; at = (at + 1) & mask {
			slot := t.slots[at]
			if slot == 0 {
				out[i] = uint32(t.n)
				t.add(at, tag, rows[i*w:i*w+1])
				break
			}
			if slot>>32 == tag && t.words[uint32(slot)-1] == x {
				out[i] = uint32(slot) - 1
				break
			}
		}
	}
}

// probeTwo is probe for keys of two words.
func (t *keyTable) probeTwo(rows []uint64, w, n int, out []uint32) {
	hashes := t.hashes[:n]
	var lastX, lastY uint64
	for i, h := range hashes {
		x, y := rows[i*w], rows[i*w+1]
		if i > 0 && x == lastX && y == lastY {
			out[i] = out[i-1]
			continue
		}
		lastX, lastY = x, y
		tag := h >> 32
		mask := uint64(len(t.slots) - 1)
		for at := tag >> t.shift; ; at = (at + 1) & mask {
			slot := t.slots[at]
			if slot == 0 {
				out[i] = uint32(t.n)
				t.add(at, tag, rows[i*w:i*w+2])
				break
			}
			if slot>>32 == tag {
				if g := 2 * (uint64(uint32(slot)) - 1); t.words[g] == x && t.words[g+1] == y {
					out[i] = uint32(slot) - 1
					break
				}
			}
		}
	}
}

func equalWords(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// add puts a new key into the free slot at.
func (t *keyTable) add(at, tag uint64, row []uint64) {
	t.words = append(roomy(t.words, len(row)), row...)
	t.n++
	t.slots[at] = tag<<32 | uint64(t.n)
	if t.n*2 > len(t.slots) {
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

// hashWords hashes one key.
func hashWords(row []uint64) uint64 {
	if len(row) == 1 {
		return vector.HashLong(row[0])
	}
	h := uint64(0)
	for _, w := range row {
		h = vector.HashLong(h ^ w)
	}
	return h
}

// hashKey hashes a key whose first words are masks: the same whether or not it has words for nulls.
func hashKey(key []uint64, masks int) uint64 {
	h := hashWords(key[masks:])
	for _, m := range key[:masks] {
		if m != 0 {
			h = vector.HashLong(h ^ m)
		}
	}
	return h
}

func (t *keyTable) hashRows(rows []uint64, w, n int) {
	t.hashes = sized(t.hashes, n)
	s := t.stride
	switch s {
	case 1:
		for i := range t.hashes {
			t.hashes[i] = vector.HashLong(rows[i*w])
		}
	case 2:
		for i := range t.hashes {
			t.hashes[i] = vector.HashLong(vector.HashLong(rows[i*w]) ^ rows[i*w+1])
		}
	default:
		for i := range t.hashes {
			t.hashes[i] = hashWords(rows[i*w : i*w+s])
		}
	}
}
