package sketchfn

import (
	be "encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// nativeSketchFunctions are what aggregators and post-aggregators of native queries ask of sketches
// beyond SQL.
var nativeSketchFunctions = []*expr.Function{
	ofSketch("$HYPER_UNIQUE_ESTIMATE", "hyperUnique", expr.Of(expr.Double), perRow(func(args []*vector.Vector, i int) (float64, error) {
		h, err := sketch.ParseHyperUnique(args[0].StringAt(i))
		if err != nil {
			return 0, err
		}
		return h.Estimate(), nil
	})),
	ofSketch("$MEAN", "doubleMean", expr.Of(expr.Double), perRow(func(args []*vector.Vector, i int) (float64,
		error) { // of a sum and a count, 0 of nothing
		text := []byte(args[0].StringAt(i))
		if len(text) != 16 {
			return 0, nil
		}
		sum, count := math.Float64frombits(be.BigEndian.Uint64(text)), int64(be.BigEndian.Uint64(text[8:]))
		return sum / float64(max(count, 1)), nil
	})),
	thetaText("$THETA_TEXT", "DirectCompactSketch"),
	thetaText("$THETA_SET_TEXT", "HeapCompactSketch"),
	ofTuple("$TUPLE_ESTIMATE", expr.Of(expr.Double), func(t *sketch.Tuple) (float64, error) { return t.Estimate(), nil }),
	ofTuple("$TUPLE_KEYS", expr.Of(expr.BigInt), func(t *sketch.Tuple) (int64, error) { return int64(t.Keys()), nil }),
	tupleText("$TUPLE_TEXT", "DirectArrayOfDoublesCompactSketch"),
	tupleText("$TUPLE_SET_TEXT", "HeapArrayOfDoublesCompactSketch"),
	ofTupleValues("$TUPLE_MEANS", func(values []float64) float64 { mean, _ := meanAndVariance(values); return mean }),
	ofTupleValues("$TUPLE_VARIANCES", func(values []float64) float64 { _, variance := meanAndVariance(values); return variance }),
	{
		Name: "$TUPLE_BOUNDS", Min: 2, Max: 2,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, tupleName)
			b.Long(1)
			return b.Call(expr.ArrayOf(expr.Of(expr.Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			t, err := sketch.ParseTuple(args[0].StringAt(i))
			if err != nil {
				return nil, err
			}
			low, high, err := t.Bounds(int(min(max(args[1].LongAt(i), 0), 4)))
			return []float64{t.Estimate(), low, high}, err
		}),
	},
	{
		Name: "$TUPLE_TTEST", Min: 2, Max: 2,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, tupleName)
			sketchAt(b, 1, tupleName)
			return b.Call(expr.ArrayOf(expr.Of(expr.Double)))
		},
		Kernel: perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
			a, err := sketch.ParseTuple(args[0].StringAt(i))
			if err != nil {
				return nil, err
			}
			b, err := sketch.ParseTuple(args[1].StringAt(i))
			if err != nil {
				return nil, err
			}
			return sketch.TTest(a, b)
		}),
	},
	{
		Name: "$TUPLE_QUANTILES", Min: 3, Max: 3, // sketch, number of the value from 1, k
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, tupleName)
			b.Long(1)
			b.Long(2)
			return b.Call(expr.ComplexOf("quantilesDoublesSketch"))
		},
		Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			t, err := sketch.ParseTuple(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			if err := sketch.CheckQuantiles(args[2].LongAt(i)); err != nil {
				return "", err
			}
			number := args[1].LongAt(i)
			if number < 1 || number > int64(t.Width()) {
				return "", sketch.NoSuchValue(number, t.Width())
			}
			q := sketch.NewQuantiles(int(args[2].LongAt(i)))
			for _, x := range t.Value(int(number) - 1) {
				q.Add(x)
			}
			return string(q.AppendSized(nil)), nil
		}),
	},
	kllText[float64]("$KLL_DOUBLES_TEXT", "KllDoublesSketch", "KllDirectCompactDoublesSketch", 8),
	kllText[float32]("$KLL_FLOATS_TEXT", "KllFloatsSketch", "KllDirectCompactFloatsSketch", 4),
}

// thetaText describes theta sketches of several keys by the name of a class of Druid. See quirk
// Q008.
func thetaText(name, class string) *expr.Function {
	return ofSketch(name, "thetaSketch", expr.Of(expr.Varchar), perRow(func(args []*vector.Vector, i int) (string, error) {
		t, err := sketch.ParseTheta(args[0].StringAt(i))
		if err != nil {
			return "", err
		}
		low, high, err := t.Bounds(2)
		hex := fmt.Sprintf("%x", t.Theta())
		kind, seed := class, "93cc | 37836"
		switch {
		case t.Empty():
			kind, seed = "EmptyCompactSketch", "0 | 0"
		case t.Keys() == 1 && t.Theta() == math.MaxInt64:
			kind = "SingleItemSketch"
		}
		return summaryText("\n### "+kind+" SUMMARY: ", [][2]string{
			{"Estimate", vector.DoubleText(t.Estimate())}, {"Upper Bound, 95% conf", vector.DoubleText(high)}, {"Lower Bound, 95% conf",
				vector.DoubleText(low)},
			{"Theta (double)", vector.DoubleText(thetaShare(t.Theta()))}, {"Theta (long)",
				strconv.FormatUint(t.Theta(), 10)}, {"Theta (long) hex", hex},
			{"EstMode?", strconv.FormatBool(t.Theta() < math.MaxInt64)}, {"Empty?", strconv.FormatBool(t.Empty())},
			{"Ordered?", strconv.FormatBool(t.Ordered())}, {"Retained Entries", strconv.Itoa(t.Keys())}, {"Seed Hash", seed},
		}), err
	}))
}

