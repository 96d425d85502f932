// Package explain implements EXPLAIN PLAN FOR as in Apache Druid: the result contains the native
// queries, or the tree of operators, that Druid would run for the statement. Henge does not run
// them. See quirk Q015.
//
// Of is the entry point. It takes a bound statement (package sql) and chooses the writer of its
// plan:
//
//	shown.go    Of, the row of EXPLAIN PLAN FOR: plan, resources, attributes
//	native/     plans over datasources, as JSON of native queries
//	bindable/   plans over system tables, as trees of operators
//	rules/      rewrite rules that preserve the form of the statement, in place of rules
//	            that make it cheap to run
//
// Packages that run queries do not import this package. Reports of tasks use explain/native for
// their plans.
package explain
