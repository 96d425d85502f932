package sketchfn

import (
	be "encoding/binary"
	"math"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// summaryFunctions ask t-digests and histograms for native post-aggregators.
var summaryFunctions = []*expr.Function{
	bloomTestFunction,
	{
		Name: "$TDIGEST_QUANTILE", Min: 2, Max: 2,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "tDigestSketch")
			b.Double(1)
			return b.Call(expr.Of(expr.Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			return digestQuantile(args, i, 1)
		}),
	},
	{
		Name: "$TDIGEST_QUANTILES", Min: 2, Max: -1,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "tDigestSketch")
			for i := 1; i < len(b.Args); i++ {
				b.Double(i)
			}
			return b.Call(expr.ArrayOf(expr.Of(expr.Double)))
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
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			histogramAt(b, 0)
			for i := 1; i < len(b.Args); i++ {
				b.Double(i)
			}
			return b.Call(complexText)
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
			out = append(expr.AppendDouble(append(out, `,"min":`...), h.least), `,"max":`...)
			return string(append(expr.AppendDouble(out, h.greatest), '}')), nil
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

func histogramAt(b *expr.Binding, i int) {
	if n := b.Type(i).ComplexName(); n != "approximateHistogram" && n != "fixedBucketsHistogram" {
		b.Mismatch()
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
func ofHistogram(name string, numbers int, f func(h histogram, q []float64) (float64, error)) *expr.Function {
	return &expr.Function{
		Name: name, Min: 1 + numbers, Max: 1 + numbers,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			histogramAt(b, 0)
			for i := 1; i < len(b.Args); i++ {
				b.Double(i)
			}
			return b.Call(expr.Of(expr.Double))
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

// statisticsFunctions are what post-aggregators of native queries compute beyond SQL.
var statisticsFunctions = []*expr.Function{
	{
		// The standard deviation of a variance as it is kept: number of values, their sum, the squares
		// of their distances from the mean. That of one value is 0; -1 says that there are none.
		Name: "$STDDEV", Min: 2, Max: 2,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "variance")
			b.Long(1)
			return b.Call(expr.Of(expr.Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			text := []byte(args[0].StringAt(i))
			if len(text) != 24 {
				return -1, nil
			}
			n := int64(be.BigEndian.Uint64(text))
			if n <= 1 {
				return float64(min(n-1, 0)), nil
			}
			if args[1].LongAt(i) == 0 {
				n--
			}
			return math.Sqrt(math.Float64frombits(be.BigEndian.Uint64(text[16:])) / float64(n)), nil
		}),
	},
	ofNumbers("$Z_SCORE", 4, func(x []float64) float64 {
		share1, share2 := x[0]/x[1], x[2]/x[3]
		return (share1 - share2) / math.Sqrt(share1*(1-share1)/x[1]+share2*(1-share2)/x[3])
	}),
	ofNumbers("$NORMAL_TAILS", 1, func(x []float64) float64 { return math.Erfc(math.Abs(x[0]) / math.Sqrt2) }),
}

// ofNumbers is a function of n numbers.
func ofNumbers(name string, n int, f func([]float64) float64) *expr.Function {
	return &expr.Function{
		Name: name, Min: n, Max: n,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			for i := range n {
				b.Double(i)
			}
			return b.Call(expr.Of(expr.Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) { return f(doublesAt(args, 0, i)), nil }),
	}
}
