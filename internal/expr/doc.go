// Package expr implements scalar expressions: their types, the catalog of functions, and their
// evaluation over batches.
//
// An Expr is an immutable typed tree over the columns of one input. The binder of a front end
// builds it with NewCall, NewCompare, NewCast and similar functions, which check arguments, insert
// the implicit casts of the SQL dialect and map functions over the values of multi-value strings.
// Fold replaces constant expressions by literals, and fixes the time zone and the current time.
// Compile returns a Program, which maps a vector.Batch to a vector or to a selection of rows:
//
//	binder: LENGTH(dim) > 2  ->  >(CAST(LENGTH(dim)), 2)
//	  ->  Program  ->  Filter(batch) = rows 0, 7, 9
//
// At run time, values have the physical types of package vector: a BOOLEAN is a Long of 0 or 1, a
// TIMESTAMP a Long of milliseconds. Programs keep constants and dictionary codes encoded: a
// function of one string column runs once per entry of its dictionary.
//
// A function is a value of type Function in the file of its family: its name, forms and summary,
// how its arguments bind (Binding), and a constructor of its kernel. Operators are functions too;
// expressions with their own evaluation order (AND, OR, NOT, CASE, IN, CAST) are nodes of their
// own. Families are packages above this one, and package catalog is the table of all functions:
//
//	expr             types, trees, binding, folding, compiling; operators, numbers, lists, JSON
//	expr/kernel      loops over vectors, from which kernels are built; imported by expr
//	expr/stringfn    expr/timefn    expr/sketchfn
//	expr/nativetext  an expression in the native language
//	expr/catalog     functions by name
//
// Elsewhere on purpose: names and scopes (package sql), aggregates (package agg), time zones and
// periods (package chrono), the text of results (the result writers, which also use AppendDouble
// and AppendFloat).
package expr
