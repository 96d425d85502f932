package exec

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// A set of the values of one text column, as a DISTINCT needs, does not want to know the number of each row. When all queries number the
// texts alike a bit for each word does: it is quicker to set than a number is to look up, and the sets of several workers are united
// word by word. Numbers come in the end.

// meet adds n rows of keys without numbering them. It reports false if the keys are not for it, and nothing was done.
func (t *keyTable) meet(keys []*vector.Vector, n int) bool {
	if len(t.cols) != 1 || t.cols[0].lexicon == nil {
		return false
	}
	v, c := keys[0], &t.cols[0]
	if v.Dict == nil || v.Const || !c.useMemo(v.Dict, n) || !c.shared {
		return false
	}
	words, met := c.memo, t.met
	for i, code := range v.Codes[:n] {
		w := atomic.LoadUint32(&words[code])
		if v.Valid != nil && !v.Valid.Get(i) {
			w = 0
		} else if w == 0 {
			c.lexicon.learn(v.Dict, words, v.Codes[i:n])
			w = atomic.LoadUint32(&words[code])
		}
		if int(w>>6) >= len(met) {
			t.roomForMet(int(w))
			met = t.met
		}
		met[w>>6] |= 1 << (w & 63)
	}
	return true
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
