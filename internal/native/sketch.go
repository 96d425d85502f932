package native

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// SketchAggregator builds a sketch of a column, or merges a column of sketches.
type SketchAggregator struct {
	Type           string   `json:"type"`
	Name           string   `json:"name"`
	FieldName      string   `json:"fieldName"`
	LgK            *Whole   `json:"lgK"`
	TgtHLLType     string   `json:"tgtHllType"`
	StringEncoding string   `json:"stringEncoding"`
	Round          Flag     `json:"round"`
	ShouldFinalize *Flag    `json:"shouldFinalize"`
	Size           *Whole   `json:"size"`
	Deviations     *Whole   `json:"errorBoundsStdDev"`
	K              *Whole   `json:"k"`
	NominalEntries *Whole   `json:"nominalEntries"`
	MetricColumns  []string `json:"metricColumns"`
	NumberOfValues *Whole   `json:"numberOfValues"`
	// MaxStreamLength sizes preallocated memory. It has no effect, because no memory is preallocated.
	MaxStreamLength *Whole `json:"maxStreamLength"`
	// ThetaInput and HyperInput mark an input column of an ingestion that contains sketches.
	ThetaInput Flag `json:"isInputThetaSketch"`
	HyperInput Flag `json:"isInputHyperUnique"`
}

func (a *SketchAggregator) output() string { return a.Name }

func (a *SketchAggregator) check() error {
	if sketchAggregators[a.Type].combines { // the parts of a result, which go by its name
		a.FieldName = a.Name
	}
	if a.TgtHLLType != "" && !slices.Contains(hllTypes, a.TgtHLLType) {
		return invalid("[tgtHllType] of aggregator [%s] is [%s]; known are %v", a.Name, a.TgtHLLType, hllTypes)
	}
	return nil
}

var hllTypes = []string{"HLL_4", "HLL_6", "HLL_8"}

// finalizes reports whether an estimate is shown, unless the context wants the sketch.
func (a *SketchAggregator) finalizes() bool {
	return a.ShouldFinalize == nil || bool(*a.ShouldFinalize) || sketchAggregators[a.Type].finalized
}

// sketchAggregator says how a native aggregator of sketches is run.
type sketchAggregator struct {
	// name is the aggregate of package agg, typ the type of its sketches.
	name string
	typ  string
	// numbers says that it takes numbers; others take any value.
	numbers bool
	// merges says that it takes sketches only.
	merges bool
	// unbounded says that no bounds are shown, finalized that the sketch itself is not, unless the
	// context wants that.
	unbounded, finalized bool
	// combines says that it takes the column of its own name.
	combines bool
}

var sketchAggregators = map[string]sketchAggregator{
	"HLLSketchBuild":         {name: "DS_HLL", typ: hllName},
	"HLLSketchMerge":         {name: "DS_HLL", typ: hllName, merges: true},
	"HLLSketch":              {name: "DS_HLL", typ: hllName, merges: true},
	"thetaSketch":            {name: "DS_THETA", typ: "thetaSketch"},
	"sketchBuild":            {name: "DS_THETA", typ: "thetaSketch", unbounded: true, finalized: true},
	"sketchMerge":            {name: "DS_THETA", typ: "thetaSketch", unbounded: true},
	"quantilesDoublesSketch": {name: "DS_QUANTILES_SKETCH", typ: "quantilesDoublesSketch", numbers: true},
	"KllDoublesSketch":       {name: "DS_KLL_DOUBLES", typ: "KllDoublesSketch", numbers: true, finalized: true},
	"KllFloatsSketch":        {name: "DS_KLL_FLOATS", typ: "KllFloatsSketch", numbers: true, finalized: true},

	"quantilesDoublesSketchMerge": {name: "DS_QUANTILES_SKETCH", typ: "quantilesDoublesSketch", numbers: true, combines: true},
	"KllDoublesSketchMerge":       {name: "DS_KLL_DOUBLES", typ: "KllDoublesSketch", numbers: true, finalized: true, combines: true},
	"KllFloatsSketchMerge":        {name: "DS_KLL_FLOATS", typ: "KllFloatsSketch", numbers: true, finalized: true, combines: true},

	"arrayOfDoublesSketch": {name: "DS_TUPLE_DOUBLES", typ: "arrayOfDoublesSketch"},
	"hyperUnique":          {name: "HYPER_UNIQUE", typ: "hyperUnique", merges: true},
}

