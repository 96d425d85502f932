package keys

import (
	"math"
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// smallIndex is how many texts a global dictionary may have so that an array by word is made for
	// whatever few groups.
	smallIndex = 1 << 10
	// groupShare says how many words there may be in an array for each group: the slots of a hash
	// table take about as much.
	groupShare = 8
	// frontRepeats is how often an entry of a dictionary comes in a segment on average so that it is
	// worth a cell of the direct-address table.
	frontRepeats = 16
)

// indexed reports whether keys are looked up in the array by word, which it makes and extends as
// needed. The array fits the keys of one column of text that all queries number alike, and Longs
// that lie near each other.
func (t *Table) indexed() bool {
	if t.near {
		return true
	}
	if len(t.Cols) != 1 || t.Cols[0].GlobalDict == nil {
		return false
	}
	words := t.Cols[0].GlobalDict.Len() + 1
	if words <= len(t.ByWord) {
		return true
	}
	if t.ByWord == nil && words > smallIndex && words > groupShare*t.N {
		return false
	}
	t.index(words + words/4)
	return true
}

// index makes the array for so many words.
func (t *Table) index(words int) {
	t.ByWord = make([]uint32, words)
	for g, w := range t.Words {
		t.ByWord[w] = uint32(g) + 1
	}
	t.slots = nil
}

// probeIndex looks rows of one word up in the array.
func (t *Table) probeIndex(rows []uint64, w, n int, out []uint32) {
	switch {
	case t.striped:
		t.probeStriped(rows, w, n, out)
		return
	case t.near:
		t.probeNear(rows, w, n, out)
		return
	}
	for i := range n {
		x := rows[i*w]
		g := t.ByWord[x]
		if g == 0 {
			g = t.addWord(x)
		}
		out[i] = g - 1
	}
}

// addWord adds a key of one word to the array and returns its number + 1.
func (t *Table) addWord(w uint64) uint32 {
	t.Words = append(roomy(t.Words, 1), w)
	t.N++
	t.ByWord[w] = uint32(t.N)
	return uint32(t.N)
}

const (
	// nearShare says how many Longs there may be from the least key to the greatest for each group,
	// and maxNear how many in all: 16 MiB.
	nearShare = 64
	maxNear   = 1 << 22
)

// Nearness returns the least key and the size of the range up to the greatest key, if all keys are
// Longs in a dense range, such as ids. The size is 0 if they are not.
func (t *Table) Nearness() (from int64, span int) {
	switch {
	case t.near:
		return int64(t.Least), len(t.ByWord)
	case t.far || t.Masked || len(t.Cols) != 1 || t.Cols[0].typ.Kind != vector.KindLong || t.N == 0:
		return 0, 0
	}
	least, greatest := int64(t.Words[0]), int64(t.Words[0])
	for _, w := range t.Words {
		least, greatest = min(least, int64(w)), max(greatest, int64(w))
	}
	return least, nearSpan(least, greatest, t.N)
}

// nearSpan returns how many Longs there are from least to greatest, 0: too many for so many keys.
func nearSpan(least, greatest int64, keys int) int {
	span := uint64(greatest) - uint64(least)
	if span >= uint64(min(maxNear, nearShare*keys)) {
		return 0
	}
	return int(span) + 1
}

// Approach builds the array by word if the keys are in a dense range and the memory is available.
func (t *Table) Approach(free int64) {
	if t.near {
		return
	}
	if least, span := t.Nearness(); span > 0 && 16*int64(span) < free {
		t.approachOver(least, span)
	}
}

// approachOver makes the array for so many Longs from least on, which the keys are among.
func (t *Table) approachOver(least int64, span int) {
	t.near, t.Least, t.ByWord, t.slots = true, uint64(least), make([]uint32, span), nil
	for g, w := range t.Words {
		t.ByWord[w-t.Least] = uint32(g) + 1
	}
}

// ApproachAll builds the array by word of an empty table for the keys of all tables, if they have
// such arrays.
func (t *Table) ApproachAll(tables []*Table) bool {
	least, greatest, keys := int64(math.MaxInt64), int64(math.MinInt64), 0
	for _, o := range tables {
		if !o.near {
			return false
		}
		least, greatest = min(least, int64(o.Least)), max(greatest, int64(o.Least+uint64(len(o.ByWord)-1)))
		keys += o.N
	}
	span := nearSpan(least, greatest, keys)
	if span > 0 {
		t.approachOver(least, span)
	}
	return span > 0
}

// leave gives the array of a table that is near up. The keys have no slots then.
func (t *Table) leave() { t.near, t.striped, t.far, t.ByWord = false, false, true, nil }

