package exec

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// A set of the values of one text column, as a DISTINCT needs, does not want to know the number of
// each row. When all queries number the texts alike a bit for each word does: it is quicker to set
// than a number is to look up, and the sets of several workers are united word by word. Numbers
// come in the end.
//
// The entries that come in a segment are noted as bits by code first, which a core's first cache
// holds, and get their words in the order of the dictionary.

// metCodes are the entries of a dictionary that were met and of which the words were not.
type metCodes struct {
	dict  *vector.Dict // nil: there are none
	words []uint32     // of the dictionary, shared with others
	bits  vector.Bitmap
}

// meet adds n rows of keys without numbering them. It reports false if the keys are not for it, and
// nothing was done.
func (t *keyTable) meet(keys []*vector.Vector, n int) bool {
	if len(t.cols) != 1 || t.cols[0].lexicon == nil {
		return false
	}
	v, c := keys[0], &t.cols[0]
	if v.Dict == nil || v.Const || !c.useMemo(v.Dict, n) || !c.shared {
		return false
	}
	codes := v.Codes[:n]
	if v.Valid == nil && n > 0 && codes[n-1]-codes[0] == uint32(n-1) { // they lie side by side already
		t.meetCodes(v.Dict, c.memo, codes)
		return true
	}
	if t.noted.dict != v.Dict {
		t.settleMet()
		t.noted.dict, t.noted.words = v.Dict, c.memo
		t.noted.bits = sized(t.noted.bits, v.Dict.Len()/64+1)
		clear(t.noted.bits)
	}
	bits := t.noted.bits
	if v.Valid == nil {
		for _, code := range codes {
			bits[code>>6] |= 1 << (code & 63)
		}
		return true
	}
	for i, code := range codes {
		if v.Valid.Get(i) {
			bits[code>>6] |= 1 << (code & 63)
		} else if len(t.met) == 0 || t.met[0]&1 == 0 {
			t.roomForMet(0)
			t.met[0] |= 1
		}
	}
	return true
}

// settleMet gives the entries that were noted their words. It may read the texts of a segment.
func (t *keyTable) settleMet() {
	noted := t.noted
	if noted.dict == nil {
		return
	}
	t.noted = metCodes{bits: noted.bits}
	codes := make([]uint32, 0, vector.BatchRows+64)
	for i, x := range noted.bits {
		for ; x != 0; x &= x - 1 {
			codes = append(codes, uint32(i*64+bits.TrailingZeros64(x)))
		}
		if len(codes) >= vector.BatchRows || i == len(noted.bits)-1 {
			t.meetCodes(noted.dict, noted.words, codes)
			codes = codes[:0]
		}
	}
}

// meetCodes sets the bits of the words of entries.
func (t *keyTable) meetCodes(d *vector.Dict, words, codes []uint32) {
	met := t.met
	for i, code := range codes {
		w := atomic.LoadUint32(&words[code])
		if w == 0 {
			t.cols[0].lexicon.learn(d, words, codes[i:])
			w = atomic.LoadUint32(&words[code])
		}
		if int(w>>6) >= len(met) {
			t.roomForMet(int(w))
			met = t.met
		}
		met[w>>6] |= 1 << (w & 63)
	}
}

// roomForMet makes room for a word, and for all that have numbers.
func (t *keyTable) roomForMet(word int) {
	size := max(word, t.cols[0].lexicon.len())>>6 + 1
	t.met = slices.Grow(t.met, size-len(t.met))
	clear(t.met[len(t.met):size])
	t.met = t.met[:size]
}

// takeMet adds what o has met, and leaves it without, if both have the same words.
func (t *keyTable) takeMet(o *keyTable) {
	t.settleMet()
	o.settleMet()
	if len(o.met) == 0 || !t.sameWords(o) {
		return
	}
	if len(t.met) < len(o.met) {
		t.met, o.met = o.met, t.met
	}
	for i, x := range o.met {
		t.met[i] |= x
	}
	o.met = nil
}

// numberMet gives the words that were met numbers, as every other use of the table expects.
func (t *keyTable) numberMet() {
	t.settleMet()
	if len(t.met) == 0 {
		return
	}
	t.reserve(t.met.Count(len(t.met) * 64))
	rows := make([]uint64, 0, vector.BatchRows+64)
	for i, x := range t.met {
		for ; x != 0; x &= x - 1 {
			rows = append(rows, uint64(i*64+bits.TrailingZeros64(x)))
		}
		if len(rows) >= vector.BatchRows || i == len(t.met)-1 {
			t.groups = sized(t.groups, len(rows))
			t.probe(rows, 1, len(rows), t.groups)
			rows = rows[:0]
		}
	}
	t.met = nil
}
