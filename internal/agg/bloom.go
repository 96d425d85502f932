package agg

import (
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var bloomFilter = &Function{
	Name: "BLOOM_FILTER", Doc: "Builds a Bloom filter of the values, including NULL, for an expected number of distinct values.",
	Signature: "'BLOOM_FILTER(<COLUMN>, <numEntries>)'", MinArgs: 1, MaxArgs: 1, MinParams: 1, MaxParams: 1, Sketch: true, TakesNulls: true,
	SeesCasts: true,
	check: checks(countableOr(BloomType), func(s Spec) error {
		n, err := s.wholeParam(0, 0)
		if err != nil {
			return err
		}
		return sketch.CheckBloom(n)
	}),
	result: always(BloomType), partial: one(BloomType),
	create: func(s Spec) State {
		n, _ := s.wholeParam(0, 0) // checked
		merge := func(into, from *sketch.Bloom) error { return into.Merge(from) }
		return newSketchState(sketchForm[*sketch.Bloom]{
			typ:       BloomType,
			fresh:     func() (*sketch.Bloom, error) { return sketch.NewBloom(n), nil },
			parse:     sketch.ParseBloom,
			takesNull: true,
			add:       addToBloom,
			merge:     merge,
			adopt:     merge,
			store:     func(dst []byte, b *sketch.Bloom) ([]byte, error) { return b.AppendBinary(dst), nil },
			sparse:    true,
		}.kept())
	},
}

func addToBloom(b *sketch.Bloom, args []*vector.Vector, i int) error {
	v := args[0]
	if v.IsNull(i) {
		b.AddNull()
		return nil
	}
	switch v.Type.Kind {
	case vector.KindLong:
		b.AddLong(v.LongAt(i))
	case vector.KindDouble:
		b.AddDouble(v.DoubleAt(i))
	case vector.KindFloat:
		b.AddFloat(float32(v.DoubleAt(i)))
	default:
		return eachText(v, i, func(s string) error {
			b.AddText(s)
			return nil
		})
	}
	return nil
}
