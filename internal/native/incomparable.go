package native

// incomparable says what a post-aggregator gives that has no order, by which groups can't be
// sorted; "" where it has one.
func incomparable(p PostAggregator) string {
	if f, ok := p.(*FieldPost); ok && f.Type == "fieldAccess" {
		return "values that are not finalized"
	}
	s, ok := p.(*SketchPost)
	if !ok {
		return ""
	}
	switch s.Type {
	case "HLLSketchEstimateWithBounds", "arrayOfDoublesSketchToEstimateAndBounds":
		return "arrays of estimates and error bounds"
	case "quantilesDoublesSketchToQuantiles", "KllDoublesSketchToQuantiles", "KllFloatsSketchToQuantiles":
		return "arrays of quantiles"
	case "quantilesDoublesSketchToCDF", "KllDoublesSketchToCDF", "KllFloatsSketchToCDF",
		"quantilesDoublesSketchToHistogram", "KllDoublesSketchToHistogram", "KllFloatsSketchToHistogram":
		return "histograms"
	case "quantilesDoublesSketchToString", "KllDoublesSketchToString", "KllFloatsSketchToString",
		"arrayOfDoublesSketchToString", "arrayOfDoublesSketchToBase64String":
		return "sketch summaries"
	case "arrayOfDoublesSketchToMeans":
		return "arrays of mean values"
	case "arrayOfDoublesSketchToVariances":
		return "arrays of variance values"
	case "arrayOfDoublesSketchToMetricsSumEstimate":
		return "arrays of estimate values"
	case "arrayOfDoublesSketchTTest":
		return "arrays of p values"
	}
	return ""
}
