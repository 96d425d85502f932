package sketchfn

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// Functions are the functions of sketches, which package agg builds. NULL is treated as an empty
// sketch.
var Functions = append(ofSketches(hllFunctions, thetaFunctions, quantilesFunctions, kllFunctions, tupleFunctions,
	nativeSketchFunctions, statisticsFunctions, summaryFunctions, []*expr.Function{finishSketchFunction}), decodeComplexFunction)

func ofSketches(families ...[]*expr.Function) []*expr.Function {
	all := slices.Concat(families...)
	for _, f := range all {
		f.OfSketches = true
	}
	return all
}

// complexText is the type of results that are JSON text in a column of a complex type without a
// name.
var complexText = expr.ComplexOf("")

// sketchAt wants a sketch of the complex type name; text is read as base64 of one.
func sketchAt(b *expr.Binding, i int, name string) {
	if b.Err != nil {
		return
	}
	switch t := b.Type(i); {
	case t.Base == expr.Other && (t.ComplexName() == name || t.ComplexName() == ""):
	case t.Base == expr.Null:
		b.Cast(i, expr.ComplexOf(name))
	case t.IsCharacter():
		decoded, err := expr.NewCall(decodeComplexFunction, []expr.Expr{&expr.Literal{Value: name, T: expr.Of(expr.Varchar).NotNull()},
			b.Args[i]}, b.At)
		if err != nil {
			b.Err = err
			return
		}
		b.Args[i] = decoded
	default:
		b.Mismatch()
	}
}

var decodeComplexFunction = &expr.Function{
	Name: "DECODE_BASE64_COMPLEX", Aliases: []string{"COMPLEX_DECODE_BASE64"}, NativeName: "complex_decode_base64", Min: 2, Max: 2,
	Summary: "Decodes base64 to a value of a complex type.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		name := b.ConstantText(0, "type")
		b.Text(1)
		if known := sketchNames[name]; known != "" {
			name = known
		}
		return b.Call(expr.ComplexOf(name))
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		t := c.T.Runtime()
		decode := kernel.Partial1(func(s string) (string, bool) {
			out, ok := javatext.DecodeBase64(s)
			return string(out), ok
		})
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			v, err := decode(args[1:], n, valid)
			if err != nil {
				return nil, err
			}
			for i, s := range v.Strings {
				if valid.Get(i) && !v.IsNull(i) {
					if err := CheckSketch(t.ComplexName(), s); err != nil {
						return nil, err
					}
				}
			}
			return kernel.AsComplex(v, t), nil
		}, nil
	},
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
func perRow[R kernel.Scalar](f func(args []*vector.Vector, i int) (R, error)) func(*expr.Call, *expr.Context) (expr.Kernel, error) {
	return expr.Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
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
		return kernel.Wrap(out), nil
	})
}

// perRowComplex is perRow for a result of the call's complex type.
func perRowComplex(f func(args []*vector.Vector, i int) (string, error)) func(*expr.Call, *expr.Context) (expr.Kernel, error) {
	run := perRow(f)
	return func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		k, err := run(c, ctx)
		if err != nil {
			return nil, err
		}
		t := c.T.Runtime()
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			v, err := k(args, n, valid)
			return kernel.AsComplex(v, t), err
		}, nil
	}
}

// perRowDoubles is perRow for a result that is an array of doubles.
func perRowDoubles(f func(args []*vector.Vector, i int) ([]float64, error)) func(*expr.Call, *expr.Context) (expr.Kernel, error) {
	return expr.Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
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
			dst = append(expr.AppendDouble(append(dst, '"'), x), '"')
		} else {
			dst = expr.AppendDouble(dst, x)
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
var finishSketchFunction = &expr.Function{
	Name: "$FINISH_SKETCH", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) { return b.Call(b.Type(0)) },
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
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
		return strconv.FormatInt(int64(e), 10), err
	},
	"thetaSketch": func(p string) (string, error) {
		t, err := sketch.ParseTheta(p)
		if err != nil {
			return "", err
		}
		return vector.DoubleText(t.Estimate()), nil
	},
	"quantilesDoublesSketch": func(p string) (string, error) {
		q, err := sketch.ParseQuantiles(p)
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(int64(q.N()), 10), nil
	},
	"arrayOfDoublesSketch": func(p string) (string, error) {
		t, err := sketch.ParseTuple(p)
		if err != nil {
			return "", err
		}
		return vector.DoubleText(t.Estimate()), nil
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

// CheckSketch returns an error if the bytes are not a sketch of the complex type name. It does not
// check other types.
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
