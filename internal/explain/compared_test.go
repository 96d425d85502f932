package explain

import "testing"

// Parts of plans that Druid gave for comparisons with queries whose value is asked for, or which
// are terms of a disjunction: the rows are counted, and the values are joined with a mark.
func TestExplainsOfComparisonsWithQueries(t *testing.T) {
	const values = `"virtualColumns":[{"type":"expression","name":"v0","expression":"1","outputType":"LONG"}]`
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE s IN (SELECT name FROM c_dim) OR l = 4", `"aggregations":[{"type":"count","name":"a0"}],"context":{}}},"rightPrefix":"j0.","condition":"1","joinType":"INNER"}`},
		{"SELECT COUNT(*) FROM c_types WHERE s IN (SELECT name FROM c_dim) OR l = 4", values},
		{"SELECT COUNT(*) FROM c_types WHERE s IN (SELECT name FROM c_dim) OR l = 4", `{"type":"and","fields":[{"type":"not","field":{"type":"equals","column":"j0.a0","matchValueType":"LONG","matchValue":0}},{"type":"not","field":{"type":"null","column":"_j0.d1"}},{"type":"not","field":{"type":"null","column":"s"}}]},{"type":"equals","column":"l"`},
		{"SELECT COUNT(*) FROM c_types WHERE s IN (SELECT name FROM c_dim) OR s IS NULL", `{"type":"not","field":{"type":"null","column":"_j0.d1"}}]},{"type":"null","column":"s"}]`},
		{"SELECT COUNT(*) FROM c_types WHERE __time IN (SELECT __time FROM c_dim) OR l = 4", `"filter":{"type":"or","fields":[{"type":"not","field":{"type":"null","column":"j0.d1"}},{"type":"equals","column":"l"`},
		{"SELECT COUNT(*) FROM c_types WHERE s NOT IN (SELECT name FROM c_dim) OR l = 4", `"fields":[{"type":"equals","column":"j0.a0","matchValueType":"LONG","matchValue":0},{"type":"and","fields":[{"type":"null","column":"_j0.d1"},{"type":"expression","expression":"(\"j0.a1\" >= \"j0.a0\")"},{"type":"not","field":{"type":"null","column":"s"}}]},{"type":"equals","column":"l"`},
		{"SELECT l IN (SELECT n FROM c_dim) FROM c_types", `"expression":"((isnull(\"l\") && null && (\"j0.a0\" != 0)) || (notnull(\"_j0.d1\") && (\"j0.a0\" != 0) && notnull(\"l\")) || ((\"j0.a1\" < \"j0.a0\") && null && (\"j0.a0\" != 0) && notnull(\"l\") && isnull(\"_j0.d1\")))"`},
		{"SELECT l NOT IN (SELECT n FROM c_dim) FROM c_types", `((\"j0.a0\" != 0) && notnull(\"l\") && isnull(\"_j0.d1\") && (\"j0.a1\" >= \"j0.a0\"))`},
		{"SELECT CASE WHEN l IN (SELECT n FROM c_dim) THEN 'y' ELSE 'n' END FROM c_types", `"expression":"case_searched(((\"j0.a0\" != 0) && notnull(\"_j0.d1\") && notnull(\"l\")),'y','n')"`},
		{"SELECT SUM(l) FILTER (WHERE s IN (SELECT name FROM c_dim)) FROM c_types", `"dataSource":{"type":"join","left":{"type":"table","name":"c_types"},"right":{"type":"query","query":{"queryType":"groupBy"`},
		{"SELECT SUM(l) FILTER (WHERE s IN (SELECT name FROM c_dim)) FROM c_types", `"fields":[{"type":"not","field":{"type":"null","column":"j0.d1"}},{"type":"not","field":{"type":"null","column":"s"}}]`},
		{"SELECT COUNT(*) FROM c_types WHERE l < ANY (SELECT n FROM c_dim)", `"aggregations":[{"type":"longMax","name":"a0","fieldName":"n"},{"type":"count","name":"a1"},{"type":"filtered"`},
		{"SELECT COUNT(*) FROM c_types WHERE l < ANY (SELECT n FROM c_dim)", `{"type":"not","field":{"type":"expression","expression":"(\"l\" < \"j0.a0\")"}},{"type":"expression","expression":"(\"j0.a1\" <= \"j0.a2\")"}`},
		{"SELECT COUNT(*) FROM c_types WHERE l <= ALL (SELECT n FROM c_dim)", `{"type":"not","field":{"type":"or","fields":[{"type":"expression","expression":"(\"l\" > \"j0.a0\")"},{"type":"expression","expression":"(\"j0.a1\" > \"j0.a2\")"}]}}`},
		{"SELECT (SELECT MAX(n) FROM c_dim)", `"left":{"type":"inline","columnNames":["ZERO"],"columnTypes":["LONG"],"rows":[[0]]}`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for CASE in conditions: branches beside each other that are the
// same are one, and a negation is one of the values.
func TestExplainsOfBranches(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE CASE WHEN l = 4 OR x > 3 THEN 'a' ELSE 'b' END = 'b'", `"filter":{"type":"not","field":{"type":"or","fields":[{"type":"equals","column":"l"`},
		{"SELECT COUNT(*) FROM c_types WHERE CASE WHEN s IS NULL OR s2 IS NULL THEN 'a' ELSE 'b' END = 'b'", `"filter":{"type":"and","fields":[{"type":"not","field":{"type":"null","column":"s"}},{"type":"not","field":{"type":"null","column":"s2"}}]}`},
		{"SELECT COUNT(*) FROM c_types WHERE CASE WHEN s IS NULL THEN 'y' ELSE s END = 'y'", `"filter":{"type":"or","fields":[{"type":"null","column":"s"},{"type":"equals","column":"s","matchValueType":"STRING","matchValue":"y"}]}`},
		{"SELECT COUNT(*) FROM c_types WHERE NOT CASE WHEN s = 'b' THEN l > 4 ELSE x > 3 END", `{"type":"range","column":"l","matchValueType":"LONG","upper":4}`},
		{"SELECT COUNT(*) FROM c_types WHERE (s2 = 'tan' AND s IS NOT NULL) OR s IS NULL", `"fields":[{"type":"equals","column":"s2","matchValueType":"STRING","matchValue":"tan"},{"type":"null","column":"s"}]`},
		{"SELECT CASE WHEN s IS NOT NULL AND l > 4 THEN 'y' ELSE 'n' END FROM c_types", `case_searched(((\"l\" > 4) && notnull(\"s\")),'y','n')`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for what columns, keys and numbers are shown as.
func TestExplainsOfTypesAndKeys(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT x + f FROM c_types", `"expression":"(\"x\" + \"f\")","outputType":"DOUBLE"`},
		{"SELECT f + x FROM c_types", `"expression":"(\"f\" + \"x\")","outputType":"FLOAT"`},
		{"SELECT SUM(LENGTH(mv)) FROM c_types", `"expression":"strlen(\"mv\")","outputType":"LONG"`},
		{"SELECT JSON_VALUE(j, '$.k' RETURNING BOOLEAN) FROM c_types", `"expectedType":null`},
		{"SELECT COUNT(*) FROM c_types WHERE x < 2e3", `"matchValueType":"DOUBLE","upper":2000.0`},
		{"SELECT mv, s2, COUNT(*) FROM c_types WHERE mv = 'b' GROUP BY mv, s2", `"virtualColumns":[{"type":"expression","name":"v0","expression":"'b'","outputType":"STRING"}]`},
		{"SELECT s2, UPPER(mv), COUNT(*) FROM c_types WHERE mv = 'b' GROUP BY 1, 2", `"expression":"'B'"`},
		{"SELECT COUNT(*) FROM c_types WHERE (s2 = 'tan' OR l = 4) IS FALSE", `"filter":{"type":"and","fields":[{"type":"not","field":{"type":"equals","column":"s2"`},
		{"SELECT COUNT(*) FROM c_types WHERE (s2 = 'tan' AND l = 4) IS FALSE", `"filter":{"type":"or","fields":[{"type":"not","field":{"type":"equals","column":"s2"`},
	} {
		explains(t, c.sql, c.want)
	}
	plansAs(t, "SET forceExpressionVirtualColumns = TRUE; EXPLAIN PLAN FOR SELECT SUBSTRING(s, 2, 1), COUNT(*) FROM c_types GROUP BY 1", `"extractionFn":{"type":"substring","index":1,"length":1}`)
}

// Parts of plans that Druid gave for the order of keys of groups that are read by another query or
// chosen by a condition, and for joins within joins.
func TestExplainsOfQueriesWithin(t *testing.T) {
	const first, second = `"dimensions":[{"type":"default","dimension":"s2","outputName":"d0"`, `"dimensions":[{"type":"default","dimension":"b","outputName":"d0"`
	for _, c := range []struct{ sql, want string }{
		{"SELECT MIN(c) FROM (SELECT b, s2, MAX(l) AS c FROM c_types GROUP BY b, s2)", second},
		{"SELECT b, MIN(c) FROM (SELECT b, s2, MAX(l) AS c FROM c_types GROUP BY b, s2) GROUP BY b", second},
		{"SELECT s2, MIN(c) FROM (SELECT b, s2, MAX(l) AS c FROM c_types GROUP BY b, s2) GROUP BY s2", first},
		{"SELECT b FROM c_types GROUP BY b, s2 HAVING COUNT(*) > 4", first},
		{"SELECT COUNT(*) FROM c_types WHERE s2 IN (SELECT k FROM c_dim WHERE n IN (SELECT l FROM c_types))", `"condition":"(\"s2\" == \"_j0.d0\")"`},
		{"SELECT COUNT(*) FROM (SELECT t.s2 FROM c_types t JOIN c_dim d ON t.s2 = d.k GROUP BY t.s2) x JOIN c_dim y ON x.s2 = y.k", `"rightPrefix":"_j0."`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for VALUES: which columns a join leaves out, what a condition
// compares with, and rows that are computed.
func TestExplainsOfValues(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT d.w FROM c_dim d LEFT JOIN (VALUES (3, 4), (2, 1)) v(c, y) ON d.n = v.c", `"columnNames":["c0"]`},
		{"SELECT d.w FROM c_dim d LEFT JOIN (VALUES (2, 4), (3, 1)) v(c, y) ON d.n = v.c", `"columnNames":["c","y","c0"]`},
		{"SELECT d.w FROM c_dim d LEFT JOIN (VALUES (2, 4), (2, 1)) v(c, y) ON d.n = v.c", `"columnNames":["c","c0"]`},
		{"SELECT d.w FROM c_dim d LEFT JOIN (VALUES (3, 1), (2, 4)) v(c, y) ON d.n = v.c", `"columnNames":["y","c0"]`},
		{"SELECT d.w FROM c_dim d, (VALUES (3), (2)) v(c) WHERE d.n = v.c", `"right":{"type":"query","query":{"queryType":"scan","dataSource":{"type":"inline","columnNames":["c"]`},
		{"VALUES (1 + 2), (5)", `"rows":[[3]]`},
		{"VALUES (1 + 2), (5)", `"rows":[[5]]`},
		{"VALUES (3), (5)", `"rows":[[3],[5]]`},
	} {
		explains(t, c.sql, c.want)
	}
}
