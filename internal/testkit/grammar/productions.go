package grammar

// Productions are the rows of the table.
var Productions = concat(queries, tables, joins, subqueries, operators, calls, aggregates, windows, relations)

func concat(lists ...[]*Production) (all []*Production) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func p(group, name string, classes Class, templates ...string) *Production {
	return &Production{Group: group, Name: name, Classes: classes, Templates: templates}
}

func (p *Production) ordered() *Production { p.Ordered = true; return p }
func (p *Production) calm() *Production    { p.Calm = true; return p }

// ranked are the types whose values have an order, keys those that groups and equalities go by.
const (
	ranked = Scalar
	keys   = Plain
)

var queries = []*Production{
	p("query", "SELECT", Any, "SELECT {x:out} AS c0, {y:out} AS c1 FROM {t}", "SELECT {x:out} AS c0, {y:out} AS c1 FROM {t} WHERE TRUE"),
	p("query", "SELECT DISTINCT", Plain|Multi|JSON, "SELECT DISTINCT {x} AS c0 FROM {t}", "SELECT {x} AS c0 FROM {t} GROUP BY 1"),
	p("query", "SELECT without FROM", Any&^Sketch, "SELECT {k} AS c0", "VALUES ({k})"),
	p("query", "*", Any, "SELECT {x:out} AS c0, {y:out} AS c1 FROM {t}",
		"SELECT * FROM (SELECT {x:out} AS c0, {y:out} AS c1 FROM {t}) AS r",
		"SELECT r.* FROM (SELECT {x:out} AS c0, {y:out} AS c1 FROM {t}) AS r"),
	p("query", "* EXCLUDE", Any, "SELECT * EXCLUDE (c1, c2) FROM (SELECT {x:out} AS c0, t.n AS c1, {y:out} AS c2 FROM {t}) AS r",
		"SELECT {x:out} FROM {t}"),
	p("query", "WHERE", Any, "SELECT {x:out} AS c0, t.id FROM {t} WHERE {p}",
		"SELECT * FROM (SELECT {x:out} AS c0, t.id FROM {t} WHERE {p}) AS r"),
	p("query", "GROUP BY", Plain|JSON, "SELECT {x} AS c0, COUNT(*) AS c1 FROM {t} GROUP BY {x}",
		"SELECT {x} AS c0, COUNT(*) FROM {t} GROUP BY 1",
		"SELECT {x} AS g0, COUNT(*) FROM {t} GROUP BY g0", "SELECT DISTINCT {x} AS c0, COUNT(*) OVER (PARTITION BY {x}) AS c1 FROM {t}"),
	p("query", "GROUP BY of a multi-value string", Multi, "SELECT {x} AS c0, COUNT(*) AS c1 FROM {t} GROUP BY {x}",
		"SELECT r.v AS c0, COUNT(*) AS c1 FROM {t} LEFT JOIN UNNEST(MV_TO_ARRAY({x})) AS r(v) ON TRUE GROUP BY 1"),
	p("query", "GROUP BY ()", Any, "SELECT COUNT(*) AS c0, COUNT({x}) AS c1 FROM {t} GROUP BY ()",
		"SELECT COUNT(*) AS c0, COUNT({x}) AS c1 FROM {t}"),
	p("query", "GROUP BY (a, b)", Plain|JSON, "SELECT {x}, MOD(t.id, 3), COUNT(*) FROM {t} GROUP BY ({x}, MOD(t.id, 3))",
		"SELECT {x}, MOD(t.id, 3), COUNT(*) FROM {t} GROUP BY MOD(t.id, 3), {x}"),
	p("query", "ROLLUP", Plain|JSON, "SELECT {x} AS c0, MOD(t.id, 3) AS c1, COUNT(*) AS c2 FROM {t} GROUP BY ROLLUP ({x}, MOD(t.id, 3))",
		"SELECT {x} AS c0, MOD(t.id, 3) AS c1, COUNT(*) AS c2 FROM {t} GROUP BY GROUPING SETS (({x}, MOD(t.id, 3)), ({x}), ())"),
	p("query", "CUBE", Plain|JSON, "SELECT {x} AS c0, MOD(t.id, 3) AS c1, COUNT(*) AS c2 FROM {t} GROUP BY CUBE ({x}, MOD(t.id, 3))",
		"SELECT {x} AS c0, MOD(t.id, 3) AS c1, COUNT(*) AS c2 FROM {t} GROUP BY GROUPING SETS (({x}, MOD(t.id, 3)), ({x}), "+
			"(MOD(t.id, 3)), ())"),
	p("query", "GROUPING SETS", Plain|JSON,
		"SELECT {x} AS c0, MOD(t.id, 3) AS c1, COUNT(*) AS c2 FROM {t} GROUP BY GROUPING SETS (({x}), (MOD(t.id, 3)))",
		"SELECT {x} AS c0, NULL AS c1, COUNT(*) AS c2 FROM {t} GROUP BY {x} UNION ALL SELECT NULL, MOD(t.id, 3), COUNT(*) FROM {t} "+
			"GROUP BY MOD(t.id, 3)"),
	p("query", "GROUPING", Plain|JSON,
		"SELECT {x} AS c0, GROUPING({x}) AS c1, COUNT(*) FROM {t} GROUP BY GROUPING SETS (({x}), (MOD(t.id, 3)))",
		"SELECT {x} AS c0, 0 AS c1, COUNT(*) FROM {t} GROUP BY {x} UNION ALL SELECT NULL, 1, COUNT(*) FROM {t} GROUP BY MOD(t.id, 3)"),
	p("query", "GROUP BY of several", Plain|JSON, "SELECT {x}, MOD(t.id, 3), COUNT(*) FROM {t} GROUP BY {x}, ROLLUP (MOD(t.id, 3))",
		"SELECT {x}, MOD(t.id, 3), COUNT(*) FROM {t} GROUP BY GROUPING SETS (({x}, MOD(t.id, 3)), ({x}))"),
	p("query", "GROUP BY DISTINCT", Plain|JSON, "SELECT {x}, COUNT(*) FROM {t} GROUP BY DISTINCT ROLLUP ({x}), ROLLUP ({x})",
		"SELECT {x}, COUNT(*) FROM {t} GROUP BY ROLLUP ({x})"),
	p("query", "HAVING", Plain|JSON, "SELECT {x} AS c0, COUNT(*) AS c1 FROM {t} GROUP BY {x} HAVING COUNT({y}) > {i}",
		"SELECT c0, c1 FROM (SELECT {x} AS c0, COUNT(*) AS c1, COUNT({y}) AS c2 FROM {t} GROUP BY {x}) AS r WHERE c2 > {i}"),
	p("query", "WINDOW", keys,
		"SELECT {x}, COUNT(*) OVER r AS c1, SUM(t.n) OVER (r ROWS 2 PRECEDING) AS c2 FROM {t} WINDOW r AS (PARTITION BY {x} ORDER BY "+
			"t.id)",
		"SELECT {x}, COUNT(*) OVER (PARTITION BY {x} ORDER BY t.id), SUM(t.n) OVER (PARTITION BY {x} ORDER BY t.id ROWS BETWEEN 2 "+
			"PRECEDING AND CURRENT ROW) FROM {t}"),
	p("query", "QUALIFY", keys, "SELECT {x}, t.id FROM {t} QUALIFY ROW_NUMBER() OVER (PARTITION BY {x} ORDER BY t.id) <= 2",
		"SELECT c0, c1 FROM (SELECT {x} AS c0, t.id AS c1, ROW_NUMBER() OVER (PARTITION BY {x} ORDER BY t.id) AS c2 FROM {t}) AS r "+
			"WHERE c2 <= 2"),
	p("query", "ORDER BY", ranked|Lists, "SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY {x}{dir}, t.id",
		"SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY 1{dir}, 2",
		"SELECT * FROM (SELECT {x} AS c0, t.id AS c1 FROM {t}) AS r ORDER BY c0{dir}, c1").ordered(),
	p("query", "LIMIT", ranked|Lists, "SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY {x}{dir}, t.id LIMIT 3",
		"SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY 1{dir}, 2 FETCH FIRST 3 ROWS ONLY",
		"SELECT c0, c1 FROM (SELECT {x} AS c0, t.id AS c1, ROW_NUMBER() OVER (ORDER BY {x}{dir}, t.id) AS c2 FROM {t}) AS r WHERE c2 "+
			"<= 3 ORDER BY c2").ordered(),
	p("query", "OFFSET", ranked|Lists, "SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY {x}{dir}, t.id LIMIT 3 OFFSET {i}",
		"SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY 1{dir}, 2 LIMIT {i}, 3",
		"SELECT {x} AS c0, t.id AS c1 FROM {t} ORDER BY 1{dir}, 2 OFFSET {i} ROWS FETCH NEXT 3 ROWS ONLY").ordered(),
	p("query", "ORDER BY of a value that is only shown", Multi|JSON|Sketch,
		"SELECT {x:out} AS c0, t.id AS c1 FROM {t} ORDER BY t.id LIMIT 4",
		"SELECT * FROM (SELECT {x:out} AS c0, t.id AS c1 FROM {t}) AS r ORDER BY c1 LIMIT 4").ordered(),
	p("query", "WITH", Any, "WITH r AS (SELECT {x:out} AS c0, t.id AS c1 FROM {t}) SELECT c0, c1 FROM r",
		"WITH r (a, b) AS (SELECT {x:out}, t.id FROM {t}) SELECT a, b FROM r",
		"SELECT {x:out} AS c0, t.id AS c1 FROM {t}"),
	p("query", "WITH used twice", keys,
		"WITH r AS (SELECT {x} AS c0, COUNT(*) AS c1 FROM {t} GROUP BY {x}) SELECT a.c0, b.c1 FROM r AS a JOIN r AS b ON a.c0 IS NOT "+
			"DISTINCT FROM b.c0",
		"SELECT {x} AS c0, COUNT(*) AS c1 FROM {t} GROUP BY {x}"),
	p("query", "VALUES", Any&^Sketch, "VALUES ({k}, 1), ({k2}, 2)", "SELECT * FROM (VALUES ({k}, 1), ({k2}, 2)) AS r(a, b)",
		"SELECT {k}, 1 UNION ALL SELECT {k2}, 2"),
	p("query", "UNION ALL", Any, "SELECT {x:out} FROM {t} UNION ALL SELECT {ux:out} FROM {u}",
		"SELECT {ux:out} FROM {u} UNION ALL SELECT {x:out} FROM {t}",
		"(SELECT {x:out} FROM {t}) UNION ALL (SELECT {ux:out} FROM {u})"),
	p("query", "UNION", Plain|JSON, "SELECT {x} FROM {t} UNION SELECT {ux} FROM {u}",
		"SELECT DISTINCT * FROM (SELECT {x} AS c0 FROM {t} UNION ALL SELECT {ux} FROM {u}) AS r"),
	p("query", "INTERSECT", Plain|JSON, "SELECT {x} FROM {t} INTERSECT SELECT {ux} FROM {u}",
		"SELECT {ux} FROM {u} INTERSECT SELECT {x} FROM {t}"),
	p("query", "INTERSECT ALL", Plain|JSON, "SELECT {x} FROM {t} INTERSECT ALL SELECT {ux} FROM {u}",
		"SELECT {ux} FROM {u} INTERSECT ALL SELECT {x} FROM {t}"),
	p("query", "EXCEPT", Plain|JSON, "SELECT {x} FROM {t} EXCEPT SELECT {ux} FROM {u}", "SELECT {x} FROM {t} MINUS SELECT {ux} FROM {u}",
		"SELECT {x} FROM {t} EXCEPT (SELECT {x} FROM {t} INTERSECT SELECT {ux} FROM {u})"),
	p("query", "EXCEPT ALL", Plain|JSON, "SELECT {x} FROM {t} EXCEPT ALL SELECT {ux} FROM {u}",
		"SELECT {x} FROM {t} EXCEPT ALL (SELECT {x} FROM {t} INTERSECT ALL SELECT {ux} FROM {u})"),
	p("query", "SET", Any, "SET sqlOuterLimit = NULL; SELECT {x:out}, t.id FROM {t}", "SELECT {x:out}, t.id FROM {t}"),
	p("query", "hints", Any, "SELECT /*+ a('b') */ {x:out} FROM {t}", "SELECT {x:out} FROM {t}"),
	p("query", "hints of tables", 0, "SELECT t.id, u.id FROM t /*+ a('b') */ JOIN /*+ c('d') */ u ON t.n = u.n",
		"SELECT t.id, u.id FROM t JOIN u ON t.n = u.n"),
}

