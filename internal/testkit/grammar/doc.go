// Package grammar generates a statement for every production of the SQL grammar with every type of
// value.
//
// The central types are Production, a clause, operator or family of functions as templates of
// statements; Type, a type of values with a notation for random values; Maker, which fills a
// template with random expressions from a seed; and Table, which counts the cells (production,
// type) whose statements were executed and compared, and prints them for docs/testing.md.
//
//	production   "UNION"  SELECT {x} FROM {t} UNION SELECT {ux} FROM {u}
//	type         DATE     {x} = CAST(t.__time AS DATE), {ux} = CASE WHEN .. THEN .. END
//	statement    SELECT CAST(t.__time AS DATE) FROM t UNION SELECT CASE WHEN ..
//
// Templates of one production are equivalent: their rows are compared with each other. Package
// oracle generates the random expressions, and also evaluates the statements that it supports.
package grammar
