package native

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
)

// SketchPost computes a value from a sketch, or combines sketches.
type SketchPost struct {
	Type           string             `json:"type"`
	Name           string             `json:"name"`
	Field          PostAggregatorOf   `json:"field"`
	Fields         []PostAggregatorOf `json:"fields"`
	Round          Flag               `json:"round"`
	Deviations     *Whole             `json:"numStdDev"`
	BoundsStdDev   *Whole             `json:"errorBoundsStdDev"`
	LgK            *Whole             `json:"lgK"`
	TgtHLLType     string             `json:"tgtHllType"`
	Func           string             `json:"func"`
	Operation      string             `json:"operation"`
	Size           *Whole             `json:"size"`
	NominalEntries *Whole             `json:"nominalEntries"`
	NumberOfValues *Whole             `json:"numberOfValues"`
	Value          json.RawMessage    `json:"value"`
	Fraction       Number             `json:"fraction"`
	Fractions      []Number           `json:"fractions"`
	SplitPoints    []Number           `json:"splitPoints"`
	NumBins        *Whole             `json:"numBins"`
	Column         *Whole             `json:"column"`
	K              *Whole             `json:"k"`
}

func (p *SketchPost) output() string { return p.Name }

// sketchPosts translate the post-aggregators of sketches by type.
var sketchPosts map[string]func(*scope, *SketchPost) (expr.Expr, error)

