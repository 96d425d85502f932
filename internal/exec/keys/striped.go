package keys

import (
	"math"
	"sync/atomic"
)

// PartitionBits: rows are copied to 2^PartitionBits partitions. The caches of a core hold a line
// of each, and the groups of one partition of some millions fit in its second cache. A byte has the
// number of a partition.
const PartitionBits = 8

// Longs that lie near each other are striped over the partitions: round robin, a run of
// 2^stripeBits of them to each in turn. However dense they are, every partition gets about as many,
// and those of one partition lie near each other again: an array that fits in a core's first cache
// finds their groups without hashing.
const stripeBits = 6

// StripedPartition returns the partition of a Long.
func StripedPartition(w uint64) uint8 { return uint8(w >> stripeBits) }

// stripedPosition returns the position of a Long among those of its partition, in their order.
func stripedPosition(w uint64) int64 {
	return int64(w)>>(stripeBits+PartitionBits)<<stripeBits | int64(w&(1<<stripeBits-1))
}

// LongRange is the range from the least to the greatest of some Longs.
type LongRange struct{ Least, Greatest int64 }

// NoLongs is the empty range.
var NoLongs = LongRange{math.MaxInt64, math.MinInt64}

func (r *LongRange) Add(o LongRange) {
	r.Least, r.Greatest = min(r.Least, o.Least), max(r.Greatest, o.Greatest)
}

// Partitioning is the partitioning that the workers of an aggregation share: the first worker that
// partitions decides whether keys are striped or hashed.
type Partitioning struct{ decided atomic.Int32 }

const (
	saidHashed  = 1
	saidStriped = 2
)

// Decide chooses striping if the keys are in a dense range, unless another worker decided earlier,
// and reports whether keys are striped.
func (d *Partitioning) Decide(near bool) bool {
	say := int32(saidHashed)
	if near {
		say = saidStriped
	}
	d.decided.CompareAndSwap(0, say)
	return d.Striped()
}

func (d *Partitioning) Striped() bool { return d.decided.Load() == saidStriped }

// IndexStripes builds the array by word of an empty table for about the given number of Longs of
// one partition, all of which are in a range, and reports whether they are dense enough.
func (t *Table) IndexStripes(within LongRange, keys int) bool {
	if t.Masked || within.Greatest < within.Least {
		return false
	}
	least := stripedPosition(uint64(within.Least)) &^ (1<<stripeBits - 1)
	span := nearSpan(least, stripedPosition(uint64(within.Greatest))|(1<<stripeBits-1), keys)
	if span == 0 {
		return false
	}
	t.near, t.striped, t.Least, t.ByWord, t.slots = true, true, uint64(least), make([]uint32, span), nil
	t.Words = make([]uint64, 0, keys)
	return true
}

// probeStriped is probeNear for a table of one partition. A Long beyond the array ends it.
func (t *Table) probeStriped(rows []uint64, w, n int, out []uint32) {
	t.Words = roomy(t.Words, n)
	byWord, least := t.ByWord, int64(t.Least)
	for i := range n {
		x := rows[i*w]
		at := uint64(stripedPosition(x) - least)
		if at >= uint64(len(byWord)) {
			t.leave()
			t.fillSlots()
			t.Probe(rows[i*w:], w, n-i, out[i:])
			return
		}
		g := byWord[at]
		if g == 0 {
			t.Words = append(t.Words, x)
			t.N++
			g = uint32(t.N)
			byWord[at] = g
		}
		out[i] = g - 1
	}
}
