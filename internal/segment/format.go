package segment

// Version is the format version that this release writes, and the highest that it reads; it reads
// all lower versions. Versions only increase. Additions that an older reader may skip do not need a
// new version (see record.go). Version 2 added bit-packed blocks of integers.
const Version = 2

const (
	magic      = "HENGESEG"
	headerSize = 16 // magic, version, zero
	tailSize   = 32 // footer offset, footer length, footer checksum, version, tail checksum, magic

	columnAlign = 64 // a column's range begins on a cache line
	partAlign   = 8  // a part begins where any number may be read in place
	frameSlack  = 8  // zero bytes after frame-of-reference data, so that its last value can be read as eight bytes
)

// encoding is how a column's values are laid out.
type encoding uint8

const (
	encNull  encoding = 1 // every row is null (or there are none): no parts
	encDict  encoding = 2 // sorted dictionary and codes: strings, repetitive nested values
	encFrame encoding = 3 // frame of reference per block: longs
	encRaw   encoding = 4 // plain little-endian numbers: doubles, floats
	encList  encoding = 5 // offsets into an element column
	encBlob  encoding = 6 // blocks of opaque values, compressed where it pays
)

func (e encoding) String() string {
	switch e {
	case encNull:
		return "null"
	case encDict:
		return "dictionary"
	case encFrame:
		return "frame-of-reference"
	case encRaw:
		return "raw"
	case encList:
		return "list"
	case encBlob:
		return "blob"
	}
	return "unknown"
}

// partKind is what the bytes of a part are. Like record tags, even kinds must be understood, odd
// ones may be ignored: they only make reading faster.
type partKind uint32

const (
	partValid       partKind = 2  // bit per row, set: the row has a value
	partDictOffsets partKind = 4  // uint32 per entry, and one more
	partDictBytes   partKind = 6  // the entries' bytes, one after the other
	partCodes       partKind = 8  // dictionary code per row, 1, 2 or 4 bytes
	partBlocks      partKind = 10 // numeric block directory
	partData        partKind = 12 // numeric values
	partListOffsets partKind = 14 // uint32 per row, and one more
	partBlobBlocks  partKind = 16 // blob block directory
	partBlobData    partKind = 18 // blob blocks
	partDictBlocks  partKind = 30 // directory of a packed dictionary
	partDictData    partKind = 32 // blocks of a packed dictionary

	partIndexOffsets partKind = 21 // uint64 per entry, and one more
	partIndexBitmaps partKind = 23 // a Roaring bitmap of rows per entry
	partSums         partKind = 31 // sum of the values of each block, int64 or float64
	// 25 and 27 are kept for postings of columns with many values, 29 for row counts per entry.
)

func (k partKind) optional() bool { return k&1 == 1 }

func (k partKind) String() string {
	switch k {
	case partValid:
		return "validity"
	case partDictOffsets:
		return "dictionary offsets"
	case partDictBytes:
		return "dictionary bytes"
	case partCodes:
		return "codes"
	case partBlocks:
		return "blocks"
	case partData:
		return "data"
	case partListOffsets:
		return "list offsets"
	case partBlobBlocks:
		return "blob blocks"
	case partBlobData:
		return "blob data"
	case partDictBlocks:
		return "dictionary blocks"
	case partDictData:
		return "dictionary data"
	case partIndexOffsets:
		return "index offsets"
	case partIndexBitmaps:
		return "index bitmaps"
	case partSums:
		return "block sums"
	}
	return "unknown"
}

// Sizes of directory entries.
const (
	frameBlockSize = 32 // min int64, max int64, unit uint64, place uint64 (offset << 8 | width, see frameBlock)
	rawBlockSize   = 24 // min float64, max float64, flags uint64
	dictBlockSize  = 32 // first code, bytes of text, of the first value, packed, stored, codec: uint32 each; offset uint64
	blobBlockSize  = 24 // first row, bytes when decoded, bytes as stored, codec: uint32 each; offset uint64
)

// Flags of a raw block.
const (
	rawBlockNaN   = 1 // the block holds a NaN: its bounds say nothing about it
	rawBlockEmpty = 2 // the block has no values: its bounds mean nothing
)

// Codecs of a block of opaque values or of a dictionary.
const (
	codecNone = 0
	codecZstd = 1
)
