package vector

import (
	"cmp"
	"strings"
)

// Compare orders row i of a against row j of b, vectors of the same type: -1, 0 or 1. Null is the
// lowest value; strings compare by bytes; NaN is greater than all numbers, and -0.0 is less than
// 0.0; lists compare element by element, a prefix before a longer list.
func Compare(a *Vector, i int, b *Vector, j int) int {
	an, bn := a.IsNull(i), b.IsNull(j)
	if an || bn {
		switch {
		case an && bn:
			return 0
		case an:
			return -1
		}
		return 1
	}
	switch a.Type.Kind {
	case KindLong:
		return cmp.Compare(a.LongAt(i), b.LongAt(j))
	case KindDouble, KindFloat:
		return CompareDoubles(a.DoubleAt(i), b.DoubleAt(j))
	case KindString, KindComplex:
		if a.Dict != nil && a.Dict == b.Dict && a.Dict.Sorted {
			return cmp.Compare(a.Codes[a.at(i)], b.Codes[b.at(j)])
		}
		return strings.Compare(a.StringAt(i), b.StringAt(j))
	case KindList:
		alo, ahi := a.ListAt(i)
		blo, bhi := b.ListAt(j)
		for alo < ahi && blo < bhi {
			if c := Compare(a.Child, alo, b.Child, blo); c != 0 {
				return c
			}
			alo++
			blo++
		}
		return cmp.Compare(ahi-alo, bhi-blo)
	}
	return 0
}

// CompareDoubles is a total order of doubles: -0.0 is less than 0.0; NaN is greater than infinity
// and equal to itself.
func CompareDoubles(x, y float64) int {
	return cmp.Compare(doubleOrder(x), doubleOrder(y))
}

// Same reports whether two rows belong to the same group: nulls are equal, and so are NaNs; -0.0
// and 0.0 are different.
func Same(a *Vector, i int, b *Vector, j int) bool {
	an, bn := a.IsNull(i), b.IsNull(j)
	if an || bn {
		return an && bn
	}
	switch a.Type.Kind {
	case KindLong:
		return a.LongAt(i) == b.LongAt(j)
	case KindDouble, KindFloat:
		return DoubleWord(a.DoubleAt(i)) == DoubleWord(b.DoubleAt(j))
	case KindString, KindComplex:
		return a.StringAt(i) == b.StringAt(j)
	case KindList:
		alo, ahi := a.ListAt(i)
		blo, bhi := b.ListAt(j)
		if ahi-alo != bhi-blo {
			return false
		}
		for ; alo < ahi; alo, blo = alo+1, blo+1 {
			if !Same(a.Child, alo, b.Child, blo) {
				return false
			}
		}
		return true
	}
	return false
}
