package lookup

import "time"

const (
	// entryBytes is what an entry of a table takes beside its texts: two string headers and its part
	// of the hash table.
	entryBytes = 64

	// reserveStep is how much memory is reserved at once while a table grows, so that the budget is
	// not asked for every entry.
	reserveStep = 1 << 20

	// retryPause is how long after a failure a source is read again, unless it is read more often
	// anyway.
	retryPause = 30 * time.Second

	// parallelLoads is how many sources are read at the same time. One that takes longer than slowLoad
	// is not counted any more, so that those that hang do not hold up the others.
	parallelLoads = 4
	slowLoad      = 5 * time.Second

	// settleTime is how long a start waits for lookups that are read from outside.
	settleTime = 30 * time.Second

	// jdbcTimeout and fileTimeout bound a reading unless the lookup says otherwise, by at most
	// maxTimeoutSeconds.
	jdbcTimeout = 60 * time.Second
	fileTimeout = 10 * time.Minute
	// topicWait is how long a reading of a topic waits for records, and how often partitions that
	// came are noticed; topicPause how long after one that brought some the next begins, so that what
	// comes one by one changes the table a few times a second; topicRetry how long after a failure.
	topicWait  = 10 * time.Second
	topicPause = 20 * time.Millisecond
	topicRetry = time.Second
	// topicRecords is after how many records of a topic the table has those, while more are read.
	topicRecords = 100_000

	// foldAbove is how many changes a table has before it is made anew, unless it has so many keys
	// that twice their square root is more: then copying the changes costs as much as making it anew.
	foldAbove = 1000

	// topicTimeout is that of a topic of Kafka, which is read from its beginning the first time.
	topicTimeout      = 10 * time.Minute
	maxTimeoutSeconds = 7 * 24 * 60 * 60

	// maxText and maxTextDepth bound a container in a message.
	maxText      = 2000
	maxTextDepth = 32
)