var tables = []*Production{
	p("tables", "TABLE name", 0, "TABLE t", "SELECT * FROM t"),
	p("tables", "TABLE(APPEND(..))", 0, "SELECT id, n, s, na FROM TABLE(APPEND('t', 'u'))",
		"SELECT id, n, s, na FROM t UNION ALL SELECT id, n, s, na FROM u"),
	p("tables", "derived table", Any, "SELECT r.c0, r.c1 FROM (SELECT {x:out} AS c0, t.id AS c1 FROM {t}) AS r",
		"SELECT r.a, r.b FROM (SELECT {x:out}, t.id FROM {t}) AS r(a, b)"),
	p("tables", "UNNEST", Plain|JSON, "SELECT r.v, t.id FROM {t} CROSS JOIN UNNEST(ARRAY[{x}, {y}]) AS r(v)",
		"SELECT {x}, t.id FROM {t} UNION ALL SELECT {y}, t.id FROM {t}",
		"SELECT r.v, t.id FROM {t}, UNNEST(ARRAY[{x}, {y}]) AS r(v)"),
	p("tables", "UNNEST of a list", Lists, "SELECT r.v, t.id FROM {t} CROSS JOIN UNNEST({x}) AS r(v)",
		"SELECT r.v, t.id FROM {t} JOIN UNNEST({x}) AS r(v) ON TRUE",
		"SELECT r.v, t.id FROM {t} LEFT JOIN UNNEST({x}) WITH ORDINALITY AS r(v, o) ON TRUE WHERE r.o IS NOT NULL"),
	p("tables", "UNNEST of a multi-value string", Multi, "SELECT r.v, t.id FROM {t} CROSS JOIN UNNEST(MV_TO_ARRAY(t.m)) AS r(v)",
		"SELECT r.v, t.id FROM {t} LEFT JOIN UNNEST(MV_TO_ARRAY(t.m)) WITH ORDINALITY AS r(v, o) ON TRUE"),
	p("tables", "UNNEST WITH ORDINALITY", Plain|JSON,
		"SELECT r.v, r.o, t.id FROM {t} CROSS JOIN UNNEST(ARRAY[{x}, {y}]) WITH ORDINALITY AS r(v, o)",
		"SELECT {x}, 1, t.id FROM {t} UNION ALL SELECT {y}, 2, t.id FROM {t}"),
	p("tables", "UNNEST of several", Plain|JSON, "SELECT r.v, r.o, t.id FROM {t} CROSS JOIN UNNEST(ARRAY[{x}, {y}], ARRAY[{y}]) AS r(v, o)",
		"SELECT {x}, {y}, t.id FROM {t} UNION ALL SELECT {y}, NULL, t.id FROM {t}"),
	p("tables", "PIVOT by the value", Scalar,
		"SELECT a_c, b_c FROM (SELECT {x} AS v, t.n AS n FROM {t}) AS r PIVOT (SUM(n) AS c FOR v IN ({k} AS a, {k2} AS b)) AS q",
		"SELECT SUM(n) FILTER (WHERE v = {k}), SUM(n) FILTER (WHERE v = {k2}) FROM (SELECT {x} AS v, t.n AS n FROM {t}) AS r"),
	p("tables", "PIVOT of the value", Any&^(Multi|Sketch),
		"SELECT s, a_c, b_c FROM (SELECT {x} AS v, t.n AS n, t.s AS s FROM {t}) AS r PIVOT (COUNT(v) AS c FOR n IN (1 AS a, 2 AS b)) "+
			"AS q",
		"SELECT s, COUNT(v) FILTER (WHERE n = 1), COUNT(v) FILTER (WHERE n = 2) FROM (SELECT {x} AS v, t.n AS n, t.s AS s FROM {t}) "+
			"AS r GROUP BY s"),
	p("tables", "UNPIVOT", Plain|JSON,
		"SELECT id, v, part FROM (SELECT t.id AS id, {x} AS a, {y} AS b FROM {t}) AS r UNPIVOT (v FOR part IN (a, b AS 'q'))",
		"SELECT id, a, 'a' FROM (SELECT t.id AS id, {x} AS a FROM {t}) AS r WHERE a IS NOT NULL UNION ALL SELECT id, b, 'q' FROM "+
			"(SELECT t.id AS id, {y} AS b FROM {t}) AS r WHERE b IS NOT NULL"),
	p("tables", "UNPIVOT INCLUDE NULLS", Plain|JSON,
		"SELECT id, v, part FROM (SELECT t.id AS id, {x} AS a, {y} AS b FROM {t}) AS r UNPIVOT INCLUDE NULLS (v FOR part IN (a, b AS "+
			"'q'))",
		"SELECT t.id, {x}, 'a' FROM {t} UNION ALL SELECT t.id, {y}, 'q' FROM {t}"),
	p("tables", "TABLESAMPLE", Any, "SELECT r.c0 FROM (SELECT {x:out} AS c0, t.id AS c1 FROM {t}) AS r TABLESAMPLE BERNOULLI(100)",
		"SELECT {x:out} FROM {t}",
		"SELECT r.c0 FROM (SELECT {x:out} AS c0, t.id AS c1 FROM {t}) AS r TABLESAMPLE SYSTEM(100) REPEATABLE(7)"),
	p("tables", "TABLESAMPLE REPEATABLE", Any&^Sketch,
		"SELECT r.c0 FROM (SELECT {x} AS c0, t.id AS c1 FROM {t}) AS r TABLESAMPLE BERNOULLI(40) REPEATABLE(7)",
		"SELECT r.c0 FROM (SELECT {x} AS c0, t.id AS c1 FROM {t}) AS r TABLESAMPLE SYSTEM(40) REPEATABLE(7)"),
	p("tables", "named arguments", 0,
		"SELECT a, b FROM TABLE(INLINE(data => ARRAY['1,2', '3,'], format => 'csv')) EXTEND (a BIGINT, b BIGINT)",
		"SELECT * FROM (VALUES (1, 2), (3, NULL)) AS r(a, b)"),
	p("tables", "EXTEND", 0,
		`SELECT a, b, c FROM TABLE(EXTERN('{"type":"inline","data":"1,x,2.5\n2,,\n"}', '{"type":"csv","columns":["a","b","c"]}')) EXTEND (a BIGINT, b VARCHAR, c DOUBLE NOT NULL)`,
		`SELECT a, b, c FROM TABLE(EXTERN('{"type":"inline","data":"1,x,2.5\n2,,\n"}', '{"type":"csv","columns":["a","b","c"]}', '[{"name":"a","type":"long"},{"name":"b","type":"string"},{"name":"c","type":"double"}]'))`),
}

