package agg

import "github.com/hengedb/henge/internal/vector"

// State holds one aggregate for a growing number of groups.
//
// It is used by one goroutine at a time. Vectors passed in are only read, and nothing of them is
// kept that a later change of their memory could reach; their text must stay valid for the life of
// the state. Groups are named by number and must be below the last Grow. After a first call of
// Partial, and until the next change, several goroutines may call it. Methods with groups nil mean
// group 0 for every row, which is the fast path of a query without keys.
type State interface {
	// Grow makes room for groups up to, not including, n. New groups are empty; n never shrinks.
	Grow(n int)
	// Update folds n rows: row i of args into groups[i].
	Update(args []*vector.Vector, groups []uint32, n int) error
	// Merge folds n intermediate rows, as Partial made them, likewise.
	Merge(parts []*vector.Vector, groups []uint32, n int) error
	// Partial returns the intermediate values of groups lo up to, not including, hi.
	Partial(lo, hi int) []*vector.Vector
	// Final returns the results of groups lo up to, not including, hi.
	Final(lo, hi int) (*vector.Vector, error)
	// Bytes returns the memory held.
	Bytes() int64
}

// Absorbing is a State that can take groups over from another one without their being written as
// intermediate values and read again.
type Absorbing interface {
	State
	// Absorb folds groups from[i] of o, a state of the same Spec, into groups[i]. It leaves o as it
	// is: several states may absorb of it at a time.
	Absorb(o State, from, groups []uint32)
}

// grown returns s with length n, new elements zero.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		return s[:n]
	}
	out := make([]T, n, max(n, 2*cap(s)))
	copy(out, s)
	return out
}

// number is a physical number type.
type number interface{ ~int64 | ~float64 | ~float32 }

// numbers returns the slice of a flat vector whose physical type is T.
func numbers[T number](v *vector.Vector) []T {
	var x []T
	switch p := any(&x).(type) {
	case *[]int64:
		*p = v.Longs
	case *[]float64:
		*p = v.Doubles
	case *[]float32:
		*p = v.Floats
	}
	return x[:v.Len]
}

// fromNumbers wraps a slice as a flat vector.
func fromNumbers[T number](x []T) *vector.Vector {
	switch x := any(x).(type) {
	case []int64:
		return vector.FromLongs(x)
	case []float64:
		return vector.FromDoubles(x)
	case []float32:
		return vector.FromFloats(x)
	}
	return nil
}

// group returns the group of row i.
func group(groups []uint32, i int) uint32 {
	if groups == nil {
		return 0
	}
	return groups[i]
}

// validOf returns the validity map of groups whose seen flag is set, nil if all are.
func validOf(seen []bool) vector.Bitmap {
	for i, s := range seen {
		if !s {
			valid := vector.NewBitmap(len(seen))
			valid.SetRange(0, i)
			for j := i + 1; j < len(seen); j++ {
				if seen[j] {
					valid.Set(j)
				}
			}
			return valid
		}
	}
	return nil
}

// copied returns a copy of lo to hi, so that vectors handed out do not change when the state does.
func copied[T any](s []T, lo, hi int) []T { return append([]T(nil), s[lo:hi]...) }

// seenGroups tells which groups have met a value.
type seenGroups struct {
	flags   []bool
	missing int // flags that are not set
	// settled says that the flags of all groups below are set. Groups are numbered as they are met, so
	// that of many groups only the latest are looked up.
	settled uint32
}

func (s *seenGroups) grow(n int) {
	if n > len(s.flags) {
		s.missing += n - len(s.flags)
		s.flags = grown(s.flags, n)
	}
}

// mark sets the flag of every group that has a row with a value in v.
func (s *seenGroups) mark(v *vector.Vector, groups []uint32, n int) {
	switch {
	case s.missing == 0 || n == 0:
	case groups == nil:
		for i := 0; i < n && !s.flags[0]; i++ {
			if !v.IsNull(i) {
				s.set(0)
			}
		}
	case v.Valid == nil:
		for _, g := range groups[:n] {
			if g >= s.settled && !s.flags[g] {
				if s.set(g); s.missing == 0 {
					break
				}
			}
		}
		s.settle()
	default:
		for i, g := range groups[:n] {
			if g >= s.settled && !s.flags[g] && v.Valid.Get(i) {
				s.set(g)
			}
		}
		s.settle()
	}
}

// settle moves settled past the flags that are set.
func (s *seenGroups) settle() {
	for int(s.settled) < len(s.flags) && s.flags[s.settled] {
		s.settled++
	}
}

// set sets the flag of a group that has none.
func (s *seenGroups) set(g uint32) {
	s.flags[g] = true
	s.missing--
}

// validOf returns the validity map of groups lo up to, not including, hi.
func (s *seenGroups) validOf(lo, hi int) vector.Bitmap {
	if s.missing == 0 {
		return nil
	}
	return validOf(s.flags[lo:hi])
}

func (s *seenGroups) bytes() int64 { return int64(cap(s.flags)) }
