package agg

import "github.com/hengedb/henge/internal/vector"

// State holds one aggregate for a growing number of groups.
//
// It is used by one goroutine at a time. A state only reads the vectors of its arguments and does
// not retain their memory, except for strings, which must stay valid for the life of the state.
// Group numbers must be less than the argument of the last Grow. After a first call of Partial, and
// until the next change, several goroutines may call it. If groups is nil, every row belongs to
// group 0, which is the fast path of a query without keys.
type State interface {
	// Grow makes room for groups 0 to n-1. New groups are empty; n never decreases.
	Grow(n int)
	// Update adds n rows: row i of args to group groups[i].
	Update(args []*vector.Vector, groups []uint32, n int) error
	// Merge adds n intermediate rows, which Partial returned, in the same way.
	Merge(parts []*vector.Vector, groups []uint32, n int) error
	// Partial returns the intermediate values of groups lo to hi (exclusive).
	Partial(lo, hi int) []*vector.Vector
	// Final returns the results of groups lo to hi (exclusive).
	Final(lo, hi int) (*vector.Vector, error)
	// Bytes returns the memory held.
	Bytes() int64
}

// Absorbing is a State that can merge groups of another state without writing intermediate values
// and reading them again.
type Absorbing interface {
	State
	// Absorb adds group from[i] of o, a state of the same Spec, to groups[i]. It does not change o, so
	// several states may absorb from it concurrently.
	Absorb(o State, from, groups []uint32)
}

// Clearing is a State that can drop all groups and keep their memory for others.
type Clearing interface {
	State
	// Clear makes the state that of no groups. Vectors that it has returned stay as they are.
	Clear()
}

// emptied returns s without elements. Those that grown gives back are zero again.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
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

// cachedFlags is how many flags of groups lie in the caches of a core beside what else groups have.
const cachedFlags = 1 << 17

// seenGroups tells which groups have met a value.
type seenGroups struct {
	flags []bool
	// settled says that the flags of all groups below are set. Groups are numbered as they are met, so
	// that all are soon.
	settled int
}

func (s *seenGroups) grow(n int) { s.flags = grown(s.flags, n) }

// mark sets the flag of every group that has a row with a value in v.
func (s *seenGroups) mark(v *vector.Vector, groups []uint32, n int) {
	switch {
	case s.settled == len(s.flags) || n == 0:
		return
	case groups == nil:
		for i := 0; i < n && !s.flags[0]; i++ {
			s.flags[0] = !v.IsNull(i)
		}
	case v.Valid == nil:
		flags, least := s.flags, uint32(s.settled)
		if len(flags) <= cachedFlags {
			least = 0 // a store takes less than a branch that is mispredicted
		}
		for _, g := range groups[:n] {
			if g >= least {
				flags[g] = true
			}
		}
	default:
		for i, g := range groups[:n] {
			if v.Valid.Get(i) {
				s.flags[g] = true
			}
		}
	}
	for s.settled < len(s.flags) && s.flags[s.settled] {
		s.settled++
	}
}

// validOf returns the validity map of groups lo up to, not including, hi.
func (s *seenGroups) validOf(lo, hi int) vector.Bitmap {
	if hi <= s.settled {
		return nil
	}
	return validOf(s.flags[lo:hi])
}

func (s *seenGroups) clear() { s.flags, s.settled = emptied(s.flags), 0 }

func (s *seenGroups) bytes() int64 { return int64(cap(s.flags)) }