var joins = []*Production{
	p("joins", "JOIN", keys, "SELECT t.id, u.id FROM {t} JOIN {u} ON {x} = {ux}", "SELECT t.id, u.id FROM {u} JOIN {t} ON {ux} = {x}",
		"SELECT t.id, u.id FROM {t} CROSS JOIN {u} WHERE {x} = {ux}", "SELECT t.id, u.id FROM {t}, {u} WHERE {x} = {ux}",
		"SELECT t.id, u.id FROM {t} JOIN {u} ON ({x} = {ux}) IS TRUE"),
	p("joins", "LEFT JOIN", keys, "SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {ux}",
		"SELECT t.id, u.id FROM {u} RIGHT JOIN {t} ON {ux} = {x}",
		"SELECT t.id, u.id FROM {t} JOIN {u} ON {x} = {ux} UNION ALL SELECT t.id, NULL FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} "+
			"WHERE {x} = {ux})"),
	p("joins", "RIGHT JOIN", keys, "SELECT t.id, u.id FROM {t} RIGHT JOIN {u} ON {x} = {ux}",
		"SELECT t.id, u.id FROM {u} LEFT JOIN {t} ON {ux} = {x}"),
	p("joins", "FULL JOIN", keys, "SELECT t.id, u.id FROM {t} FULL JOIN {u} ON {x} = {ux}",
		"SELECT t.id, u.id FROM {u} FULL JOIN {t} ON {ux} = {x}",
		"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {x} = {ux} UNION ALL SELECT NULL, u.id FROM {u} WHERE NOT EXISTS (SELECT 1 FROM "+
			"{t} WHERE {x} = {ux})"),
	p("joins", "CROSS JOIN", Any, "SELECT {x:out}, {ux:out} FROM {t} CROSS JOIN {u} WHERE {p}",
		"SELECT {x:out}, {ux:out} FROM {u} CROSS JOIN {t} WHERE {p}"),
	p("joins", "comma", Any, "SELECT {x:out}, {ux:out} FROM {t}, {u} WHERE t.n = u.n",
		"SELECT {x:out}, {ux:out} FROM {u} JOIN {t} ON t.n = u.n"),
	p("joins", "columns of a join", Any, "SELECT {x:out}, {ux:out}, t.id FROM {t} {join} {u} ON t.n = u.n",
		"SELECT a, b, id FROM (SELECT {x:out} AS a, {ux:out} AS b, t.id AS id FROM {t} {join} {u} ON t.n = u.n) AS r"),
	p("joins", "NATURAL", keys,
		"SELECT id, uid FROM (SELECT {x} AS a, t.id AS id FROM {t}) AS r NATURAL JOIN (SELECT {ux} AS a, u.id AS uid FROM {u}) AS q",
		"SELECT t.id, u.id FROM {t} JOIN {u} ON {x} = {ux}"),
	p("joins", "USING", keys,
		"SELECT a, id, uid FROM (SELECT {x} AS a, t.id AS id FROM {t}) AS r JOIN (SELECT {ux} AS a, u.id AS uid FROM {u}) AS q USING "+
			"(a)",
		"SELECT r.a, id, uid FROM (SELECT {x} AS a, t.id AS id FROM {t}) AS r JOIN (SELECT {ux} AS a, u.id AS uid FROM {u}) AS q ON "+
			"r.a = q.a"),
	p("joins", "ON <", ranked|Lists, "SELECT t.id, u.id FROM {t} JOIN {u} ON {x} < {ux}",
		"SELECT t.id, u.id FROM {u} JOIN {t} ON {ux} > {x}", "SELECT t.id, u.id FROM {t}, {u} WHERE ({x} < {ux}) IS TRUE"),
	p("joins", "ON BETWEEN", ranked, "SELECT t.id, u.id FROM {t} JOIN {u} ON {x} BETWEEN {ux} AND {uy}",
		"SELECT t.id, u.id FROM {t}, {u} WHERE ({x} >= {ux} AND {x} <= {uy}) IS TRUE"),
	p("joins", "ON IS NOT DISTINCT FROM", keys, "SELECT t.id, u.id FROM {t} JOIN {u} ON {x} IS NOT DISTINCT FROM {ux}",
		"SELECT t.id, u.id FROM {t}, {u} WHERE ({x} IS DISTINCT FROM {ux}) IS NOT TRUE"),
	p("joins", "ON several", keys, "SELECT t.id, u.id FROM {t} {join} {u} ON {x} = {ux} AND t.n < u.n",
		"SELECT t.id, u.id FROM {t} {join} {u} ON t.n < u.n AND {ux} = {x}"),
	p("joins", "ON with a subquery", keys,
		"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON t.n = u.n AND EXISTS (SELECT 1 FROM {w} WHERE {wx} = {x})",
		"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON t.n = u.n AND {x} IN (SELECT {wx} FROM {w})"),
	p("joins", "LATERAL", keys, "SELECT t.id, r.id FROM {t}, LATERAL (SELECT u.id FROM {u} WHERE {ux} = {x}) AS r",
		"SELECT t.id, u.id FROM {t} JOIN {u} ON {ux} = {x}"),
	p("joins", "LEFT JOIN LATERAL", keys,
		"SELECT t.id, r.id FROM {t} LEFT JOIN LATERAL (SELECT u.id FROM {u} WHERE {ux} = {x}) AS r ON TRUE",
		"SELECT t.id, u.id FROM {t} LEFT JOIN {u} ON {ux} = {x}"),
	p("joins", "three tables", keys, "SELECT t.id, u.id, w.id FROM {t} JOIN {u} ON {x} = {ux} JOIN {w} ON {wx} = {ux}",
		"SELECT t.id, u.id, w.id FROM {u} JOIN {w} ON {ux} = {wx} JOIN {t} ON {x} = {ux}",
		"SELECT t.id, u.id, w.id FROM {t} JOIN ({u} JOIN {w} ON {wx} = {ux}) ON {x} = {ux}"),
}

