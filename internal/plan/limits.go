package plan

const (
	// maxPrintedValues is how many values of an IN list a plan shows.
	maxPrintedValues = 20

	// maxMergedNodes bounds the size of an expression that merging projections, or pushing a condition
	// through one, may build: beyond it the inner projection stays, or the condition, so that a tower
	// of subqueries that each use a column twice can't double an expression at every level.
	maxMergedNodes = 10_000
)
