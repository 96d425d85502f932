package exec

import (
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// smallIndex is how many texts a lexicon may have so that an array by word is made for whatever few groups.
	smallIndex = 1 << 10
	// groupShare says how many words there may be in an array for each group: the slots of a hash table take about as much.
	groupShare = 8
	// frontRepeats is how often an entry of a dictionary comes in a segment on average so that it is worth a cell of the front.
	frontRepeats = 16
)

// indexed reports whether keys are looked up in the array by word, which it makes and extends as needed. The array fits the keys of one
// column of text that all queries number alike.
func (t *keyTable) indexed() bool {
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
	t.words = append(t.words, w)
	t.n++
	t.byWord[w] = uint32(t.n)
	return uint32(t.n)
}

// findCodes looks up the codes of a dictionary, whose words all queries share, without writing words down. It reports false if the keys
// are not of this kind, or the front has a shorter way.
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

// findWords is find for keys of a table with the same words, alike in masks: those numbered lo+rows[i], or with rows nil all from lo up
// to, not including, hi.
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

// hashKeys sets out to hashes of the keys from lo up to, not including, hi: of their words, or of their values when words of other tables
// differ.
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
