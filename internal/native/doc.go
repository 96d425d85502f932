// Package native implements the JSON query language: it decodes native queries (timeseries, topN,
// groupBy, scan, search, timeBoundary, segmentMetadata, dataSourceMetadata) into typed structs and
// translates them into plans, like SQL.
//
// The central types are Query, the sum of the decoded query types, and Plan, a plan with the names
// and meaning of its columns. Decode checks a body and returns a Query; Translate converts queries
// over rows into a Plan, with the tables of a Catalog.
//
//	decode.go                        polymorphic JSON: tables of types, depth limit, faults with the
//	                                 path
//	query.go datasource.go           queries and their datasources
//	filter.go dimension.go extraction.go aggregator.go having.go limitspec.go virtual.go
//	searchquery.go
//	                                 the parts of queries, as in the JSON
//	lexer.go parser.go               the native expression language
//	expression.go functions.go lambda.go coerce.go
//	                                 its binding to package expr: names, functions, loops, and the
//	                                 conversions between all types
//	numbers.go texts.go times.go lists.go conditional.go
//	                                 the families of its functions
//	translate.go relation.go         queries and datasources to plan nodes
//	condition.go extract.go          filters, extraction functions and dimensions to expressions
//	group.go aggregate.go topn.go order.go rank.go scan.go search.go
//	                                 grouping, ordering and limits; scans and searches
//	fold.go collect.go intermediate.go aggregators that fold by an expression; intermediate values of
//	                                 aggregates
//
// Columns of a Plan have the types of native queries: times and booleans are LONG.
//
// Elsewhere: running (package exec through broker), the JSON of results and HTTP (package
// api/nativequery), writing plans as native queries for EXPLAIN (package explain/native).
package native
