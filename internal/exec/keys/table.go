package keys

import (
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// SmallTable is the size in bytes up to which the growth of a table is not reserved in advance: a
	// worker exceeds its reservation by only a few of these.
	SmallTable = 1 << 20
	// AbsorbRows is the number of keys that are copied from one table to another at a time.
	AbsorbRows = 1 << 14
)

// Table numbers the distinct rows of its key columns 0, 1, 2, ... in the order of their first
// occurrence. Nulls are one value, as in GROUP BY.
//
// Each key column is turned into a word per row (column.go): numbers into their bits, text and
// everything else into the number that an interner gives it; for dictionary vectors the interner is
// asked once per entry. Such a number takes half a word, and two columns of them share one. A row
// of words is then looked up in an open-addressing table, a batch at a time. A single column of
// text has an array by word instead, once it has a good part of the words.
//
// In front of the table lies a direct-address table (direct.go) that is addressed by dictionary
// codes when there are few combinations of them; it answers most rows of a group-by over columns of
// few values without any hashing.
type Table struct {
	Cols []Column
	// Masked: the first words of a key have a bit for each null number column. It is set at the first
	// null.
	Masked   bool
	Numbers  int // number columns
	KeyWords int // words that the columns take
	Stride   int // words of a key
	Words    []uint64
	N        int

	slots []uint64 // tag<<32 | number+1, 0: free; the tag is the upper half of the hash and its top bits are the home position
	shift uint     // 32 - log2(len(slots))

	direct directTable
	// ByWord is, for one column of text, the number + 1 of each word, and of a table that is near that
	// of each Long from least on. It takes the place of slots; nil: it would be mostly empty.
	ByWord  []uint32
	near    bool
	striped bool // it is near and has the Longs of one partition; see striped.go
	far     bool // it was near once
	Least   uint64
	// Distinct contains the words of rows that were added without numbers; see distinct.go.
	Distinct        vector.Bitmap
	pendingDistinct distinctCodes

	// Scratch of one call, kept for the next.
	Rows   []uint64 // words of the batch, row by row
	Hashes []uint64
	Groups []uint32
	upper  []uint64 // words of a column that go into upper halves
}

// NewTable returns a table for keys of the given types. String columns may have global
// dictionaries; nil: none.
func NewTable(types []vector.Type, dicts []*GlobalDict) *Table {
	t := &Table{Cols: make([]Column, len(types))}
	half := -1 // the word with an upper half to give
	for i, typ := range types {
		t.Cols[i].typ = typ
		switch {
		case typ.IsNumeric():
			t.Cols[i].position = t.KeyWords
			t.KeyWords++
		case half >= 0:
			t.Cols[i].position, t.Cols[i].shift, half = half, 32, -1
		default:
			t.Cols[i].position, half = t.KeyWords, t.KeyWords
			t.KeyWords++
		}
		if typ.IsNumeric() {
			t.Cols[i].bit = 1 << uint(t.Numbers&63)
			t.Numbers++
		} else if dicts != nil {
			t.Cols[i].GlobalDict = dicts[i]
		}
	}
	t.Reset()
	return t
}

// Reset removes all keys and releases the memory.
func (t *Table) Reset() {
	t.Words, t.N, t.Rows, t.Hashes, t.Groups, t.upper, t.Distinct = nil, 0, nil, nil, nil, nil, nil
	t.pendingDistinct = distinctCodes{}
	t.slots, t.shift, t.ByWord = make([]uint64, 16), 32-4, nil
	t.near, t.striped, t.far = false, false, false
	t.Masked, t.Stride = false, t.KeyWords
	for i := range t.Cols {
		t.Cols[i].Reset()
	}
	t.direct = directTable{}
}

// Sibling returns an empty table with the same words as t. All columns must be numbers or have
// global dictionaries. It does not change t.
func (t *Table) Sibling() *Table {
	o := &Table{Cols: make([]Column, len(t.Cols)), Masked: t.Masked, Numbers: t.Numbers, KeyWords: t.KeyWords, Stride: t.Stride,
		slots: make([]uint64, 16), shift: 32 - 4, direct: directTable{off: true}}
	for i, c := range t.Cols {
		o.Cols[i] = Column{typ: c.typ, bit: c.bit, position: c.position, shift: c.shift, GlobalDict: c.GlobalDict}
	}
	return o
}

