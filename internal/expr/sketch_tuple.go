package expr

import (
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

const tupleName = "arrayOfDoublesSketch"

var tupleFunctions = []*Function{
	{
		Name: "DS_TUPLE_DOUBLES_METRICS_SUM_ESTIMATE", Min: 1, Max: 1,
		Summary: "Returns the estimated sums of the numbers of a tuple sketch.",
		Forms:   []string{"$F(<arrayOfDoublesSketch>)"},
		Bind: func(b *binding) (Expr, error) {
			b.sketchAt(0, tupleName)
			return b.call(ArrayOf(Of(Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			t, err := sketch.ParseTuple(args[0].StringAt(i))
			if err != nil {
				return nil, err
			}
			return t.Sums(), nil
		}),
	},
	tupleSetFunction("DS_TUPLE_DOUBLES_UNION", "Returns the keys of all tuple sketches, the numbers of equal keys added up.",
		func(size int, list []*sketch.Tuple) (*sketch.Tuple, error) {
			u := sketch.NewTupleUnion(size, list[0].Width())
			for _, t := range list {
				if err := u.Merge(t); err != nil {
					return nil, err
				}
			}
			return u.Result(), nil
		}),
	tupleSetFunction("DS_TUPLE_DOUBLES_INTERSECT", "Returns the keys that all tuple sketches have, their numbers added up.",
		func(_ int, list []*sketch.Tuple) (*sketch.Tuple, error) { return sketch.IntersectTuple(list) }),
	tupleSetFunction("DS_TUPLE_DOUBLES_NOT", "Returns the keys of the first tuple sketch that none of the others has.",
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

func tupleSetFunction(name, summary string, operate func(size int, list []*sketch.Tuple) (*sketch.Tuple, error)) *Function {
	return &Function{
		Name: name, Min: 2, Max: -1, SeesNulls: true, Summary: summary,
		Forms: []string{"$F(<sketch>, <sketch>, ...)", "$F(<sketch>, <sketch>, ..., <nominalEntries>)"},
		Bind: func(b *binding) (Expr, error) {
			size := int64(4096)
			if last := len(b.args) - 1; b.typ(last).IsNumeric() && last > 0 {
				b.long(last)
				size, _ = b.constant(last, "number of entries").(int64)
				b.args = b.args[:last]
				if size < 1 || size > 1<<26 || size&(size-1) != 0 {
					b.fail("The number of entries of [%s] must be a power of two up to [%d], not [%d]", name, 1<<26, size)
				}
			}
			for i := range b.args {
				b.sketchAt(i, tupleName)
			}
			b.args = append([]Expr{longConstant(size)}, b.args...)
			return b.call(ComplexOf(tupleName).NotNull())
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
