package expr

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var hllFunctions = []*Function{
	{
		Name: "HLL_SKETCH_ESTIMATE", Min: 1, Max: 2, SeesNulls: true,
		Summary: "Returns the estimated number of different values of an HLL sketch, as a whole number if the second argument is true.",
		Forms:   []string{"$F(<HLLSketch>)", "$F(<HLLSketch>, <BOOLEAN>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "HLLSketch")
			if b.has(1) {
				b.boolean(1)
			}
			return b.call(Of(Double).NotNull())
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (float64, error) {
			return hllEstimate(textAt(args[0], i), len(args) > 1 && !args[1].IsNull(i) && args[1].LongAt(i) > 0)
		}),
	},
	{
		Name: "HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", Min: 1, Max: 2,
		Summary: "Returns the estimate of an HLL sketch, its lower and its upper bound at a number of standard deviations from 1, the default, to 3.",
		Forms:   []string{"$F(<HLLSketch>)", "$F(<HLLSketch>, <deviations>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "HLLSketch")
			if b.has(1) {
				b.long(1)
			}
			return b.call(ArrayOf(Of(Double)))
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
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "HLLSketch")
			return b.call(ComplexOf("HLLSketch"))
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
		Summary: "Describes an HLL sketch in words.",
		Forms:   []string{"$F(<HLLSketch>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, "HLLSketch")
			return b.call(Of(Varchar))
		},
		Kernel: perRow(func(args []*vector.Vector, i int) (string, error) {
			h, err := sketch.ParseHLL(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			return h.Text(doubleText)
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
func bindHLLUnion(b *binding) (Expr, error) {
	log, typ := int64(12), sketch.HLLTypes[0]
	args := b.args
	if t := args[0].Type(); t.IsNumeric() {
		b.long(0)
		log, _ = b.constant(0, "lgK").(int64)
		args = args[1:]
	}
	if l, ok := args[0].(*Literal); ok && len(args) > 1 {
		if name, ok := l.Value.(string); ok && slices.Contains(sketch.HLLTypes, name) {
			typ, args = name, args[1:]
		}
	}
	number, err := sketch.CheckHLL(log, typ)
	if err != nil && b.err == nil {
		b.err = err
	}
	b.args = append([]Expr{longConstant(log), longConstant(int64(number))}, args...)
	for i := 2; i < len(b.args); i++ {
		b.sketchAt(i, "HLLSketch")
	}
	return b.call(complexText.NotNull())
}

func longConstant(x int64) Expr { return &Literal{Value: x, T: Of(BigInt).NotNull()} }

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
