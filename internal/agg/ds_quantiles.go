package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var dsQuantiles = &Function{
	Name: "DS_QUANTILES_SKETCH", Doc: "Builds a quantiles sketch of the values, or merges quantiles sketches.",
	Signature: "'DS_QUANTILES_SKETCH(<COLUMN>)'\n'DS_QUANTILES_SKETCH(<COLUMN>, <k>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, Sketch: true, TakesNumbers: true,
	Finishes: FinishesIfAsked,
	check: checks(numericOr(QuantilesType), func(s Spec) error {
		_, err := s.quantilesK(0)
		return err
	}),
	result: always(QuantilesType), partial: one(QuantilesType),
	create: func(s Spec) State {
		k, _ := s.quantilesK(0) // checked
		f := quantilesForm(k)
		f.result = QuantilesType
		f.finish = func(b *vector.Builder, q *sketch.Quantiles) error {
			b.AppendString(string(q.AppendResult(nil)))
			return nil
		}
		return newSketchState(f)
	},
}

var approxQuantileDS = &Function{
	Name: "APPROX_QUANTILE_DS", Doc: "Estimates a quantile with a quantiles sketch.",
	Signature: "'APPROX_QUANTILE_DS(<COLUMN>, <fraction>)'\n'APPROX_QUANTILE_DS(<COLUMN>, <fraction>, <k>)'",
	Gives:     GivesOwn, MinArgs: 1, MaxArgs: 1, MinParams: 1, MaxParams: 2, Sketch: true, TakesNumbers: true,
	check: checks(numericOr(QuantilesType), func(s Spec) error {
		if _, err := s.fraction(0); err != nil {
			return err
		}
		_, err := s.quantilesK(1)
		return err
	}),
	result: always(vector.Double), partial: one(QuantilesType),
	create: func(s Spec) State {
		fraction, _ := s.fraction(0) // checked
		k, _ := s.quantilesK(1)
		f := quantilesForm(k)
		f.result = vector.Double
		f.finish = func(b *vector.Builder, q *sketch.Quantiles) error {
			b.AppendDouble(q.Ranks().Quantile(fraction))
			return nil
		}
		return newSketchState(f)
	},
}

func quantilesForm(k int) sketchForm[*sketch.Quantiles] {
	merge := func(into, from *sketch.Quantiles) error {
		into.Merge(from)
		return nil
	}
	return sketchForm[*sketch.Quantiles]{
		typ:   QuantilesType,
		fresh: func() (*sketch.Quantiles, error) { return sketch.NewQuantiles(k), nil },
		parse: sketch.ParseQuantiles,
		add: func(q *sketch.Quantiles, args []*vector.Vector, i int) error {
			q.Add(args[0].DoubleAt(i))
			return nil
		},
		merge: merge,
		adopt: merge,
		store: func(dst []byte, q *sketch.Quantiles) ([]byte, error) { return q.AppendBinary(dst), nil },
	}
}

// quantilesK returns constant i as the size of a quantiles sketch.
func (s Spec) quantilesK(i int) (int, error) {
	k, err := s.wholeParam(i, 128)
	if err != nil {
		return 0, err
	}
	return int(k), sketch.CheckQuantiles(k)
}

// fraction returns constant i as a fraction from 0 to 1. Druid reads it as a float, which shows
// where ranks are compared. See quirk Q003.
func (s Spec) fraction(i int) (float64, error) {
	if i >= len(s.Params) {
		return 0, fault.InvalidInput("Aggregation [%s] needs a fraction", s.Name)
	}
	var f float64
	switch x := s.Params[i].(type) {
	case int64:
		f = float64(x)
	case float64:
		f = float64(float32(x))
	default:
		return 0, fault.InvalidInput("The fraction of aggregation [%s] must be a number, not [%v]", s.Name, x)
	}
	return f, sketch.CheckFraction(f)
}

// numericOr wants numbers or sketches of type t.
func numericOr(t vector.Type) func(Spec) error {
	return func(s Spec) error {
		if s.Args[0] == t || s.Args[0].IsNumeric() {
			return nil
		}
		return badType(s, 0)
	}
}
