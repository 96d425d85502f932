package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// defaultThetaSize is the size of theta sketches that do not give one.
const defaultThetaSize = 16384

const thetaForms = "'$F(<COLUMN>)'\n'$F(<COLUMN>, <size>)'"

var dsTheta = thetaFunction("DS_THETA", "Builds a theta sketch of the values, or merges theta sketches.", "")

var approxCountDistinctTheta = thetaFunction("APPROX_COUNT_DISTINCT_DS_THETA",
	"Estimates the number of distinct values with a theta sketch. Also reads columns of theta sketches.", "DS_THETA")

// thetaFunction returns the function that gives a theta sketch, or the estimate of the sketch that
// the function called sketchName gives.
func thetaFunction(name, doc, sketchName string) *Function {
	keep := sketchName == ""
	f := &Function{
		Name: name, Doc: doc, Signature: signature(thetaForms, name), MinArgs: 1, MaxArgs: 1, MaxParams: 1, EmptyIsZero: !keep, Sketch: true,
		SketchName: sketchName, CountsDifferent: true,
		check:  checks(countableOr(ThetaType), func(s Spec) error { _, err := s.entries(defaultThetaSize, leastKeys); return err }),
		result: always(vector.Long), partial: one(ThetaType),
		create: func(s Spec) State { return newThetaState(s, keep) },
	}
	if keep {
		f.Finishes = FinishesIfAsked
		f.result = always(ThetaType)
	}
	return f
}

// leastKeys is how many keys a theta or tuple sketch keeps at least.
const leastKeys = 16

// entries returns the first constant as the number of keys that a theta or tuple sketch keeps,
// least or more, or def.
func (s Spec) entries(def, least int64) (int, error) {
	n, err := s.wholeParam(0, def)
	if err != nil {
		return 0, err
	}
	if n < least || n > 1<<26 || n&(n-1) != 0 {
		return 0, fault.InvalidInput("The size of aggregation [%s] must be a power of two from [%d] to "+
			"[%d], not [%d]", s.Name, least, 1<<26, n)
	}
	return int(n), nil
}

func newThetaState(s Spec, keep bool) State {
	size, _ := s.entries(defaultThetaSize, leastKeys) // checked
	var chars []byte
	f := sketchForm[*thetaGroup]{
		typ:   ThetaType,
		fresh: func() (*thetaGroup, error) { return &thetaGroup{ThetaUnion: sketch.NewThetaUnion(size)}, nil },
		parse: func(p string) (*thetaGroup, error) {
			t, err := sketch.ParseTheta(p)
			return &thetaGroup{parsed: t}, err
		},
		add: func(u *thetaGroup, args []*vector.Vector, i int) error {
			switch v := args[0]; v.Type.Kind {
			case vector.KindLong:
				u.Add(sketch.HashLong(v.LongAt(i)))
			case vector.KindDouble, vector.KindFloat:
				u.Add(sketch.HashDouble(v.DoubleAt(i)))
			default:
				return eachText(v, i, func(x string) error {
					if x != "" {
						chars = append(chars[:0], x...)
						u.Add(sketch.HashText(chars))
					}
					return nil
				})
			}
			return nil
		},
		merge:  mergeTheta,
		adopt:  mergeTheta,
		store:  func(dst []byte, u *thetaGroup) ([]byte, error) { return u.Result().AppendBinary(dst), nil },
		result: vector.Long,
		finish: func(b *vector.Builder, u *thetaGroup) error {
			b.AppendLong(int64(u.Result().Estimate()))
			return nil
		},
	}
	if keep {
		f = f.kept()
	}
	return newSketchState(f)
}

// thetaGroup is a group's union, or a sketch that was read and is about to be merged into one.
type thetaGroup struct {
	*sketch.ThetaUnion
	parsed *sketch.Theta
}

func mergeTheta(into, from *thetaGroup) error {
	into.Merge(from.parsed)
	return nil
}
