package sql

const (
	// maxQueryDepth bounds how deep queries nest in queries. Each level costs several passes their
	// stack.
	maxQueryDepth = 200

	// maxExpansions bounds how often WITH queries are used in a statement: each use is bound anew, and
	// a tower of them that each use the one below twice would double at every level.
	maxExpansions = 1000

	// expressionsPerQuery is what a query, such as an arm of a UNION, counts for among
	// syntax.MaxExpressions.
	expressionsPerQuery = 10

	// maxColumns bounds the columns of a relation; beyond it the placeholders of a block would collide
	// with columns.
	maxColumns = 1 << 20

	// maxInValuesBytes bounds what "multi-value string IN (query)" collects; other forms of IN join
	// and have no bound.
	maxInValuesBytes = 1 << 30

	// maxGroupingSets bounds what CUBE and products of grouping sets may grow to.
	maxGroupingSets = 4096

	// maxOperators bounds the operators of a correlated subquery's plan: a query in queries that uses
	// columns of all of them joins the values of each, which are those of the queries around it, too,
	// and so on.
	maxOperators = 10_000

	// maxPlaceholders bounds the aggregates, the window calls, the subqueries and the outer references
	// of one block, each.
	maxPlaceholders = 1 << 20
)

// Columns with indexes from these on are placeholders in the expressions of a block that is being
// bound; see the package comment.
const (
	aggregateBase  = 1 << 21
	windowBase     = 1 << 22
	subqueryBase   = 1 << 23
	correlatedBase = 1 << 24
	passedBase     = 1 << 25 // outer columns that a decorrelator leaves to the next query around
)
