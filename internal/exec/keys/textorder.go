package keys

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// textOrder is numbers of a global dictionary in the ascending order of their texts. A large sorted
// dictionary, whose entries rows have in no order, is merged with it as a whole: both are read from
// front to back, where looking up entries one by one takes a few distant reads of memory for each.
// Texts that were numbered together also have numbers in their order, so that groups of the next
// segment are found in the order in which they lie.
type textOrder struct {
	mu      sync.Mutex // held while a dictionary is merged
	numbers []uint32
	heads   []uint64     // the first words of their texts
	bytes   atomic.Int64 // of both
}

const (
	// leastWhole is how many entries a dictionary has at least that is learnt as a whole.
	leastWhole = 1 << 14
	// mergeShare is how many times as many texts as the dictionary has are passed over for it.
	mergeShare = 16
	// wholeBytes is what an entry takes at most beside its text: its place, slots that were doubled
	// just now, and the order.
	wholeBytes = 4 + 2*2*8 + 2*(4+8)
)

func allKnown(words []uint32) bool {
	for i := range words {
		if atomic.LoadUint32(&words[i]) == 0 {
			return false
		}
	}
	return true
}

// learnWhole sets the words of all entries of d, which is sorted; false: there is no room for its
// texts.
func (x *GlobalDict) learnWhole(d *vector.Dict, words []uint32) bool {
	x.order.mu.Lock()
	defer x.order.mu.Unlock()
	if allKnown(words) { // another goroutine was first
		return true
	}
	blob := int(d.Offsets[len(words)] - d.Offsets[0])
	x.mu.RLock()
	fits := len(x.texts.blob)+blob <= maxInterned
	x.mu.RUnlock()
	ahead := int64(blob) + wholeBytes*int64(len(words))
	if !fits || !x.owner.memory.TryReserve(ahead) {
		return false
	}
	defer x.owner.memory.Release(ahead) // what came of it is charged by the caller
	if len(x.order.numbers) > mergeShare*d.Len() {
		x.learnInOrder(d, words)
	} else {
		x.merge(d, words)
	}
	return true
}

// merge sets the words of all entries of d, reading the order from front to back beside it.
func (x *GlobalDict) merge(d *vector.Dict, words []uint32) {
	o := &x.order
	// Texts that are numbered meanwhile are not in the order, nor are those that were numbered one by
	// one: they are looked up below.
	x.mu.RLock()
	texts := Interner{blob: x.texts.blob, offsets: x.texts.offsets}
	x.mu.RUnlock()
	var missing []uint32 // codes of texts that the order lacks, and
	var before []int     // how many of its texts are before each of them
	at := 0
	for c := range uint32(len(words)) {
		same := false
		if at, same = o.find(at, entry(d, c), &texts); same {
			atomic.StoreUint32(&words[c], o.numbers[at]+1)
			at++
			continue
		}
		missing, before = append(missing, c), append(before, at)
	}
	if len(missing) == 0 {
		return
	}
	x.addAll(d, words, missing)
	n := len(o.numbers) + len(missing)
	numbers, heads := make([]uint32, 0, n), make([]uint64, 0, n)
	at = 0
	for i, c := range missing {
		numbers, heads = append(numbers, o.numbers[at:before[i]]...), append(heads, o.heads[at:before[i]]...)
		numbers, heads = append(numbers, atomic.LoadUint32(&words[c])-1), append(heads, vector.PrefixWord(entry(d, c)))
		at = before[i]
	}
	o.numbers, o.heads = append(numbers, o.numbers[at:]...), append(heads, o.heads[at:]...)
	o.bytes.Store(4*int64(cap(o.numbers)) + 8*int64(cap(o.heads)))
}

// entry returns an entry of d; the slice must not be changed.
func entry(d *vector.Dict, code uint32) []byte { return d.Blob[d.Offsets[code]:d.Offsets[code+1]] }

// find returns the first place, from a place on, whose text is not before s, and whether it is s.
func (o *textOrder) find(at int, s []byte, texts *Interner) (int, bool) {
	head := vector.PrefixWord(s)
	for ; at < len(o.heads); at++ {
		if o.heads[at] < head {
			continue
		}
		if o.heads[at] > head {
			return at, false
		}
		switch t := texts.text(o.numbers[at]); {
		case bytes.Equal(t, s):
			return at, true
		case bytes.Compare(t, s) > 0:
			return at, false
		}
	}
	return at, false
}

// learnInOrder sets the words of all entries of d by looking up those that are not known yet.
func (x *GlobalDict) learnInOrder(d *vector.Dict, words []uint32) {
	var some [vector.BatchRows]uint32
	for lo := 0; lo < len(words); {
		n := 0
		for ; lo < len(words) && n < len(some); lo++ {
			if atomic.LoadUint32(&words[lo]) == 0 {
				some[n] = uint32(lo)
				n++
			}
		}
		x.learnSome(d, words, some[:n])
	}
}