// Clear removes all keys of a table that Sibling returned and keeps the memory for others. What
// finds keys stays as it is: an array by word is one of the same words.
func (t *Table) Clear() {
	t.Words, t.N = t.Words[:0], 0
	clear(t.slots)
	clear(t.ByWord)
}

// SharesWords reports whether the words of keys have the same meaning in other tables.
func (t *Table) SharesWords() bool {
	for i := range t.Cols {
		if c := &t.Cols[i]; !c.IsNumber() && c.GlobalDict == nil {
			return false
		}
	}
	return true
}

// GlobalDicts returns the global dictionaries of the columns; nil for a column without one.
func (t *Table) GlobalDicts() []*GlobalDict {
	out := make([]*GlobalDict, len(t.Cols))
	for i, c := range t.Cols {
		out[i] = c.GlobalDict
	}
	return out
}

// Retired reports whether a global dictionary of the table was retired.
func (t *Table) Retired() bool {
	return slices.ContainsFunc(t.Cols, func(c Column) bool { return c.GlobalDict != nil && c.GlobalDict.retired.Load() })
}

// Reserve makes room for n keys, so that a table that will be large does not grow in steps.
func (t *Table) Reserve(n int) {
	if n*2 <= len(t.slots) || t.N > 0 {
		return
	}
	if len(t.Cols) == 1 && t.Cols[0].GlobalDict != nil && t.Cols[0].GlobalDict.Len() <= groupShare*n {
		t.index(t.Cols[0].GlobalDict.Len() + 1)
		t.Words = make([]uint64, 0, n)
		return
	}
	size := uint(bits.Len(uint(n*2 - 1)))
	t.slots, t.shift = make([]uint64, 1<<size), 32-size
	t.Words = make([]uint64, 0, n*t.Stride)
}

// Mask adds words for nulls to the keys.
func (t *Table) Mask() {
	if t.near {
		t.leave()
	}
	masks := (t.Numbers + 63) / 64
	old, s := t.Words, t.Stride
	t.Masked, t.Stride = true, s+masks
	t.Words = make([]uint64, 0, max(len(old)/max(s, 1), 16)*t.Stride)
	zero := make([]uint64, masks)
	for g := range t.N {
		t.Words = append(append(t.Words, zero...), old[g*s:g*s+s]...)
	}
	t.fillSlots()
}

// fillSlots puts all keys into slots, more of them if there is no room.
func (t *Table) fillSlots() {
	if len(t.slots) < 2*t.N || len(t.slots) == 0 {
		size := uint(bits.Len(uint(max(4*t.N, 16) - 1)))
		t.slots, t.shift = make([]uint64, 1<<size), 32-size
	} else {
		clear(t.slots)
	}
	mask := uint64(len(t.slots) - 1)
	for g := range t.N {
		tag := HashWords(t.Words[g*t.Stride:g*t.Stride+t.Stride]) >> 32
		at := tag >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = tag<<32 | uint64(g+1)
	}
}

// NullNumbers reports whether a number column has a null in the n rows.
func (t *Table) NullNumbers(keys []*vector.Vector, n int) bool {
	for c := range t.Cols {
		if k := keys[c]; t.Cols[c].IsNumber() && k.Valid != nil {
			if k.Const && k.AllNull() || !k.Const && k.Valid.Count(n) < n {
				return true
			}
		}
	}
	return false
}

// Len returns the number of keys.
func (t *Table) Len() int { return t.N }

// Bytes returns the memory held.
func (t *Table) Bytes() int64 {
	n := 8*int64(cap(t.Words)+cap(t.slots)+cap(t.Rows)+cap(t.Hashes)+cap(t.upper)+cap(t.Distinct)+cap(t.pendingDistinct.bits)) +
		4*int64(cap(t.Groups)+cap(t.ByWord)) + t.direct.Bytes()
	for i := range t.Cols {
		n += t.Cols[i].Bytes()
	}
	return n
}

