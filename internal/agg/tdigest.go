package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var tdigestSketch = &Function{
	Name: "TDIGEST_GENERATE_SKETCH", Doc: "Builds a t-digest of the values, or merges t-digests.",
	Signature: "'TDIGEST_GENERATE_SKETCH(<COLUMN>)'\n'TDIGEST_GENERATE_SKETCH(<COLUMN>, <compression>)'",
	MinArgs:   1, MaxArgs: 1, MaxParams: 1, Sketch: true, TakesNumbers: true,
	check: checks(numericOr(TDigestType), func(s Spec) error {
		_, err := s.compression(0)
		return err
	}),
	result: always(TDigestType), partial: one(TDigestType),
	create: func(s Spec) State {
		compression, _ := s.compression(0) // checked
		return newSketchState(digestForm(compression).kept())
	},
}

var tdigestQuantile = &Function{
	Name: "TDIGEST_QUANTILE", Doc: "Estimates a quantile with a t-digest.",
	Signature: "'TDIGEST_QUANTILE(<COLUMN>, <fraction>)'\n'TDIGEST_QUANTILE(<COLUMN>, <fraction>, <compression>)'",
	MinArgs:   1, MaxArgs: 1, MinParams: 1, MaxParams: 2, Sketch: true, TakesNumbers: true,
	check: checks(numericOr(TDigestType), func(s Spec) error {
		if _, err := s.doubleFraction(0); err != nil {
			return err
		}
		_, err := s.compression(1)
		return err
	}),
	result: always(vector.Double), partial: one(TDigestType),
	create: func(s Spec) State {
		fraction, _ := s.doubleFraction(0) // checked
		compression, _ := s.compression(1)
		f := digestForm(compression)
		f.result = vector.Double
		f.finish = func(b *vector.Builder, d *sketch.Digest) error {
			b.AppendDouble(d.Quantile(fraction))
			return nil
		}
		return newSketchState(f)
	},
}

func digestForm(compression float64) sketchForm[*sketch.Digest] {
	merge := func(into, from *sketch.Digest) error {
		into.Merge(from)
		return nil
	}
	return sketchForm[*sketch.Digest]{
		typ:   TDigestType,
		fresh: func() (*sketch.Digest, error) { return sketch.NewDigest(compression), nil },
		parse: sketch.ParseDigest,
		add: func(d *sketch.Digest, args []*vector.Vector, i int) error {
			d.Add(args[0].DoubleAt(i))
			return nil
		},
		merge: merge,
		adopt: merge,
		store: func(dst []byte, d *sketch.Digest) ([]byte, error) { return d.AppendBinary(dst), nil },
	}
}

// compression returns constant i as the compression of a t-digest.
func (s Spec) compression(i int) (float64, error) {
	c, err := s.doubleParam(i, 100)
	if err != nil {
		return 0, err
	}
	return c, sketch.CheckDigest(c)
}

// doubleFraction returns constant i as a fraction from 0 to 1, in double precision.
func (s Spec) doubleFraction(i int) (float64, error) {
	f, err := s.doubleParam(i, -1)
	if err != nil {
		return 0, err
	}
	return f, sketch.CheckFraction(f)
}

// doubleParam returns constant i as a number, or def; a constant of another type is an error.
func (s Spec) doubleParam(i int, def float64) (float64, error) {
	if i >= len(s.Params) {
		return def, nil
	}
	switch x := s.Params[i].(type) {
	case int64:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return 0, fault.InvalidInput("A constant of aggregation [%s] must be a number, not [%v]", s.Name, s.Params[i])
}
