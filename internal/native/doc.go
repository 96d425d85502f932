// Package native gives the JSON query language: it decodes native queries (timeseries, topN,
// groupBy, scan, search, timeBoundary, segmentMetadata, dataSourceMetadata) into typed structs and
// translates them into the plan that SQL is translated into as well.
//
// The central types are Query, the sum of the decoded query types, and Plan, a plan with the names
// and meaning of its columns. Decode checks a body and returns a Query; Translate turns those that
// are about rows into a Plan against a Catalog.
//
//	decode.go                        polymorphic JSON: tables of types, depth limit, faults with the path
//	query.go datasource.go           queries and what they read
//	filter.go dimension.go extraction.go aggregator.go having.go limitspec.go virtual.go searchquery.go
//	                                 the parts of queries, as they are on the wire
//	lexer.go parser.go               the native expression language
//	expression.go functions.go lambda.go coerce.go
//	                                 its binding to package expr: names, functions, loops, and the conversions between all types
//	numbers.go texts.go times.go lists.go choices.go
//	                                 the families of its functions
//	translate.go relation.go         queries and datasources to plan nodes
//	condition.go extract.go          filters, extraction functions and dimensions to expressions
//	group.go aggregate.go topn.go order.go rank.go scan.go search.go
//	                                 grouping, ordering and limits; scans and searches
//	fold.go collect.go unfinished.go aggregators that fold by an expression; what aggregates keep before they are finished
//
// Columns of a Plan have the types that native queries know: times and booleans are LONG.
//
// Elsewhere: running (package exec through broker), the JSON of answers and everything over HTTP
// (package api/nativequery), writing plans as native queries for EXPLAIN (package plan/nativejson).
package native
