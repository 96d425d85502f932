package v9

const (
	// blockBytes is the size of a decompressed block: the writers' buffers have it.
	blockBytes = 64 << 10
	// maxMetaBytes bounds meta.smoosh and the JSON of descriptors and metadata.
	maxMetaBytes = 64 << 20
	// maxTable is the most values of a table-encoded column of longs.
	maxTable = 256
	// maxNesting bounds the depth of nested values, as elsewhere in JSON readers.
	maxNesting = 512
	// sharedNames and sharedTexts are how many names and texts a Smile document refers back to.
	sharedNames = 1024
	sharedTexts = 1024
	// sharedBytes is the length up to which they are.
	sharedBytes = 64
)