func init() { // posts nest, so the table refers to itself
	sketchPosts = map[string]func(*scope, *SketchPost) (expr.Expr, error){
		"HLLSketchEstimate": func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofField(p, "HLL_SKETCH_ESTIMATE", boolLiteral(bool(p.Round)))
		},
		"HLLSketchEstimateWithBounds": func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofField(p, "HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", wholeLiteral(p.Deviations, 1))
		},
		"HLLSketchToString": functionOf("HLL_SKETCH_TO_STRING"),
		"HLLSketchUnion": func(s *scope, p *SketchPost) (expr.Expr, error) {
			typ := p.TgtHLLType
			if typ == "" {
				typ = "HLL_4"
			}
			return s.ofFields(p, 1, "HLL_SKETCH_UNION", []expr.Expr{wholeLiteral(p.LgK, 12), textLiteral(typ)}, nil)
		},
		"thetaSketchEstimate":                thetaEstimate,
		"sketchEstimate":                     thetaEstimate,
		"thetaSketchToString":                textOfSketch("$THETA_TEXT", "$THETA_SET_TEXT"),
		"thetaSketchConstant":                constantOf("thetaSketch"),
		"arrayOfDoublesSketchConstant":       constantOf("arrayOfDoublesSketch"),
		"thetaSketchSetOp":                   thetaSetOp,
		"sketchSetOper":                      thetaSetOp,
		"quantilesDoublesSketchToString":     functionOf("DS_QUANTILE_SUMMARY"),
		"KllDoublesSketchToString":           functionOf("$KLL_DOUBLES_TEXT"),
		"KllFloatsSketchToString":            functionOf("$KLL_FLOATS_TEXT"),
		"arrayOfDoublesSketchToEstimate":     functionOf("$TUPLE_ESTIMATE"),
		"arrayOfDoublesSketchToNumEntries":   functionOf("$TUPLE_KEYS"),
		"arrayOfDoublesSketchToMeans":        functionOf("$TUPLE_MEANS"),
		"arrayOfDoublesSketchToVariances":    functionOf("$TUPLE_VARIANCES"),
		"arrayOfDoublesSketchToString":       textOfSketch("$TUPLE_TEXT", "$TUPLE_SET_TEXT"),
		"arrayOfDoublesSketchToBase64String": func(s *scope, p *SketchPost) (expr.Expr, error) { return s.post(p.Field.PostAggregator) },
		"arrayOfDoublesSketchToEstimateAndBounds": func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofField(p, "$TUPLE_BOUNDS", wholeLiteral(p.Deviations, 1))
		},
		"arrayOfDoublesSketchToMetricsSumEstimate": functionOf("DS_TUPLE_DOUBLES_METRICS_SUM_ESTIMATE"),
		"arrayOfDoublesSketchToQuantilesSketch": func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofField(p, "$TUPLE_QUANTILES", wholeLiteral(p.Column, 1), wholeLiteral(p.K, 128))
		},
		"arrayOfDoublesSketchSetOp": tupleSetOp,
		"arrayOfDoublesSketchTTest": func(s *scope, p *SketchPost) (expr.Expr, error) {
			if len(p.Fields) != 2 {
				return nil, invalid("Post-aggregator [%s] of type [%s] must have two fields, not [%d]", p.Name, p.Type, len(p.Fields))
			}
			return s.ofFields(p, 2, "$TUPLE_TTEST", nil, nil)
		},
	}
	for typ, prefix := range map[string]string{
		"quantilesDoublesSketch": "DS_", "KllDoublesSketch": "$KLL_DOUBLES_", "KllFloatsSketch": "$KLL_FLOATS_",
	} {
		sketchPosts[typ+"ToQuantile"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofNumbers(p, prefix+"GET_QUANTILE", "fraction", []Number{p.Fraction})
		}
		sketchPosts[typ+"ToQuantiles"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofNumbers(p, prefix+"GET_QUANTILES", "fractions", p.Fractions)
		}
		sketchPosts[typ+"ToRank"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
			var value Number
			if !isNull(p.Value) && value.UnmarshalJSON(p.Value) != nil {
				return nil, invalid("Post-aggregator [%s] of type [%s] must have a number as [value], not [%s]", p.Name, p.Type, p.Value)
			}
			return s.ofNumbers(p, prefix+"RANK", "value", []Number{value})
		}
		sketchPosts[typ+"ToCDF"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
			return s.ofNumbers(p, prefix+"CDF", "splitPoints", p.SplitPoints)
		}
		sketchPosts[typ+"ToHistogram"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
			switch {
			case p.SplitPoints != nil && p.NumBins != nil:
				return nil, invalid("Post-aggregator [%s] of type [%s] can't have both splitPoints and numBins", p.Name, p.Type)
			case p.SplitPoints != nil:
				return s.ofNumbers(p, prefix+"HISTOGRAM", "splitPoints", p.SplitPoints)
			}
			return s.ofField(p, "$BINS_"+strings.ToUpper(typ), wholeLiteral(p.NumBins, 10))
		}
	}
	sketchPosts["quantileFromTDigestSketch"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
		return s.ofNumbers(p, "$TDIGEST_QUANTILE", "fraction", []Number{p.Fraction})
	}
	sketchPosts["quantilesFromTDigestSketch"] = func(s *scope, p *SketchPost) (expr.Expr, error) {
		return s.ofNumbers(p, "$TDIGEST_QUANTILES", "fractions", p.Fractions)
	}
	for name := range histogramPosts {
		postAggregatorTypes[name] = func() PostAggregator { return new(HistogramPost) }
	}
	for name := range sketchPosts {
		postAggregatorTypes[name] = func() PostAggregator { return new(SketchPost) }
		if needsName(name) {
			required["Post-aggregator"][name] = []string{"name"}
		}
	}
}

// needsName reports whether a post-aggregator of sketches must have a name, also as the field of
// another: Druid asks for it unless they are of HLL sketches, or make one of theta sketches or its
// text. See quirk Q008.
func needsName(post string) bool {
	switch post {
	case "thetaSketchToString", "thetaSketchConstant", "thetaSketchSetOp", "sketchSetOper":
		return false
	}
	return !strings.HasPrefix(post, "HLLSketch") && !strings.HasSuffix(post, "FromTDigestSketch")
}

func wholeLiteral(w *Whole, def int64) expr.Expr {
	if w == nil {
		return longLiteral(def)
	}
	return longLiteral(int64(*w))
}

// functionOf translates a post-aggregator that is a function of its field.
func functionOf(name string) func(*scope, *SketchPost) (expr.Expr, error) {
	return func(s *scope, p *SketchPost) (expr.Expr, error) { return s.ofField(p, name) }
}

// constantOf translates a post-aggregator that is a sketch, given as base64.
func constantOf(sketch string) func(*scope, *SketchPost) (expr.Expr, error) {
	return func(_ *scope, p *SketchPost) (expr.Expr, error) {
		var text string
		if json.Unmarshal(p.Value, &text) != nil {
			return nil, invalid("Post-aggregator [%s] of type [%s] must have the base64 of a sketch as its value", p.Name, p.Type)
		}
		return call("DECODE_BASE64_COMPLEX", textLiteral(sketch), textLiteral(text))
	}
}

