// Package extsort implements an external merge sort for rows.
//
// The central type is Sorter, one worker of a sort, which writes sorted runs to memory and files.
// The workers share a Spec, which defines the sort keys and merges the runs of all workers. Over
// performs a complete sort with one worker.
//
//	sorter.go  rows to runs; with a limit, only rows that can be among the first
//	bound.go   the bound that excludes further rows of a limited sort
//	merge.go   merging of runs
//
// Elsewhere: the bytes of sort keys (vector.SortKeys), the operator that sorts the rows of all
// workers of a pipeline (package exec).
package extsort
