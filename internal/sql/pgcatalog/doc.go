// Package pgcatalog runs the statements of PostgreSQL clients that read the system catalog or no
// table.
//
// Compile converts a query (package pg) into a Plan: it resolves names, and assigns every
// expression a PostgreSQL type and a closure. Plan.Run returns the rows. The tables of pg_catalog
// and information_schema are built from a Snapshot of the datasources and their columns. The
// package does not match the texts of known statements: joins, correlated subqueries, LATERAL,
// set-returning functions, grouping, windows and recursion run as in PostgreSQL, row by row, over
// small tables.
//
//	snapshot.go   what there is, oids            tables*.go   the virtual tables
//	plan.go       queries: FROM, joins, sets     group.go     aggregates, windows
//	expr*.go      expressions and their types    func*.go     functions
//	data/         the catalog of PostgreSQL 15: columns of its tables, types, keywords, settings
//
// Oids of datasources are hashes of their names, so they are equal in every session, on every
// Broker and after a restart. Package sql runs statements over datasources.
package pgcatalog
