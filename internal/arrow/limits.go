package arrow

const (
	// maxMetadata bounds the metadata of a message: 10,000 columns need about 2 MB.
	maxMetadata = 32 << 20
	// maxFields bounds the fields of a schema with those nested in them. References of a FlatBuffer
	// may share their targets, so that few bytes can describe many fields.
	maxFields = 20_000
	// maxDepth bounds the nesting of fields.
	maxDepth = 32
	// MaxBody is how many bytes the body of a message has at most, packed and unpacked.
	MaxBody = 1 << 30
	// freeRows is how many rows a batch may have whose columns take no bytes, such as those of type
	// null.
	freeRows = 1 << 16

	// batchBytes and batchRows end a record batch of the Writer. Two columns of int64 reach both at
	// once; larger batches don't make readers faster.
	batchBytes = 1 << 20
	batchRows  = 1 << 16
	// blockRows is how many rows are appended between checks of batchBytes at most, firstRows how many
	// while it is not known how large they are.
	blockRows = 1024
	firstRows = 64
	// maxOffset bounds the bytes of a column of strings, and the elements of a column of lists.
	maxOffset = 1<<31 - 1
	// keptValues and keptBytes bound a dictionary that is carried on to the next batch; a larger
	// one begins anew.
	keptValues = 1024
	keptBytes  = 64 << 10
	// alignment is that of buffers in a body.
	alignment = 64
)
