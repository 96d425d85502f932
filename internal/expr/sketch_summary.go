package expr

import (
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// summaryFunctions ask t-digests and histograms for native post-aggregators.
var summaryFunctions = []*Function{
	bloomTestFunction,
	{
		Name: "$TDIGEST_QUANTILE", Min: 2, Max: 2,
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "tDigestSketch")
			b.double(1)
			return b.call(Of(Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			return digestQuantile(args, i, 1)
		}),
	},
	{
		Name: "$TDIGEST_QUANTILES", Min: 2, Max: -1,
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "tDigestSketch")
			for i := 1; i < len(b.args); i++ {
				b.double(i)
			}
			return b.call(ArrayOf(Of(Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			out := make([]float64, len(args)-1)
			for k := range out {
				var err error
				if out[k], err = digestQuantile(args, i, k+1); err != nil {
					return nil, err
				}
			}
			return out, nil
		}),
	},
	ofHistogram("$HISTOGRAM_MIN", 0, func(h histogram, _ []float64) (float64, error) { return h.least, nil }),
	ofHistogram("$HISTOGRAM_MAX", 0, func(h histogram, _ []float64) (float64, error) { return h.greatest, nil }),
	ofHistogram("$HISTOGRAM_QUANTILE", 1, func(h histogram, q []float64) (float64, error) { return h.quantile(q[0]) }),
	{
		Name: "$HISTOGRAM_QUANTILES", Min: 1, Max: -1,
		Bind: func(b *binding) (Expr, error) {
			b.histogramAt(0)
			for i := 1; i < len(b.args); i++ {
				b.double(i)
			}
			return b.call(complexText)
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			h, err := histogramOf(args[0], i)
			if err != nil {
				return "", err
			}
			fractions := doublesAt(args, 1, i)
			quantiles := make([]float64, len(fractions))
			for k, q := range fractions {
				if quantiles[k], err = h.quantile(q); err != nil {
					return "", err
				}
			}
			out := appendDoubles([]byte(`{"probabilities":`), fractions)
			out = appendDoubles(append(out, `,"quantiles":`...), quantiles)
			out = append(AppendDouble(append(out, `,"min":`...), h.least), `,"max":`...)
			return string(append(AppendDouble(out, h.greatest), '}')), nil
		}),
	},
}

func digestQuantile(args []*vector.Vector, i, k int) (float64, error) {
	d, err := sketch.ParseDigest(args[0].StringAt(i))
	if err != nil {
		return 0, err
	}
	q := args[k].DoubleAt(i)
	if err := sketch.CheckFraction(q); err != nil {
		return 0, err
	}
	return d.Quantile(q), nil
}

// histogram is what is asked of histograms of both kinds.
type histogram struct {
	least, greatest float64
	quantile        func(float64) (float64, error)
}

func (b *binding) histogramAt(i int) {
	if n := b.typ(i).ComplexName(); n != "approximateHistogram" && n != "fixedBucketsHistogram" {
		b.mismatch()
	}
}

func histogramOf(v *vector.Vector, i int) (histogram, error) {
	ask := func(quantile func(float64) float32) func(float64) (float64, error) {
		return func(q float64) (float64, error) { return float64(quantile(q)), sketch.CheckFraction(q) }
	}
	if v.Type.ComplexName() == "fixedBucketsHistogram" {
		h, err := sketch.ParseFixedBuckets(v.StringAt(i))
		if err != nil {
			return histogram{}, err
		}
		_, _, _, _, least, greatest := h.Counts()
		return histogram{least, greatest, ask(h.Quantile)}, nil
	}
	h, err := sketch.ParseApproxHistogram(v.StringAt(i))
	if err != nil {
		return histogram{}, err
	}
	least, greatest := h.Extremes()
	return histogram{float64(least), float64(greatest), ask(func(q float64) float32 { return h.Quantile(float32(q)) })}, nil
}

// ofHistogram makes a function of a histogram and a number of doubles.
func ofHistogram(name string, numbers int, f func(h histogram, q []float64) (float64, error)) *Function {
	return &Function{
		Name: name, Min: 1 + numbers, Max: 1 + numbers,
		Bind: func(b *binding) (Expr, error) {
			b.histogramAt(0)
			for i := 1; i < len(b.args); i++ {
				b.double(i)
			}
			return b.call(Of(Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			h, err := histogramOf(args[0], i)
			if err != nil {
				return 0, err
			}
			return f(h, doublesAt(args, 1, i))
		}),
	}
}
