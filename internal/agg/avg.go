package agg

import "github.com/hengedb/henge/internal/vector"

var avg = &Function{
	Name: "AVG", Doc: "Returns the mean of the values that are not NULL.",
	Signature: "'AVG(<NUMERIC>)'", MinArgs: 1, MaxArgs: 1, Casts: ToNumber, Gives: GivesOwn, MergesKept: true,
	Native: NativeForm{Kind: NativeMean}, OfBlock: Mean,
	check: numeric, result: always(vector.Double), packing: means,
	partial: func(Spec) []vector.Type { return []vector.Type{vector.Double, vector.Long} },
	create: func(s Spec) State {
		switch s.Args[0].Kind {
		case vector.KindLong:
			return &avgState[int64]{}
		case vector.KindFloat:
			return &avgState[float32]{}
		default:
			return &avgState[float64]{}
		}
	},
}

// avgState keeps sum and count.
type avgState[T number] struct {
	sum sumState[T, float64]
	n   countState
}

func (s *avgState[T]) Grow(n int) { s.sum.Grow(n); s.n.Grow(n) }

func (s *avgState[T]) Update(args []*vector.Vector, groups []uint32, n int) error {
	if err := s.sum.Update(args, groups, n); err != nil {
		return err
	}
	return s.n.Update(args, groups, n)
}

func (s *avgState[T]) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	if err := s.sum.Merge(parts[:1], groups, n); err != nil {
		return err
	}
	return s.n.Merge(parts[1:], groups, n)
}

func (s *avgState[T]) Partial(lo, hi int) []*vector.Vector {
	return append(s.sum.Partial(lo, hi), s.n.Partial(lo, hi)...)
}

func (s *avgState[T]) Final(lo, hi int) (*vector.Vector, error) {
	v := s.sum.Partial(lo, hi)[0]
	for i := range v.Doubles {
		if n := s.n.n[lo+i]; n != 0 {
			v.Doubles[i] /= float64(n)
		}
	}
	return v, nil
}

func (s *avgState[T]) Clear() { s.sum.Clear(); s.n.Clear() }

func (s *avgState[T]) Bytes() int64 { return s.sum.Bytes() + s.n.Bytes() }
