package sketchfn

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var hllFunctions = []*expr.Function{
	{
		Name: "HLL_SKETCH_ESTIMATE", Min: 1, Max: 2, SeesNulls: true,
		Summary: "Returns the estimated number of distinct values of an HLL sketch, rounded if the second argument is true.",
		Forms:   []string{"$F(<HLLSketch>)", "$F(<HLLSketch>, <BOOLEAN>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "HLLSketch")
			if b.Has(1) {
				b.Boolean(1)
			}
			return b.Call(expr.Of(expr.Double).NotNull())
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			return hllEstimate(textAt(args[0], i), len(args) > 1 && !args[1].IsNull(i) && args[1].LongAt(i) > 0)
		}),
	},
	{
		Name: "HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", Min: 1, Max: 2,
		Summary: "Returns the estimate of an HLL sketch with its lower and upper bound at 1 (the default) to 3 standard deviations.",
		Forms:   []string{"$F(<HLLSketch>)", "$F(<HLLSketch>, <deviations>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "HLLSketch")
			if b.Has(1) {
				b.Long(1)
			}
			return b.Call(expr.ArrayOf(expr.Of(expr.Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			h, err := sketch.ParseHLL(args[0].StringAt(i))
			if err != nil {
				return nil, err
			}
			deviations := int64(1)
			if len(args) > 1 {
				deviations = args[1].LongAt(i)
			}
			low, high, err := h.Bounds(int(min(max(deviations, 0), 4)))
			if err != nil {
				return nil, err
			}
			estimate, err := h.Estimate()
			return []float64{estimate, low, high}, err
		}),
	},
	{
		Name: "$HLL_READ", Min: 1, Max: 1, // the sketch as it is stored after it was read
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "HLLSketch")
			return b.Call(expr.ComplexOf("HLLSketch"))
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			h, err := sketch.ParseHLL(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			b, err := h.AppendRead(nil)
			return string(b), err
		}),
	},
	{
		Name: "HLL_SKETCH_TO_STRING", Min: 1, Max: 1,
		Summary: "Returns a text summary of an HLL sketch.",
		Forms:   []string{"$F(<HLLSketch>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, "HLLSketch")
			return b.Call(expr.Of(expr.Varchar))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (string, error) {
			h, err := sketch.ParseHLL(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			return h.Text(vector.DoubleText)
		}),
	},
	{
		Name: "HLL_SKETCH_UNION", Min: 2, Max: -1, SeesNulls: true,
		Summary: "Merges HLL sketches into one of the size and type given.",
		Forms:   []string{"$F(<HLLSketch>, ...)", "$F(<lgK>, <tgtHllType>, <HLLSketch>, ...)"},
		Bind:    bindHLLUnion,
		Kernel:  perRowComplex(unionHLL),
	},
}

func hllEstimate(p string, round bool) (float64, error) {
	h, err := sketch.ParseHLL(p)
	if err != nil {
		return 0, err
	}
	e, err := h.Estimate()
	if round {
		e = math.Round(e)
	}
	return e, err
}

// bindHLLUnion puts the size and the type before the sketches, those of the call or the default.
func bindHLLUnion(b *expr.Binding) (expr.Expr, error) {
	log, typ := int64(12), sketch.HLLTypes[0]
	args := b.Args
	if t := args[0].Type(); t.IsNumeric() {
		b.Long(0)
		log, _ = b.Constant(0, "lgK").(int64)
		args = args[1:]
	}
	if l, ok := args[0].(*expr.Literal); ok && len(args) > 1 {
		if name, ok := l.Value.(string); ok && slices.Contains(sketch.HLLTypes, name) {
			typ, args = name, args[1:]
		}
	}
	number, err := sketch.CheckHLL(log, typ)
	if err != nil && b.Err == nil {
		b.Err = err
	}
	b.Args = append([]expr.Expr{expr.LongLiteral(log), expr.LongLiteral(int64(number))}, args...)
	for i := 2; i < len(b.Args); i++ {
		sketchAt(b, i, "HLLSketch")
	}
	return b.Call(complexText.NotNull())
}

func unionHLL(args []*vector.Vector, i int) (string, error) {
	out := sketch.NewHLL(int(args[0].LongAt(i)), int(args[1].LongAt(i)))
	for _, a := range args[2:] {
		h, err := sketch.ParseHLL(textAt(a, i))
		if err == nil {
			err = out.MergeGroup(h)
		}
		if err != nil {
			return "", err
		}
	}
	b, err := out.AppendBinaryAs(int(args[1].LongAt(i)), nil)
	return string(b), err
}
