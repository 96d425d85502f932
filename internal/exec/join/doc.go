// Package join implements joins: hash joins for joins with keys, binary search in sorted rows for
// conditions that compare the two sides, and nested loops for other conditions.
//
// All workers first read the right side into a Build. If it fits in memory, it becomes a table that
// any number of workers of the left side probe (Build.Probe). If not, its rows are in files; New
// returns the operator for this case, and for a left side that is one stream.
//
//	build.go rows.go        the right side: merging of the rows of all workers
//	table.go hash.go        its rows by key: direct addressing of dense keys, or hashing
//	find.go range.go        the rows of a key; the rows of a key in the order of a value
//	probe.go                left batches joined with a table
//	worker.go unmatched.go  a worker of a parallel join; unmatched right rows for RIGHT and FULL
//	op.go grace.go          the operator over one stream; the grace hash join over files
//
// Elsewhere: words for keys and their hashes (package keys), joins within a pipeline and the
// runtime filters of its scan (exec), the order of joins and build sides (plan).
package join
