package workbench

import "time"

const (
	// maxSegments is how many segments of a datasource are described for its statistics: those of a
	// large one are a sample, spread evenly over its time.
	maxSegments = 64
	// maxColumns bounds the columns of one answer, the first in the order of the schema.
	maxColumns = 2000
	// countedValues is how many entries a dictionary may have whose values are counted by its index,
	// and estimatedValues how many whose values enter the estimate of different values.
	countedValues, estimatedValues = 5_000, 50_000
	// sentValues is how many counted values of a column go between servers, shownValues how many are
	// answered, and valueBytes how long one may be: longer ones are left out.
	sentValues, shownValues, valueBytes = 500, 10, 256
	// sentRanges is how many ranges of blocks of a column go between servers.
	sentRanges = 128
	// alikeBlocks is which share of the range of all blocks one may have until it says too little.
	alikeBlocks = 0.25
	// histogramBuckets is how many buckets a histogram has at most.
	histogramBuckets = 24
	// sketchLog is the size of the sketches of different values: an error of some 3%.
	sketchLog = 11

	// savedPage and maxSavedPage are how many saved queries are listed at a time.
	savedPage, maxSavedPage = 100, 500
	// maxSavedName is in characters, the others in bytes: a statement as long as people write them.
	maxSavedName, maxSavedStatement, maxSavedView, maxSavedBody = 200, 256 << 10, 32 << 10, 1 << 20
	// savedID is how long the id of a saved query is: 60 bits, short in a link.
	savedID = 12

	// maxTails is how many live tails a process has at most: each asks a small query every second.
	maxTails = 64
	// tailRows are the rows that a tail begins with unless it is asked for another number, and
	// maxTailRows what it may begin with, and gives at a time.
	tailRows, maxTailRows = 100, 1000
	// tailEvery is how often a tail looks, between leastEvery and mostEvery, and tailLasts how long
	// one lasts: whoever is still there asks again.
	tailEvery, leastEvery, mostEvery, tailLasts = time.Second, 200 * time.Millisecond, time.Minute, time.Hour
	// tailAlive is how often a tail without rows says that it lives.
	tailAlive = 15 * time.Second
	// tailOverlap is how far behind the newest row a tail looks: rows come a little out of order.
	tailOverlap = 10 * time.Second
)
