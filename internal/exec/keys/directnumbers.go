package keys

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

// Doubles in a direct-address table are mostly results of FLOOR, ROUND and divisions: whole numbers
// near each other, whose ordinals are found as those of Longs are. Others are searched for by their
// bits; a column that mostly has such is not for direct addressing.

// addressLongs adds ordinal*step of each row of Longs that are not NULL; see address.
func (s *longSet) addressLongs(longs []int64, at []uint32, step, room uint32) bool {
	at = at[:len(longs)]
	near, base := s.near, s.base
	for i, x := range longs {
		if k := uint64(x) - uint64(base); k < uint64(len(near)) && near[k] != 0 {
			at[i] += near[k] * step
			continue
		}
		o := s.ordinal(x)
		if o >= room {
			return false
		}
		at[i] += o * step
		near, base = s.near, s.base
	}
	return true
}

// addressDoubles is address for a column of Doubles.
func (s *longSet) addressDoubles(v *vector.Vector, at []uint32, step, room uint32) bool {
	if v.Const {
		o := uint32(0)
		if !v.IsNull(0) {
			o = s.doubleOrdinal(v.Doubles[0])
		}
		for i := range at {
			at[i] += o * step
		}
		return o < room
	}
	near, base, far := s.near, s.base, 0
	nulls := v.Valid != nil
	for i, x := range v.Doubles[:len(at)] {
		if nulls && !v.Valid.Get(i) {
			continue
		}
		whole := int64(x)
		if k := uint64(whole) - uint64(base); k < uint64(len(near)) && near[k] != 0 && isWhole(x, whole) {
			at[i] += near[k] * step
			continue
		}
		far++
		o := s.doubleOrdinal(x)
		if o >= room {
			return false
		}
		at[i] += o * step
		near, base = s.near, s.base
	}
	s.far = far > len(at)/2+maxFewOrdinals
	return true
}

// maxFewOrdinals is how many new values may come with any batch.
const maxFewOrdinals = 64

// isWhole reports whether x is a whole number, and which. -0.0 is a group of its own, and none.
func isWhole(x float64, whole int64) bool {
	return math.Float64bits(float64(whole)) == math.Float64bits(x)
}

func (s *longSet) doubleOrdinal(x float64) uint32 {
	o := s.search(int64(vector.DoubleWord(x)))
	if whole := int64(x); isWhole(x, whole) && o <= uint32(len(s.values)) {
		s.keepNear(whole, o)
	}
	return o
}

// keepNear remembers the ordinal of a value in the array around the first such one.
func (s *longSet) keepNear(x int64, o uint32) {
	if s.near == nil {
		s.base = x - nearValues/2
	}
	at := uint64(x) - uint64(s.base)
	if at >= nearValues {
		return
	}
	if at >= uint64(len(s.near)) {
		s.near = append(s.near, make([]uint32, int(at)+1-len(s.near))...)
	}
	s.near[at] = o
}
