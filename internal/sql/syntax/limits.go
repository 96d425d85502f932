package syntax

const (
	// maxTextBytes bounds a statement; token offsets are 32 bits wide. Bodies of requests are bounded
	// far below at the edge.
	maxTextBytes = 1 << 30

	// maxNesting bounds how deep the grammar recurses (parentheses, subqueries, CASE, NOT NOT ...). A
	// level costs the parser below 2 KB of stack and every later pass a few frames; people's queries
	// stay below 50.
	maxNesting = 2_000

	// maxHeight bounds the height of a tree built by iteration: a - b - c ... nests to the left
	// without the parser recursing, yet every later pass recurses over it. AND, OR, || and set
	// operations of one kind are flat lists, which MaxExpressions bounds.
	maxHeight = 10_000

	// MaxExpressions limits the names, calls, constants in select lists and in ORDER BY and GROUP BY,
	// statements and WITH queries of a text. The binder applies the same limit to the expressions that
	// it binds. Binding, rewriting and compiling an expression takes a few microseconds, so the
	// largest statement takes less than a second.
	MaxExpressions = 100_000

	// maxNameParts bounds the parts of a name with dots; no name has more than a schema, a table and a
	// column.
	maxNameParts = 16

	// maxNoted bounds how far into a text a token that is unexpected may be for its error to say what
	// could have stood there: that takes reading the text twice more.
	maxNoted = 100_000
)
