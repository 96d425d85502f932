package sketch

import (
	"math"
	"math/bits"
	"slices"
)

// maxTheta stands for 1.0: nothing has been left out yet.
const maxTheta = uint64(math.MaxInt64)

const (
	// resizeAt and rebuildAt are the loads at which a table grows, and at which one of the final size
	// drops its largest keys.
	resizeAt  = 0.5
	rebuildAt = 15.0 / 16
	// minTableLog is the smallest size of a table.
	minTableLog = 5
)

// HashText is the key of text in theta and tuple sketches; the empty text has none.
func HashText(s []byte) uint64 {
	if len(s) == 0 {
		return 0
	}
	h, _ := murmur3Seeded(s, sketchSeed)
	return h >> 1
}

// HashLong is the key of a whole number in theta sketches.
func HashLong(x int64) uint64 { return hashWord(uint64(x)) }

// HashDouble is the key of a double in theta sketches.
func HashDouble(x float64) uint64 { return hashWord(canonicalBits(x)) }

func hashWord(x uint64) uint64 {
	h1, h2 := murmurTail(sketchSeed, sketchSeed, x, 0, 8)
	h1, _ = murmurEnd(h1, h2, 8)
	return h1 >> 1
}

// keyTable is a hash table of keys, which are hashes, each with width values. Its layout is that of
// the HashOperations of datasketches-java, because the order of its slots is the order in which
// some sketches are stored. Key 0 is a free slot.
type keyTable struct {
	lg     int // the table has 1<<lg slots
	keys   []uint64
	values []float64
	width  int
	n      int
}

func newKeyTable(lg, width int) *keyTable {
	t := &keyTable{lg: lg, keys: make([]uint64, 1<<lg), width: width}
	if width > 0 {
		t.values = make([]float64, width<<lg)
	}
	return t
}

// find returns the slot of key, or the free one where it belongs. The table must not be full.
func (t *keyTable) find(key uint64) (slot int, found bool) {
	mask := uint64(len(t.keys) - 1)
	stride := 2*(key>>t.lg&127) + 1
	for i := key & mask; ; i = (i + stride) & mask {
		switch t.keys[i] {
		case key:
			return int(i), true
		case 0:
			return int(i), false
		}
	}
}

// put adds key to slot, which find gave as free.
func (t *keyTable) put(slot int, key uint64) {
	t.keys[slot] = key
	t.n++
}

// row returns the values of a slot.
func (t *keyTable) row(slot int) []float64 { return t.values[slot*t.width : (slot+1)*t.width] }

// rebuilt returns a table of 1<<lg slots with the keys below theta.
func (t *keyTable) rebuilt(lg int, theta uint64) *keyTable {
	out := newKeyTable(lg, t.width)
	for i, k := range t.keys {
		if k == 0 || k >= theta {
			continue
		}
		slot, _ := out.find(k)
		out.put(slot, k)
		if t.width > 0 {
			copy(out.row(slot), t.row(i))
		}
	}
	return out
}

// list returns the keys by slot.
func (t *keyTable) list() []uint64 {
	out := make([]uint64, 0, t.n)
	for _, k := range t.keys {
		if k != 0 {
			out = append(out, k)
		}
	}
	return out
}

// smallest returns the key that has n smaller ones.
func (t *keyTable) smallest(n int) uint64 {
	keys := t.list()
	slices.Sort(keys)
	return keys[n]
}

func (t *keyTable) bytes() int64 { return 64 + 8*int64(cap(t.keys)+cap(t.values)) }

// growTable makes room after a key was added to a table that serves nominal keys; it returns the
// table and theta, both perhaps new. speed is the logarithm of how many times larger a growing
// table becomes.
func growTable(t *keyTable, theta uint64, nominal, speed int) (*keyTable, uint64) {
	size := len(t.keys)
	if size > nominal {
		if t.n > int(float64(size)*rebuildAt) {
			theta = t.smallest(nominal)
			t = t.rebuilt(t.lg, theta)
		}
		return t, theta
	}
	if t.n > int(float64(size)*resizeAt) {
		t = t.rebuilt(t.lg+speed, theta)
	}
	return t, theta
}

// startLog is the logarithm of the first size of a table that serves nominal keys, from which steps
// of speed reach twice as many.
func startLog(nominal, speed int) int {
	target := bits.TrailingZeros(uint(nominal)) + 1
	if target <= minTableLog {
		return minTableLog
	}
	return (target-minTableLog)%speed + minTableLog
}

// nominalSize makes n a power of two from least to the bound of a table.
func nominalSize(n, least int) int {
	n = min(max(n, least), 1<<26)
	return 1 << bits.Len(uint(n-1))
}
