// Package nativejson writes a plan as the native queries of the reference system: what EXPLAIN PLAN
// FOR shows, and what task reports show as the query of a stage.
//
// Explain is the entry. It optimizes the plan with the rules that keep the statement's shape and
// reads it from the scans up into stages: a datasource, a filter, expressions, groups, an order and
// a limit, which is as much as one native query does. What comes after that starts the next stage,
// whose datasource is the query before (stage.go). A stage then becomes a scan, timeseries, topN or
// groupBy (query.go, group.go), with its virtual columns (virtual.go), filters (filter.go) and
// aggregators (aggregator.go, distinct.go, sketch.go). What the branches of a union are is in
// union.go.
//
// The reference simplifies before it shows, and so does this: what conditions say of one operand is
// joined (simplify.go, spans.go) and made filters of filters in its order (combine.go), columns
// with one value are constants (fixed.go), lists are joined (lists.go), and rows of constants are
// computed (rows.go, constants.go).
//
// The JSON is for reading: nothing here runs it, and plans that no native query can express
// (windows, set operations) are written in the same style, with an operator's name as the query
// type. Native queries that clients send are the business of internal/native.
package nativejson
