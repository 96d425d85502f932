package exec

import "github.com/hengedb/henge/internal/vector"

// Keys as columns of words, as they are spilled: Longs, first those with a bit for each number that
// is null, whether or not the table has them, then those of the key columns.

// wordWidth returns how many columns of words a key has.
func (t *keyTable) wordWidth() int { return (t.numbers+63)/64 + t.places }

// wordColumns returns the words of keys lo up to, not including, hi.
func (t *keyTable) wordColumns(lo, hi int) []*vector.Vector {
	out := make([]*vector.Vector, 0, t.wordWidth())
	if !t.masked {
		for len(out) < t.wordWidth()-t.places {
			out = append(out, vector.Constant(vector.Long, int64(0), hi-lo))
		}
	}
	for w := range t.stride {
		v := vector.New(vector.Long, hi-lo)
		words := t.words[lo*t.stride+w:]
		for i := range v.Longs {
			v.Longs[i] = int64(words[i*t.stride])
		}
		out = append(out, v)
	}
	return out
}

// hashWordRows sets out to hashes of keys, one every w words of rows, that tables don't use for
// anything else.
func (t *keyTable) hashWordRows(rows []uint64, w int, out []uint64) {
	masks := t.stride - t.places
	for i := range out {
		out[i] = vector.HashLong(hashKey(rows[i*w:i*w+t.stride], masks))
	}
}

// wordRows writes n keys, given as columns of words, row by row into the table's scratch. It gives
// the table words for nulls if there are.
func (t *keyTable) wordRows(cols []*vector.Vector, n int) []uint64 {
	masks := len(cols) - t.places
	for _, c := range cols[:masks] {
		for _, x := range c.Flat().Longs {
			if x != 0 && !t.masked {
				t.mask()
			}
		}
	}
	if !t.masked {
		cols = cols[masks:]
	}
	s := t.stride
	t.rows = sized(t.rows, n*s)
	for w, c := range cols {
		for i, x := range c.Flat().Longs[:n] {
			t.rows[i*s+w] = uint64(x)
		}
	}
	return t.rows
}

// findWordColumns is find for keys as columns of words.
func (t *keyTable) findWordColumns(cols []*vector.Vector, n int) []uint32 {
	rows := t.wordRows(cols, n)
	t.groups = sized(t.groups, n)
	t.probe(rows, t.stride, n, t.groups)
	return t.groups
}

// keysOfWords returns the keys that columns of words stand for in tables like t.
func (t *keyTable) keysOfWords(cols []*vector.Vector, n int) []*vector.Vector {
	o := t.sibling()
	o.words = o.wordRows(cols, n)
	return o.keys(0, n)
}
