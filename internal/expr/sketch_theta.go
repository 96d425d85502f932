package expr

import (
	"encoding/json"
	"strconv"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var thetaFunctions = []*Function{
	{
		Name: "THETA_SKETCH_ESTIMATE", Min: 1, Max: 1, SeesNulls: true,
		Summary: "Returns the estimated number of different values of a theta sketch.",
		Forms:   []string{"$F(<thetaSketch>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "thetaSketch")
			return b.call(Of(Double).NotNull())
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			t, err := sketch.ParseTheta(textAt(args[0], i))
			if err != nil {
				return 0, err
			}
			return t.Estimate(), nil
		}),
	},
	{
		Name: "THETA_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", Min: 2, Max: 2, RefusesNull: true,
		Summary: "Returns the estimate of a theta sketch and its bounds at a number of standard deviations from 1 to 3, as JSON.",
		Forms:   []string{"$F(<thetaSketch>, <deviations>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "thetaSketch")
			b.long(1)
			return b.call(ComplexOf("thetaSketch"))
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			t, err := sketch.ParseTheta(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			deviations := args[1].LongAt(i)
			low, high, err := t.Bounds(int(min(max(deviations, 0), 4)))
			if err != nil {
				return "", err
			}
			return `{"estimate":` + doubleText(t.Estimate()) + `,"highBound":` + doubleText(high) + `,"lowBound":` + doubleText(low) +
				`,"numStdDev":` + strconv.FormatInt(deviations, 10) + `}`, nil
		}),
	},
	{ // the estimate in what the function before gives, by which native queries sort
		Name: "$THETA_BOUNDED_ESTIMATE", Min: 1, Max: 1,
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "thetaSketch")
			return b.call(Of(Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			var bounds struct {
				Estimate float64 `json:"estimate"`
			}
			err := json.Unmarshal([]byte(args[0].StringAt(i)), &bounds)
			return bounds.Estimate, err
		}),
	},
	thetaSetFunction("THETA_SKETCH_UNION", "Returns what is in any of the theta sketches.", func(size int, list []*sketch.Theta) *sketch.Theta {
		u := sketch.NewThetaUnion(size)
		for _, t := range list {
			u.Merge(t)
		}
		return u.Result()
	}),
	thetaSetFunction("THETA_SKETCH_INTERSECT", "Returns what is in all of the theta sketches.",
		func(_ int, list []*sketch.Theta) *sketch.Theta { return sketch.IntersectTheta(list) }),
	thetaSetFunction("THETA_SKETCH_NOT", "Returns what is in the first of the theta sketches and in none of the others.",
		func(_ int, list []*sketch.Theta) *sketch.Theta {
			out := list[0]
			for _, t := range list[1:] {
				out = sketch.SubtractTheta(out, t)
			}
			return out
		}),
}

func thetaSetFunction(name, summary string, operate func(size int, list []*sketch.Theta) *sketch.Theta) *Function {
	return &Function{
		Name: name, Min: 2, Max: -1, SeesNulls: true, Summary: summary,
		Forms: []string{"$F(<thetaSketch>, <thetaSketch>, ...)", "$F(<size>, <thetaSketch>, <thetaSketch>, ...)"},
		Bind: func(b *binding) (Expr, error) {
			size := int64(16384)
			if b.typ(0).IsNumeric() {
				b.long(0)
				size, _ = b.constant(0, "size").(int64)
				b.args = b.args[1:]
				if size < 16 || size > 1<<26 || size&(size-1) != 0 {
					b.fail("The size of [%s] must be a power of two from [16] to [%d], not [%d]", name, 1<<26, size)
				}
			}
			if len(b.args) < 2 {
				b.fail("Function [%s] needs two sketches", name)
			}
			for i := range b.args {
				b.sketchAt(i, "thetaSketch")
			}
			b.args = append([]Expr{longConstant(size)}, b.args...)
			return b.call(ComplexOf("thetaSketch").NotNull())
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			list := make([]*sketch.Theta, 0, len(args)-1)
			for _, a := range args[1:] {
				t, err := sketch.ParseTheta(textAt(a, i))
				if err != nil {
					return "", err
				}
				list = append(list, t)
			}
			return string(operate(int(args[0].LongAt(i)), list).AppendBinary(nil)), nil
		}),
	}
}
