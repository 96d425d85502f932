package keys

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

// distinctCodes are the entries of a dictionary that came and whose words are not in the bitmap
// yet.
type distinctCodes struct {
	dict  *vector.Dict // nil: there are none
	words []uint32     // of the dictionary, shared with others
	bits  vector.Bitmap
}

// AddDistinct adds n rows of keys without numbering them. It returns false without an effect if it
// does not support the keys.
func (t *Table) AddDistinct(keys []*vector.Vector, n int) bool {
	if len(t.Cols) != 1 || t.Cols[0].GlobalDict == nil {
		return false
	}
	v, c := keys[0], &t.Cols[0]
	if v.Dict == nil || v.Const || !c.useMemo(v.Dict, n) || !c.shared {
		return false
	}
	codes := v.Codes[:n]
	if v.Valid == nil && n > 0 && codes[n-1]-codes[0] == uint32(n-1) { // they lie side by side already
		t.addDistinctCodes(v.Dict, c.memo, codes)
		return true
	}
	if t.pendingDistinct.dict != v.Dict {
		t.SettleDistinct()
		t.pendingDistinct.dict, t.pendingDistinct.words = v.Dict, c.memo
		t.pendingDistinct.bits = vector.Sized(t.pendingDistinct.bits, v.Dict.Len()/64+1)
		clear(t.pendingDistinct.bits)
	}
	bits := t.pendingDistinct.bits
	if v.Valid == nil {
		for _, code := range codes {
			bits[code>>6] |= 1 << (code & 63)
		}
		return true
	}
	for i, code := range codes {
		if v.Valid.Get(i) {
			bits[code>>6] |= 1 << (code & 63)
		} else if len(t.Distinct) == 0 || t.Distinct[0]&1 == 0 {
			t.growDistinct(0)
			t.Distinct[0] |= 1
		}
	}
	return true
}

// SettleDistinct assigns words to the recorded dictionary entries. It may read strings of a
// segment.
func (t *Table) SettleDistinct() {
	noted := t.pendingDistinct
	if noted.dict == nil {
		return
	}
	t.pendingDistinct = distinctCodes{bits: noted.bits}
	codes := make([]uint32, 0, vector.BatchRows+64)
	for i, x := range noted.bits {
		for ; x != 0; x &= x - 1 {
			codes = append(codes, uint32(i*64+bits.TrailingZeros64(x)))
		}
		if len(codes) >= vector.BatchRows || i == len(noted.bits)-1 {
			t.addDistinctCodes(noted.dict, noted.words, codes)
			codes = codes[:0]
		}
	}
}

// addDistinctCodes sets the bits of the words of entries.
func (t *Table) addDistinctCodes(d *vector.Dict, words, codes []uint32) {
	distinct := t.Distinct
	for i, code := range codes {
		w := atomic.LoadUint32(&words[code])
		if w == 0 {
			t.Cols[0].GlobalDict.learn(d, words, codes[i:])
			w = atomic.LoadUint32(&words[code])
		}
		if int(w>>6) >= len(distinct) {
			t.growDistinct(int(w))
			distinct = t.Distinct
		}
		distinct[w>>6] |= 1 << (w & 63)
	}
}

// growDistinct makes room for a word, and for all that have numbers.
func (t *Table) growDistinct(word int) {
	size := max(word, t.Cols[0].GlobalDict.Len())>>6 + 1
	t.Distinct = slices.Grow(t.Distinct, size-len(t.Distinct))
	clear(t.Distinct[len(t.Distinct):size])
	t.Distinct = t.Distinct[:size]
}

// TakeDistinct moves the words of o to t, if both have the same words.
func (t *Table) TakeDistinct(o *Table) {
	t.SettleDistinct()
	o.SettleDistinct()
	if len(o.Distinct) == 0 || !t.SameWords(o) {
		return
	}
	if len(t.Distinct) < len(o.Distinct) {
		t.Distinct, o.Distinct = o.Distinct, t.Distinct
	}
	for i, x := range o.Distinct {
		t.Distinct[i] |= x
	}
	o.Distinct = nil
}

// NumberDistinct numbers the words of the bitmap, as the other methods of the table require.
func (t *Table) NumberDistinct() {
	t.SettleDistinct()
	if len(t.Distinct) == 0 {
		return
	}
	t.Reserve(t.Distinct.Count(len(t.Distinct) * 64))
	rows := make([]uint64, 0, vector.BatchRows+64)
	for i, x := range t.Distinct {
		for ; x != 0; x &= x - 1 {
			rows = append(rows, uint64(i*64+bits.TrailingZeros64(x)))
		}
		if len(rows) >= vector.BatchRows || i == len(t.Distinct)-1 {
			t.Groups = vector.Sized(t.Groups, len(rows))
			t.Probe(rows, 1, len(rows), t.Groups)
			rows = rows[:0]
		}
	}
	t.Distinct = nil
}
