// Package segment stores the rows of one segment in one immutable file, and gives them back a
// column at a time.
//
// A file is a header, one contiguous range of bytes per column, a footer that describes them all,
// and a tail that finds the footer:
//
//	+--------+----------+----------+-----+----------+--------+------+
//	| header | column 0 | column 1 | ... | column n | footer | tail |
//	+--------+----------+----------+-----+----------+--------+------+
//	           |                                      |
//	           | part | part | part                   | rows, times, sort order, statistics,
//	                                                    where each part lies, checksums of all parts
//
// The bytes are written down in docs/format/segment.md. Reading needs the tail, the footer and then
// only the ranges of the columns that are asked for. What stands at the paths of a nested column
// may be columns, too, behind those that rows have (paths.go).
//
// The central types: Segment, an open file (mapped, or read by ranges); Reader and Column, the
// reading interface that Segment offers; Live, rows in memory that grow and are read in the same
// way; Writer, which takes batches of rows, sorts them within a memory limit and writes a file;
// Merge, which makes one file of several Readers, with rollup if asked for. Inspect takes a file
// apart for people.
//
// A reader never trusts a byte. Structure is checked when a file is opened, contents by checksum
// and by range when they are first touched. What does not hold is an error that errors.Is knows as
// ErrCorrupt; mapped bytes that vanish under a reader are the same error when the reading runs
// inside Guard.
//
// Elsewhere on purpose: what a segment is called and which of them count (package timeline), where
// files are kept (package deepstore), what the values of a metric mean (package agg).
package segment
