package exec

import (
	"math"
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// smallIndex is how many texts a lexicon may have so that an array by word is made for whatever
	// few groups.
	smallIndex = 1 << 10
	// groupShare says how many words there may be in an array for each group: the slots of a hash
	// table take about as much.
	groupShare = 8
	// frontRepeats is how often an entry of a dictionary comes in a segment on average so that it is
	// worth a cell of the front.
	frontRepeats = 16
)

// indexed reports whether keys are looked up in the array by word, which it makes and extends as
// needed. The array fits the keys of one column of text that all queries number alike, and Longs
// that lie near each other.
func (t *keyTable) indexed() bool {
	if t.near {
		return true
	}
	if len(t.cols) != 1 || t.cols[0].lexicon == nil {
		return false
	}
	words := t.cols[0].lexicon.len() + 1
	if words <= len(t.byWord) {
		return true
	}
	if t.byWord == nil && words > smallIndex && words > groupShare*t.n {
		return false
	}
	t.index(words + words/4)
	return true
}

// index makes the array for so many words.
func (t *keyTable) index(words int) {
	t.byWord = make([]uint32, words)
	for g, w := range t.words {
		t.byWord[w] = uint32(g) + 1
	}
	t.slots = nil
}

// probeIndex looks rows of one word up in the array.
func (t *keyTable) probeIndex(rows []uint64, w, n int, out []uint32) {
	switch {
	case t.dealt:
		t.probeDealt(rows, w, n, out)
		return
	case t.near:
		t.probeNear(rows, w, n, out)
		return
	}
	for i := range n {
		x := rows[i*w]
		g := t.byWord[x]
		if g == 0 {
			g = t.addWord(x)
		}
		out[i] = g - 1
	}
}

// addWord adds a key of one word to the array and returns its number + 1.
func (t *keyTable) addWord(w uint64) uint32 {
	t.words = append(roomy(t.words, 1), w)
	t.n++
	t.byWord[w] = uint32(t.n)
	return uint32(t.n)
}

const (
	// nearShare says how many Longs there may be from the least key to the greatest for each group,
	// and maxNear how many in all: 16 MiB.
	nearShare = 64
	maxNear   = 1 << 22
)

// nearness returns the least key and how many Longs there are up to the greatest if all are Longs
// that lie near each other: ids, mostly. No Longs: they don't.
func (t *keyTable) nearness() (from int64, span int) {
	switch {
	case t.near:
		return int64(t.least), len(t.byWord)
	case t.far || t.masked || len(t.cols) != 1 || t.cols[0].typ.Kind != vector.KindLong || t.n == 0:
		return 0, 0
	}
	least, greatest := int64(t.words[0]), int64(t.words[0])
	for _, w := range t.words {
		least, greatest = min(least, int64(w)), max(greatest, int64(w))
	}
	return least, nearSpan(least, greatest, t.n)
}

// nearSpan returns how many Longs there are from least to greatest, 0: too many for so many keys.
func nearSpan(least, greatest int64, keys int) int {
	span := uint64(greatest) - uint64(least)
	if span >= uint64(min(maxNear, nearShare*keys)) {
		return 0
	}
	return int(span) + 1
}

// approach makes the array by word when keys are near each other. It takes no more memory than
// there is.
func (t *keyTable) approach(free int64) {
	if t.near {
		return
	}
	if least, span := t.nearness(); span > 0 && 16*int64(span) < free {
		t.approachOver(least, span)
	}
}

// approachOver makes the array for so many Longs from least on, which the keys are among.
func (t *keyTable) approachOver(least int64, span int) {
	t.near, t.least, t.byWord, t.slots = true, uint64(least), make([]uint32, span), nil
	for g, w := range t.words {
		t.byWord[w-t.least] = uint32(g) + 1
	}
}

// leave gives the array of a table that is near up. The keys have no slots then.
func (t *keyTable) leave() { t.near, t.dealt, t.far, t.byWord = false, false, true, nil }

