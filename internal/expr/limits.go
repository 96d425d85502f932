package expr

// Limits that keep hostile statements and data from exhausting the process.
const (
	// maxDepth bounds the nesting of an expression that is compiled; recursion over trees of that depth needs a few megabytes of stack.
	// AND, OR and IN lists are flat and don't count.
	maxDepth = 10_000

	// maxDictCaches is how many dictionaries a node remembers its results for. A worker reads one segment at a time, so few are live.
	maxDictCaches = 4

	// dictFree is the size up to which a dictionary is evaluated as a whole at first sight. A larger one is when as many of its rows
	// were seen or are to be expected, so that a query of few rows does not pay for entries it never meets.
	dictFree = 1024

	// maxText bounds the length of a string that a function like REPEAT or LPAD may build, as Java bounds an array.
	maxText = 1 << 28

	// maxListElements bounds the length of an array that ARRAY_SLICE may pad to.
	maxListElements = 1 << 24

	// maxArrayDepth bounds how deep arrays nest in arrays: types are compared and values copied level by level.
	maxArrayDepth = 32
)