// sketch translates an aggregator of sketches; its result is the sketch, which finished makes a
// number of.
func (s *scope) sketch(in *inputs, a *SketchAggregator) (plan.AggCall, error) {
	d := sketchAggregators[a.Type]
	x, err := s.sketched(a, d)
	if err != nil {
		return plan.AggCall{}, err
	}
	x = plain(x)
	if s.t.ingesting {
		if x, err = d.ingested(a, x); err != nil {
			return plan.AggCall{}, err
		}
	}
	if !s.t.ingesting || d.typ != "hyperUnique" {
		if x, err = d.argument(a, x); err != nil {
			return plan.AggCall{}, err
		}
	}
	args, types := []int{in.add(x, a.FieldName)}, []expr.Type{x.Type()}
	for _, name := range a.MetricColumns {
		m, err := s.column(name)
		if err != nil {
			return plan.AggCall{}, err
		}
		if m, err = summand(m); err != nil {
			return plan.AggCall{}, err
		}
		args, types = append(args, in.add(m, name)), append(types, m.Type())
	}
	name, params, err := a.params(d, s.t.ingesting)
	if err != nil {
		return plan.AggCall{}, err
	}
	call, err := newCall(name, types, params)
	call.Args = args
	return call, err
}

// sketched is the column of a sketch aggregator: of groups that show estimates of sketches of its
// type, the sketches, unless it counts values.
func (s *scope) sketched(a *SketchAggregator, d sketchAggregator) (expr.Expr, error) {
	if a.Type != "HLLSketchBuild" {
		if kept, err := s.kept(a.FieldName, expr.ComplexOf(d.typ)); kept != nil || err != nil {
			return kept, err
		}
	}
	if d.numbers {
		return s.numberColumn(a.FieldName, expr.Double)
	}
	return s.column(a.FieldName)
}

// summand is what a metric column adds to the numbers of a tuple sketch: texts of columns add 0.
func summand(x expr.Expr) (expr.Expr, error) {
	if _, stored := x.(*expr.Column); x.Type().Multi || stored && x.Type().IsCharacter() {
		return &expr.Literal{Value: 0.0, T: doubleType.NotNull()}, nil
	}
	return cast(x, doubleType)
}

// ingested converts a column of records, where sketches are base64 text, and where hyperUnique also
// takes the values themselves.
func (d sketchAggregator) ingested(a *SketchAggregator, x expr.Expr) (expr.Expr, error) {
	t := x.Type()
	sketches := d.merges && !(d.typ == "hyperUnique" && !bool(a.HyperInput)) || bool(a.ThetaInput) || a.Type == "sketchMerge" || d.numbers ||
		d.typ == "arrayOfDoublesSketch" && len(a.MetricColumns) == 0
	switch {
	case t.Base == expr.Other || isNullConstant(x):
		if d.typ == "hyperUnique" && t.Base != expr.Other {
			return &expr.Literal{T: textType}, nil
		}
		return x, nil
	case sketches && t.IsCharacter() && !t.Multi:
		return call("DECODE_BASE64_COMPLEX", textLiteral(d.typ), x)
	case d.typ == "hyperUnique" && !t.Multi && t.Base != expr.Array:
		return cast(x, textType)
	}
	return x, nil
}

// argument converts the column to what the aggregate takes.
func (d sketchAggregator) argument(a *SketchAggregator, x expr.Expr) (expr.Expr, error) {
	t := x.Type()
	missing := false
	if l, ok := x.(*expr.Literal); ok && l.Value == nil {
		missing = true
	}
	sketches := t.Base == expr.Other
	switch {
	case sketches && d.typ == hllName && d.merges && t.ComplexName() == "": // a union
		return call("$HLL_READ", x)
	case sketches && (a.Type == "HLLSketchBuild" || t.ComplexName() != d.typ):
		return nil, fault.InvalidInput("Aggregator [%s] of type [%s] can't take the column [%s] of type [%s]", a.Name, a.Type, a.FieldName, t)
	case sketches:
		return x, nil
	case d.typ == hllName && d.merges && !missing:
		return nil, fault.InvalidInput("Aggregator [%s] of type [%s] merges sketches, but column [%s] of type [%s] has no "+
			"sketches", a.Name, a.Type,
			a.FieldName, t)
	case d.merges: // columns without sketches add nothing
		return &expr.Literal{T: expr.ComplexOf(d.typ)}, nil
	case d.numbers && (t.Multi || t.Base == expr.Array):
		return &expr.Literal{T: doubleType}, nil
	case d.numbers:
		return cast(x, doubleType)
	case d.typ == "arrayOfDoublesSketch" && len(a.MetricColumns) == 0:
		return &expr.Literal{T: expr.ComplexOf(d.typ)}, nil
	case d.typ == "arrayOfDoublesSketch" && !t.Multi && !t.IsCharacter():
		return textOf(x)
	}
	return x, nil
}

