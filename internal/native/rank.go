package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// rankColumn names the column by which groups are ordered, and compared in a having, in place of a
// sketch.
func rankColumn(name string) string { return "$rank " + name }

// ranked adds, behind the columns of groups, what the sketches among the aggregates, which begin at
// column first, and the post-aggregators count: sketches have the order of their estimates, also
// where they are shown themselves; so have firsts and lasts that of their values. finalized says
// that they are not.
func ranked(n plan.Node, g *Grouping, first int, finalized bool) (plan.Node, error) {
	columns := n.Columns()
	out := &plan.Project{Input: n}
	for i, a := range g.Aggregations {
		if columns[first+i].Type.Base != expr.Other {
			continue
		}
		x, err := estimateOf(a.Aggregator, reference(n, first+i), finalized)
		if err != nil {
			return nil, err
		}
		if x != nil {
			out.Exprs, out.Names = append(out.Exprs, x), append(out.Names, rankColumn(a.output()))
		}
	}
	for i, p := range g.PostAggregations {
		x, err := estimateOfPost(p.PostAggregator, reference(n, first+len(g.Aggregations)+i))
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		out.Exprs, out.Names = append(out.Exprs, x), append(out.Names, rankColumn(p.output()))
	}
	if len(out.Exprs) == 0 {
		return n, nil
	}
	all := &plan.Project{Input: n}
	for i, c := range columns {
		all.Exprs, all.Names = append(all.Exprs, reference(n, i)), append(all.Names, c.Name)
	}
	all.Exprs, all.Names = append(all.Exprs, out.Exprs...), append(all.Names, out.Names...)
	return all, nil
}

// withEstimates names columns so that the names of aggregates that are given as they are mean what
// they would be shown as.
func withEstimates(columns []plan.Column, aggregations []AggregatorOf) []plan.Column {
	out := slices.Clone(columns)
	named := func(name string) int {
		return slices.IndexFunc(columns, func(c plan.Column) bool { return c.Name == name })
	}
	for _, a := range aggregations {
		own, estimate := named(a.output()), named(rankColumn(a.output()))
		if s, ok := a.Aggregator.(*SketchAggregator); own < 0 || estimate < 0 || ok && (!s.finalizes() || s.Deviations != nil) {
			continue
		}
		out[own].Name, out[estimate].Name = rawColumn(a.output()), a.output()
	}
	return out
}

// withSketches shows the estimates of the sketches among the first columns, and the sketches behind
// them under names of their own.
func withSketches(n plan.Node, width int, aggregations []AggregatorOf) plan.Node {
	columns := n.Columns()
	named := withEstimates(columns, aggregations)
	shown, sketches := &plan.Project{Input: n}, &plan.Project{}
	for i, c := range columns[:width] {
		from := i
		if named[i].Name != c.Name {
			from = slices.IndexFunc(named, func(e plan.Column) bool { return e.Name == c.Name })
			sketches.Exprs, sketches.Names = append(sketches.Exprs, reference(n, i)), append(sketches.Names, named[i].Name)
		}
		shown.Exprs, shown.Names = append(shown.Exprs, reference(n, from)), append(shown.Names, c.Name)
	}
	shown.Exprs, shown.Names = append(shown.Exprs, sketches.Exprs...), append(shown.Names, sketches.Names...)
	return shown
}

// rankedPosts are the post-aggregators that give sketches, with the aggregator whose sketches they
// are.
var rankedPosts = map[string]string{
	"HLLSketchUnion":                        "HLLSketchMerge",
	"thetaSketchSetOp":                      "thetaSketch",
	"sketchSetOper":                         "thetaSketch",
	"thetaSketchConstant":                   "thetaSketch",
	"arrayOfDoublesSketchSetOp":             "arrayOfDoublesSketch",
	"arrayOfDoublesSketchConstant":          "arrayOfDoublesSketch",
	"arrayOfDoublesSketchToQuantilesSketch": "quantilesDoublesSketch",
}

// estimateOfPost is what a sketch that a post-aggregator gives counts, or the estimate that it
// gives with bounds; nil: it gives neither.
func estimateOfPost(p PostAggregator, x expr.Expr) (expr.Expr, error) {
	s, ok := p.(*SketchPost)
	switch {
	case ok && s.Type == "thetaSketchEstimate" && s.BoundsStdDev != nil:
		return call("$THETA_BOUNDED_ESTIMATE", x)
	case ok && rankedPosts[s.Type] != "":
		return finished(&SketchAggregator{Type: rankedPosts[s.Type]}, x)
	}
	return nil, nil
}

// estimateOf is what a sketch counts, finalized or not, or the value of a first or last with its
// time; nil: the aggregate is neither.
func estimateOf(a Aggregator, x expr.Expr, finalized bool) (expr.Expr, error) {
	switch a := a.(type) {
	case *FilteredAggregator:
		return estimateOf(a.Aggregator.Aggregator, x, finalized)
	case *SketchAggregator:
		if a.Deviations != nil && finalized && a.finalizes() && !sketchAggregators[a.Type].unbounded { // shown with its bounds
			return call("$THETA_BOUNDED_ESTIMATE", x)
		}
		plainly := *a
		plainly.ShouldFinalize, plainly.Deviations = nil, nil
		return finished(&plainly, x)
	case *CardinalityAggregator:
		return finished(a, x)
	case *SimpleAggregator: // a time and a value, or a sum and a count
		if x.Type().ComplexName() == meanType.ComplexName() && isMean(a) {
			return call("$MEAN", x)
		}
		d := simpleAggregators[a.Type]
		if !d.byTime || x.Type().ComplexName() != "json" {
			return nil, nil
		}
		value, err := call("JSON_VALUE", x, textLiteral("$.rhs"))
		if err != nil {
			return nil, err
		}
		return cast(value, expr.Of(d.cast))
	}
	return nil, nil
}