// Ahead returns the additional memory for n more keys; see grouper.ahead.
func (t *Table) Ahead(n int) int64 {
	more := int64(0)
	if len(t.Words)+n*t.Stride > cap(t.Words) {
		more = 8 * int64(max(2*cap(t.Words), len(t.Words)+n*t.Stride))
	}
	switch {
	case t.near:
		more += 8 * int64(len(t.ByWord)) // twice as large, beside the present one
	case t.ByWord == nil:
		more += slotGrowth(t.slots, t.N, n)
	}
	for i := range t.Cols {
		more += t.Cols[i].Ahead(n)
	}
	return more
}

// roomy returns s with room for n more, twice as much when it had not enough: append takes smaller
// steps with long slices, so that of what is copied and given to the collector there would be five
// times as much as is kept.
func roomy(s []uint64, n int) []uint64 {
	if len(s)+n <= cap(s) {
		return s
	}
	return append(make([]uint64, 0, max(2*cap(s), len(s)+n, 16)), s...)
}

// growthOf returns how many elements more append may hold while it adds n to a slice.
func growthOf(length, capacity, n int) int64 {
	if length+n <= capacity {
		return 0
	}
	return int64(capacity) + int64(capacity)/4 + int64(n)
}

// Full reports whether no more strings can be numbered, because offsets have 32 bits.
func (t *Table) Full() bool {
	for i := range t.Cols {
		if t.Cols[i].Full() {
			return true
		}
	}
	return t.N > 1<<31
}

// Find returns the number of each of the n rows of keys, and adds new rows. The slice is valid
// until the next call.
func (t *Table) Find(keys []*vector.Vector, n int) []uint32 {
	t.Groups = vector.Sized(t.Groups, n)
	out := t.Groups
	if t.findCodes(keys, n, out) {
		return out
	}
	if misses, ok := t.direct.Find(t, keys, n, out); ok {
		if len(misses) > 0 {
			few := make([]*vector.Vector, len(keys))
			for i, k := range keys {
				few[i] = k.Gather(misses)
			}
			found := make([]uint32, len(misses))
			t.findRows(few, len(misses), found)
			t.direct.learn(found, out)
		}
		return out
	}
	t.findRows(keys, n, out)
	return out
}

// findRows looks rows up in the hash table.
func (t *Table) findRows(keys []*vector.Vector, n int, out []uint32) {
	if !t.Masked && t.Numbers > 0 && t.NullNumbers(keys, n) {
		t.Mask()
	}
	t.Rows = vector.Sized(t.Rows, n*t.Stride)
	t.FillWords(keys, n, t.Rows, t.Stride)
	t.Probe(t.Rows, t.Stride, n, out)
}

// Reader returns a view of the table that converts keys to words. Several readers may be used
// concurrently, each by one goroutine, as long as no key is added to the table.
func (t *Table) Reader() *Table {
	r := *t
	r.Cols = append([]Column(nil), t.Cols...)
	for i := range r.Cols {
		c := &r.Cols[i]
		c.dict, c.memo, c.scratch, c.shared, c.seen, c.buf, c.fixed = nil, nil, nil, false, 0, nil, true
	}
	r.direct, r.Rows, r.Hashes, r.Groups, r.upper = directTable{off: true}, nil, nil, nil, nil
	return &r
}

// Settle prepares a complete table for its readers, and releases the memory that only adding keys
// needs.
func (t *Table) Settle() {
	t.direct, t.Rows, t.Hashes, t.Groups, t.upper = directTable{off: true}, nil, nil, nil, nil
	for i := range t.Cols {
		c := &t.Cols[i]
		c.dict, c.memo, c.scratch, c.shared = nil, nil, nil, false
	}
}

