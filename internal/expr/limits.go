package expr

import "github.com/hengedb/henge/internal/fault"

// Limits that keep hostile statements and data from exhausting the process.
const (
	// maxDepth bounds the nesting of an expression that is compiled; recursion over trees of that
	// depth needs a few megabytes of stack. AND, OR and IN lists are flat and don't count.
	maxDepth = 10_000

	// maxRepeatedParts bounds what an expression grows to where it is written once and compared more
	// than once, as by BETWEEN, IN and NULLIF: nested in each other they would double it, or more, at
	// every level.
	maxRepeatedParts = 50_000

	// maxDictCaches is how many dictionaries a node remembers its results for. A worker reads one
	// segment at a time, so few are live.
	maxDictCaches = 4

	// dictFree is the size up to which a dictionary is evaluated as a whole at first sight. A larger
	// one is when as many of its rows were seen or are to be expected, so that a query of few rows
	// does not pay for entries it never meets.
	dictFree = 1024

	// MaxText is the maximum length of a string that a function like REPEAT or LPAD may build, the
	// maximum length of an array in Java.
	MaxText = 1 << 28

	// maxBatchText bounds what the strings that a function makes for the rows of one batch have
	// together.
	maxBatchText = 1 << 29

	// maxConstantBytes bounds what is computed once, while planning, of strings and arrays: what is
	// larger is computed where its rows are, whose memory is counted.
	maxConstantBytes = 1 << 24

	// maxConstantsBytes bounds all constants that are computed once for a statement, of which those
	// below largeConstant don't count: the expressions of a statement have a limit of their own.
	maxConstantsBytes = 1 << 26
	largeConstant     = 1 << 10

	// maxListElements bounds the length of an array that ARRAY_SLICE may pad to.
	maxListElements = 1 << 24

	// maxLoopTurns bounds over how many values lambdas go for the rows of one batch: all of them are
	// there at once.
	maxLoopTurns = 1 << 25

	// maxFoldBytes bounds what a fold makes for the rows of one batch: a body that uses it twice
	// doubles it at every turn.
	maxFoldBytes = 1 << 28

	// maxArrayDepth bounds how deep arrays nest in arrays: types are compared and values copied level
	// by level.
	maxArrayDepth = 32
)

// CheckRepeated returns an error if an expression is too large to be compared several times.
// Columns and constants are never too large, because the statement contains the values with which
// they are compared.
func CheckRepeated(e Expr, times int, at fault.Span) error {
	switch e.(type) {
	case *Column, *Literal:
		return nil
	}
	parts := 0
	Walk(e, func(Expr) bool {
		parts += times
		return parts <= maxRepeatedParts
	})
	if parts > maxRepeatedParts {
		return fault.InvalidSQL(at, "Expression that is compared [%d] times here is too large: written out these have more than [%d] parts; compute it in a subquery",
			times, maxRepeatedParts)
	}
	return nil
}