// probeNear looks rows of one word up in the array of a table that is near.
func (t *keyTable) probeNear(rows []uint64, w, n int, out []uint32) {
	t.words = roomy(t.words, n)
	least, byWord := t.least, t.byWord
	for i := range n {
		x := rows[i*w]
		at := x - least
		if at >= uint64(len(byWord)) {
			if !t.reach(int64(x)) {
				t.leave()
				t.fillSlots()
				t.probe(rows[i*w:], w, n-i, out[i:])
				return
			}
			least, byWord = t.least, t.byWord
			at = x - least
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

// reach makes the array longer, so that it has x, and as many Longs again on that side. It reports
// false if it would be too long.
func (t *keyTable) reach(x int64) bool {
	least, greatest := int64(t.least), int64(t.least+uint64(len(t.byWord)-1))
	span := nearSpan(min(least, x), max(greatest, x), t.n)
	if span == 0 {
		return false
	}
	from, more := min(least, x), uint64(min(len(t.byWord), maxNear-span))
	if x < least {
		more = min(more, uint64(from)-uint64(math.MaxInt64+1)) // down to the least Long
		from -= int64(more)
	} else {
		more = min(more, uint64(math.MaxInt64)-uint64(x))
	}
	old := t.byWord
	t.byWord = make([]uint32, span+int(more))
	copy(t.byWord[uint64(least)-uint64(from):], old)
	t.least = uint64(from)
	return true
}

// findCodes looks up the codes of a dictionary, whose words all queries share, without writing
// words down. It reports false if the keys are not of this kind, or the front has a shorter way.
func (t *keyTable) findCodes(keys []*vector.Vector, n int, out []uint32) bool {
	if len(t.cols) != 1 || t.cols[0].lexicon == nil {
		return false
	}
	v := keys[0]
	if v.Dict == nil || v.Const || v.Valid != nil || v.Dict.Len() <= max(smallDict, v.Dict.Rows/frontRepeats) {
		return false
	}
	c := &t.cols[0]
	if c.dict != v.Dict || !c.shared || !t.indexed() {
		return false
	}
	words, byWord := c.memo, t.byWord
	for i, code := range v.Codes[:n] {
		w := atomic.LoadUint32(&words[code])
		if w == 0 {
			c.lexicon.learn(v.Dict, words, v.Codes[i:n])
			w = atomic.LoadUint32(&words[code])
		}
		if int(w) >= len(byWord) { // somebody learnt more words
			t.indexed()
			byWord = t.byWord
		}
		g := byWord[w]
		if g == 0 {
			g = t.addWord(uint64(w))
		}
		out[i] = g - 1
	}
	return true
}

// sameWords reports whether equal keys of t and o have equal words.
func (t *keyTable) sameWords(o *keyTable) bool {
	for i := range t.cols {
		c := &t.cols[i]
		if !c.isNumber() && (c.lexicon == nil || c.lexicon != o.cols[i].lexicon) {
			return false
		}
	}
	return true
}

// maskAlike gives both tables words for nulls if one has them.
func (t *keyTable) maskAlike(o *keyTable) {
	if t.masked && !o.masked {
		o.mask()
	}
	if o.masked && !t.masked {
		t.mask()
	}
}

// findWords is find for keys of a table with the same words, alike in masks: those numbered
// lo+rows[i], or with rows nil all from lo up to, not including, hi.
func (t *keyTable) findWords(o *keyTable, lo, hi int, rows []uint32) []uint32 {
	n, s := hi-lo, t.stride
	words := o.words[lo*s : hi*s]
	if rows != nil {
		n = len(rows)
		t.rows = sized(t.rows, n*s)
		for i, r := range rows {
			for k, w := range words[int(r)*s : int(r)*s+s] {
				t.rows[i*s+k] = w
			}
		}
		words = t.rows
	}
	t.groups = sized(t.groups, n)
	t.probe(words, s, n, t.groups)
	return t.groups
}

// hashKeys sets out to hashes of the keys from lo up to, not including, hi: of their words, or of
// their values when words of other tables differ.
func (t *keyTable) hashKeys(lo, hi int, words bool, out []uint64) {
	if !words {
		vector.HashRows(t.keys(lo, hi), out)
		return
	}
	for i := range out {
		at := (lo + i) * t.stride
		out[i] = hashWords(t.words[at : at+t.stride])
	}
}
