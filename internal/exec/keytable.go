package exec

import (
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// keyTable numbers the different rows of its key columns 0, 1, 2, ... in the order they are met.
// Nulls are one value, as in GROUP BY.
//
// Each key column is turned into a word per row (keycolumn.go): numbers into their bits, text and
// everything else into the number that an interner gives it; for dictionary vectors the interner is
// asked once per entry. Such a number takes half a word, and two columns of them share one. A row
// of words is then looked up in an open-addressing table, a batch at a time. A single column of
// text has an array by word instead, once it has met a good part of the words.
//
// In front of the table lies an array (front.go) that is addressed by dictionary codes when there
// are few combinations of them; it answers most rows of a group-by over columns of few values
// without any hashing.
type keyTable struct {
	cols []keyColumn
	// masked says that the first words of a key have a bit for each number column that is null. It is
	// so from the first null on.
	masked  bool
	numbers int // number columns
	places  int // words that the columns take
	stride  int // words of a key
	words   []uint64
	n       int

	slots []uint64 // tag<<32 | number+1, 0: free; the tag is the upper half of the hash and its top bits are the home place
	shift uint     // 32 - log2(len(slots))

	front front
	// byWord is, for one column of text, the number + 1 of each word, and of a table that is near that
	// of each Long from least on. It takes the place of slots; nil: it would be mostly empty.
	byWord []uint32
	near   bool
	dealt  bool // it is near and has the Longs of one partition; see keydeal.go
	far    bool // it was near once
	least  uint64
	// met has the words that were met by rows whose numbers nobody wanted; see keymet.go.
	met   vector.Bitmap
	noted metCodes

	// Scratch of one call, kept for the next.
	rows   []uint64 // words of the batch, row by row
	hashes []uint64
	groups []uint32
	upper  []uint64 // words of a column that go into upper halves
}

// newKeyTable returns a table for keys of the given types. Columns of text may have lexicons; nil:
// none has.
func newKeyTable(types []vector.Type, lexicons []*lexicon) *keyTable {
	t := &keyTable{cols: make([]keyColumn, len(types))}
	half := -1 // the word with an upper half to give
	for i, typ := range types {
		t.cols[i].typ = typ
		switch {
		case typ.IsNumeric():
			t.cols[i].place = t.places
			t.places++
		case half >= 0:
			t.cols[i].place, t.cols[i].shift, half = half, 32, -1
		default:
			t.cols[i].place, half = t.places, t.places
			t.places++
		}
		if typ.IsNumeric() {
			t.cols[i].bit = 1 << uint(t.numbers&63)
			t.numbers++
		} else if lexicons != nil {
			t.cols[i].lexicon = lexicons[i]
		}
	}
	t.reset()
	return t
}

// reset forgets all keys and gives up the memory.
func (t *keyTable) reset() {
	t.words, t.n, t.rows, t.hashes, t.groups, t.upper, t.met = nil, 0, nil, nil, nil, nil, nil
	t.noted = metCodes{}
	t.slots, t.shift, t.byWord = make([]uint64, 16), 32-4, nil
	t.near, t.dealt, t.far = false, false, false
	t.masked, t.stride = false, t.places
	for i := range t.cols {
		t.cols[i].reset()
	}
	t.front = front{}
}

// sibling returns an empty table whose words are those of t. All columns must be numbers or have
// lexicons, and t keeps what it has.
func (t *keyTable) sibling() *keyTable {
	o := &keyTable{cols: make([]keyColumn, len(t.cols)), masked: t.masked, numbers: t.numbers, places: t.places, stride: t.stride,
		slots: make([]uint64, 16), shift: 32 - 4, front: front{off: true}}
	for i, c := range t.cols {
		o.cols[i] = keyColumn{typ: c.typ, bit: c.bit, place: c.place, shift: c.shift, lexicon: c.lexicon}
	}
	return o
}

// sharesWords reports whether the words of keys mean the same in tables other than this one.
func (t *keyTable) sharesWords() bool {
	for i := range t.cols {
		if c := &t.cols[i]; !c.isNumber() && c.lexicon == nil {
			return false
		}
	}
	return true
}

// lexicons returns those of the columns; a column without one has nil.
func (t *keyTable) lexicons() []*lexicon {
	out := make([]*lexicon, len(t.cols))
	for i, c := range t.cols {
		out[i] = c.lexicon
	}
	return out
}

// retired reports whether the table has a lexicon that was retired.
func (t *keyTable) retired() bool {
	return slices.ContainsFunc(t.cols, func(c keyColumn) bool { return c.lexicon != nil && c.lexicon.retired.Load() })
}

// reserve makes room for n keys, so that a table which is known to become large does not grow there
// step by step.
func (t *keyTable) reserve(n int) {
	if n*2 <= len(t.slots) || t.n > 0 {
		return
	}
	if len(t.cols) == 1 && t.cols[0].lexicon != nil && t.cols[0].lexicon.len() <= groupShare*n {
		t.index(t.cols[0].lexicon.len() + 1)
		t.words = make([]uint64, 0, n)
		return
	}
	size := uint(bits.Len(uint(n*2 - 1)))
	t.slots, t.shift = make([]uint64, 1<<size), 32-size
	t.words = make([]uint64, 0, n*t.stride)
}

// mask gives the keys words for nulls.
func (t *keyTable) mask() {
	if t.near {
		t.leave()
	}
	masks := (t.numbers + 63) / 64
	old, s := t.words, t.stride
	t.masked, t.stride = true, s+masks
	t.words = make([]uint64, 0, max(len(old)/max(s, 1), 16)*t.stride)
	zero := make([]uint64, masks)
	for g := range t.n {
		t.words = append(append(t.words, zero...), old[g*s:g*s+s]...)
	}
	t.fillSlots()
}

// fillSlots puts all keys into slots, more of them if there is no room.
func (t *keyTable) fillSlots() {
	if len(t.slots) < 2*t.n || len(t.slots) == 0 {
		size := uint(bits.Len(uint(max(4*t.n, 16) - 1)))
		t.slots, t.shift = make([]uint64, 1<<size), 32-size
	} else {
		clear(t.slots)
	}
	mask := uint64(len(t.slots) - 1)
	for g := range t.n {
		tag := hashWords(t.words[g*t.stride:g*t.stride+t.stride]) >> 32
		at := tag >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = tag<<32 | uint64(g+1)
	}
}

// nullNumbers reports whether a number column has a null in the n rows.
func (t *keyTable) nullNumbers(keys []*vector.Vector, n int) bool {
	for c := range t.cols {
		if k := keys[c]; t.cols[c].isNumber() && k.Valid != nil {
			if k.Const && k.AllNull() || !k.Const && k.Valid.Count(n) < n {
				return true
			}
		}
	}
	return false
}

// len returns how many keys there are.
func (t *keyTable) len() int { return t.n }

// bytes returns the memory held.
func (t *keyTable) bytes() int64 {
	n := 8*int64(cap(t.words)+cap(t.slots)+cap(t.rows)+cap(t.hashes)+cap(t.upper)+cap(t.met)+cap(t.noted.bits)) + 4*int64(cap(t.groups)+cap(t.byWord)) + t.front.bytes()
	for i := range t.cols {
		n += t.cols[i].bytes()
	}
	return n
}

// ahead returns how much more memory the table may take while n more keys are added; see
// grouper.ahead.
func (t *keyTable) ahead(n int) int64 {
	more := int64(0)
	if len(t.words)+n*t.stride > cap(t.words) {
		more = 8 * int64(max(2*cap(t.words), len(t.words)+n*t.stride))
	}
	switch {
	case t.near:
		more += 8 * int64(len(t.byWord)) // twice as large, beside the present one
	case t.byWord == nil:
		more += slotGrowth(t.slots, t.n, n)
	}
	for i := range t.cols {
		more += t.cols[i].ahead(n)
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

// full reports that text can't be numbered any more: its offsets have 32 bits.
func (t *keyTable) full() bool {
	for i := range t.cols {
		if t.cols[i].full() {
			return true
		}
	}
	return t.n > 1<<31
}

// find returns the number of each of the n rows of keys, adding rows that are new. The slice is
// valid until the next call.
func (t *keyTable) find(keys []*vector.Vector, n int) []uint32 {
	t.groups = sized(t.groups, n)
	out := t.groups
	if t.findCodes(keys, n, out) {
		return out
	}
	if misses, ok := t.front.find(t, keys, n, out); ok {
		if len(misses) > 0 {
			few := make([]*vector.Vector, len(keys))
			for i, k := range keys {
				few[i] = k.Gather(misses)
			}
			found := make([]uint32, len(misses))
			t.findRows(few, len(misses), found)
			t.front.learn(found, out)
		}
		return out
	}
	t.findRows(keys, n, out)
	return out
}

// findRows looks rows up in the hash table.
func (t *keyTable) findRows(keys []*vector.Vector, n int, out []uint32) {
	if !t.masked && t.numbers > 0 && t.nullNumbers(keys, n) {
		t.mask()
	}
	t.rows = sized(t.rows, n*t.stride)
	t.fillWords(keys, n, t.rows, t.stride)
	t.probe(t.rows, t.stride, n, out)
}

// reader returns a view of the table for turning keys into words. Any number of readers may be used
// at once, each by one goroutine, as long as nothing is added to the table.
func (t *keyTable) reader() *keyTable {
	r := *t
	r.cols = append([]keyColumn(nil), t.cols...)
	for i := range r.cols {
		c := &r.cols[i]
		c.dict, c.memo, c.scratch, c.shared, c.seen, c.buf, c.fixed = nil, nil, nil, false, 0, nil, true
	}
	r.front, r.rows, r.hashes, r.groups, r.upper = front{off: true}, nil, nil, nil, nil
	return &r
}

// settle prepares a table that nothing will be added to for its readers, and gives up what only
// adding needs.
func (t *keyTable) settle() {
	t.front, t.rows, t.hashes, t.groups, t.upper = front{off: true}, nil, nil, nil, nil
	for i := range t.cols {
		c := &t.cols[i]
		c.dict, c.memo, c.scratch, c.shared = nil, nil, nil, false
	}
}

// fillWords turns n rows of keys into words, one run of them every s words of rows: the mask words
// first, then those of the columns.
func (t *keyTable) fillWords(keys []*vector.Vector, n int, rows []uint64, s int) {
	masks := t.stride - t.places
	for m := range masks {
		for i := range n {
			rows[i*s+m] = 0
		}
	}
	numbers := 0
	for c := range t.cols {
		col := &t.cols[c]
		dst := rows[masks+col.place:]
		if !col.isNumber() {
			if col.shift == 0 {
				col.textWords(keys[c], n, dst, s)
				continue
			}
			t.upper = sized(t.upper, n) // the column of the lower halves came before
			col.textWords(keys[c], n, t.upper, 1)
			for i, w := range t.upper {
				dst[i*s] |= w << 32
			}
			continue
		}
		numberWords(keys[c], n, dst, s)
		if t.masked && keys[c].Valid != nil {
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

// keys returns the key columns of numbers lo up to, not including, hi. Text comes as codes into the
// interner's dictionary.
func (t *keyTable) keys(lo, hi int) []*vector.Vector {
	out := make([]*vector.Vector, len(t.cols))
	s, masks := t.stride, t.stride-t.places
	numbers := 0
	for c := range t.cols {
		col := &t.cols[c]
		words := t.words[masks+col.place:]
		if col.isNumber() {
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
				b.AppendString(string(col.texts.text(w - 1)))
			default:
				appendKeyText(b, col.typ, col.texts.text(w-1))
			}
		}
		out[c] = b.Build()
	}
	return out
}

func (t *keyTable) numberKeys(col *keyColumn, number int, words []uint64, lo, hi int) *vector.Vector {
	s := t.stride
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
	if !t.masked {
		return v
	}
	mask := t.words[number/64:]
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

// sized returns s with length n; contents are unspecified.
func sized[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, max(n, 2*cap(s)))
}
