package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// Approximate histograms. Those that keep the histogram have no SQL name; native aggregators build
// them.

var approxHistogram = &Function{
	Name: "$APPROX_HISTOGRAM", Doc: "Builds an approximate histogram of the values, or " +
		"merges such.", Internal: true, Sketch: true, TakesNumbers: true,
	MinArgs: 1, MaxArgs: 1, MaxParams: 1,
	check:  checks(numericOr(ApproxHistogramType), func(s Spec) error { _, err := s.resolution(0); return err }),
	result: always(ApproxHistogramType), partial: one(ApproxHistogramType),
	create: func(s Spec) State {
		bins, _ := s.resolution(0) // checked
		return newSketchState(approxForm(bins).kept())
	},
}

var approxQuantile = &Function{
	Name: "APPROX_QUANTILE", Doc: "Estimates a quantile with an approximate histogram.",
	Signature: "'APPROX_QUANTILE(<COLUMN>, <fraction>)'\n'APPROX_QUANTILE(<COLUMN>, <fraction>, <resolution>)'",
	MinArgs:   1, MaxArgs: 1, MinParams: 1, MaxParams: 2, Sketch: true, TakesNumbers: true,
	check: checks(numericOr(ApproxHistogramType), func(s Spec) error {
		f, err := s.fraction(0)
		if err != nil {
			return err
		}
		if f <= 0 || f >= 1 {
			return fault.InvalidInput("The fraction [%v] of aggregation [%s] must be between 0 and 1", f, s.Name)
		}
		_, err = s.resolution(1)
		return err
	}),
	result: always(vector.Double), partial: one(ApproxHistogramType),
	create: func(s Spec) State {
		fraction, _ := s.fraction(0) // checked
		bins, _ := s.resolution(1)
		f := approxForm(bins)
		f.result = vector.Double
		f.finish = func(b *vector.Builder, h *sketch.ApproxHistogram) error {
			b.AppendDouble(float64(h.Quantile(float32(fraction))))
			return nil
		}
		return newSketchState(f)
	},
}

func approxForm(bins int) sketchForm[*sketch.ApproxHistogram] {
	merge := func(into, from *sketch.ApproxHistogram) error {
		into.Merge(from)
		return nil
	}
	return sketchForm[*sketch.ApproxHistogram]{
		typ:   ApproxHistogramType,
		fresh: func() (*sketch.ApproxHistogram, error) { return sketch.NewApproxHistogram(bins), nil },
		parse: sketch.ParseApproxHistogram,
		add: func(h *sketch.ApproxHistogram, args []*vector.Vector, i int) error {
			h.Add(float32(args[0].DoubleAt(i)))
			return nil
		},
		merge: merge,
		adopt: merge,
		store: func(dst []byte, h *sketch.ApproxHistogram) ([]byte, error) { return h.AppendBinary(dst), nil },
	}
}

// resolution returns constant i as the number of bins of an approximate histogram.
func (s Spec) resolution(i int) (int, error) {
	n, err := s.wholeParam(i, 50)
	if err != nil {
		return 0, err
	}
	return int(n), sketch.CheckHistogram(n)
}

var fixedBuckets = &Function{
	Name: "$FIXED_BUCKETS", Doc: "Builds a histogram of fixed buckets, or merges such.", Internal: true, Sketch: true, TakesNumbers: true, TakesNulls: true,
	MinArgs: 1, MaxArgs: 1, MinParams: 3, MaxParams: 4,
	check:  checks(numericOr(FixedBucketsType), func(s Spec) error { _, err := s.fixedLimits(0); return err }),
	result: always(FixedBucketsType), partial: one(FixedBucketsType),
	create: func(s Spec) State {
		limits, _ := s.fixedLimits(0) // checked
		return newSketchState(fixedForm(limits).kept())
	},
}

var approxQuantileFixedBuckets = &Function{
	Name: "APPROX_QUANTILE_FIXED_BUCKETS", Doc: "Estimates a quantile with a histogram of fixed buckets.",
	Signature: "'APPROX_QUANTILE_FIXED_BUCKETS(<COLUMN>, <fraction>, <numBuckets>, <lowerLimit>, <upperLimit>)'\n" +
		"'APPROX_QUANTILE_FIXED_BUCKETS(<COLUMN>, <fraction>, <numBuckets>, <lowerLimit>, <upperLimit>, <outlierHandlingMode>)'",
	MinArgs: 1, MaxArgs: 1, MinParams: 4, MaxParams: 5, Sketch: true, TakesNumbers: true, TakesNulls: true,
	check: checks(numericOr(FixedBucketsType), func(s Spec) error {
		if _, err := s.fraction(0); err != nil {
			return err
		}
		_, err := s.fixedLimits(1)
		return err
	}),
	result: always(vector.Double), partial: one(FixedBucketsType),
	create: func(s Spec) State {
		fraction, _ := s.fraction(0) // checked
		limits, _ := s.fixedLimits(1)
		f := fixedForm(limits)
		f.result = vector.Double
		f.finish = func(b *vector.Builder, h *sketch.FixedBuckets) error {
			b.AppendDouble(float64(h.Quantile(fraction)))
			return nil
		}
		return newSketchState(f)
	},
}

func fixedForm(limits sketch.FixedLimits) sketchForm[*sketch.FixedBuckets] {
	merge := func(into, from *sketch.FixedBuckets) error { return into.Merge(from) }
	return sketchForm[*sketch.FixedBuckets]{
		typ:       FixedBucketsType,
		fresh:     func() (*sketch.FixedBuckets, error) { return sketch.NewFixedBuckets(limits), nil },
		parse:     sketch.ParseFixedBuckets,
		takesNull: true,
		add: func(h *sketch.FixedBuckets, args []*vector.Vector, i int) error {
			if args[0].IsNull(i) {
				h.AddMissing()
			} else {
				h.Add(args[0].DoubleAt(i))
			}
			return nil
		},
		merge: merge,
		adopt: merge,
		store: func(dst []byte, h *sketch.FixedBuckets) ([]byte, error) { return h.AppendBinary(dst), nil },
	}
}

// fixedLimits returns the constants from i on as number of buckets, limits and treatment of
// outliers.
func (s Spec) fixedLimits(i int) (sketch.FixedLimits, error) {
	var l sketch.FixedLimits
	n, err := s.wholeParam(i, 0)
	if err != nil {
		return l, err
	}
	l.Buckets = int(min(n, 1<<31))
	if l.Lower, err = s.doubleParam(i+1, 0); err != nil {
		return l, err
	}
	if l.Upper, err = s.doubleParam(i+2, 0); err != nil {
		return l, err
	}
	if l.Outliers, err = sketch.ParseOutliers(s.textParam(i+3, "ignore")); err != nil {
		return l, err
	}
	return l, l.Check()
}
