// Package window computes window functions.
//
// New returns the operator of a plan.Window over unordered rows. It sorts them by partition and
// order, and computes the calls over whole partitions, or over one part of a partition after the
// other if all calls support that. NewOver is the same for sorted rows.
//
//	window.go     the operator: rows to partitions, and these to columns
//	functions.go  ranks, fractions and positions
//	aggregate.go  aggregates over frames; blocks.go: preaggregated rows for long frames; distinct.go
//	frame.go      the frame of a row
//	stream.go     calls that continue from part to part of a partition
//	long*.go      calls over a partition that does not fit in memory: its rows are in
//	              spill.Pages, and calls read them page by page
//
// A function computes over rows in memory, a longFunction over rows on disk; both compute the same
// values.
//
// Elsewhere: parallel windows (package exec), which divides partitions between operators of this
// package.
package window
