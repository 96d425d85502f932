package sketchfn

import (
	"encoding/json"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var thetaFunctions = []*expr.Function{
	{
		Name: "THETA_SKETCH_ESTIMATE", Min: 1, Max: 1, SeesNulls: true,
		Summary: "Returns the estimated number of distinct values of a theta sketch.",
		Forms:   []string{"$F(<thetaSketch>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "thetaSketch")
			return b.Call(expr.Of(expr.Double).NotNull())
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
		Summary: "Returns the estimate of a theta sketch and its bounds at 1 to 3 standard deviations, as JSON.",
		Forms:   []string{"$F(<thetaSketch>, <deviations>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "thetaSketch")
			b.Long(1)
			return b.Call(expr.ComplexOf("thetaSketch"))
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
			return `{"estimate":` + vector.DoubleText(t.Estimate()) + `,"highBound":` + vector.DoubleText(high) +
				`,"lowBound":` + vector.DoubleText(low) +
				`,"numStdDev":` + strconv.FormatInt(deviations, 10) + `}`, nil
		}),
	},
	{ // the estimate in what the function before gives, by which native queries sort
		Name: "$THETA_BOUNDED_ESTIMATE", Min: 1, Max: 1,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "thetaSketch")
			return b.Call(expr.Of(expr.Double))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			var bounds struct {
				Estimate float64 `json:"estimate"`
			}
			err := json.Unmarshal([]byte(args[0].StringAt(i)), &bounds)
			return bounds.Estimate, err
		}),
	},
	thetaSetFunction("THETA_SKETCH_UNION", "Returns the union of theta sketches.", func(size int, list []*sketch.Theta) *sketch.Theta {
		u := sketch.NewThetaUnion(size)
		for _, t := range list {
			u.Merge(t)
		}
		return u.Result()
	}),
	thetaSetFunction("THETA_SKETCH_INTERSECT", "Returns the intersection of theta sketches.",
		func(_ int, list []*sketch.Theta) *sketch.Theta { return sketch.IntersectTheta(list) }),
	thetaSetFunction("THETA_SKETCH_NOT", "Returns the first theta sketch minus the other ones.",
		func(_ int, list []*sketch.Theta) *sketch.Theta {
			out := list[0]
			for _, t := range list[1:] {
				out = sketch.SubtractTheta(out, t)
			}
			return out
		}),
}

func thetaSetFunction(name, summary string, operate func(size int, list []*sketch.Theta) *sketch.Theta) *expr.Function {
	return &expr.Function{
		Name: name, Min: 2, Max: -1, SeesNulls: true, Summary: summary,
		Forms: []string{"$F(<thetaSketch>, <thetaSketch>, ...)", "$F(<size>, <thetaSketch>, <thetaSketch>, ...)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			size := int64(16384)
			if b.Type(0).IsNumeric() {
				b.Long(0)
				size, _ = b.Constant(0, "size").(int64)
				b.Args = b.Args[1:]
				if size < 16 || size > 1<<26 || size&(size-1) != 0 {
					b.Fail("The size of [%s] must be a power of two from [16] to [%d], not [%d]", name, 1<<26, size)
				}
			}
			if len(b.Args) < 2 {
				b.Fail("Function [%s] needs two sketches", name)
			}
			for i := range b.Args {
				sketchAt(b, i, "thetaSketch")
			}
			b.Args = append([]expr.Expr{expr.LongLiteral(size)}, b.Args...)
			return b.Call(expr.ComplexOf("thetaSketch").NotNull())
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