var subqueries = []*Production{
	p("subqueries", "IN", keys, "SELECT t.id FROM {t} WHERE {x} IN (SELECT {ux} FROM {u})",
		"SELECT t.id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {x} = {ux})",
		"SELECT DISTINCT t.id FROM {t} JOIN {u} ON {x} = {ux}", "SELECT t.id FROM {t} WHERE {x} = ANY (SELECT {ux} FROM {u})"),
	p("subqueries", "NOT IN", keys, "SELECT t.id FROM {t} WHERE {x} NOT IN (SELECT {ux} FROM {u})",
		"SELECT t.id FROM {t} WHERE {x} <> ALL (SELECT {ux} FROM {u})",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE ({x} = {ux}) IS NOT FALSE)",
		"SELECT t.id FROM {t} WHERE ({x} IN (SELECT {ux} FROM {u})) IS FALSE"),
	p("subqueries", "correlated NOT IN", keys, "SELECT t.id FROM {t} WHERE {x} NOT IN (SELECT {ux} FROM {u} WHERE u.n = t.n)",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE u.n = t.n AND ({x} = {ux}) IS NOT FALSE)"),
	p("subqueries", "EXISTS", keys, "SELECT t.id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {x} = {ux} AND u.n > t.n)",
		"SELECT DISTINCT t.id FROM {t} JOIN {u} ON {x} = {ux} AND u.n > t.n"),
	p("subqueries", "NOT EXISTS", keys, "SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE {x} = {ux})",
		"SELECT t.id FROM {t} EXCEPT SELECT t.id FROM {t} JOIN {u} ON {x} = {ux}",
		"SELECT t.id FROM {t} LEFT JOIN {u} ON {x} = {ux} WHERE u.id IS NULL"),
	p("subqueries", "IN as a value", keys, "SELECT t.id, {x} IN (SELECT {ux} FROM {u}) FROM {t}",
		"SELECT t.id, {x} = ANY (SELECT {ux} FROM {u}) FROM {t}",
		"SELECT t.id, NOT ({x} NOT IN (SELECT {ux} FROM {u})) FROM {t}"),
	p("subqueries", "ANY", ranked, "SELECT t.id FROM {t} WHERE {x} < ANY (SELECT {ux} FROM {u})",
		"SELECT t.id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {x} < {ux})",
		"SELECT t.id FROM {t} WHERE {x} < SOME (SELECT {ux} FROM {u})"),
	p("subqueries", "ALL", ranked, "SELECT t.id FROM {t} WHERE {x} >= ALL (SELECT {ux} FROM {u})",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE ({x} >= {ux}) IS NOT TRUE)"),
	p("subqueries", "ANY of a list", ranked, "SELECT t.id FROM {t} WHERE {x} {cmp} ANY ({k}, {k2})",
		"SELECT t.id FROM {t} WHERE {x} {cmp} {k} OR {x} {cmp} {k2}"),
	p("subqueries", "scalar", Scalar, "SELECT t.id, (SELECT MAX({ux}) FROM {u}) FROM {t}",
		"SELECT t.id, r.v FROM {t} CROSS JOIN (SELECT MAX({ux}) AS v FROM {u}) AS r"),
	p("subqueries", "correlated scalar", Scalar, "SELECT t.id, (SELECT MAX({ux}) FROM {u} WHERE u.n = t.n) FROM {t}",
		"SELECT t.id, r.v FROM {t} LEFT JOIN (SELECT u.n, MAX({ux}) AS v FROM {u} GROUP BY u.n) AS r ON r.n = t.n"),
	p("subqueries", "correlated count", keys, "SELECT t.id, (SELECT COUNT(*) FROM {u} WHERE {ux} = {x}) FROM {t}",
		"SELECT t.id, COALESCE(r.v, 0) FROM {t} LEFT JOIN (SELECT {ux} AS k, COUNT(*) AS v FROM {u} GROUP BY 1) AS r ON r.k = {x}"),
	p("subqueries", "row IN", keys, "SELECT t.id FROM {t} WHERE ({x}, t.n) IN (SELECT {ux}, u.n FROM {u})",
		"SELECT t.id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {x} = {ux} AND t.n = u.n)"),
	p("subqueries", "row NOT IN", keys, "SELECT t.id FROM {t} WHERE ({x}, t.n) NOT IN (SELECT {ux}, u.n FROM {u})",
		"SELECT t.id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} WHERE ({x} = {ux} AND t.n = u.n) IS NOT FALSE)"),
	p("subqueries", "in HAVING", Scalar, "SELECT t.s, MAX({x}) FROM {t} GROUP BY t.s HAVING MAX({x}) IN (SELECT {ux} FROM {u})",
		"SELECT a, b FROM (SELECT t.s AS a, MAX({x}) AS b FROM {t} GROUP BY t.s) AS r WHERE b IN (SELECT {ux} FROM {u})"),
}
