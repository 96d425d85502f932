package agg

import (
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// KLL sketches have no SQL functions; native aggregators build them.
var (
	kllDoubles = kllFunction("DS_KLL_DOUBLES", KLLDoublesType, sketch.NewKLL[float64], sketch.ParseKLL[float64])
	kllFloats  = kllFunction("DS_KLL_FLOATS", KLLFloatsType, sketch.NewKLL[float32], sketch.ParseKLL[float32])
)

func kllFunction[T float32 | float64](name string, t vector.Type, fresh func(int) (*sketch.KLL[T], error),
	parse func(string) (*sketch.KLL[T], error)) *Function {
	return &Function{
		Name: name, Doc: "Builds a KLL sketch of the values, or merges KLL sketches.", Internal: true, Sketch: true,
		Signature: "'" + name + "(<COLUMN>)'\n'" + name + "(<COLUMN>, <k>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1,
		check: checks(numericOr(t), func(s Spec) error {
			k, err := s.wholeParam(0, 200)
			if err != nil {
				return err
			}
			return sketch.CheckKLL(k)
		}),
		result: always(t), partial: one(t),
		create: func(s Spec) State {
			k, _ := s.wholeParam(0, 200) // checked
			merge := func(into, from *sketch.KLL[T]) error {
				into.Merge(from)
				return nil
			}
			return newSketchState(sketchForm[*sketch.KLL[T]]{
				typ:   t,
				fresh: func() (*sketch.KLL[T], error) { return fresh(int(k)) },
				parse: parse,
				add: func(q *sketch.KLL[T], args []*vector.Vector, i int) error {
					q.Add(T(args[0].DoubleAt(i)))
					return nil
				},
				merge: merge,
				adopt: func(into, from *sketch.KLL[T]) error {
					into.Adopt(from)
					return nil
				},
				store: func(dst []byte, q *sketch.KLL[T]) ([]byte, error) { return q.AppendBinary(dst) },
				grouped: func(dst []byte, q *sketch.KLL[T]) ([]byte, error) {
					again, err := fresh(int(k))
					if err != nil {
						return dst, err
					}
					again.Merge(q) // which turns the order of the values around
					return again.AppendBinary(dst)
				},
			}.kept().of(s))
		},
	}
}
