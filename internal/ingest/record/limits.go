package record

const (
	// MaxBytes is the maximum size of a record, which limits the memory of a reader. The engine
	// rejects rows larger than a frame (1 MB) anyway, but a record may be larger than the columns that
	// are kept of it.
	MaxBytes = 16 << 20

	// MaxFields is the maximum number of fields of a record. More fields indicate a wrong delimiter.
	MaxFields = 100_000

	// MaxDepth is the maximum nesting depth in the scanner. fastjson has the same limit.
	MaxDepth = 300
)
