package sketchfn

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

const tupleName = "arrayOfDoublesSketch"

var tupleFunctions = []*expr.Function{
	{
		Name: "DS_TUPLE_DOUBLES_METRICS_SUM_ESTIMATE", Min: 1, Max: 1,
		Summary: "Returns the estimated sums of the numbers of a tuple sketch.",
		Forms:   []string{"$F(<arrayOfDoublesSketch>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, tupleName)
			return b.Call(expr.ArrayOf(expr.Of(expr.Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			t, err := sketch.ParseTuple(args[0].StringAt(i))
			if err != nil {
				return nil, err
			}
			return t.Sums(), nil
		}),
	},
	tupleSetFunction("DS_TUPLE_DOUBLES_UNION", "Returns the union of tuple sketches. The numbers of equal keys are added.",
		func(size int, list []*sketch.Tuple) (*sketch.Tuple, error) {
			u := sketch.NewTupleUnion(size, list[0].Width())
			for _, t := range list {
				if err := u.Merge(t); err != nil {
					return nil, err
				}
			}
			return u.Result(), nil
		}),
	tupleSetFunction("DS_TUPLE_DOUBLES_INTERSECT", "Returns the intersection of tuple sketches. The numbers of equal keys are added.",
		func(_ int, list []*sketch.Tuple) (*sketch.Tuple, error) { return sketch.IntersectTuple(list) }),
	tupleSetFunction("DS_TUPLE_DOUBLES_NOT", "Returns the first tuple sketch minus the keys of the other ones.",
		func(_ int, list []*sketch.Tuple) (out *sketch.Tuple, err error) {
			out = list[0]
			for _, t := range list[1:] {
				if out, err = sketch.SubtractTuple(out, t); err != nil {
					return nil, err
				}
			}
			return out, nil
		}),
}

func tupleSetFunction(name, summary string, operate func(size int, list []*sketch.Tuple) (*sketch.Tuple, error)) *expr.Function {
	return &expr.Function{
		Name: name, Min: 2, Max: -1, SeesNulls: true, Summary: summary,
		Forms: []string{"$F(<sketch>, <sketch>, ...)", "$F(<sketch>, <sketch>, ..., <nominalEntries>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			size := int64(4096)
			if last := len(b.Args) - 1; b.Type(last).IsNumeric() && last > 0 {
				b.Long(last)
				size, _ = b.Constant(last, "number of entries").(int64)
				b.Args = b.Args[:last]
				if size < 1 || size > 1<<26 || size&(size-1) != 0 {
					b.Fail("The number of entries of [%s] must be a power of two up to [%d], not [%d]", name, 1<<26, size)
				}
			}
			for i := range b.Args {
				sketchAt(b, i, tupleName)
			}
			b.Args = append([]expr.Expr{expr.LongLiteral(size)}, b.Args...)
			return b.Call(expr.ComplexOf(tupleName).NotNull())
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			list := make([]*sketch.Tuple, 0, len(args)-1)
			for _, a := range args[1:] {
				if a.IsNull(i) && name == "DS_TUPLE_DOUBLES_UNION" {
					continue
				}
				t, err := sketch.ParseTuple(textAt(a, i))
				if err != nil {
					return "", err
				}
				list = append(list, t)
			}
			if len(list) == 0 {
				list = append(list, sketch.EmptyTuple())
			}
			out, err := operate(int(args[0].LongAt(i)), list)
			if err != nil {
				return "", err
			}
			return string(out.AppendBinary(nil)), nil
		}),
	}
}
