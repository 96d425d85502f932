// Package exec gives the operators: it runs a plan and yields its rows as batches.
//
// The central types are Operator, which is pulled for batches, and Env, all that a query's operators share: memory, spill files,
// threads, and the interfaces through which the owner of the tables hands out segments. Build makes operators of a plan node.
//
// The bottom of most plans is a chain of filters and projections over a scan. Such a chain is a Pipeline: its rows are cut into
// morsels (runs of rows of one segment) that workers take one by one, each with programs and buffers of its own. Whoever consumes a
// pipeline either gets each worker's batches where they arise (aggregates, which keep partial results per worker) or gathers them
// into one stream (Build). All other operators run in the goroutine that pulls.
//
// What holds:
//  1. Goroutines are started by Group only; a panic in one becomes the query's failure, with its stack in the log.
//  2. Whatever buffers rows reserves their memory first. What can't be reserved goes to a spill file, or is refused with a fault.
//  3. Every operator looks at its context once per batch.
//
// Elsewhere: expressions (package expr), aggregate states (agg), segments (segment), where fragments run (dispatch).
package exec
