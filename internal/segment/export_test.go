package segment

// What the tests of the written format, which know nothing else of this package, are given to read.
var (
	TestColumns    = allTypes
	TestRows       = randomRows
	TestRowsAsKept = func(rows rowsOf) [][]any { return plainSingle(sortedByTime(rows)) }
	WriteTestRows  = writeRows
)