// params returns the name of the aggregate and its constants.
func (a *SketchAggregator) params(d sketchAggregator, ingesting bool) (string, []any, error) {
	number := func(w *Whole, def int64) int64 {
		if w == nil {
			return def
		}
		return int64(*w)
	}
	switch d.typ {
	case hllName:
		typ := a.TgtHLLType
		if typ == "" {
			typ = "HLL_4"
		}
		if lower(a.StringEncoding) == "utf8" && !d.merges {
			return "DS_HLL_UTF8", []any{number(a.LgK, 12), typ}, nil
		}
		return d.name, []any{number(a.LgK, 12), typ}, nil
	case "thetaSketch":
		return d.name, []any{number(a.Size, 16384)}, nil
	case "quantilesDoublesSketch":
		return d.name, []any{number(a.K, 128)}, nil
	case "KllDoublesSketch", "KllFloatsSketch":
		if !ingesting { // quirk Q008: Druid takes the k of a query and leaves it at that
			return d.name, []any{int64(200)}, nil
		}
		return d.name, []any{number(a.K, 200)}, nil
	case "arrayOfDoublesSketch":
		width := number(a.NumberOfValues, max(1, int64(len(a.MetricColumns))))
		if n := len(a.MetricColumns); n > 0 && width != int64(n) {
			return "", nil, invalid("Number of metricColumns [%d] must agree with numValues [%d]", n, width)
		}
		return d.name, []any{number(a.NominalEntries, 4096), width}, nil
	}
	return d.name, nil, nil
}

// finished returns what an aggregator's output x is to clients, nil if that is x itself: an
// estimate instead of a sketch.
func finished(a Aggregator, x expr.Expr) (expr.Expr, error) {
	switch a := a.(type) {
	case *FilteredAggregator:
		return finished(a.Aggregator.Aggregator, x)
	case *SimpleAggregator:
		if isMean(a) { // quirk Q008: over nothing it is 0, as in Druid
			return call("COALESCE", x, &expr.Literal{Value: 0.0, T: expr.Of(expr.Double).NotNull()})
		}
		if simpleAggregators[a.Type].times {
			return timeText(x)
		}
		if simpleAggregators[a.Type].cast == expr.Float {
			return cast(x, expr.Of(expr.Float))
		}
	case *CardinalityAggregator:
		return estimated("$HYPER_UNIQUE_ESTIMATE", x, bool(a.Round))
	case *SketchAggregator:
		d := sketchAggregators[a.Type]
		if !a.finalizes() {
			return nil, nil
		}
		switch d.typ {
		case hllName:
			return estimated("HLL_SKETCH_ESTIMATE", x, bool(a.Round))
		case "thetaSketch":
			if a.Deviations != nil && !d.unbounded {
				return call("THETA_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS", x, longLiteral(int64(*a.Deviations)))
			}
			return call("THETA_SKETCH_ESTIMATE", x)
		case "hyperUnique":
			return estimated("$HYPER_UNIQUE_ESTIMATE", x, bool(a.Round))
		case "arrayOfDoublesSketch":
			return call("$TUPLE_ESTIMATE", x)
		default:
			return call("$COUNT_"+strings.ToUpper(d.typ), x)
		}
	}
	return nil, nil
}

func estimated(function string, x expr.Expr, round bool) (expr.Expr, error) {
	out, err := call(function, x)
	if err != nil || !round {
		return out, err
	}
	if out, err = call("ROUND", out); err != nil {
		return nil, err
	}
	return cast(out, longType)
}

// rawColumn is the name under which a finished aggregate's sketch is found by post-aggregators.
func rawColumn(name string) string { return "$sketch " + name }

// keepsSketches reports whether the context wants aggregates as they are.
func keepsSketches(c *Common) bool { return !c.flag(querycontext.Finalize, true) }

// keeping makes a call's result its intermediate value.
func keeping(call plan.AggCall, t expr.Type) plan.AggCall {
	call.Agg.Keep, call.Type = true, t
	return call
}

// hllName is the type of HLL sketches.
const hllName = "HLLSketch"

// hyperUniqueType is the SQL type of hyperUnique sketches.
var hyperUniqueType = expr.FromRuntime(agg.HyperUniqueType, false).NotNull()
