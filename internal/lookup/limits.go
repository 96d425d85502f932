package lookup

import "time"

const (
	// entryBytes is what an entry of a table takes beside its texts: two string headers and its part of the hash table.
	entryBytes = 64

	// reserveStep is how much memory is reserved at once while a table grows, so that the budget is not asked for every entry.
	reserveStep = 1 << 20

	// retryPause is how long after a failure a source is read again, unless it is read more often anyway.
	retryPause = 30 * time.Second

	// parallelLoads is how many sources are read at the same time: enough that one that hangs does not hold up the others.
	parallelLoads = 4

	// jdbcTimeout bounds a reading from a database unless the lookup says otherwise.
	jdbcTimeout = 60 * time.Second

	// maxText and maxTextDepth bound a container in a message.
	maxText      = 2000
	maxTextDepth = 32
)
