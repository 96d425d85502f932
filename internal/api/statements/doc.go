// Package statements gives asynchronous SQL: statements that are submitted, polled and whose
// results are fetched in pages (/service/v2/sql/statements, spec/sql.md, section 3), and SQL as a
// task (/service/v2/sql/task, spec/ingestion.md, section 1).
//
// Both are tasks of one kind. The central type is API; what it needs of the Overlord is the
// interface Tasks. The state of a statement is that of its task, its rows are pages that package
// msq kept, and what the two shapes of answer have in common is here.
package statements