// probeNear looks rows of one word up in the array of a table that is near.
func (t *Table) probeNear(rows []uint64, w, n int, out []uint32) {
	t.Words = roomy(t.Words, n)
	least, byWord := t.Least, t.ByWord
	for i := range n {
		x := rows[i*w]
		at := x - least
		if at >= uint64(len(byWord)) {
			if !t.reach(int64(x)) {
				t.leave()
				t.fillSlots()
				t.Probe(rows[i*w:], w, n-i, out[i:])
				return
			}
			least, byWord = t.Least, t.ByWord
			at = x - least
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

// reach makes the array longer, so that it has x, and as many Longs again on that side. It reports
// false if it would be too long.
func (t *Table) reach(x int64) bool {
	least, greatest := int64(t.Least), int64(t.Least+uint64(len(t.ByWord)-1))
	span := nearSpan(min(least, x), max(greatest, x), t.N)
	if span == 0 {
		return false
	}
	from, more := min(least, x), uint64(min(len(t.ByWord), maxNear-span))
	if x < least {
		more = min(more, uint64(from)-uint64(math.MaxInt64+1)) // down to the least Long
		from -= int64(more)
	} else {
		more = min(more, uint64(math.MaxInt64)-uint64(x))
	}
	old := t.ByWord
	t.ByWord = make([]uint32, span+int(more))
	copy(t.ByWord[uint64(least)-uint64(from):], old)
	t.Least = uint64(from)
	return true
}

// findCodes looks up the codes of a dictionary, whose words all queries share, without writing
// words down. It reports false if the keys are not of this kind, or the direct-address table has a
// shorter way.
func (t *Table) findCodes(keys []*vector.Vector, n int, out []uint32) bool {
	if len(t.Cols) != 1 || t.Cols[0].GlobalDict == nil {
		return false
	}
	v := keys[0]
	if v.Dict == nil || v.Const || v.Valid != nil || v.Dict.Len() <= max(smallDict, v.Dict.Rows/frontRepeats) {
		return false
	}
	c := &t.Cols[0]
	if c.dict != v.Dict || !c.shared || !t.indexed() {
		return false
	}
	words, byWord := c.memo, t.ByWord
	for i, code := range v.Codes[:n] {
		w := atomic.LoadUint32(&words[code])
		if w == 0 {
			c.GlobalDict.learn(v.Dict, words, v.Codes[i:n])
			w = atomic.LoadUint32(&words[code])
		}
		if int(w) >= len(byWord) { // somebody learnt more words
			t.indexed()
			byWord = t.ByWord
		}
		g := byWord[w]
		if g == 0 {
			g = t.addWord(uint64(w))
		}
		out[i] = g - 1
	}
	return true
}

// SameWords reports whether equal keys of t and o have equal words.
func (t *Table) SameWords(o *Table) bool {
	for i := range t.Cols {
		c := &t.Cols[i]
		if !c.IsNumber() && (c.GlobalDict == nil || c.GlobalDict != o.Cols[i].GlobalDict) {
			return false
		}
	}
	return true
}

// MaskAlike adds words for nulls to both tables if one of them has them.
func (t *Table) MaskAlike(o *Table) {
	if t.Masked && !o.Masked {
		o.Mask()
	}
	if o.Masked && !t.Masked {
		t.Mask()
	}
}

// FindWords is find for keys of a table with the same words and masks: the keys numbered lo+rows[i]
// or, if rows is nil, all keys from lo to hi (exclusive).
func (t *Table) FindWords(o *Table, lo, hi int, rows []uint32) []uint32 {
	n, s := hi-lo, t.Stride
	words := o.Words[lo*s : hi*s]
	if rows != nil {
		n = len(rows)
		t.Rows = vector.Sized(t.Rows, n*s)
		for i, r := range rows {
			for k, w := range words[int(r)*s : int(r)*s+s] {
				t.Rows[i*s+k] = w
			}
		}
		words = t.Rows
	}
	t.Groups = vector.Sized(t.Groups, n)
	t.Probe(words, s, n, t.Groups)
	return t.Groups
}

// HashKeys sets out to hashes of keys lo to hi (exclusive): of their words, or of their values if
// the words of other tables differ.
func (t *Table) HashKeys(lo, hi int, words bool, out []uint64) {
	if !words {
		vector.HashRows(t.Keys(lo, hi), out)
		return
	}
	for i := range out {
		at := (lo + i) * t.Stride
		out[i] = HashWords(t.Words[at : at+t.Stride])
	}
}
