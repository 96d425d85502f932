// Package spill stores rows that do not fit in memory in files.
//
//	pages.go       Pages: rows by number, in any order
//	partitions.go  Partitions: rows by key hash, for a grace hash join
//
// Files are temporary; closing them removes them.
//
// Elsewhere: sorted runs (package extsort), the location and the size limit of files
// (budget.SpillDir), their format (vector.FrameWriter).
package spill