// ofField calls a function over the field and further arguments.
func (s *scope) ofField(p *SketchPost, name string, more ...expr.Expr) (expr.Expr, error) {
	if p.Field.PostAggregator == nil {
		return nil, invalid("Post-aggregator [%s] of type [%s] must have a field", p.Name, p.Type)
	}
	x, err := s.post(p.Field.PostAggregator)
	if err != nil {
		return nil, err
	}
	return call(name, append([]expr.Expr{x}, more...)...)
}

// ofNumbers calls a function over the field and numbers.
func (s *scope) ofNumbers(p *SketchPost, name, member string, numbers []Number) (expr.Expr, error) {
	switch {
	case numbers != nil && len(numbers) == 0 && strings.HasSuffix(name, "QUANTILES"):
		return &expr.Literal{Value: []any{}, T: expr.ArrayOf(doubleType)}, nil
	case numbers != nil && len(numbers) == 0 && strings.HasSuffix(name, "CDF"):
		all, err := s.ofField(p, strings.TrimSuffix(name, "CDF")+"RANK", doubleLiteral(math.Inf(1))) // NaN if there are no values
		if err != nil {
			return nil, err
		}
		return call("ARRAY", all)
	case len(numbers) == 0:
		return nil, invalid("Post-aggregator [%s] of type [%s] must have [%s]", p.Name, p.Type, member)
	}
	args := make([]expr.Expr, len(numbers))
	for i, n := range numbers {
		args[i] = doubleLiteral(n.Double())
	}
	return s.ofField(p, name, args...)
}

// ofFields calls a function over the fields, of which there must be some, with arguments before and
// after them.
func (s *scope) ofFields(p *SketchPost, least int, name string, before, after []expr.Expr) (expr.Expr, error) {
	if len(p.Fields) < least {
		return nil, invalid("Post-aggregator [%s] of type [%s] must have [%d] fields or more", p.Name, p.Type, least)
	}
	args := before
	for _, f := range p.Fields {
		x, err := s.post(f.PostAggregator)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return call(name, append(args, after...)...)
}

func thetaEstimate(s *scope, p *SketchPost) (expr.Expr, error) {
	if p.BoundsStdDev != nil {
		return s.ofField(p, "THETA_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", wholeLiteral(p.BoundsStdDev, 1))
	}
	return s.ofField(p, "THETA_SKETCH_ESTIMATE")
}

// setOperation checks the name of a set operation.
func setOperation(p *SketchPost, name string) (string, error) {
	switch name {
	case "UNION", "INTERSECT", "NOT":
		return name, nil
	}
	return "", invalid("Post-aggregator [%s] of type [%s] has the unknown operation [%s]. Known are [UNION, INTERSECT, NOT]", p.Name, p.Type, name)
}

func thetaSetOp(s *scope, p *SketchPost) (expr.Expr, error) {
	operation, err := setOperation(p, p.Func)
	if err != nil {
		return nil, err
	}
	return s.ofFields(p, 2, "THETA_SKETCH_"+operation, []expr.Expr{wholeLiteral(p.Size, 16384)}, nil)
}

// textOfSketch describes a sketch; one that a set operation made is another class of Druid. See
// quirk Q008.
func textOfSketch(name, ofSets string) func(*scope, *SketchPost) (expr.Expr, error) {
	return func(s *scope, p *SketchPost) (expr.Expr, error) {
		if of, ok := p.Field.PostAggregator.(*SketchPost); ok && slices.Contains([]string{"thetaSketchSetOp", "sketchSetOper", "arrayOfDoublesSketchSetOp"}, of.Type) {
			return s.ofField(p, ofSets)
		}
		return s.ofField(p, name)
	}
}

func tupleSetOp(s *scope, p *SketchPost) (expr.Expr, error) {
	operation, err := setOperation(p, p.Operation)
	if err != nil {
		return nil, err
	}
	return s.ofFields(p, 2, "DS_TUPLE_DOUBLES_"+operation, nil, []expr.Expr{wholeLiteral(p.NominalEntries, 4096)})
}
