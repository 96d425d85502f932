// Package slt runs scripts of SQL statements with their expected results, in the style of
// sqllogictest.
//
// The central types are Script, a parsed file; Engine, which loads tables and runs statements
// (package testkit/engine has some); Config, an engine with a name. Run runs one script on one
// config and reports each result that differs, with its file and line.
//
// A script is a list of records, separated by empty lines. A line that begins with # outside of a
// record is a comment.
//
//	load wiki version=1 interval=2024-01-01/P1D   columns and rows follow; or rows=FILE
//	__time TIMESTAMP, page VARCHAR, tags VARCHAR MULTI, added BIGINT
//	["2024-01-01", "Main", ["a", "b"], 7]
//	{"__time": "2024-01-01T05:00", "page": "Talk"}
//
//	tombstone wiki version=2 interval=2024-01-01/P1D
//
//	lookup country {"de": "Germany"}
//
//	context sqlTimeZone=Asia/Tokyo    until the next context line; without values it clears
//	param BIGINT 5                    a value for the ? of the next statement: a type and JSON
//	skip [if=spill,split] why         the result of the next statement is known to be wrong
//	query TI rowsort                  one letter per column (Letter); nosort, rowsort; header
//	SELECT page, COUNT(*) FROM wiki GROUP BY 1
//	----
//	Main | 1
//	Talk | 1
//
//	error Column 'pag' not found      part of the message, or /a regular expression/; preceded by
//	SELECT pag FROM wiki              a category other than INVALID_INPUT: error UNSUPPORTED: ...
//
// Load options: version (1), interval (default: the smallest one that contains the rows), partition
// (0), core (number of partitions that the chunk needs; 0: any), granularity (DAY, HOUR, ...: rows
// are divided into its buckets). Values of rows are separated by " | "; NULL is NULL, and text that
// would be misread is quoted as JSON. Doubles are compared to twelve digits.
//
// A skipped statement runs nevertheless: if its result is correct, the line must be removed. In
// rewrite mode, results are written into the script instead of being compared; the diff is the
// review.
package slt
