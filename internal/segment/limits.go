package segment

const (
	// BlockRows is the number of rows of a block: rows of a numeric column that share a frame of
	// reference and bounds. It equals the size of a full batch, so scans decode whole blocks. It is
	// part of the format: changing it needs a new version.
	BlockRows = 4096

	// MaxRows limits the rows of a segment: row numbers are uint32 in selections and bitmaps, and int
	// elsewhere.
	MaxRows = 1<<31 - 1

	// chunkLog2 is the size of the pieces that have a checksum of their own: 64 KiB. Smaller pieces
	// make a selective first read cheaper and the footer larger (4 bytes each).
	chunkLog2 = 16

	// maxChunkLog2 bounds what a footer may claim.
	maxChunkLog2 = 30

	// maxDictBytes bounds the text of one dictionary: its offsets are uint32.
	maxDictBytes = 1<<32 - 1

	// plainDictBytes is the text up to which a dictionary is stored as it is: it is decoded by doing
	// nothing.
	plainDictBytes = 128 << 10

	// dictBlockBytes and dictBlockEntries are the size at which a block of a packed dictionary is
	// closed: looking up one value decodes one block. They are part of the format: a reader refuses
	// larger blocks, unless they are of one value.
	dictBlockBytes   = 64 << 10
	dictBlockEntries = 1024

	// maxDictHeaderBytes bounds the lengths in a block: two varints of five bytes for each value.
	maxDictHeaderBytes = 10 * dictBlockEntries

	// decodedShare is the share of the memory limit, 1 of so many, that decoded dictionaries may take;
	// defaultDecodedBytes is what they may when nobody gave a limit (command line tools and tests).
	decodedShare        = 8
	defaultDecodedBytes = 256 << 20

	// sparseValues is how many blocks of a packed dictionary there must be for each row to make
	// decoding only the rows' values worth it.
	sparseValues = 2

	// maxFooterBytes bounds the footer: a hostile tail must not make a reader of ranges allocate
	// without bound.
	maxFooterBytes = 1 << 30

	// maxColumnDepth bounds the nesting of lists. It matches the depth that vector.ParseType accepts.
	maxColumnDepth = 16

	// defaultBitmapValues is the number of distinct values up to which a string column gets a bitmap
	// index. Above it the bitmaps of rare values cost more than they save; measured at about 5,000 in
	// the experiment.
	defaultBitmapValues = 5000

	// WorthIndexing is the number of rows from which on a bitmap index pays: the codes of fewer rows
	// are read in microseconds, while bitmaps and their offsets took half of a segment of 3,000 rows.
	WorthIndexing = 8192

	// defaultBufferBytes is what a writer holds in memory before it spills a sorted run.
	defaultBufferBytes = 256 << 20

	// maxBufferBytes bounds that memory: buffered strings, which may be kept more than once, have
	// offsets of 32 bits.
	maxBufferBytes = 2 << 30

	// turnBufferBytes is the write buffer of a column that is written beside others, and
	// maxHeldColumnBytes what may wait in memory until the columns before it are written, in pieces of
	// heldPieceBytes.
	turnBufferBytes    = 64 << 10
	maxHeldColumnBytes = 32 << 20
	heldPieceBytes     = 256 << 10

	// blobBlockBytes is the size at which a block of opaque values is closed: large enough to
	// compress, small enough that reading one row does not decode much.
	blobBlockBytes = 64 << 10

	// maxBlobBytes bounds one opaque value, and so what decoding one block may allocate beyond
	// blobBlockBytes.
	maxBlobBytes = 1 << 30

	// boundBytes is how much of the least and the greatest string the footer keeps.
	boundBytes = 64

	// jsonDictValues is the number of distinct nested values up to which they are stored as a
	// dictionary.
	jsonDictValues = 1 << 16

	// exactDistinct is the number of distinct numbers up to which the count is exact.
	exactDistinct = 1024

	// maxRuns bounds the inputs of one merge: the input of each row is noted in 16 bits.
	maxRuns = 1<<16 - 1

	// mergeWindowRows is the number of rows that a merge holds of each input, divided among many
	// inputs down to the minimum.
	mergeWindowRows    = 1 << 20
	minMergeWindowRows = 64

	// maxPathColumns is how many paths of a nested column become columns, those that most rows have;
	// pathShare is the share of rows, 1 of so many, that must have one. Each costs an entry in the
	// footer, and a path that few rows have is found fast enough in their text.
	maxPathColumns = 100
	pathShare      = 16

	// maxPathDepth, maxPathNodes and maxPathBytes bound the paths that are looked at while a nested
	// column is written: how deep objects lie in each other, how many different names they have in
	// all, and how long the text of a path is. What is beyond has no columns.
	maxPathDepth = 16
	maxPathNodes = 1000
	maxPathBytes = 1000

	// maxPathValueBytes is the memory that the values at the paths of one column may take while it is
	// written. Beyond, the paths with the most values have no columns.
	maxPathValueBytes = 256 << 20

	// exactWholes: whole numbers up to it are doubles, too.
	exactWholes = 1 << 53
)
