// Package pgcatalog answers the statements that clients of PostgreSQL run over the system catalog,
// and those that read no table.
//
// Compile turns a query (package pg) into a Plan: every expression gets a type of PostgreSQL and a
// closure, as names are resolved. Plan.Run gives the rows. The tables of pg_catalog and
// information_schema are made of a Snapshot, which is what there is: datasources with their
// columns. Nothing here matches texts of known statements: joins, subqueries of outer columns,
// LATERAL, set-returning functions, grouping, windows and recursion are run as PostgreSQL runs
// them, row by row, over tables that are small.
//
//	snapshot.go   what there is, oids            tables*.go   the virtual tables
//	plan.go       queries: FROM, joins, sets     group.go     aggregates, windows
//	expr*.go      expressions and their types    func*.go     functions
//	data/         the catalog of PostgreSQL 15: columns of its tables, types, keywords, settings
//
// Oids of datasources are hashes of their names, so that they are the same in every session, on
// every Broker and after a restart. Statements over datasources are run by package sql.
package pgcatalog