func ofSketch(name, typ string, t expr.Type, run func(*expr.Call, *expr.Context) (expr.Kernel, error)) *expr.Function {
	return &expr.Function{
		Name: name, Min: 1, Max: 1, Kernel: run,
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			sketchAt(b, 0, typ)
			return b.Call(t)
		},
	}
}

func ofTuple[R kernel.Scalar](name string, t expr.Type, f func(*sketch.Tuple) (R, error)) *expr.Function {
	return ofSketch(name, tupleName, t, perRow(func(args []*vector.Vector, i int) (R, error) {
		s, err := sketch.ParseTuple(args[0].StringAt(i))
		if err != nil {
			var none R
			return none, err
		}
		return f(s)
	}))
}

// tupleText describes a sketch in words, as Druid does: class is what it calls the sketch. See
// quirk Q008.
func tupleText(name, class string) *expr.Function {
	return ofTuple(name, expr.Of(expr.Varchar), func(t *sketch.Tuple) (string, error) {
		low, high, err := t.Bounds(2)
		return summaryText("### "+class+" SUMMARY: ", [][2]string{
			{"Estimate", vector.DoubleText(t.Estimate())}, {"Upper Bound, 95% conf", vector.DoubleText(high)}, {"Lower Bound, 95% conf",
				vector.DoubleText(low)},
			{"Theta (double)", vector.DoubleText(thetaShare(t.Theta()))}, {"Theta (long)", strconv.FormatUint(t.Theta(), 10)},
			{"EstMode?", strconv.FormatBool(t.Theta() < math.MaxInt64)}, {"Empty?", strconv.FormatBool(t.Empty())},
			{"Retained Entries", strconv.Itoa(t.Keys())}, {"Seed Hash", "93cc | 37836"},
		}), err
	})
}

// ofTupleValues computes a number of each value over all keys.
func ofTupleValues(name string, f func([]float64) float64) *expr.Function {
	return ofSketch(name, tupleName, expr.ArrayOf(expr.Of(expr.Double)), perRowDoubles(func(args []*vector.Vector, i int) ([]float64, error) {
		t, err := sketch.ParseTuple(args[0].StringAt(i))
		if err != nil {
			return nil, err
		}
		out := make([]float64, t.Width())
		for j := range out {
			out[j] = f(t.Value(j))
		}
		return out, nil
	}))
}

// meanAndVariance returns the mean of values and their variance as a sample, NaN where there are
// none; one value has the variance 0.
func meanAndVariance(values []float64) (mean, variance float64) {
	m2 := 0.0
	for i, x := range values {
		d := x - mean
		mean += d / float64(i+1)
		m2 += d * (x - mean)
	}
	switch len(values) {
	case 0:
		return math.NaN(), math.NaN()
	case 1:
		return mean, 0
	}
	return mean, m2 / float64(len(values)-1)
}

func thetaShare(theta uint64) float64 { return float64(theta) / math.MaxInt64 }

func summaryText(title string, lines [][2]string) string {
	var t strings.Builder
	t.WriteString(title + "\n")
	for _, l := range lines {
		fmt.Fprintf(&t, "   %-24s: %s\n", l[0], l[1])
	}
	t.WriteString("### END SKETCH SUMMARY\n")
	return t.String()
}

// kllText describes a KLL sketch of items of size bytes as Druid does, which has it in compact form
// off the heap. See quirk Q008.
func kllText[T float32 | float64](name, typ, title string, size int) *expr.Function {
	return ofSketch(name, typ, expr.Of(expr.Varchar), perRow(func(args []*vector.Vector, i int) (string, error) {
		p := args[0].StringAt(i)
		q, err := sketch.ParseKLL[T](p)
		if err != nil {
			return "", err
		}
		d := q.Details()
		var t strings.Builder
		t.WriteString("\n### " + title + " Summary:\n")
		line := func(name, value string) { fmt.Fprintf(&t, "   %-23s: %s\n", name, value) }
		share := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 3, 64) + "%" }
		line("K", strconv.Itoa(d.K))
		line("Dynamic min K", strconv.Itoa(d.K))
		line("M", "8")
		line("N", strconv.FormatUint(q.N(), 10))
		line("Epsilon", share(d.Error))
		line("Epsilon PMF", share(d.ErrorPMF))
		line("Empty", strconv.FormatBool(q.N() == 0))
		line("Estimation Mode", strconv.FormatBool(d.Levels > 1))
		line("Levels", strconv.Itoa(d.Levels))
		line("Level 0 Sorted", "false")
		line("Capacity Items", strconv.Itoa(d.Capacity))
		line("Retained Items", strconv.Itoa(d.Retained))
		line("Empty/Garbage Items", strconv.Itoa(d.Capacity-d.Retained))
		line("ReadOnly", "true(Format)")
		line("Updatable Storage Bytes", strconv.Itoa(20+4*(d.Levels+1)+size*(d.Capacity+2)))
		line("Compact Storage Bytes", strconv.Itoa(len(p)))
		r := q.Ranks()
		line("Min Item", itemText[T](r.Min))
		line("Max Item", itemText[T](r.Max))
		t.WriteString("### End sketch summary\n")
		return t.String(), nil
	}))
}

func itemText[T float32 | float64](x float64) string {
	if _, ok := any(T(0)).(float32); ok {
		return string(expr.AppendFloat(nil, float32(x)))
	}
	return vector.DoubleText(x)
}
