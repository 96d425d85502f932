// Package grammar makes a statement of every production of the SQL grammar with every type of
// value.
//
// The central types: Production, a clause, operator or family of functions as templates of
// statements; Type, a type of values and how
// random values of it are written; Maker, which fills a template with random expressions from a
// seed; Table, which counts the cells
// (production, type) whose statements were executed and compared, and prints them for
// docs/testing.md.
//
//	production   "UNION"  SELECT {x} FROM {t} UNION SELECT {ux} FROM {u}
//	type         DATE     {x} = CAST(t.__time AS DATE), {ux} = CASE WHEN .. THEN .. END
//	statement    SELECT CAST(t.__time AS DATE) FROM t UNION SELECT CASE WHEN ..
//
// Templates that stand in one production mean the same: their rows are compared with each other.
// The random expressions are those of
// package oracle, which also answers the statements that it knows.
package grammar
