package ingest

const (
	// defaultChunkBytes is how much text a decoder takes at once: some thousand records, and small
	// enough that the chunks in flight stay a few MB.
	defaultChunkBytes = 1 << 20

	// smallChunk is the least that is read at once of a file that is smaller than a chunk.
	smallChunk = 4 << 10

	// chunksInFlight is how many chunks per decoder are read ahead: enough that decoders go on while
	// their rows are waited for.
	chunksInFlight = 2

	// defaultMaxRecordBytes bounds one record, and with it the memory of a reader. The engine refuses
	// rows over a frame (1 MB) anyway; a record may be larger than the columns kept of it.
	defaultMaxRecordBytes = 16 << 20

	// maxErrorRow cuts the text of a record in a parse error, so that a bad row can't blow up a
	// report.
	maxErrorRow = 1024

	// maxFields bounds the fields of one record: more is no table but a mistake in the delimiter.
	maxFields = 100_000

	// maxJSONDepth bounds nesting of what the scanner looks at; fastjson has the same limit for what
	// it parses.
	maxJSONDepth = 300

	// maxSplits bounds how many parts one file is cut into.
	maxSplits = 1024

	// maxSourceObjects bounds the list of a source before any worker limit applies: a listing is held
	// in memory.
	maxSourceObjects = 1_000_000

	// bombBytes and bombRatio tell a decompression bomb: so much unpacked data, from so much less.
	// Logs of one repeated line stay below.
	bombBytes = 256 << 20
	bombRatio = 2_000

	// zstdWindow bounds the window a zstd frame, or the dictionary an xz block, may ask for.
	zstdWindow = 128 << 20

	// spoolMemory is how much of an input that must be read at any place is kept in memory rather than
	// in a temporary file.
	spoolMemory = 8 << 20

	// defaultMaxSpoolBytes bounds the temporary copy of one input.
	defaultMaxSpoolBytes = 64 << 30

	// sniffBytes is how much of a file is read to guess its shape.
	sniffBytes = 1 << 20
)
