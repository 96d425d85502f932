package exec

import (
	"math"
	"sync/atomic"
)

// Longs that lie near each other are dealt to the partitions of rows put aside like cards, a run of
// 2^dealBits of them to each in turn. However dense they are, every partition gets about as many,
// and those of one partition lie near each other again: an array that fits in a core's first cache
// finds their groups without hashing.
const dealBits = 6

// dealtTo returns the partition of a Long.
func dealtTo(w uint64) uint8 { return uint8(w >> dealBits) }

// dealtPlace returns the place of a Long among those of its partition, in their order.
func dealtPlace(w uint64) int64 {
	return int64(w)>>(dealBits+scatterBits)<<dealBits | int64(w&(1<<dealBits-1))
}

// dealtRange is from the least to the greatest of some Longs.
type dealtRange struct{ least, greatest int64 }

// noLongs is the range that others are added to.
var noLongs = dealtRange{math.MaxInt64, math.MinInt64}

func (r *dealtRange) add(o dealtRange) {
	r.least, r.greatest = min(r.least, o.least), max(r.greatest, o.greatest)
}

// dealing is what the workers of an aggregation have in common about the partitions of rows that
// they put aside: the first to do so says whether keys are dealt or spread by a hash.
type dealing struct{ said atomic.Int32 }

const (
	saidHashed = 1
	saidDealt  = 2
)

// decide says that keys are dealt if they are near, unless somebody was earlier, and reports what
// holds.
func (d *dealing) decide(near bool) bool {
	say := int32(saidHashed)
	if near {
		say = saidDealt
	}
	d.said.CompareAndSwap(0, say)
	return d.dealt()
}

func (d *dealing) dealt() bool { return d.said.Load() == saidDealt }

// deal makes the array by word of an empty table for about so many of the Longs of one partition,
// all of which are in a range, and reports whether they lie near enough.
func (t *keyTable) deal(within dealtRange, keys int) bool {
	if t.masked || within.greatest < within.least {
		return false
	}
	least := dealtPlace(uint64(within.least)) &^ (1<<dealBits - 1)
	span := nearSpan(least, dealtPlace(uint64(within.greatest))|(1<<dealBits-1), keys)
	if span == 0 {
		return false
	}
	t.near, t.dealt, t.least, t.byWord, t.slots = true, true, uint64(least), make([]uint32, span), nil
	t.words = make([]uint64, 0, keys)
	return true
}

// probeDealt is probeNear for a table of one partition. A Long beyond the array ends it.
func (t *keyTable) probeDealt(rows []uint64, w, n int, out []uint32) {
	t.words = roomy(t.words, n)
	byWord, least := t.byWord, int64(t.least)
	for i := range n {
		x := rows[i*w]
		at := uint64(dealtPlace(x) - least)
		if at >= uint64(len(byWord)) {
			t.leave()
			t.fillSlots()
			t.probe(rows[i*w:], w, n-i, out[i:])
			return
		}
		g := byWord[at]
		if g == 0 {
			t.words = append(t.words, x)
			t.n++
			g = uint32(t.n)
			byWord[at] = g
		}
		out[i] = g - 1
	}
}
