package msq

import "time"

// loadPatience is how long a job waits for its segments to be loaded; what takes longer is no
// failure (docs/ingestion.md).
const loadPatience = 10 * time.Minute

// The limits of docs/ingestion.md. Those with a context parameter are in package querycontext.
const (
	// maxBuckets bounds the time chunks of a job: each is at least one segment.
	maxBuckets = 5000
	// maxColumns bounds the columns of a stage's output.
	maxColumns = 2000
	// maxWorkers bounds the workers of a stage.
	maxWorkers = 1000

	// maxWorkerRelaunches and maxJobRelaunches bound the attempts of faultTolerance beyond the first:
	// of one worker, and of all together.
	maxWorkerRelaunches = 2
	maxJobRelaunches    = 100

	// verboseParseWarnings and otherWarnings are how many warnings of a kind a worker keeps with their
	// text; the rest is counted.
	verboseParseWarnings = 5
	otherWarnings        = 10

	// reportRows is how many rows of a durable result a report repeats.
	reportRows = 3000

	// sortBufferBytes is the memory in which a worker sorts before it writes a run, when the job has
	// no smaller budget. Runs must be large enough that a merge of all fits in memory a buffer each.
	sortBufferBytes = 128 << 20
	// maxRunBytes bounds a run however much memory there is: the sort keys of a run have offsets of 32
	// bits.
	maxRunBytes = 1 << 30
	// keepShare is the part of the memory limit that the sorted rows of a stage may take instead of
	// going to disk, keepWideShare the part while half of the limit is free. keepMost is what they may
	// take at most: what is written stays in the operating system's cache, so that more in memory
	// makes no load faster.
	keepShare     = 8
	keepWideShare = 4
	keepMost      = 256 << 20
	// hashBufferBytes is the memory of all partitions of a hash shuffle.
	hashBufferBytes = 32 << 20
	// SplitBytes is the size of splits of large uncompressed files, minSplitBytes the minimum size if
	// splits are made smaller so that all workers have work.
	SplitBytes    = 64 << 20
	minSplitBytes = 4 << 20

	// frameBytes is about how large a frame of a shuffle gets: a merge holds one frame of every run.
	frameBytes = 256 << 10
)
