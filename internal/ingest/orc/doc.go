// Package orc reads Apache ORC files, version 1 of the format, which all writers write: the end of
// a file, and the streams of its stripes column by column.
//
// Open is the entry point. The path of a value:
//
//	source ─► Open: postscript, footer, types, stripes
//	  File.Open(stripe) ─► Reader ─► Column: one column of the stripe
//	    stream ─► pieces, unpacked ─► runs ─► value ─► record.Object, or unboxed
//
// Files are not trusted: lengths are checked against the stored bytes, allocations are bounded by
// limits beside the allocating code, and the package does not panic on any input. File.Damaged
// converts failures into faults.
//
// Package ingest opens the bytes, divides a file into splits by its stripes, and converts the
// values into columns.
package orc
