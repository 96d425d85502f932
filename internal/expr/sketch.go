package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// sketchFunctions work on sketches, which package agg builds. A NULL is a sketch of nothing.
var sketchFunctions = slices.Concat(hllFunctions, thetaFunctions, quantilesFunctions, kllFunctions, tupleFunctions, nativeSketchFunctions,
	summaryFunctions, []*Function{finishSketchFunction})

// complexText is the type of results that are JSON text in a column of a complex type without a
// name.
var complexText = ComplexOf("")

// OfSketches reports whether the function works on sketches.
func (f *Function) OfSketches() bool { return slices.Contains(sketchFunctions, f) }

// sketchAt wants a sketch of the complex type name; text is read as base64 of one.
func (b *binding) sketchAt(i int, name string) {
	if b.err != nil {
		return
	}
	switch t := b.typ(i); {
	case t.Base == Other && (t.ComplexName() == name || t.ComplexName() == ""):
	case t.Base == Null:
		b.cast(i, ComplexOf(name))
	case t.IsCharacter():
		decoded, err := NewCall(decodeComplexFunction, []Expr{&Literal{Value: name, T: Of(Varchar).NotNull()}, b.args[i]}, b.at)
		if err != nil {
			b.err = err
			return
		}
		b.args[i] = decoded
	default:
		b.mismatch()
	}
}

// textAt returns the bytes of a complex value, "" for NULL.
func textAt(v *vector.Vector, i int) string {
	if v.IsNull(i) {
		return ""
	}
	return v.StringAt(i)
}

// perRow is the kernel of a function that is computed row by row and may fail; it runs on valid
// rows only.
func perRow[R scalar](f func(args []*vector.Vector, i int) (R, error)) func(*Call, *Context) (Kernel, error) {
	return fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		out := make([]R, n)
		for i := range out {
			if !valid.Get(i) {
				continue
			}
			var err error
			if out[i], err = f(args, i); err != nil {
				return nil, err
			}
		}
		return wrap(out), nil
	})
}

// perRowComplex is perRow for a result of the call's complex type.
func perRowComplex(f func(args []*vector.Vector, i int) (string, error)) func(*Call, *Context) (Kernel, error) {
	kernel := perRow(f)
	return func(c *Call, ctx *Context) (Kernel, error) {
		k, err := kernel(c, ctx)
		if err != nil {
			return nil, err
		}
		t := c.T.Runtime()
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			v, err := k(args, n, valid)
			return asComplex(v, t), err
		}, nil
	}
}

// perRowDoubles is perRow for a result that is an array of doubles.
func perRowDoubles(f func(args []*vector.Vector, i int) ([]float64, error)) func(*Call, *Context) (Kernel, error) {
	return fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		b := vector.NewBuilder(vector.ListOf(vector.Double), n)
		for i := range n {
			if valid.Get(i) {
				list, err := f(args, i)
				if err != nil {
					return nil, err
				}
				for _, x := range list {
					b.Child().AppendDouble(x)
				}
			}
			b.AppendList()
		}
		return b.Build(), nil
	})
}

// appendDoubles appends a JSON array; what is no JSON number is a string in it.
func appendDoubles(dst []byte, list []float64) []byte {
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if x-x != 0 { // NaN or infinite
			dst = append(AppendDouble(append(dst, '"'), x), '"')
		} else {
			dst = AppendDouble(dst, x)
		}
	}
	return append(dst, ']')
}

// doublesAt returns row i of the arguments from first on as doubles.
func doublesAt(args []*vector.Vector, first, i int) []float64 {
	out := make([]float64, 0, len(args)-first)
	for _, a := range args[first:] {
		out = append(out, a.DoubleAt(i))
	}
	return out
}

// finishSketchFunction makes of a sketch the number that stands for it, as text in a column of its
// type: what a result shows when its sketches are to be finalized.
var finishSketchFunction = &Function{
	Name: "$FINISH_SKETCH", Min: 1, Max: 1,
	Bind: func(b *binding) (Expr, error) { return b.call(b.typ(0)) },
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		finish := sketchText[c.T.ComplexName()]
		return perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			s := args[0].StringAt(i)
			if finish == nil || sketch.IsText(s) {
				return s, nil
			}
			return finish(s)
		})(c, ctx)
	},
}

// sketchText finishes sketches by the name of their type.
var sketchText = map[string]func(string) (string, error){
	"HLLSketch": func(p string) (string, error) {
		e, err := hllEstimate(p, true)
		return itoa(int64(e)), err
	},
	"thetaSketch": func(p string) (string, error) {
		t, err := sketch.ParseTheta(p)
		if err != nil {
			return "", err
		}
		return doubleText(t.Estimate()), nil
	},
	"quantilesDoublesSketch": func(p string) (string, error) {
		q, err := sketch.ParseQuantiles(p)
		if err != nil {
			return "", err
		}
		return itoa(int64(q.N())), nil
	},
	"arrayOfDoublesSketch": func(p string) (string, error) {
		t, err := sketch.ParseTuple(p)
		if err != nil {
			return "", err
		}
		return doubleText(t.Estimate()), nil
	},
}

// sketchNames maps the names that sketch types go by, those of aggregators too, to the one of the
// type.
var sketchNames = map[string]string{
	"HLLSketch": "HLLSketch", "HLLSketchBuild": "HLLSketch", "HLLSketchMerge": "HLLSketch",
	"thetaSketch": "thetaSketch", "thetaSketchBuild": "thetaSketch", "thetaSketchMerge": "thetaSketch",
	"quantilesDoublesSketch": "quantilesDoublesSketch", "quantilesDoublesSketchMerge": "quantilesDoublesSketch",
	"arrayOfDoublesSketch": "arrayOfDoublesSketch",
	"KllDoublesSketch":     "KllDoublesSketch", "KllDoublesSketchMerge": "KllDoublesSketch",
	"KllFloatsSketch": "KllFloatsSketch", "KllFloatsSketchMerge": "KllFloatsSketch",
	"hyperUnique": "hyperUnique", "preComputedHyperUnique": "hyperUnique",
	"tDigestSketch": "tDigestSketch", "bloom": "bloom",
	"approximateHistogram": "approximateHistogram", "approxHistogram": "approximateHistogram",
	"fixedBucketsHistogram": "fixedBucketsHistogram",
}

// CheckSketch reports bytes that are no sketch of the complex type name; other types have no form
// that is known here.
func CheckSketch(name, bytes string) error {
	var err error
	switch name {
	case "HLLSketch":
		_, err = sketch.ParseHLL(bytes)
	case "thetaSketch":
		_, err = sketch.ParseTheta(bytes)
	case "quantilesDoublesSketch":
		_, err = sketch.ParseQuantiles(bytes)
	case "arrayOfDoublesSketch":
		_, err = sketch.ParseTuple(bytes)
	case "KllDoublesSketch":
		_, err = sketch.ParseKLL[float64](bytes)
	case "KllFloatsSketch":
		_, err = sketch.ParseKLL[float32](bytes)
	case "hyperUnique":
		_, err = sketch.ParseHyperUnique(bytes)
	case "tDigestSketch":
		_, err = sketch.ParseDigest(bytes)
	case "bloom":
		_, err = sketch.ParseBloom(bytes)
	case "approximateHistogram":
		_, err = sketch.ParseApproxHistogram(bytes)
	case "fixedBucketsHistogram":
		_, err = sketch.ParseFixedBuckets(bytes)
	}
	return err
}
