// Package keys assigns numbers to the keys of groups, of joins and of DISTINCT.
//
// The central type is Table, which numbers the distinct rows of some key columns 0, 1, 2, ...
//
//	table.go column.go words.go  conversion of columns to words, of words to numbers, and back
//	probe.go                     the hash table: open addressing, one batch of rows at a time
//	index.go striped.go          arrays in place of hashing, addressed by words
//	direct.go                    the direct-address table, addressed by dictionary codes
//	distinct.go                  bitmap distinct: a set of words, for DISTINCT of one column
//	set.go                       sets of keys, for runtime filters of scans
//	interner.go                  numbers for the strings of one table
//	globaldict.go                numbers for strings that all queries of the process share
//	textorder.go                 these strings in their order, to be merged with dictionaries
//
// The methods of a Table work on batches. Loops over rows stay inside the package, so the compiler
// can inline the functions that they call. Except for its readers, a Table belongs to one
// goroutine.
//
// Elsewhere: the states of groups (package agg), grouping and merging (exec).
package keys
