// Package exec gives the operators: it runs a plan and yields its rows as batches.
//
// The central types are Operator, which is pulled for batches, and Env, all that a query's
// operators share: memory, spill files, threads, and the interfaces through which the owner of the
// tables hands out segments. Build makes operators of a plan node.
//
// The bottom of most plans is a chain of filters, projections, unnests and joins with small right
// sides over a scan. Such a chain is a Pipeline: its rows are cut into morsels (runs of rows of one
// segment) that workers take one by one, each with programs and buffers of its own. The groups of
// an aggregation come in parts and are the bottom of a pipeline, too. Who consumes a pipeline
// either gets each worker's batches where they arise (aggregates and sorts, which keep partial
// results per worker and merge them) or gathers them into one stream. All other operators run in
// the goroutine that pulls.
//
//	build.go root.go                plan nodes to pipelines and operators, and what is above all of them; need.go: which columns anybody looks at
//	pipeline.go gather.go           workers, and their batches in one stream; scheduler.go: how queries share the cores
//	fragment.go groupsout.go        parts that run on other servers, and the merging of what they give
//	scan.go orderedscan.go          segments to batches; scan_condition.go: what the filter asks of rows; scan_plan.go, scan_index.go,
//	                                scan_term.go, scan_number.go: what that means in one segment; codeset.go, keyset.go; narrow.go: what joins ask
//	                                scan_aside.go: few rows of several batches as one
//	filter.go project.go limit.go union.go unnest.go inline.go
//	aggregate*.go grouper.go        grouping; scatter.go: rows put aside when there are many groups (manygroups.go); groupparts.go,
//	                                indexedparts.go, mergegroups.go: what workers have, made one, part by part; groupfiles.go: groups that do
//	                                not fit in memory
//	summary.go                      blocks of rows by what segments know of them, in place of their rows
//	keytable.go keycolumn.go        numbers for keys: words (keywords.go), hash table (keyprobe.go); keyindex.go, keydeal.go, front.go: arrays in
//	                                place of hashing; keymet.go: sets of words
//	lexicon.go interner.go          numbers for text: of all queries, of one table
//	join*.go                        hash joins and nested loops; joinbuild.go, joinrows.go: the right side, read by all workers; jointable.go, joinhash.go,
//	                                joinfind.go: its rows by key, joinrange.go: in the order of a value
//	sort.go merge.go sortbound.go   sorting and top-N
//	setop.go
//	window*.go                      windows over partitions in memory; window_parts.go: by many workers; window_long*.go: over a partition that
//	                                does not fit, in pages.go
//	buckets.go                      times at which there may be no rows
//	shared.go                       what is computed once and read in several places
//	profile*.go                     what each operator does, here and on other servers, for EXPLAIN ANALYZE
//	partitions.go                   rows that do not fit in memory, in files by the hash of their keys
//
// What holds:
//  1. Goroutines are started by Group only; a panic in one becomes the query's failure, with its stack in the log.
//  2. Whatever buffers rows reserves their memory first. What can't be reserved goes to a spill file, or is refused with a fault.
//  3. Every operator calls stop with its context once per batch: it ends there when the query is cancelled, and lets others compute.
//  4. Text in a batch may lie in a mapped segment. It stays valid until the operators are closed; what lives longer copies it.
//
// Elsewhere: expressions (package expr), aggregate states (agg), segments (segment), where
// fragments run (dispatch).
package exec
