// Package v9 reads segments of the reference system: those of format version 9, which it has
// written since 2014.
//
// The central type is Segment, an open segment. It tells the columns with our types and gives the
// values of one column at a time as a vector; a conversion is one pass over the columns (package
// tasktype/imports). Nothing of a segment stays in memory but the table of its parts.
//
// A segment is a folder:
//
//	version.bin                the number 9
//	meta.smoosh                a text that says where each part is: name, file, from, to
//	00000.smoosh, 00001...     the parts, one after the other
//
// Parts are index.drd (the names of the columns, the interval, the kind of bitmaps), metadata.drd
// (JSON: aggregators, granularity, order), one per column, and for many columns further ones whose
// name begins with the column's. The part of a column begins with a JSON descriptor that names the
// encodings of what follows it. Numbers are big-endian unless the descriptor gives a byte order for
// values.
//
//	smoosh.go, segment.go      the folder, the descriptors, Segment
//	cursor.go, indexed.go      reading bytes; lists of values of any length
//	compress.go, ints.go, longs.go, doubles.go, blob.go   blocks of values
//	text.go, fixed.go, bitmap.go   dictionaries, bitmaps
//	strings.go, common.go, nested.go, smile.go   columns of strings, of the common format, of nested values
//
// A reader never trusts a byte: what does not hold is an error that errors.Is knows as
// segment.ErrCorrupt, what is well-formed but not known here one that it knows as ErrUnknown.
// Indexes are not read: those of the converted segment are built anew.
package v9

import (
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
)

// ErrUnknown marks the refusal of an encoding or type that this package does not read.
var ErrUnknown = errors.New("encoding of a segment is not known")

// corrupt returns the error for bytes that no writer of the format makes.
func corrupt(part, format string, args ...any) error {
	return fault.Runtime("The imported segment is corrupt, part [%s]: %s", part, fmt.Sprintf(format, args...)).WithCause(segment.ErrCorrupt)
}

// unknown returns the error for what may be right but is not read here.
func unknown(part, format string, args ...any) error {
	return fault.Unsupported("The imported segment can't be read, part [%s]: %s", part, fmt.Sprintf(format, args...)).WithCause(ErrUnknown)
}
