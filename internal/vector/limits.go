package vector

const (
	// BatchRows is the number of rows of a full batch. 4,096 was the fastest in measurements; tests
	// also run with 3.
	BatchRows = 4096

	// maxTypeDepth bounds the nesting of a parsed type name or a decoded type, so that hostile input
	// can't exhaust the stack.
	maxTypeDepth = 16

	// maxFrameRows, maxFrameColumns and maxFrameBytes bound what a decoder believes of a frame's
	// header. A list column may have more elements than its batch has rows, hence far more than
	// BatchRows. Columns are counted in 16 bits.
	maxFrameRows    = 1 << 24
	maxFrameColumns = 1<<16 - 1
	maxFrameBytes   = 1 << 30

	// splitFrameBytes is the size above which FrameWriter cuts a batch, so that readers need little
	// memory at once.
	splitFrameBytes = 16 << 20
)
