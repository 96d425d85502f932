package agg

import (
	"math/bits"

	"github.com/hengedb/henge/internal/vector"
)

var sum = &Function{
	Name: "SUM", Doc: "Returns the sum. Integer sums wrap around at 64 bits.",
	Signature: "'SUM(<NUMERIC>)'", MinArgs: 1, MaxArgs: 1, Casts: ToNumber, Gives: GivesOwn, Linear: true, MergedBy: "SUM",
	Native:  NativeForm{Kind: NativeSum},
	OfBlock: Sum,
	check:   numeric,
	result:  sumType,
	partial: func(s Spec) []vector.Type { return []vector.Type{sumType(s)} },
	create: func(s Spec) State {
		switch s.Args[0].Kind {
		case vector.KindLong:
			return &sumState[int64, int64]{}
		case vector.KindFloat:
			return &sumState[float32, float64]{}
		default:
			return &sumState[float64, float64]{}
		}
	},
}

func sumType(s Spec) vector.Type {
	if s.Args[0].Kind == vector.KindLong {
		return vector.Long
	}
	return vector.Double
}

// sumState adds values of T into totals of A.
type sumState[T number, A int64 | float64] struct {
	total []A
	seen  seenGroups
}

func (s *sumState[T, A]) Grow(n int) {
	s.total = grown(s.total, n)
	s.seen.grow(n)
}

func (s *sumState[T, A]) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0].Flat()
	s.seen.mark(v, groups, n)
	addInto[T, A](s.total, numbers[T](v)[:n], v.Valid, groups)
	return nil
}

func (s *sumState[T, A]) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	v := parts[0].Flat()
	s.seen.mark(v, groups, n)
	addInto[A, A](s.total, numbers[A](v)[:n], v.Valid, groups)
	return nil
}

// addInto adds xs, as far as they are valid, to the totals of their groups; nil groups are all the
// first.
func addInto[T number, A int64 | float64](total []A, xs []T, valid vector.Bitmap, groups []uint32) {
	switch {
	case valid != nil:
		addValid(total, xs, valid, groups)
	case groups == nil:
		// Four sums hide the latency of addition.
		var a, b, c, d A
		for ; len(xs) >= 4; xs = xs[4:] {
			a += A(xs[0])
			b += A(xs[1])
			c += A(xs[2])
			d += A(xs[3])
		}
		for _, x := range xs {
			a += A(x)
		}
		total[0] += a + b + c + d
	default:
		groups = groups[:len(xs)]
		for i, x := range xs {
			total[groups[i]] += A(x)
		}
	}
}

// addValid is addInto by words of the validity map. A test of each row would be mispredicted at
// most NULLs, so that where they are few, zeros are added in their place.
func addValid[T number, A int64 | float64](total []A, xs []T, valid vector.Bitmap, groups []uint32) {
	var zeroed [64]T
	for w := 0; len(xs) > 0; w++ {
		n := min(64, len(xs))
		rows, of := xs[:n], groups
		if groups != nil {
			of, groups = groups[:n], groups[n:]
		}
		all := ^uint64(0) >> (64 - n)
		set := valid[w] & all
		if null := all &^ set; bits.OnesCount64(null) < n/2 {
			if null != 0 {
				rows = zeroed[:copy(zeroed[:], rows)]
			}
			for ; null != 0; null &= null - 1 {
				rows[bits.TrailingZeros64(null)] = 0
			}
			addInto(total, rows, nil, of)
		} else {
			for ; set != 0; set &= set - 1 {
				i, g := bits.TrailingZeros64(set), uint32(0)
				if of != nil {
					g = of[i]
				}
				total[g] += A(rows[i])
			}
		}
		xs = xs[n:]
	}
}

func (s *sumState[T, A]) Partial(lo, hi int) []*vector.Vector {
	v := fromNumbers(copied(s.total, lo, hi))
	v.Valid = s.seen.validOf(lo, hi)
	return []*vector.Vector{v}
}

func (s *sumState[T, A]) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func (s *sumState[T, A]) Clear() {
	s.total = emptied(s.total)
	s.seen.clear()
}

func (s *sumState[T, A]) Bytes() int64 { return 8*int64(cap(s.total)) + s.seen.bytes() }
