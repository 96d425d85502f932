// Package expr gives scalar expressions: their types, the catalog of functions, and their
// evaluation over batches.
//
// An Expr is an immutable typed tree over the columns of one input. It is built by the binder of a
// front end through NewCall, NewCompare, NewCast and their siblings, which check arguments, insert
// the implicit casts of the SQL dialect and map functions over the values of multi-value strings.
// Fold turns what is constant into literals and pins the time zone and the current time. Compile
// makes a Program of it, which maps a vector.Batch to a vector or to a selection of rows:
//
//	binder: LENGTH(dim) > 2  ->  >(CAST(LENGTH(dim)), 2)  ->  Program  ->  Filter(batch) = rows 0, 7, 9
//
// While running, values have the physical types of package vector: a BOOLEAN is a Long of 0 or 1, a
// TIMESTAMP a Long of milliseconds. Programs keep constants and dictionary codes encoded: a
// function of one string column runs once per entry of its dictionary.
//
// The catalog is one table, catalog.go. A function is a value of type Function in the file of its
// family: how its arguments bind, what it returns, and a constructor of its kernel. Operators are
// functions too; what has its own evaluation order (AND, OR, NOT, CASE, IN, CAST) is a node of its
// own.
//
// Elsewhere on purpose: names and scopes (package sql), aggregates (package agg), time zones and
// periods (package chrono), text of results (the result writers, which share AppendDouble and
// AppendFloat).
package expr
