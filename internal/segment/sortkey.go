package segment

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// Rows are compared by their key: first the words, unsigned numbers made of the leading sort
// columns that have a fixed size, then the remaining sort columns value by value. In both, nulls
// come first and NaN last, and -0.0 before 0.0.

// isWord reports whether values of t can be made into words: everything but lists and opaque
// values.
func isWord(t vector.Type) bool { return t.IsNumeric() || t.Kind == vector.KindString }

// orderedDouble returns a number that compares as x does, with NaN last.
func orderedDouble(x float64) uint64 {
	if x != x {
		return math.MaxUint64
	}
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// wordsOf writes a number per row of v that compares as the rows do; null rows get 0. Strings
// compare by their codes.
func wordsOf(dst []uint64, v *vector.Vector) {
	if v.Const {
		one := *v
		one.Const, one.Len = false, 1
		wordsOf(dst[:1], &one)
		for i := range dst {
			dst[i] = dst[0]
		}
		return
	}
	switch v.Type.Kind {
	case vector.KindLong:
		for i, x := range v.Longs[:len(dst)] {
			dst[i] = uint64(x) ^ 1<<63
		}
	case vector.KindDouble:
		for i, x := range v.Doubles[:len(dst)] {
			dst[i] = orderedDouble(x)
		}
	case vector.KindFloat:
		for i, x := range v.Floats[:len(dst)] {
			dst[i] = orderedDouble(float64(x))
		}
	case vector.KindString:
		if v.Codes == nil { // nulls only, which need no dictionary
			clear(dst)
			return
		}
		for i, x := range v.Codes[:len(dst)] {
			dst[i] = uint64(x) + 1
		}
	}
	if v.Valid != nil {
		for i := range dst {
			if !v.Valid.Get(i) {
				dst[i] = 0
			}
		}
	}
}

// compareValues compares row i of a with row j of b, of the same type.
func compareValues(a *vector.Vector, i int, b *vector.Vector, j int) int {
	switch an, bn := a.IsNull(i), b.IsNull(j); {
	case an && bn:
		return 0
	case an:
		return -1
	case bn:
		return 1
	}
	switch a.Type.Kind {
	case vector.KindLong:
		return cmp.Compare(a.LongAt(i), b.LongAt(j))
	case vector.KindDouble, vector.KindFloat:
		return cmp.Compare(orderedDouble(a.DoubleAt(i)), orderedDouble(b.DoubleAt(j)))
	case vector.KindList:
		alo, ahi := a.ListAt(i)
		blo, bhi := b.ListAt(j)
		for ; alo < ahi && blo < bhi; alo, blo = alo+1, blo+1 {
			if c := compareValues(a.Child, alo, b.Child, blo); c != 0 {
				return c
			}
		}
		return cmp.Compare(ahi-alo, bhi-blo)
	}
	if a.Codes != nil && b.Codes != nil && a.Dict == b.Dict && (a.Dict == nil || a.Dict.Sorted) {
		return cmp.Compare(a.Codes[constRow(a, i)], b.Codes[constRow(b, j)])
	}
	return compareText(a.StringAt(i), b.StringAt(j))
}

func constRow(v *vector.Vector, i int) int {
	if v.Const {
		return 0
	}
	return i
}

// sortRows returns the rows of t in the order of the named columns, keeping equal rows in theirs;
// nil: they are in order already.
func sortRows(t *memoryTable, order []string) []uint32 {
	n := t.info.Rows
	var keys, rest []*vector.Vector
	for _, name := range order {
		for i := range t.columns {
			if t.columns[i].info.Name != name {
				continue
			}
			if v := t.columns[i].values; len(rest) == 0 && isWord(v.Type) {
				keys = append(keys, v)
			} else {
				rest = append(rest, v)
			}
		}
	}
	if len(keys)+len(rest) == 0 || n < 2 {
		return nil
	}
	words := packWords(keys, n)
	compare := func(a, b uint32) int {
		for _, w := range words {
			if c := cmp.Compare(w[a], w[b]); c != 0 {
				return c
			}
		}
		for _, v := range rest {
			if c := compareValues(v, int(a), v, int(b)); c != 0 {
				return c
			}
		}
		return 0
	}
	inOrder := true
	for i := 1; i < n && inOrder; i++ {
		inOrder = compare(uint32(i-1), uint32(i)) <= 0
	}
	if inOrder {
		return nil
	}
	items, other := make([]keyed, n), make([]keyed, n)
	for i := range items {
		items[i].id = uint32(i)
	}
	for _, w := range slices.Backward(words) { // the least significant word first: each round keeps the order of equal rows
		for i := range items {
			items[i].key = w[items[i].id]
		}
		sortByKey(items, other)
	}
	out := make([]uint32, n)
	for i, it := range items {
		out[i] = it.id
	}
	if len(rest) > 0 {
		sortEqual(out, words, compare)
	}
	return out
}

// sortEqual sorts the rows that are equal in all words, which follow each other, by comparing.
func sortEqual(rows []uint32, words [][]uint64, compare func(a, b uint32) int) {
	equal := func(a, b uint32) bool {
		for _, w := range words {
			if w[a] != w[b] {
				return false
			}
		}
		return true
	}
	for lo := 0; lo < len(rows); {
		hi := lo + 1
		for hi < len(rows) && equal(rows[lo], rows[hi]) {
			hi++
		}
		slices.SortStableFunc(rows[lo:hi], compare)
		lo = hi
	}
}

// packWords makes words of the n rows of keys, as few as the ranges of the values allow: time and
// two or three strings of a few thousand values fit into one.
func packWords(keys []*vector.Vector, n int) [][]uint64 {
	var out [][]uint64
	free := 0 // bits left in the last word
	column := make([]uint64, n)
	for _, v := range keys {
		wordsOf(column, v)
		least, most := uint64(math.MaxUint64), uint64(0)
		for i, x := range column {
			if !v.IsNull(i) {
				least, most = min(least, x), max(most, x)
			}
		}
		if least > most { // all null
			continue
		}
		size, lift := bits.Len64(most-least), uint64(0)
		if v.HasNulls() {
			if most-least == math.MaxUint64 { // no room for null below the values: a word of its own says which rows are
				nulls := make([]uint64, n)
				for i := range nulls {
					if !v.IsNull(i) {
						nulls[i] = 1
					}
				}
				out, free = append(out, nulls), 0
			} else {
				lift = 1
				size = bits.Len64(most - least + 1)
			}
		}
		if size == 0 {
			continue
		}
		if size > free {
			out, free = append(out, make([]uint64, n)), 64
		}
		free -= size
		word := out[len(out)-1]
		for i, x := range column {
			if v.IsNull(i) {
				x = 0
			} else {
				x = x - least + lift
			}
			word[i] |= x << uint(free)
		}
	}
	return out
}
