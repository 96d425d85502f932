package expr

import (
	"encoding/base64"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// bloomTestFunction asks a Bloom filter that is given as base64. NULL is a value of it like others.
var bloomTestFunction = &Function{
	Name: "BLOOM_FILTER_TEST", NativeName: "bloom_filter_test", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether a value may be in a Bloom filter, which is given as base64.",
	Forms:   listForms("expr, base64"),
	Bind: func(b *binding) (Expr, error) {
		switch t := b.typ(0); {
		case t.Base == Boolean, t.IsTime():
			b.cast(0, Of(BigInt))
		case t.Base == Null:
			b.cast(0, Of(Varchar))
		case !t.IsNumeric() && !t.IsCharacter():
			b.mismatch()
		}
		if text := b.constantText(1, "Bloom filter"); b.err == nil {
			_, b.err = decodeBloom(text)
		}
		return b.call(Of(Boolean).NotNull())
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		text, _ := literalValue(c.Args[1])
		s, _ := text.(string)
		filter, err := decodeBloom(s)
		if err != nil {
			return nil, err
		}
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			out := make([]int64, n)
			for i := range out {
				out[i] = b2i(inBloom(filter, args[0], i))
			}
			return vector.FromLongs(out), nil
		}, nil
	},
}

func decodeBloom(text string) (*sketch.Bloom, error) {
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault.InvalidInput("A Bloom filter must be base64").WithCause(err)
	}
	return sketch.ParseBloom(string(bytes))
}

func inBloom(f *sketch.Bloom, v *vector.Vector, i int) bool {
	if v.IsNull(i) {
		return f.HasNull()
	}
	switch v.Type.Kind {
	case vector.KindLong:
		return f.HasLong(v.LongAt(i))
	case vector.KindDouble:
		return f.HasDouble(v.DoubleAt(i))
	case vector.KindFloat:
		return f.HasFloat(float32(v.DoubleAt(i)))
	}
	return f.HasText(v.StringAt(i))
}
