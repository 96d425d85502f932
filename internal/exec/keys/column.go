package keys

import (
	"sync/atomic"

	"github.com/hengedb/henge/internal/vector"
)

// Column converts the values of one column to words.
type Column struct {
	typ vector.Type
	bit uint64 // numbers: the bit of the mask; 0: text, complex values and lists
	// position is which word of the columns has the values, shift at which bit they begin: what is no
	// number has 32 bits.
	position int
	shift    uint

	// Values other than numbers are numbered by the global dictionary of the column or, if it is nil,
	// by an interner of the table.
	GlobalDict *GlobalDict
	Texts      *Interner

	dict    *vector.Dict // of memo
	memo    []uint32     // by code: the word, 0: not asked yet
	scratch []uint32     // memory for memos of our own
	shared  bool         // memo is the global dictionary's
	seen    int          // rows seen with dict
	buf     []byte
	// fixed is set in readers of a table: text that the table does not know gets the word unknownText
	// instead of a new number.
	fixed bool
}

// unknownText is a word that no text of a table has.
const unknownText = 1<<32 - 1

func (c *Column) IsNumber() bool { return c.bit != 0 }

// Reset removes all strings.
func (c *Column) Reset() {
	if c.GlobalDict != nil && c.GlobalDict.retired.Load() {
		c.GlobalDict = nil
	}
	if !c.IsNumber() && c.GlobalDict == nil {
		c.Texts = &Interner{}
	}
	c.dict, c.memo, c.scratch, c.shared, c.seen = nil, nil, nil, false, 0
}

// Full reports whether no more strings can be numbered.
func (c *Column) Full() bool {
	if c.GlobalDict != nil {
		return c.GlobalDict.Full()
	}
	return c.Texts != nil && len(c.Texts.blob) > maxInterned
}

// Bytes returns the memory held. A global dictionary is included only if it has no other owner.
func (c *Column) Bytes() int64 {
	n := 4 * int64(cap(c.scratch))
	switch {
	case c.GlobalDict != nil && c.GlobalDict.retired.Load():
		n += c.GlobalDict.Bytes()
	case c.Texts != nil:
		n += c.Texts.Bytes()
	}
	return n
}

// Ahead returns the additional memory for n more strings if the table numbers them itself; see
// grouper.ahead.
func (c *Column) Ahead(n int) int64 {
	if c.Texts == nil || c.GlobalDict != nil {
		return 0
	}
	return c.Texts.Ahead(n)
}

// dictionary returns the texts, of which words - 1 are codes.
func (c *Column) dictionary() *vector.Dict {
	if c.GlobalDict != nil {
		return c.GlobalDict.Dict()
	}
	return c.Texts.Dict()
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
func (c *Column) textWords(v *vector.Vector, n int, dst []uint64, s int) {
	switch {
	case v.Const:
		w := c.textWord(v, 0)
		for i := range n {
			dst[i*s] = w
		}
	case v.Dict != nil && c.GlobalDict != nil && c.GlobalDict.owns(v.Dict):
		for i, code := range v.Codes[:n] {
			dst[i*s] = uint64(code) + 1
		}
		clearNulls(v, n, dst, s)
	case v.Dict != nil && c.useMemo(v.Dict, n) && c.shared:
		for i, code := range v.Codes[:n] {
			w := atomic.LoadUint32(&c.memo[code])
			if w == 0 {
				c.GlobalDict.learn(v.Dict, c.memo, v.Codes[i:n])
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
	case v.Dict != nil && c.GlobalDict != nil:
		c.GlobalDict.look(v.Dict, v.Codes[:n], dst, s)
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

func (c *Column) textWord(v *vector.Vector, i int) uint64 {
	if v.IsNull(i) {
		return 0
	}
	if v.Type.Kind == vector.KindList {
		c.buf = vector.KeyText(c.buf[:0], v, i)
		return uint64(c.wordOf(string(c.buf)))
	}
	return uint64(c.wordOf(v.StringAt(i)))
}

func (c *Column) wordOf(s string) uint32 {
	switch {
	case c.GlobalDict != nil:
		return c.GlobalDict.Number(s) + 1
	case !c.fixed:
		return c.Texts.Number(s) + 1
	}
	if n, ok := c.Texts.Find(s); ok {
		return n + 1
	}
	return unknownText
}

const (
	// smallDict is a size up to which a memo of all entries of a dictionary is always worth its
	// memory.
	smallDict = 1 << 12
	// memoShare says how many entries a larger dictionary may have for each row seen with it.
	memoShare = 8
)

// useMemo reports whether memo serves for d: that was asked for already, or is worth its memory.
func (c *Column) useMemo(d *vector.Dict, n int) bool {
	if c.dict != d {
		c.dict, c.memo, c.seen = d, nil, 0
		if c.GlobalDict != nil {
			c.memo = c.GlobalDict.words.Known(d)
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
	if c.GlobalDict != nil && (d.Sorted || d.Source != nil) { // as those of segments are, which come again with the next query
		c.memo = c.GlobalDict.wordsOf(d)
		c.shared = c.memo != nil
	}
	if c.memo == nil {
		c.scratch = vector.Sized(c.scratch, d.Len())
		clear(c.scratch)
		c.memo = c.scratch
	}
	return true
}
