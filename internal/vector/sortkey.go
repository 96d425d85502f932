package vector

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Order is the sort order of one column.
type Order struct {
	Desc       bool
	NullsFirst bool
}

// SortKeys holds one byte string per row whose order by bytes is the order of the rows by several
// columns. Rows compare with one bytes.Compare, whatever the types are.
//
//	value     marker, then the bytes; DESC inverts the bytes, not the marker
//	marker    0 null first, 1 value, 2 null last
//	long      8 bytes big endian, sign bit flipped
//	double    8 bytes big endian: positive with the sign bit set, negative inverted; NaN highest
//	text      each 00 as 00 FF, then 00 00
//	list      per element 02 and the element (01: null), then 00
type SortKeys struct {
	data []byte
	offs []uint32
	same uint32 // bytes that all keys begin with: 1 when the first column has no nulls
	size uint32 // of each key; 0: they differ
}

// Len returns the number of rows.
func (k *SortKeys) Len() int { return len(k.offs) - 1 }

// Key returns the key of row i.
func (k *SortKeys) Key(i int) []byte {
	at, end := k.span(i)
	return k.data[at:end]
}

// span returns where the key of row i lies. Rows that are sorted are looked at in any order: what
// is computed need not be fetched.
func (k *SortKeys) span(i int) (at, end uint32) {
	if k.size > 0 {
		at = uint32(i) * k.size
		return at, at + k.size
	}
	return k.offs[i], k.offs[i+1]
}

// Prefix returns eight bytes of the key of row i, after the common prefix of all keys, as a number
// with the same order.
func (k *SortKeys) Prefix(i int) uint64 { return k.word(i, 0) }

// word returns the eight bytes of the key of row i behind words others; beyond the end they are 0.
// No key begins with another one.
func (k *SortKeys) word(i int, words uint32) uint64 {
	at, end := k.span(i)
	at += k.same + 8*words
	return PrefixWord(k.data[min(at, end):end])
}

// PrefixWord returns the first eight bytes of a text as a number with the same order; zeros stand
// for what is beyond its end.
func PrefixWord(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	return shortPrefix(text)
}

func shortPrefix(text []byte) uint64 {
	var p [8]byte
	copy(p[:], text)
	return binary.BigEndian.Uint64(p[:])
}

// Order returns the rows in the order of their keys; the order is stable.
func (k *SortKeys) Order() []uint32 {
	entries := make([]sortEntry, k.Len())
	for i := range entries {
		entries[i].row = uint32(i)
	}
	k.sort(entries, nil, 0)
	rows := make([]uint32, len(entries))
	for i, p := range entries {
		rows[i] = p.row
	}
	return rows
}

// comparisonSortRows is the number of rows below which they are sorted by comparing them.
const comparisonSortRows = 256

// sort orders rows whose keys have so many words in common: by the next one, and then those that
// are equal in it by the one after. Other is as long as entries, or nil.
func (k *SortKeys) sort(entries, other []sortEntry, words uint32) {
	var differ uint64
	for i := range entries {
		p := &entries[i]
		p.prefix = k.word(int(p.row), words)
		differ |= p.prefix ^ entries[0].prefix
	}
	if other == nil && len(entries) >= comparisonSortRows {
		other = make([]sortEntry, len(entries))
	}
	sortByPrefix(entries, other, differ)
	for lo := 0; lo < len(entries); {
		hi := lo + 1
		for hi < len(entries) && entries[hi].prefix == entries[lo].prefix {
			hi++
		}
		switch same := entries[lo:hi]; {
		case len(same) == 1 || k.decided(same, words+1):
		case len(same) >= comparisonSortRows:
			k.sort(same, other[lo:hi], words+1)
		default:
			k.sortFew(same, words+1)
		}
		lo = hi
	}
}

