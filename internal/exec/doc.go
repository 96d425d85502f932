// Package exec implements the operators: it runs a plan and yields its rows as batches.
//
// The central types are Operator, which is pulled for batches, and Env, the resources that the
// operators of a query share: memory, spill files, threads, and the interfaces through which the
// owner of the tables supplies segments. Build converts a plan node into operators.
//
// The bottom of most plans is a Pipeline: a scan with filters, projections, unnests and joins with
// small right sides above it. The rows of the scan are divided into morsels (runs of rows of one
// segment). Each worker takes one morsel at a time, and has its own programs and buffers. The
// groups of an aggregation are also divided into parts and can be the bottom of a pipeline.
// Aggregates and sorts consume the batches of each worker directly, keep partial results per worker
// and merge them. Other consumers gather the batches into one stream. All other operators run in
// the goroutine that pulls.
//
//	build.go root.go        plan nodes to pipelines and operators, and the root operator;
//	                        which joins run within a pipeline
//	wants.go need.go        requirements of a node on its input: order, columns
//	pipeline.go gather.go   workers, and their batches in one stream
//	fragment.go             parts that run on other servers, and merging of their results
//	groupsout.go            the same for groups
//	scan.go orderedscan.go  segments to batches
//	scan_condition.go       conditions of the filter; runtime_filter.go: runtime filters of joins
//	scan_plan.go            conditions within one segment: scan_index.go, scan_term.go, codeset.go,
//	                        scan_number.go
//	scan_pending.go         sparse rows of several batches, collected into one batch
//	filter.go project.go limit.go union.go unnest.go setop.go
//	aggregate*.go           grouping, with the tables of grouper.go
//	partitioner.go          radix partitioning of rows when there are many groups (group.go)
//	groupparts.go           merging of the groups of workers, part by part: indexedparts.go,
//	                        mergegroups.go
//	groupfiles.go           groups that do not fit in memory
//	summary.go              blocks of rows answered from their statistics
//	sort.go                 sorting and top-N of the rows of all workers
//	window.go               windows, in parallel by partition if that is cheaper
//	buckets.go              time buckets without rows
//	shared.go               common subplans, computed once
//	profile*.go             counters of each operator, local and remote, for EXPLAIN ANALYZE
//
// Invariants:
//  1. Goroutines are started by Group only; a panic in one fails the query and logs the stack.
//  2. An operator that buffers rows reserves their memory first. If the reservation fails, it
//     spills to a file or fails with a fault.
//  3. Every operator calls stop (scheduler.Yield) with its context once per batch: the call returns
//     an error if the query is cancelled, and lets other queries compute.
//  4. Strings of a batch may point into a mapped segment. They are valid until the operators are
//     closed; code that keeps them longer copies them.
//
// Packages below exec:
//
//	operator   the interface of operators, and shared resources
//	scheduler  sharing of the cores between queries
//	extsort    sorted runs, in memory and in files
//	spill      rows that do not fit in memory, by number and by key hash
//	join       hash joins, joins by binary search, nested loops
//	window     window functions over sorted partitions, in memory or on disk
//	keys       numbers for keys of groups and joins
//	progress   progress of queries
//
// Elsewhere: expressions (expr), aggregate states (agg), segments (segment), placement of fragments
// (dispatch).
package exec
