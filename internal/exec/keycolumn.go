package exec

import (
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// keyColumn turns the values of one column into words.
type keyColumn struct {
	typ vector.Type
	bit uint64 // numbers: the bit of the mask; 0: text, complex values and lists
	// place is which word of the columns has the values, shift at which bit they begin: what is no
	// number has 32 bits.
	place int
	shift uint

	// What is no number is numbered by the lexicon of the column, or nil, by the table's own.
	lexicon *lexicon
	texts   *interner

	dict    *vector.Dict // of memo
	memo    []uint32     // by code: the word, 0: not asked yet
	scratch []uint32     // memory for memos of our own
	shared  bool         // memo is the lexicon's
	seen    int          // rows met with dict
	buf     []byte
	// fixed is set in readers of a table: text that the table does not know gets the word unknownText
	// instead of a new number.
	fixed bool
}

// unknownText is a word that no text of a table has.
const unknownText = 1<<32 - 1

func (c *keyColumn) isNumber() bool { return c.bit != 0 }

// reset forgets all texts.
func (c *keyColumn) reset() {
	if c.lexicon != nil && c.lexicon.retired.Load() {
		c.lexicon = nil
	}
	if !c.isNumber() && c.lexicon == nil {
		c.texts = &interner{}
	}
	c.dict, c.memo, c.scratch, c.shared, c.seen = nil, nil, nil, false, 0
}

// full reports that text can't be numbered any more.
func (c *keyColumn) full() bool {
	if c.lexicon != nil {
		return c.lexicon.full()
	}
	return c.texts != nil && len(c.texts.blob) > maxInterned
}

// bytes returns the memory held. A lexicon counts when nobody else answers for it.
func (c *keyColumn) bytes() int64 {
	n := 4 * int64(cap(c.scratch))
	switch {
	case c.lexicon != nil && c.lexicon.retired.Load():
		n += c.lexicon.bytes()
	case c.texts != nil:
		n += c.texts.bytes()
	}
	return n
}

// ahead returns how much more memory n more texts may take, if they are the table's own; see
// grouper.ahead.
func (c *keyColumn) ahead(n int) int64 {
	if c.texts == nil || c.lexicon != nil {
		return 0
	}
	return c.texts.ahead(n)
}

// dictionary returns the texts, of which words - 1 are codes.
func (c *keyColumn) dictionary() *vector.Dict {
	if c.lexicon != nil {
		return c.lexicon.dict()
	}
	return c.texts.dict()
}

func numberWords(v *vector.Vector, n int, dst []uint64, s int) {
	if v.Const {
		w := numberWord(v, 0)
		for i := range n {
			dst[i*s] = w
		}
		return
	}
	switch v.Type.Kind {
	case vector.KindLong:
		for i, x := range v.Longs[:n] {
			dst[i*s] = uint64(x)
		}
	case vector.KindDouble:
		for i, x := range v.Doubles[:n] {
			dst[i*s] = vector.DoubleWord(x)
		}
	case vector.KindFloat:
		for i, x := range v.Floats[:n] {
			dst[i*s] = vector.DoubleWord(float64(x))
		}
	}
}

func numberWord(v *vector.Vector, i int) uint64 {
	if v.Type.Kind == vector.KindLong {
		return uint64(v.LongAt(i))
	}
	return vector.DoubleWord(v.DoubleAt(i))
}

// textWords writes interned numbers + 1, and 0 for null.
func (c *keyColumn) textWords(v *vector.Vector, n int, dst []uint64, s int) {
	switch {
	case v.Const:
		w := c.textWord(v, 0)
		for i := range n {
			dst[i*s] = w
		}
	case v.Dict != nil && c.lexicon != nil && c.lexicon.owns(v.Dict):
		for i, code := range v.Codes[:n] {
			dst[i*s] = uint64(code) + 1
		}
		clearNulls(v, n, dst, s)
	case v.Dict != nil && c.useMemo(v.Dict, n) && c.shared:
		for i, code := range v.Codes[:n] {
			w := atomic.LoadUint32(&c.memo[code])
			if w == 0 {
				c.lexicon.learn(v.Dict, c.memo, v.Codes[i:n])
				w = atomic.LoadUint32(&c.memo[code])
			}
			dst[i*s] = uint64(w)
		}
		clearNulls(v, n, dst, s)
	case v.Dict != nil && c.memo != nil:
		for i, code := range v.Codes[:n] {
			w := c.memo[code]
			if w == 0 && v.Valid.Get(i) {
				w = c.wordOf(v.Dict.Value(code))
				c.memo[code] = w
			}
			dst[i*s] = uint64(w)
		}
		clearNulls(v, n, dst, s)
	case v.Dict != nil && c.lexicon != nil:
		c.lexicon.look(v.Dict, v.Codes[:n], dst, s)
		clearNulls(v, n, dst, s)
	default:
		for i := range n {
			dst[i*s] = c.textWord(v, i)
		}
	}
}

// clearNulls writes the word of null for the rows that are.
func clearNulls(v *vector.Vector, n int, dst []uint64, s int) {
	if v.Valid == nil {
		return
	}
	for i := range n {
		if !v.Valid.Get(i) {
			dst[i*s] = 0
		}
	}
}

func (c *keyColumn) textWord(v *vector.Vector, i int) uint64 {
	if v.IsNull(i) {
		return 0
	}
	if v.Type.Kind == vector.KindList {
		c.buf = vector.KeyText(c.buf[:0], v, i)
		return uint64(c.wordOf(string(c.buf)))
	}
	return uint64(c.wordOf(v.StringAt(i)))
}

func (c *keyColumn) wordOf(s string) uint32 {
	switch {
	case c.lexicon != nil:
		return c.lexicon.number(s) + 1
	case !c.fixed:
		return c.texts.number(s) + 1
	}
	if n, ok := c.texts.find(s); ok {
		return n + 1
	}
	return unknownText
}

const (
	// smallDict is a size up to which a memo of all entries of a dictionary is always worth its
	// memory.
	smallDict = 1 << 12
	// memoShare says how many entries a larger dictionary may have for each row met with it.
	memoShare = 8
)

// useMemo reports whether memo serves for d: that was asked for already, or is worth its memory.
func (c *keyColumn) useMemo(d *vector.Dict, n int) bool {
	if c.dict != d {
		c.dict, c.memo, c.seen = d, nil, 0
		if c.lexicon != nil {
			c.memo = c.lexicon.words.Known(d)
		}
		c.shared = c.memo != nil
	}
	c.seen += n
	if c.memo != nil {
		return true
	}
	if d.Len() > smallDict && d.Len() > memoShare*c.seen {
		return false
	}
	if c.lexicon != nil && d.Sorted { // as those of segments are, which come again with the next query
		c.memo = c.lexicon.wordsOf(d)
		c.shared = c.memo != nil
	}
	if c.memo == nil {
		c.scratch = sized(c.scratch, d.Len())
		clear(c.scratch)
		c.memo = c.scratch
	}
	return true
}