// FillWords converts n rows of keys to words, one row every s words of rows: first the mask words,
// then the words of the columns.
func (t *Table) FillWords(keys []*vector.Vector, n int, rows []uint64, s int) {
	masks := t.Stride - t.KeyWords
	for m := range masks {
		for i := range n {
			rows[i*s+m] = 0
		}
	}
	numbers := 0
	for c := range t.Cols {
		col := &t.Cols[c]
		dst := rows[masks+col.position:]
		if !col.IsNumber() {
			if col.shift == 0 {
				col.textWords(keys[c], n, dst, s)
				continue
			}
			t.upper = vector.Sized(t.upper, n) // the column of the lower halves came before
			col.textWords(keys[c], n, t.upper, 1)
			for i, w := range t.upper {
				dst[i*s] |= w << 32
			}
			continue
		}
		numberWords(keys[c], n, dst, s)
		if t.Masked && keys[c].Valid != nil {
			mask := rows[numbers/64:]
			for i := range n {
				if keys[c].IsNull(i) {
					mask[i*s] |= col.bit
					dst[i*s] = 0
				}
			}
		}
		numbers++
	}
}

// Keys returns the key columns of numbers lo to hi (exclusive). Strings are codes into the
// dictionary of the interner.
func (t *Table) Keys(lo, hi int) []*vector.Vector {
	out := make([]*vector.Vector, len(t.Cols))
	s, masks := t.Stride, t.Stride-t.KeyWords
	numbers := 0
	for c := range t.Cols {
		col := &t.Cols[c]
		words := t.Words[masks+col.position:]
		if col.IsNumber() {
			out[c] = t.numberKeys(col, numbers, words, lo, hi)
			numbers++
			continue
		}
		if col.typ.Kind == vector.KindString {
			codes := make([]uint32, hi-lo)
			var valid vector.Bitmap
			for i := range codes {
				w := uint32(words[(lo+i)*s] >> col.shift)
				if w == 0 {
					if valid == nil {
						valid = vector.FullBitmap(hi - lo)
					}
					valid.Clear(i)
					continue
				}
				codes[i] = w - 1
			}
			v := vector.FromCodes(codes, col.dictionary())
			v.Valid = valid
			out[c] = v
			if v.Dict.Len() == 0 { // all null
				out[c] = vector.Nulls(vector.String, hi-lo)
			}
			continue
		}
		b := vector.NewBuilder(col.typ, hi-lo)
		for i := lo; i < hi; i++ {
			w := uint32(words[i*s] >> col.shift)
			switch {
			case w == 0:
				b.AppendNull()
			case col.typ.Kind == vector.KindComplex:
				b.AppendString(string(col.Texts.text(w - 1)))
			default:
				appendKeyText(b, col.typ, col.Texts.text(w-1))
			}
		}
		out[c] = b.Build()
	}
	return out
}

// KeysAt returns the key columns of the numbers lo+rows[i].
func (t *Table) KeysAt(lo int, rows []uint32) []*vector.Vector {
	few, s := *t, t.Stride
	few.Words = make([]uint64, 0, len(rows)*s)
	for _, r := range rows {
		at := (lo + int(r)) * s
		few.Words = append(few.Words, t.Words[at:at+s]...)
	}
	return few.Keys(0, len(rows))
}

func (t *Table) numberKeys(col *Column, number int, words []uint64, lo, hi int) *vector.Vector {
	s := t.Stride
	v := vector.New(col.typ, hi-lo)
	for i := range hi - lo {
		w := words[(lo+i)*s]
		switch col.typ.Kind {
		case vector.KindLong:
			v.Longs[i] = int64(w)
		case vector.KindDouble:
			v.Doubles[i] = floatOf(w)
		case vector.KindFloat:
			v.Floats[i] = float32(floatOf(w))
		}
	}
	if !t.Masked {
		return v
	}
	mask := t.Words[number/64:]
	for i := range hi - lo {
		if mask[(lo+i)*s]&col.bit != 0 {
			if v.Valid == nil {
				v.Valid = vector.FullBitmap(hi - lo)
			}
			v.Valid.Clear(i)
		}
	}
	return v
}
