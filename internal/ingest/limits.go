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

	// maxSplits bounds how many parts one file is cut into.
	maxSplits = 1024

	// maxSourceObjects bounds the list of a source before any worker limit applies: a listing is held
	// in memory.
	maxSourceObjects = 1_000_000

	// bombRatio is how many times its size data may unpack to where Access does not say. Deflate packs
	// zeros to a thousandth and logs to a fiftieth.
	bombRatio = 500

	// spoolMemory is how much of an input that must be read at any place is kept in memory rather than
	// in a temporary file.
	spoolMemory = 8 << 20

	// defaultMaxSpoolBytes bounds the temporary copy of one input.
	defaultMaxSpoolBytes = 64 << 30

	// sniffBytes is how much of a file is read to guess its shape.
	sniffBytes = 1 << 20
)
