package keys

import "github.com/hengedb/henge/internal/vector"

// Keys as columns of words, as they are spilled: Longs, first those with a bit for each number that
// is null, whether or not the table has them, then those of the key columns.

// WordWidth returns the number of word columns of a key.
func (t *Table) WordWidth() int { return (t.Numbers+63)/64 + t.KeyWords }

// WordColumns returns the words of keys lo to hi (exclusive).
func (t *Table) WordColumns(lo, hi int) []*vector.Vector {
	out := make([]*vector.Vector, 0, t.WordWidth())
	if !t.Masked {
		for len(out) < t.WordWidth()-t.KeyWords {
			out = append(out, vector.Constant(vector.Long, int64(0), hi-lo))
		}
	}
	for w := range t.Stride {
		v := vector.New(vector.Long, hi-lo)
		words := t.Words[lo*t.Stride+w:]
		for i := range v.Longs {
			v.Longs[i] = int64(words[i*t.Stride])
		}
		out = append(out, v)
	}
	return out
}

// HashWordRows sets out to hashes of keys, one every w words of rows, that are independent of the
// hashes in tables.
func (t *Table) HashWordRows(rows []uint64, w int, out []uint64) {
	masks := t.Stride - t.KeyWords
	for i := range out {
		out[i] = vector.HashLong(Hash(rows[i*w:i*w+t.Stride], masks))
	}
}

// wordRows writes n keys, given as columns of words, row by row into the table's scratch. It gives
// the table words for nulls if there are.
func (t *Table) wordRows(cols []*vector.Vector, n int) []uint64 {
	masks := len(cols) - t.KeyWords
	for _, c := range cols[:masks] {
		for _, x := range c.Flat().Longs {
			if x != 0 && !t.Masked {
				t.Mask()
			}
		}
	}
	if !t.Masked {
		cols = cols[masks:]
	}
	s := t.Stride
	t.Rows = vector.Sized(t.Rows, n*s)
	for w, c := range cols {
		for i, x := range c.Flat().Longs[:n] {
			t.Rows[i*s+w] = uint64(x)
		}
	}
	return t.Rows
}

// FindWordColumns is find for keys as columns of words.
func (t *Table) FindWordColumns(cols []*vector.Vector, n int) []uint32 {
	rows := t.wordRows(cols, n)
	t.Groups = vector.Sized(t.Groups, n)
	t.Probe(rows, t.Stride, n, t.Groups)
	return t.Groups
}

// KeysOfWords returns the keys for columns of words of tables with the words of t.
func (t *Table) KeysOfWords(cols []*vector.Vector, n int) []*vector.Vector {
	o := t.Sibling()
	o.Words = o.wordRows(cols, n)
	return o.Keys(0, n)
}
