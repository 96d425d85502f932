package wire

const (
	// maxDepth bounds how deep nodes, expressions and types of a plan may nest, so that hostile bytes
	// can't exhaust the stack. The binder refuses statements far below it.
	maxDepth = 10_000

	// maxBytes is the largest plan: beyond it the constant rows in it are better gathered on the
	// Broker.
	maxBytes = 256 << 20
)
