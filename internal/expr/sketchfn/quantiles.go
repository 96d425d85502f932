package sketchfn

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var quantilesFunctions = append(ranksFunctions("DS_", "quantilesDoublesSketch", "quantiles", false, func(p string) (*sketch.Ranks, error) {
	q, err := sketch.ParseQuantiles(p)
	if err != nil {
		return nil, err
	}
	return q.Ranks(), nil
}), &expr.Function{
	Name: "DS_QUANTILE_SUMMARY", Min: 1, Max: 1,
	Summary: "Returns a text summary of a quantiles sketch.",
	Forms:   []string{"$F(<quantilesDoublesSketch>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		sketchAt(b, 0, "quantilesDoublesSketch")
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: perRow(func(args []*vector.Vector, i int) (string, error) {
		q, err := sketch.ParseQuantiles(args[0].StringAt(i))
		if err != nil {
			return "", err
		}
		return quantilesText(q), nil
	}),
})

// kllFunctions serve native post-aggregators; SQL has none for KLL sketches.
var kllFunctions = append(
	ranksFunctions("$KLL_DOUBLES_", "KllDoublesSketch", "KLL", true, kllRanks[float64]),
	ranksFunctions("$KLL_FLOATS_", "KllFloatsSketch", "KLL", true, kllRanks[float32])...)

func kllRanks[T float32 | float64](p string) (*sketch.Ranks, error) {
	q, err := sketch.ParseKLL[T](p)
	if err != nil {
		return nil, err
	}
	return q.Ranks(), nil
}

// ranksFunctions are the functions of sketches that know ranks.
func ranksFunctions(prefix, typ, kind string, internal bool, read func(string) (*sketch.Ranks, error)) []*expr.Function {
	numbers := func(name, summary, argument string, many bool, t expr.Type) *expr.Function {
		f := &expr.Function{
			Name: prefix + name, Min: 2, Max: 2, RefusesNull: true,
			Forms: []string{"$F(<" + typ + ">, <" + argument + ">)"},
			Bind: func(b *expr.Binding) (expr.Expr, error) {
				sketchAt(b, 0, typ)
				for i := 1; i < len(b.Args); i++ {
					if many {
						b.Written(i)
						if b.Type(i).Base == expr.Null {
							b.Mismatch()
						}
					}
					b.ExactNumber(i)
					b.Cast(i, expr.Of(expr.Double))
				}
				return b.Call(t)
			},
		}
		if many {
			f.Max, f.Forms = -1, []string{"$F(<" + typ + ">, <" + argument + ">, ...)"}
		}
		if !internal {
			f.Summary = fmt.Sprintf(summary, kind)
		}
		return f
	}
	one := func(f *expr.Function, ask func(*sketch.Ranks, float64) (float64, error)) *expr.Function {
		f.Kernel = perRow(func(args []*vector.Vector, i int) (float64, error) {
			r, err := read(args[0].StringAt(i))
			if err != nil {
				return 0, err
			}
			return ask(r, args[1].DoubleAt(i))
		})
		return f
	}
	several := func(f *expr.Function, ask func(*sketch.Ranks, []float64) ([]float64, error)) *expr.Function {
		f.Kernel = perRowComplex(func(args []*vector.Vector, i int) (string, error) {
			r, err := read(args[0].StringAt(i))
			if err != nil {
				return "", err
			}
			list, err := ask(r, doublesAt(args, 1, i))
			return string(appendDoubles(nil, list)), err
		})
		return f
	}
	return []*expr.Function{
		ofSketch("$COUNT_"+strings.ToUpper(typ), typ, expr.Of(expr.BigInt), perRow(func(args []*vector.Vector, i int) (int64, error) {
			r, err := read(args[0].StringAt(i))
			if err != nil {
				return 0, err
			}
			return int64(r.Total()), nil
		})),
		{
			Name: "$BINS_" + strings.ToUpper(typ), Min: 2, Max: 2,
			Bind: func(b *expr.Binding) (expr.Expr, error) {
				sketchAt(b, 0, typ)
				b.Long(1)
				return b.Call(complexText)
			},
			Kernel: perRowComplex(func(args []*vector.Vector, i int) (string, error) {
				r, err := read(args[0].StringAt(i))
				if err != nil {
					return "", err
				}
				list, err := r.Bins(args[1].LongAt(i))
				return string(appendDoubles(nil, list)), err
			}),
		},
		one(numbers("GET_QUANTILE", "Returns a quantile of a %s sketch.", "fraction", false, expr.Of(expr.Double)),
			quantileAt),
		several(numbers("GET_QUANTILES", "Returns several quantiles of a %s sketch, as JSON.", "fraction", true, complexText),
			func(r *sketch.Ranks, fractions []float64) ([]float64, error) {
				out := make([]float64, len(fractions))
				for i, f := range fractions {
					var err error
					if out[i], err = quantileAt(r, f); err != nil {
						return nil, err
					}
				}
				return out, nil
			}),
		one(numbers("RANK", "Returns the share of the values of a %s sketch that are less than or equal "+
			"to a number.", "NUMERIC", false, expr.Of(expr.Double)),
			func(r *sketch.Ranks, x float64) (float64, error) { return r.Rank(x), nil }),
		several(numbers("CDF", "Returns the cumulative distribution of a %s sketch at each point, and "+
			"1, as JSON.", "point", true, complexText),
			(*sketch.Ranks).CDF),
		several(numbers("HISTOGRAM", "Returns the number of values of a %s sketch in each range between the "+
			"points, as JSON.", "point", true, complexText),
			(*sketch.Ranks).Histogram),
	}
}

// quantilesText describes a sketch as Druid does, which has it in compact form off the heap. See
// quirk Q008.
func quantilesText(q *sketch.Quantiles) string {
	n, k := q.N(), uint64(q.K())
	pattern := n / (2 * k)
	base, valid, total := n%(2*k), bits.OnesCount64(pattern), bits.Len64(pattern)
	needed := 0
	if n >= 2*k {
		needed = bits.Len64(n / (2 * k))
	}
	retained := base + uint64(valid)*k
	compact, updatable := uint64(8), uint64(8)
	if n > 0 {
		compact = 8 * (4 + retained)
		if needed > 0 {
			updatable = 8 * (4 + (2+uint64(needed))*k)
		} else {
			updatable = 8 * (4 + max(4, uint64(1)<<bits.Len64(n-1)))
		}
	}
	share := func(factor, power float64) string {
		return strconv.FormatFloat(100*factor/math.Pow(float64(k), power), 'f', 3, 64) + "%"
	}
	item := func(x float64) string {
		if x != x {
			return fmt.Sprintf("%12s", "NaN")
		}
		return fmt.Sprintf("%12s", strconv.FormatFloat(x, 'e', 6, 64))
	}
	var t strings.Builder
	count := func(x uint64) string { return javatext.Grouped(strconv.FormatUint(x, 10)) }
	line := func(name, value string) { fmt.Fprintf(&t, "   %-29s: %s\n", name, value) }
	t.WriteString("\n### Quantiles DirectCompactDoublesSketch SUMMARY: \n")
	line("Empty", strconv.FormatBool(n == 0))
	line("Memory, Capacity bytes", "true, "+strconv.FormatUint(compact, 10))
	line("Estimation Mode", strconv.FormatBool(n >= 2*k))
	line("K", count(k))
	line("N", count(n))
	line("Levels (Needed, Total, Valid)", fmt.Sprintf("%d, %d, %d", needed, total, valid))
	line("Level Bit Pattern", strconv.FormatUint(pattern, 2))
	line("BaseBufferCount", count(base))
	if n == 0 {
		line("Combined Buffer Capacity", "-3")
	} else {
		line("Combined Buffer Capacity", count(retained))
	}
	line("Retained Items", count(retained))
	line("Compact Storage Bytes", count(compact))
	line("Updatable Storage Bytes", count(updatable))
	line("Normalized Rank Error", share(1.576, 0.9726))
	line("Normalized Rank Error (PMF)", share(1.854, 0.9657))
	line("Min Item", item(q.Min()))
	line("Max Item", item(q.Max()))
	t.WriteString("### END SKETCH SUMMARY\n")
	return t.String()
}

// quantileAt is a quantile; where there are no values any fraction has NaN.
func quantileAt(r *sketch.Ranks, fraction float64) (float64, error) {
	if r.Total() == 0 {
		return math.NaN(), nil
	}
	return r.Quantile(fraction), sketch.CheckFraction(fraction)
}
