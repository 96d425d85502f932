package native

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// With finalize false in its context a query shows aggregates as they are before they become
// results: a mean as its sum and count, a first or last as its time and value. A post-aggregator
// that accesses a field sees them so, whatever the context says.

var meanType = expr.FromRuntime(agg.MeanType, false)

// noMean is the mean of nothing as it is kept: a sum and a number of 0.
var noMean = string(make([]byte, 16))

func isMean(a Aggregator) bool {
	switch a := a.(type) {
	case *FilteredAggregator:
		return isMean(a.Aggregator.Aggregator)
	case *SimpleAggregator:
		return simpleAggregators[a.Type].isMean()
	}
	return false
}

// addsFloats reports whether an aggregator is a sum or bound of FLOATs. These are FLOATs
// themselves, which groupBys show as such and others as DOUBLEs.
func addsFloats(a Aggregator) bool {
	switch a := a.(type) {
	case *FilteredAggregator:
		return addsFloats(a.Aggregator.Aggregator)
	case *SimpleAggregator:
		d := simpleAggregators[a.Type]
		return d.cast == expr.Float && !d.function().PicksRow
	}
	return false
}

// isTimed reports whether an aggregate is the first or last by a time.
func isTimed(call plan.AggCall) bool { return agg.Lookup(call.Agg.Name).ByTime }

// shownUnfinished reports whether an aggregate is wanted as it is before it becomes a result.
func (g *grouped) shownUnfinished(name string) bool {
	return g.keeps || slices.ContainsFunc(g.PostAggregations, func(p PostAggregatorOf) bool {
		f, ok := p.PostAggregator.(*FieldPost)
		return ok && f.Type == "fieldAccess" && f.FieldName == name
	})
}

// kept is the column with what an aggregate of the groups that are grouped once more is made of, if
// that is of a type; nil: there is none.
func (s *scope) kept(name string, typ expr.Type) (expr.Expr, error) {
	_, virtual := s.virtual[name]
	if virtual || !slices.ContainsFunc(s.columns, func(c plan.Column) bool {
		return c.Name == rawColumn(name) && c.Type.ComplexName() == typ.ComplexName()
	}) {
		return nil, nil
	}
	return s.column(rawColumn(name))
}

// meanOfMeans is the mean of the rows that means of groups are of; nil: a is none.
func (s *scope) meanOfMeans(in *inputs, a *SimpleAggregator) (*plan.AggCall, error) {
	if !isMean(a) {
		return nil, nil
	}
	mean, err := s.kept(a.FieldName, meanType)
	if mean == nil || err != nil {
		return nil, err
	}
	c, err := newCall(simpleAggregators[a.Type].name, []expr.Type{mean.Type()}, nil)
	c.Args = []int{in.add(mean, a.FieldName)}
	return &c, err
}

// timeOfKept is the time of a first or last that is one of groups; nil: name is none.
func (s *scope) timeOfKept(name string) (expr.Expr, error) {
	pair, err := s.kept(name, expr.JSON)
	if pair == nil || err != nil {
		return nil, err
	}
	return expr.NewJSONValue(pair, textLiteral("$.lhs"), longType, fault.Span{})
}

// companion returns the second aggregate that the intermediate value of a mean, a first or a last
// needs; nil: call is not one of them.
func companion(in *inputs, a Aggregator, call plan.AggCall) (*plan.AggCall, error) {
	if isMean(a) {
		call = keeping(call, meanType)
		return &call, nil
	}
	return timeOf(in, call)
}

// timeOf is the aggregate that gives the time of a first or last; nil: call is none.
func timeOf(in *inputs, call plan.AggCall) (*plan.AggCall, error) {
	if !isTimed(call) || len(call.Args) < 2 {
		return nil, nil
	}
	name := "MIN"
	if agg.Lookup(call.Agg.Name).Last {
		name = "MAX"
	}
	x, err := cast(in.exprs[call.Args[1]], longType)
	if err != nil {
		return nil, err
	}
	out, err := newCall(name, []expr.Type{x.Type()}, nil)
	out.Name, out.Args, out.Filter = "$time", []int{in.add(x, "$time")}, call.Filter
	return &out, err
}

// pairOf shows a time and a value; no rows have the time that any other replaces.
func pairOf(time, value expr.Expr, of plan.AggCall) (expr.Expr, error) {
	none, last := chrono.Eternity.End, agg.Lookup(of.Agg.Name).Last // what texts have
	if last {
		none = chrono.Eternity.Start
	}
	if !of.Type.IsCharacter() {
		none = math.MaxInt64
		if last {
			none = math.MinInt64
		}
	}
	time, err := call("COALESCE", time, longLiteral(none))
	if err != nil {
		return nil, err
	}
	if time, err = call("TO_JSON", time); err != nil {
		return nil, err
	}
	if value, err = call("TO_JSON", value); err != nil {
		return nil, err
	}
	return call("JSON_OBJECT", textLiteral("lhs"), time, textLiteral("rhs"), value)
}

// stateOf is the further aggregate that gives what an aggregator keeps, for those that ask for it;
// nil: nobody does.
func (g *grouped) stateOf(in *inputs, a AggregatorOf, call plan.AggCall) (*plan.AggCall, error) {
	deviates := slices.ContainsFunc(g.PostAggregations, func(p PostAggregatorOf) bool {
		return needsState(p.PostAggregator, a.output())
	})
	switch {
	case deviates && isVariance(a.Aggregator):
		call = keeping(call, varianceType)
		return &call, nil
	case g.shownUnfinished(a.output()):
		return companion(in, a.Aggregator, call)
	}
	return nil, nil
}

// withState returns what an aggregator shows, and what it keeps, where state is the aggregate of
// stateOf; shown is nil where that is raw.
func withState(a Aggregator, of plan.AggCall, state, shown, raw expr.Expr) (x, kept expr.Expr, err error) {
	switch {
	case isVariance(a):
		return raw, state, nil
	case isMean(a):
		kept, err = call("COALESCE", state, &expr.Literal{Value: noMean, T: meanType.NotNull()})
		return shown, kept, err
	case isTimed(of):
		if shown == nil {
			shown = raw
		}
		kept, err = pairOf(state, shown, of)
		return shown, kept, err
	}
	return shown, raw, nil
}
