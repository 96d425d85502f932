package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Types of stored and intermediate sketches.
var (
	HLLType        = vector.ComplexOf("HLLSketch")
	ThetaType      = vector.ComplexOf("thetaSketch")
	QuantilesType  = vector.ComplexOf("quantilesDoublesSketch")
	TupleType      = vector.ComplexOf("arrayOfDoublesSketch")
	KLLDoublesType = vector.ComplexOf("KllDoublesSketch")
	KLLFloatsType  = vector.ComplexOf("KllFloatsSketch")

	TDigestType         = vector.ComplexOf("tDigestSketch")
	BloomType           = vector.ComplexOf("bloom")
	ApproxHistogramType = vector.ComplexOf("approximateHistogram")
	FixedBucketsType    = vector.ComplexOf("fixedBucketsHistogram")
)

// grouped is a sketch of one group.
type grouped interface {
	comparable
	Bytes() int64
}

// sketchForm is what the sketches of a kind do; the zero S is no sketch.
type sketchForm[S grouped] struct {
	typ   vector.Type
	fresh func() (S, error)
	parse func(string) (S, error)
	// add folds row i of the arguments, of which none is null and the first is no sketch; merge folds
	// a sketch that came as an argument, adopt one that is a partial result.
	add   func(into S, args []*vector.Vector, i int) error
	merge func(into, from S) error
	adopt func(into, from S) error
	// store appends the stored form.
	store func(dst []byte, s S) ([]byte, error)
	// grouped is store for the result of a group among others; nil: it does not differ. Druid merges
	// such results once more. See quirk Q008.
	grouped func(dst []byte, s S) ([]byte, error)
	// again says that results are those of groups among others even if there are no keys.
	again bool
	// sparse says that the partial result of no values is null.
	sparse bool
	// takesNull says that add wants rows whose argument is null too.
	takesNull bool
	// finish appends the result of a group to a vector of type result.
	result vector.Type
	finish func(b *vector.Builder, s S) error
}

// sketchState keeps a sketch for each group that has rows.
type sketchState[S grouped] struct {
	sketchForm[S]
	list []S
	heap int64
	// many says that there are keys to group by.
	many bool
}

func newSketchState[S grouped](f sketchForm[S]) State { return &sketchState[S]{sketchForm: f} }

// of is the form for the results that s asks for.
func (f sketchForm[S]) of(s Spec) sketchForm[S] {
	if s.Merging == MergedOnce || s.Merging == MergedNot {
		f.grouped = nil
	}
	f.again = s.Merging == MergedTwice
	return f
}

// kept makes the form's result the sketch itself.
func (f sketchForm[S]) kept() sketchForm[S] {
	f.result = f.typ
	f.finish = func(b *vector.Builder, s S) error {
		p, err := f.store(nil, s)
		b.AppendString(string(p))
		return err
	}
	return f
}

func (s *sketchState[S]) Grow(n int) { s.list = grown(s.list, n) }

// at returns the sketch of a group.
func (s *sketchState[S]) at(g uint32) (S, error) {
	var none S
	if s.list[g] == none {
		fresh, err := s.fresh()
		if err != nil {
			return none, err
		}
		s.list[g] = fresh
		s.heap += fresh.Bytes()
	}
	return s.list[g], nil
}

func (s *sketchState[S]) Update(args []*vector.Vector, groups []uint32, n int) error {
	s.many = s.many || groups != nil
	if args[0].Type == s.typ {
		return s.fold(args[0], groups, n, s.merge)
	}
	for i := range n {
		if !s.takesNull && anyNull(args, i) {
			continue
		}
		x, err := s.at(group(groups, i))
		if err != nil {
			return err
		}
		before := x.Bytes()
		if err := s.add(x, args, i); err != nil {
			return err
		}
		s.heap += x.Bytes() - before
	}
	return nil
}

func anyNull(args []*vector.Vector, i int) bool {
	for _, a := range args {
		if a.IsNull(i) {
			return true
		}
	}
	return false
}

func (s *sketchState[S]) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	s.many = s.many || groups != nil
	return s.fold(parts[0], groups, n, s.adopt)
}

func (s *sketchState[S]) fold(v *vector.Vector, groups []uint32, n int, into func(into, from S) error) error {
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		from, err := s.parse(v.StringAt(i))
		if err != nil {
			return err
		}
		x, err := s.at(group(groups, i))
		if err != nil {
			return err
		}
		before := x.Bytes()
		if err := into(x, from); err != nil {
			return err
		}
		s.heap += x.Bytes() - before
	}
	return nil
}

func (s *sketchState[S]) Partial(lo, hi int) []*vector.Vector {
	b := vector.NewBuilder(s.typ, hi-lo)
	var none S
	var buf []byte
	for g := lo; g < hi; g++ {
		x, err := s.list[g], error(nil)
		if x == none {
			if s.sparse {
				b.AppendNull()
				continue
			}
			x, err = s.fresh()
		}
		if err == nil {
			buf, err = s.store(buf[:0], x)
		}
		if err != nil { // what New and Update let pass can be stored
			b.AppendNull()
			continue
		}
		b.AppendString(string(buf))
	}
	return []*vector.Vector{b.Build()}
}

func (s *sketchState[S]) Final(lo, hi int) (*vector.Vector, error) {
	b := vector.NewBuilder(s.result, hi-lo)
	var none S
	for g := lo; g < hi; g++ {
		x := s.list[g]
		if x == none {
			var err error
			if x, err = s.fresh(); err != nil {
				return nil, err
			}
		}
		if (s.many || s.again) && s.grouped != nil {
			p, err := s.grouped(nil, x)
			if err != nil {
				return nil, err
			}
			b.AppendString(string(p))
			continue
		}
		if err := s.finish(b, x); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

func (s *sketchState[S]) Bytes() int64 { return 8*int64(cap(s.list)) + s.heap }

// wholeParam returns constant i as a whole number, or def; a constant of another type is an error.
func (s Spec) wholeParam(i int, def int64) (int64, error) {
	if i >= len(s.Params) {
		return def, nil
	}
	switch x := s.Params[i].(type) {
	case int64:
		return x, nil
	case float64:
		if x >= -1<<53 && x <= 1<<53 {
			return int64(x), nil
		}
	}
	return 0, fault.InvalidInput("A constant of aggregation [%s] must be a number, not [%v]", s.Name, s.Params[i])
}

// eachText calls f with the texts of row i, which is not null: one, or those of a list that are not
// null.
func eachText(v *vector.Vector, i int, f func(string) error) error {
	if v.Type.Kind != vector.KindList {
		return f(v.StringAt(i))
	}
	for lo, hi := v.ListAt(i); lo < hi; lo++ {
		if !v.Child.IsNull(lo) {
			if err := f(v.Child.StringAt(lo)); err != nil {
				return err
			}
		}
	}
	return nil
}

// countableOr wants numbers, text, lists of text, or sketches of type t.
func countableOr(t vector.Type) func(Spec) error {
	return func(s Spec) error {
		switch a := s.Args[0]; {
		case a == t, a.IsNumeric(), a.Kind == vector.KindString, a.Kind == vector.KindList && a.Elem().Kind == vector.KindString:
			return nil
		}
		return badType(s, 0)
	}
}

// checks runs one check after the other.
func checks(list ...func(Spec) error) func(Spec) error {
	return func(s Spec) error {
		for _, check := range list {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	}
}
