// Package segment stores the rows of a segment in one immutable file, and reads them by column.
//
// A file consists of a header, one contiguous range of bytes per column, a footer that describes
// all ranges, and a tail that locates the footer:
//
//	+--------+----------+----------+-----+----------+--------+------+
//	| header | column 0 | column 1 | ... | column n | footer | tail |
//	+--------+----------+----------+-----+----------+--------+------+
//	           |                                      |
//	           | part | part | part                   | rows, times, sort order, statistics,
//	                                                    where each part lies, checksums of all parts
//
// docs/format/segment.md specifies the bytes. A reader needs the tail, the footer and the ranges of
// the requested columns. The values at paths of a nested column can be columns too; their ranges
// follow the other columns (paths.go).
//
// The central types are Segment, an open file (mapped, or read by ranges); Reader and Column, the
// reading interface of Segment; Live, growing rows in memory with the same reading interface;
// Writer, which takes batches of rows, sorts them within a memory limit and writes a file; and
// Merge, which combines several Readers into one file, with optional rollup. Inspect prints the
// parts of a file for people.
//
// A reader does not trust the file. It checks the structure when a file is opened, and the
// contents, by checksum and by range, when they are first read. A violation is an error for which
// errors.Is(err, ErrCorrupt) holds. If mapped bytes disappear while they are read inside Guard, the
// error is the same.
//
// Elsewhere on purpose: identity and visibility of segments (package timeline), storage of files
// (package deepstore), the meaning of metrics (package agg).
package segment
