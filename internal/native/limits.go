package native

const (
	// maxDepth bounds how deep objects and lists of a query nest: decoding and translating recurse,
	// and each level is read once per level above it. Queries made by planners stay below 40.
	maxDepth = 100
	// maxExpressionDepth bounds the nesting of an expression text, for the same reason: the parser
	// recurses.
	maxExpressionDepth = 250
	// maxExpressionBytes bounds an expression text.
	maxExpressionBytes = 1 << 20
	// maxInlineValues bounds the values of an inline datasource.
	maxInlineValues = 1 << 22
	// maxReferences bounds how often virtual columns are put in place of their names, also in other
	// virtual columns: a chain in which each uses the one before twice would grow without end.
	maxReferences = 10_000
)
