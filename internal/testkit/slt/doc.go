// Package slt runs scripts of SQL statements with their expected answers, in the manner of
// sqllogictest.
//
// The central types are Script, a parsed file; Engine, what loads tables and answers statements
// (package testkit/engine has some); Config, an engine with a name. Run plays one script against
// one config and reports each answer that differs with its file and line.
//
// A script is a list of records, separated by empty lines. A line that begins with # outside of a
// record is a comment.
//
//	load wiki version=1 interval=2024-01-01/P1D     columns and rows follow; or rows=FILE, a path beside the script
//	__time TIMESTAMP, page VARCHAR, tags VARCHAR MULTI, added BIGINT
//	["2024-01-01", "Main", ["a", "b"], 7]
//	{"__time": "2024-01-01T05:00", "page": "Talk"}
//
//	tombstone wiki version=2 interval=2024-01-01/P1D
//
//	lookup country {"de": "Germany"}
//
//	context sqlTimeZone=Asia/Tokyo                   holds until the next context line; without values it clears
//	param BIGINT 5                                   values for the ? of the next statement: a type and JSON
//	skip [if=spill,split] why                        the next statement is known to be answered wrongly
//	query TI rowsort                                 one letter per column, see Letter; nosort, rowsort; header
//	SELECT page, COUNT(*) FROM wiki GROUP BY 1
//	----
//	Main | 1
//	Talk | 1
//
//	error Column 'pag' not found                     part of the message, or /a regular expression/; a category other
//	SELECT pag FROM wiki                             than INVALID_INPUT stands before it: error UNSUPPORTED: ...
//
// Load options: version (1), interval (the least that holds the rows), partition (0), core (how
// many partitions the chunk needs; 0: any), granularity (DAY, HOUR, ...: rows are cut into its
// buckets). Values of rows are separated by " | "; NULL is NULL, and text that would be misread is
// quoted as JSON. Doubles are compared to twelve digits.
//
// A skipped statement is run all the same: when its answer is right the line has to go. With
// rewriting on, answers are written into the script instead of being compared; the diff is the
// review.
package slt
