// Package v9 reads segments of Apache Druid in format version 9, which Druid has written since
// 2014.
//
// The central type is Segment, an open segment. It returns the columns with the types of Henge, and
// the values of one column at a time as a vector; a conversion is one pass over the columns
// (package tasktype/imports). An open segment keeps only the table of its parts in memory.
//
// A segment is a folder:
//
//	version.bin                the number 9
//	meta.smoosh                text, the location of each part: name, file, from, to
//	00000.smoosh, 00001...     the parts, one after the other
//
// The parts are index.drd (the names of the columns, the interval, the kind of bitmaps),
// metadata.drd (JSON: aggregators, granularity, order), and one part per column; many columns have
// further parts, whose names begin with the name of the column. The part of a column begins with a
// JSON descriptor that names the encodings of the following bytes. Numbers are big-endian unless
// the descriptor defines a byte order for values.
//
//	smoosh.go, segment.go      the folder, the descriptors, Segment
//	cursor.go, indexed.go      reading bytes; lists of values of any length
//	compress.go, ints.go, longs.go, doubles.go, blob.go   blocks of values
//	text.go, fixed.go, bitmap.go   dictionaries, bitmaps
//	strings.go, common.go, nested.go, smile.go   columns of strings, of the common format, of nested
//	                                             values
//
// A reader does not trust the file. A violation is an error for which errors.Is(err,
// segment.ErrCorrupt) holds; well-formed but unsupported data is an ErrUnknown. Indexes are not
// read: the writer of the converted segment rebuilds them.
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