// sortFew orders rows whose keys have so many words in common by comparing the next one, and only
// where that is equal what follows.
func (k *SortKeys) sortFew(entries []sortEntry, words uint32) {
	for i := range entries {
		entries[i].prefix = k.word(int(entries[i].row), words)
	}
	slices.SortFunc(entries, func(a, b sortEntry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := k.Compare(int(a.row), k, int(b.row)); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
}

// sortEntry is a row with the prefix of its key.
type sortEntry struct {
	prefix uint64
	row    uint32
}

// decided reports whether so many words are all there is of the keys of some rows.
func (k *SortKeys) decided(entries []sortEntry, words uint32) bool {
	if k.size > 0 {
		return k.size <= k.same+8*words
	}
	for _, p := range entries {
		if k.offs[p.row+1]-k.offs[p.row] > k.same+8*words {
			return false
		}
	}
	return true
}

// sortByPrefix sorts by the bytes of the prefix in which there are differences, the lowest first (a
// radix sort, which is stable), or by comparing when there are few rows. Other is as long as
// entries if these are not few.
func sortByPrefix(entries, other []sortEntry, differ uint64) {
	if len(entries) < comparisonSortRows {
		slices.SortStableFunc(entries, func(a, b sortEntry) int { return cmp.Compare(a.prefix, b.prefix) })
		return
	}
	from, to := entries, other
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var starts [257]int
		for _, p := range from {
			starts[p.prefix>>shift&0xff+1]++
		}
		for i := range 256 {
			starts[i+1] += starts[i]
		}
		for _, p := range from {
			b := p.prefix >> shift & 0xff
			to[starts[b]] = p
			starts[b]++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}

// Compare orders row i against row j of l.
func (k *SortKeys) Compare(i int, l *SortKeys, j int) int { return bytes.Compare(k.Key(i), l.Key(j)) }

// Bytes returns the memory held.
func (k *SortKeys) Bytes() int64 { return int64(cap(k.data)) + 4*int64(cap(k.offs)) }

// MaxSortKeyBytes bounds the keys of one SortKeys: offsets are 32 bits wide.
const MaxSortKeyBytes = math.MaxUint32

// NewSortKeys builds the keys of n rows of cols. The caller keeps runs small enough for
// MaxSortKeyBytes.
func NewSortKeys(cols []*Vector, orders []Order, n int) *SortKeys {
	k := &SortKeys{offs: make([]uint32, n+1)}
	if len(cols) > 0 && !cols[0].HasNulls() {
		k.same = 1
	}
	for _, c := range cols {
		addKeyLengths(c, k.offs[1:])
	}
	for i := range n {
		k.offs[i+1] += k.offs[i]
	}
	if !slices.ContainsFunc(cols, func(v *Vector) bool { return !v.Const && (v.Valid != nil || !v.Type.IsNumeric()) }) && n > 0 {
		k.size = k.offs[1]
	}
	k.data = make([]byte, k.offs[n])
	at := make([]uint32, n)
	copy(at, k.offs)
	for c, v := range cols {
		putKeys(k.data, at, v, orders[c])
	}
	return k
}

func addKeyLengths(v *Vector, lens []uint32) {
	if v.Const {
		l := keyLength(v, 0)
		for i := range lens {
			lens[i] += l
		}
		return
	}
	switch v.Type.Kind {
	case KindLong, KindDouble, KindFloat:
		if v.Valid == nil {
			for i := range lens {
				lens[i] += 9
			}
			return
		}
	}
	for i := range lens {
		lens[i] += keyLength(v, i)
	}
}

func keyLength(v *Vector, i int) uint32 {
	if v.IsNull(i) {
		return 1
	}
	switch v.Type.Kind {
	case KindLong, KindDouble, KindFloat:
		return 9
	case KindString, KindComplex:
		s := v.StringAt(i)
		n := uint32(len(s)) + 3
		for j := range len(s) {
			if s[j] == 0 {
				n++
			}
		}
		return n
	case KindList:
		lo, hi := v.ListAt(i)
		n := uint32(2)
		for ; lo < hi; lo++ {
			n += keyLength(v.Child, lo)
		}
		return n
	}
	return 1
}

func putKeys(data []byte, at []uint32, v *Vector, o Order) {
	null := byte(2)
	if o.NullsFirst {
		null = 0
	}
	if v.Const || v.Valid != nil || !v.Type.IsNumeric() {
		for i, p := range at {
			if v.IsNull(i) {
				data[p] = null
				at[i]++
				continue
			}
			data[p] = 1
			end := putKey(data, p+1, v, i)
			if o.Desc {
				invert(data[p+1 : end])
			}
			at[i] = end
		}
		return
	}
	flip := uint64(0)
	if o.Desc {
		flip = math.MaxUint64
	}
	for i, p := range at {
		data[p] = 1
		var w uint64
		if v.Type.Kind == KindLong {
			w = uint64(v.Longs[i]) ^ 1<<63
		} else {
			w = doubleOrder(v.DoubleAt(i))
		}
		binary.BigEndian.PutUint64(data[p+1:], w^flip)
		at[i] = p + 9
	}
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// putKey writes the bytes of a value and returns where they end.
func putKey(data []byte, p uint32, v *Vector, i int) uint32 {
	switch v.Type.Kind {
	case KindLong:
		binary.BigEndian.PutUint64(data[p:], uint64(v.LongAt(i))^1<<63)
		return p + 8
	case KindDouble, KindFloat:
		binary.BigEndian.PutUint64(data[p:], doubleOrder(v.DoubleAt(i)))
		return p + 8
	case KindString, KindComplex:
		s := v.StringAt(i)
		for j := range len(s) {
			data[p] = s[j]
			p++
			if s[j] == 0 {
				data[p] = 0xff
				p++
			}
		}
		data[p], data[p+1] = 0, 0
		return p + 2
	case KindList:
		lo, hi := v.ListAt(i)
		for ; lo < hi; lo++ {
			if v.Child.IsNull(lo) {
				data[p] = 1
				p++
				continue
			}
			data[p] = 2
			p = putKey(data, p+1, v.Child, lo)
		}
		data[p] = 0
		return p + 1
	}
	return p
}

// doubleOrder maps doubles to words that order like them.
func doubleOrder(x float64) uint64 {
	if x != x {
		return math.MaxUint64
	}
	w := math.Float64bits(x)
	if w>>63 != 0 {
		return ^w
	}
	return w | 1<<63
}
