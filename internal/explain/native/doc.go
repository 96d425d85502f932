// Package native writes a plan as native queries of Apache Druid, for EXPLAIN PLAN FOR and for the
// query of a stage in task reports. See quirk Q015.
//
// Translate is the entry point. It optimizes the plan with rules that preserve the form of the
// statement, and converts it from the scans up into stages. A stage has three parts, which one
// native query can express; stage.go decides which part an operator changes:
//
//	rows      a datasource and a filter                       rows.go
//	grouped   keys, aggregates and a condition on groups      grouped.go
//	ordered   the output columns, their order and a limit     ordered.go
//
// Operators above them start the next stage, whose datasource is the query of the previous one. A
// stage then becomes a scan, timeseries, topN or groupBy (query.go, group.go), with its virtual
// columns (virtual.go), filters (filter.go) and aggregators (aggregator.go, distinct.go,
// sketch.go). forms.go is the table of functions that are not only expressions in native queries.
// union.go converts unions.
//
// Like Druid, the package simplifies a query before it writes it: conditions on one operand are
// combined (simplify.go, spans.go) and converted to filters in the order of Druid (combine.go),
// columns with one value become constants (equalities.go), lists are merged (lists.go), and
// constant rows are computed (constantrows.go, constants.go). See quirk Q015.
//
// The JSON is for people: nothing runs it. Plans that native queries cannot express (windows, set
// operations) are written in the same style, with the name of the operator as the query type.
// Package internal/native reads native queries of clients.
package native
