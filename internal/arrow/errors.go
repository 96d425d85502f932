package arrow

import "github.com/hengedb/henge/internal/fault"

// damaged is the fault of bytes that are not a stream, or not a whole one.
func damaged(format string, args ...any) error {
	return fault.Malformed("The Arrow stream is damaged: "+format, args...)
}

// unsupported is the fault of a stream that uses what is not read here.
func unsupported(format string, args ...any) error {
	return fault.Unsupported("The Arrow stream can't be read; not supported: "+format, args...)
}
