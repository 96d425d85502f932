package sketchfn

import (
	"encoding/base64"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// bloomTestFunction asks a Bloom filter that is given as base64. NULL is a value of it like others.
var bloomTestFunction = &expr.Function{
	Name: "BLOOM_FILTER_TEST", NativeName: "bloom_filter_test", Min: 2, Max: 2, SeesNulls: true,
	Summary: "Returns whether a Bloom filter, given as base64, may contain a value.",
	Forms:   expr.ListForms("expr, base64"),
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		switch t := b.Type(0); {
		case t.Base == expr.Boolean, t.IsTime():
			b.Cast(0, expr.Of(expr.BigInt))
		case t.Base == expr.Null:
			b.Cast(0, expr.Of(expr.Varchar))
		case !t.IsNumeric() && !t.IsCharacter():
			b.Mismatch()
		}
		if text := b.ConstantText(1, "Bloom filter"); b.Err == nil {
			_, b.Err = decodeBloom(text)
		}
		return b.Call(expr.Of(expr.Boolean).NotNull())
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		text, _ := expr.LiteralValue(c.Args[1])
		s, _ := text.(string)
		filter, err := decodeBloom(s)
		if err != nil {
			return nil, err
		}
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			out := make([]int64, n)
			for i := range out {
				out[i] = kernel.Bool(inBloom(filter, args[0], i))
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
