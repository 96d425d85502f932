package agg

import (
	"math"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

const hllForms = "'$F(<COLUMN>)'\n'$F(<COLUMN>, <lgK>)'\n'$F(<COLUMN>, <lgK>, <tgtHllType>)'"

var dsHLL = hllFunction("DS_HLL", "Builds an HLL sketch of the values, or merges HLL sketches.", false, "")

var approxCountDistinctHLL = hllFunction("APPROX_COUNT_DISTINCT_DS_HLL",
	"Estimates the number of distinct values with an HLL sketch. Also reads columns of HLL sketches.", false, "DS_HLL")

var approxCountDistinctHLLUTF8 = hllFunction("APPROX_COUNT_DISTINCT_DS_HLL_UTF8",
	"Estimates the number of distinct strings with an HLL sketch that hashes strings as UTF-8.", true, "DS_HLL_UTF8")

// dsHLLUTF8 is what native aggregators with the encoding utf8 are.
var dsHLLUTF8 = internalFunction(hllFunction("DS_HLL_UTF8", "Builds an HLL sketch for which text is hashed as UTF-8.", true, ""))

func internalFunction(f *Function) *Function {
	f.Internal = true
	return f
}

// hllFunction returns the function that gives an HLL sketch, or the estimate of the sketch that the
// function called sketchName gives.
func hllFunction(name, doc string, utf8 bool, sketchName string) *Function {
	keep := sketchName == ""
	f := &Function{
		Name: name, Doc: doc, Signature: signature(hllForms, name), MinArgs: 1, MaxArgs: 1, MaxParams: 2, EmptyIsZero: !keep, Sketch: true, TakesTexts: utf8,
		SketchName: sketchName, CountsDifferent: true,
		check:  checks(countableOr(HLLType), hllParams),
		result: always(vector.Long), partial: one(HLLType),
		create: func(s Spec) State { return newHLLState(s, utf8, keep) },
	}
	if !utf8 {
		f.Native.Kind = NativeHLL
	}
	if keep {
		f.result = always(HLLType)
		if !utf8 {
			f.Finishes, f.ReadBy = FinishesIfAsked, "$HLL_READ"
		}
	}
	return f
}

func hllParams(s Spec) error {
	_, _, err := hllSize(s)
	return err
}

// hllSize returns the parameters of the sketch.
func hllSize(s Spec) (log, typ int, err error) {
	n, err := s.wholeParam(0, 12)
	if err != nil {
		return 0, 0, err
	}
	typ, err = sketch.CheckHLL(n, s.textParam(1, sketch.HLLTypes[0]))
	return int(n), typ, err
}

func newHLLState(s Spec, utf8, keep bool) State {
	log, typ, _ := hllSize(s) // checked
	var chars []byte
	text := func(h *sketch.HLL) func(string) error {
		return func(x string) error {
			if utf8 {
				chars = append(chars[:0], x...)
			} else {
				chars = sketch.AppendUTF16(chars[:0], x)
			}
			return h.AddBytes(chars)
		}
	}
	f := sketchForm[*sketch.HLL]{
		typ:   HLLType,
		fresh: func() (*sketch.HLL, error) { return sketch.NewHLL(log, typ), nil },
		parse: sketch.ParseHLL,
		add: func(h *sketch.HLL, args []*vector.Vector, i int) error {
			switch v := args[0]; v.Type.Kind {
			case vector.KindLong:
				return h.AddLong(v.LongAt(i))
			case vector.KindDouble, vector.KindFloat:
				return h.AddDouble(v.DoubleAt(i))
			default:
				return eachText(v, i, text(h))
			}
		},
		merge:  (*sketch.HLL).Merge,
		adopt:  (*sketch.HLL).Adopt,
		store:  func(dst []byte, h *sketch.HLL) ([]byte, error) { return h.AppendBinary(dst) },
		sparse: true,
		result: vector.Long,
		finish: func(b *vector.Builder, h *sketch.HLL) error {
			e, err := h.Estimate()
			b.AppendLong(int64(math.Round(e)))
			return err
		},
	}
	if s.Merging == MergedNot || s.Keep { // a rolled-up column stores what was asked for
		f.merge = (*sketch.HLL).MergeGroup
	}
	if keep {
		f = f.kept()
		f.grouped = func(dst []byte, h *sketch.HLL) ([]byte, error) { return h.AppendRead(dst) }
	}
	return newSketchState(f.of(s))
}
