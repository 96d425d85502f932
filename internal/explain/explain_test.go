package explain

import (
	"strings"
	"testing"
)

// Parts of plans that Druid gave for statements over columns of whole numbers (i) and of fractions
// (d, x, f).
func TestExplainsOfNumbers(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE x = 3", `{"type":"equals","column":"x","matchValueType":"DOUBLE","matchValue":3.0}`},
		{"SELECT COUNT(*) FROM c_types WHERE f IN (3, 4.5)", `{"type":"equals","column":"f","matchValueType":"FLOAT","matchValue":3.0},{"type":"equals","column":"f","matchValueType":"FLOAT","matchValue":4.5}`},
		{"SELECT COUNT(*) FROM c_types WHERE i = x", `"expression":"(CAST(\"i\", 'DOUBLE') == \"x\")"`},
		{"SELECT x > l, x >= 3 FROM c_types", `"expression":"(\"x\" > \"l\")"`},
		{"SELECT x > l, x >= 3 FROM c_types", `"expression":"(\"x\" >= 3)"`},
		{"SELECT x = 3 FROM c_types", `"expression":"(\"x\" == 3.0)"`},
		{"SELECT SUM(CASE WHEN s2 = 'red' THEN d ELSE 0 END) FROM c_types", `"expression":"case_searched((\"s2\" == 'red'),\"d\",0.0)"`},
		{"SELECT AVG(CASE WHEN s2 = 'red' THEN 1 ELSE 0 END) FROM c_types", `{"type":"count","name":"a0:count"}]`},
		{"SELECT SUM(CAST(i AS DOUBLE)), BIT_AND(i) FROM c_types", `[{"type":"doubleSum","name":"a0","fieldName":"i"},`},
		{"SELECT DS_HLL(s, 10) FROM c_types", `{"type":"HLLSketchBuild","name":"a0","fieldName":"s","lgK":10,"tgtHllType":"HLL_4","shouldFinalize":false,"round":true}`},
		{"SELECT APPROX_COUNT_DISTINCT_DS_HLL(s) FROM c_types", `"fieldName":"s","lgK":12,"tgtHllType":"HLL_4","round":true}`},
		{"SELECT LATEST(i, 16) FROM c_types", `[{"type":"longLast","name":"a0","fieldName":"i","timeColumn":"__time"}]`},
		{"SELECT COUNT(l) FILTER (WHERE s = 'a') FROM c_types", `"fields":[{"type":"not","field":{"type":"null","column":"l"}},{"type":"equals","column":"s"`},
		{"SELECT CAST(d AS FLOAT), CAST(s AS FLOAT) FROM c_types", `"expression":"CAST(\"s\", 'DOUBLE')"`},
		{"SELECT CASE WHEN i > 3 THEN f ELSE 2.5 END FROM c_types", `case_searched((\"i\" > 3),\"f\",2.5)`},
		{"SELECT AVG(CASE WHEN s2 = 'red' THEN i END) FROM c_types", `{"type":"longSum","name":"a0:sum","fieldName":"i"},"filter":{"type":"equals","column":"s2"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for statements that read nothing, gather values, or want what
// groups come in.
func TestExplainsOfConstantsAndFolds(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT 1 AS x, 'a' AS y", `"dataSource":{"type":"inline","columnNames":["x","y"],"columnTypes":["LONG","STRING"],"rows":[[1,"a"]]}`},
		{"SELECT 1+1, UPPER('a'), CAST(1 AS DOUBLE), DATE '2000-01-01', 1 < 2", `"columnTypes":["LONG","STRING","DOUBLE","LONG","LONG"],"rows":[[2,"A",1.0,946684800000,1]]}`},
		{"SELECT GREATEST(1, 2), UPPER('a')", `"columnNames":["ZERO"],"columnTypes":["LONG"],"rows":[[0]]}`},
		{"SELECT GREATEST(1, 2), UPPER('a')", `"expression":"'A'"`},
		{"SELECT ARRAY_TO_STRING(ARRAY['a'], NULL)", `"expression":"'a'","outputType":"STRING"`},
		{"SELECT CAST(12 AS CHAR)", `"rows":[[0]]`},
		{"SELECT COALESCE(NULL, 2), ARRAY_CONTAINS(ARRAY['a'], NULL)", `"rows":[[2,0]]`},
		{"SELECT JSON_QUERY(PARSE_JSON('{}'), '$.a')", `"expression":"json_query(parse_json('{}'),'$.a')"`},
		{"SELECT STRING_TO_MV('a,b', ',')", `"expression":"string_to_array('a,b',',')","outputType":"STRING"`},
		{"SELECT NULL, 1", `"columnNames":["EXPR$0","EXPR$1"],"columnTypes":[null,"LONG"],"rows":[[null,1]]}`},
		{"SELECT NULL", `"columnNames":["EXPR$0"],"rows":[[null]]}`},
		{"SELECT NULL", `"signature":[{"name":"EXPR$0"}]`},
		{"SELECT ARRAY[1,2]", `"columnNames":["ZERO"],"columnTypes":["LONG"],"rows":[[0]]}`},
		{"SELECT s2 FROM c_types WHERE REGEXP_LIKE(s2, '^A')", `"filter":{"type":"regex","dimension":"s2","pattern":"^A","extractionFn":null}`},
		{"SELECT ARRAY_AGG(DISTINCT l) FROM c_types", `{"type":"expression","name":"a0","fields":["l"],"accumulatorIdentifier":"__acc","initialValue":"ARRAY<LONG>[]",` +
			`"initialCombineValue":"ARRAY<LONG>[]","isNullUnlessAggregated":true,"shouldAggregateNullInputs":true,"shouldCombineAggregateNullInputs":false,` +
			`"fold":"array_set_add(\"__acc\", \"l\")","combine":"array_set_add_all(\"__acc\", \"a0\")","maxSizeBytes":1024}`},
		{"SELECT ARRAY_AGG(l, 100) FROM c_types", `"fold":"array_append(\"__acc\", \"l\")","combine":"array_concat(\"__acc\", \"a0\")","maxSizeBytes":100}`},
		{"SELECT STRING_AGG(s2, '|', 500) FROM c_types", `"finalize":"if(array_length(o) == 0, null, array_to_string(o, '|'))","maxSizeBytes":500},` +
			`"filter":{"type":"not","field":{"type":"null","column":"s2"}},"name":"a0"}`},
		{"SELECT MAX(i) FROM c_types OFFSET 2", `"fieldName":"i"}],"limitSpec":{"type":"default","columns":[],"offset":2}`},
		{"SELECT COUNT(*) FROM c_types LIMIT 1 OFFSET 1", `"dimensions":[],"aggregations":[{"type":"count","name":"a0"}],` +
			`"limitSpec":{"type":"default","columns":[],"offset":1,"limit":1}`},
		{"SELECT l, MAX(d) FROM c_types GROUP BY l HAVING COUNT(*) > 3 ORDER BY 1", `"limitSpec":{"type":"NoopLimitSpec"}`},
		{"SELECT l, MAX(d) FROM c_types GROUP BY l HAVING COUNT(*) > 3 ORDER BY 1 DESC", `"limitSpec":{"type":"default","columns":[{"dimension":"d0","direction":"descending"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for filters of several terms, groups that are computed on, and
// relations of lists and elements.
func TestExplainsOfJunctionsAndGroups(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE x > 2.0", `{"type":"range","column":"x","matchValueType":"DOUBLE","lower":2.0,"lowerOpen":true}`},
		{"SELECT SUM(i) * 1.0 FROM c_types", `"expression":"(\"a0\" * 1.0)"`},
		{"SELECT COUNT(*) FROM c_types WHERE x > 1 AND x < 2.5", `{"type":"range","column":"x","matchValueType":"DOUBLE","lower":1.0,"upper":2.5,"lowerOpen":true,"upperOpen":true}`},
		{"SELECT COUNT(*) FROM c_types WHERE s = 'red' OR l NOT BETWEEN 1 AND 5", `"filter":{"type":"not","field":{"type":"and","fields":[{"type":"not","field":` +
			`{"type":"equals","column":"s","matchValueType":"STRING","matchValue":"red"}},{"type":"range","column":"l","matchValueType":"LONG","lower":1,"upper":5}]}}`},
		{"SELECT COUNT(*) FROM c_types WHERE tm BETWEEN 1 AND 5 AND ns = 'a'", `"fields":[{"type":"equals","column":"ns","matchValueType":"STRING","matchValue":"a"},{"type":"range"`},
		{"SELECT COUNT(*) FROM c_types WHERE i IN (1, NULL)", `"right":{"type":"inline","columnNames":["ROW_VALUE"],"columnTypes":["LONG"],"rows":[[1],[null]]},"rightPrefix":"j0.",` +
			`"condition":"(\"i\" == \"j0.ROW_VALUE\")","joinType":"INNER"`},
		{"SELECT LATEST(s) FROM c_types", `{"type":"doubleLast","name":"a0","fieldName":"s","timeColumn":"__time"}`},
		{"SELECT CAST(FLOOR(__time TO DAY) AS DATE), COUNT(*) FROM c_types GROUP BY 1", `"granularity":"DAY"`},
		{"SELECT s2, COALESCE(SUM(i), 0) FROM c_types GROUP BY 1", `"signature":[{"name":"d0","type":"STRING"},{"name":"a0","type":"LONG"}]`},
		{"SELECT s2, COUNT(*) AS c, SUM(i) / COUNT(*) AS r FROM c_types GROUP BY 1 ORDER BY c DESC LIMIT 3", `{"type":"expression","name":"s0","expression":"(\"a1\" / \"a0\")"}`},
		{"SELECT 'x', COUNT(*) * 2 FROM c_types GROUP BY 1", `"queryType":"timeseries"`},
		{"SELECT MAX(c) FROM (SELECT s2, COUNT(*) AS c FROM c_types GROUP BY s2) WHERE c > 1", `"filter":{"type":"range","column":"a0","matchValueType":"LONG","lower":1,"lowerOpen":true}`},
		{"SELECT UPPER(s2), i + 1 FROM c_types WHERE s2 = 'red' AND i = 3", `"expression":"'RED'","outputType":"STRING"},{"type":"expression","name":"v1","expression":"4"`},
		{"SELECT v FROM c_types CROSS JOIN UNNEST(MV_TO_ARRAY(mv)) AS u(v) WHERE v = 'a' AND i > 2", `"unnestFilter":{"type":"equals","column":"j0.unnest","matchValueType":"STRING","matchValue":"a"}`},
		{"SELECT n + 1 FROM (VALUES (1), (2)) t(n)", `"columnNames":["EXPR$0"],"columnTypes":["LONG"],"rows":[[2],[3]]`},
		{"SELECT MAX(x) FROM (VALUES (1), (2)) t(x) WHERE x < 2", `"columnNames":["x"],"columnTypes":["LONG"],"rows":[[1]]`},
		{"SELECT COUNT(*) FROM c_types WHERE s2 IN (SELECT x FROM (VALUES ('red'), ('blue')) t(x))", `"right":{"type":"inline","columnNames":["x"],"columnTypes":["STRING"],"rows":[["red"],["blue"]]}`},
		{"SELECT ABS(f) FROM c_types", `"expression":"abs(\"f\")","outputType":"FLOAT"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// explains asks for a plan that has a part.
func explains(t *testing.T, sql, part string) {
	t.Helper()
	plansAs(t, "EXPLAIN PLAN FOR "+sql, part)
}

func plansAs(t *testing.T, sql, part string) {
	t.Helper()
	s, err := prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(s, s.Context, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Plan, part) {
		t.Errorf("%s: plan %s\nwant it with %s", sql, got.Plan, part)
	}
}

// Computed columns that Druid gave for truths, and for tests of what has branches.
func TestExplainsOfTruths(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"(i > 3) IS TRUE", `((\"i\" > 3) > 0)`},
		{"(i > 3 OR s = 'a') IS NOT TRUE", `(((\"i\" > 3) || (\"s\" == 'a')) <= 0)`},
		{"NOT ((i > 3) IS NOT TRUE)", `((\"i\" > 3) > 0)`},
		{"(s IS NULL) IS FALSE", `notnull(\"s\")`},
		{"CASE WHEN (i > 3) IS FALSE THEN 1 ELSE 2 END", `case_searched((\"i\" <= 3),1,2)`},
		{"CASE WHEN i > 3 THEN TRUE END", `(((\"i\" > 3) > 0) || (null && ((\"i\" > 3) <= 0)))`},
		{"CASE WHEN i > 3 THEN FALSE ELSE s = 'a' END", `((\"s\" == 'a') && ((\"i\" > 3) <= 0))`},
		{"CASE WHEN i > 3 THEN 1 WHEN i > 2 THEN 2 ELSE 3 END = 2", `(((\"i\" > 2) > 0) && ((\"i\" > 3) <= 0))`},
		{"COALESCE(i, 0) = 0", `((\"i\" == 0) || isnull(\"i\"))`},
		{"COALESCE(s, 'x') LIKE 'y'", `(notnull(\"s\") && like(\"s\",'y'))`},
		{"NULLIF(s, 'a') = 'b'", `((\"s\" == 'b') && ((\"s\" == 'a') <= 0))`},
		{"tm NOT IN (1, 2) AND i > 3", `((\"tm\" != 1) && (\"tm\" != 2) && (\"i\" > 3))`},
	} {
		explains(t, "SELECT "+c.sql+" FROM c_types", `"expression":"`+c.want+`"`)
	}
}

// Columns that a condition gives one value are constants where a projection reads them, and only
// there.
func TestExplainsOfFixedColumns(t *testing.T) {
	red, key := `"virtualColumns":[{"type":"expression","name":"v0","expression":"'red'","outputType":"STRING"}]`, `"dimensions":[{"type":"default","dimension":"`
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, s, s2, ns, l FROM c_types WHERE s2 = 'red'", `"columns":["id","l","ns","s","s2"]`},
		{"SELECT s2, s FROM c_types WHERE s2 = 'red'", red},
		{"SELECT s, s2 FROM c_types WHERE s2 = 'red' AND i > 3", red},
		{"SELECT i, s2 FROM (SELECT s2, i FROM c_types LIMIT 5) WHERE s2 = 'red'", red},
		{"SELECT s2, MAX(i) FROM c_types WHERE s2 = 'red' GROUP BY s2", key + `s2"`},
		{"SELECT s2, MAX(i), MAX(l) FROM c_types WHERE s2 = 'red' GROUP BY s2", red},
		{"SELECT s2, COUNT(*) FROM c_types WHERE s2 = 'red' AND __time > TIMESTAMP '2020-01-01' GROUP BY s2", red},
		{"SELECT MAX(i), s2 FROM c_types WHERE s2 = 'red' GROUP BY s2", `"postAggregations":[{"type":"expression","name":"p0","expression":"'red'"}]`},
		{"SELECT s2, s2, COUNT(*) FROM c_types WHERE s2 = 'red' GROUP BY s2", `{"type":"expression","name":"p1","expression":"'red'"}]`},
		{"SELECT COUNT(*), s2, i FROM c_types WHERE s2 = 'red' AND l = 3 GROUP BY s2, i ORDER BY 1", key + `i","outputName":"d1"`},
		{"SELECT c, s2 FROM (SELECT s2, COUNT(*) AS c FROM c_types GROUP BY s2) WHERE c = 3", `"expression":"3"`},
		{"SELECT t.s2, d.k FROM c_types t JOIN c_dim d ON t.s2 = d.k WHERE d.k = 'red'", `"columns":["j0.k","s2"]`},
		{"SELECT t.id, d.k FROM c_types t JOIN c_dim d ON t.s2 = d.k WHERE d.k = 'red'", red},
		{"SELECT i + l, s || '-' || s2 FROM c_types WHERE i = 3", `"expression":"(3 + \"l\")"`},
		{"SELECT CASE WHEN s2 = 'red' THEN i ELSE 0 END FROM c_types WHERE s2 = 'red'", `"columns":["i"]`},
		{"SELECT l, s2, MAX(i) + 1 FROM c_types WHERE s2 = 'red' AND b = 1 GROUP BY 1, 2 HAVING MAX(i) > 3", key + `l","outputName":"d0","outputType":"LONG"}],"agg`},
		{"SELECT COUNT(*) FROM c_types WHERE x = (SELECT MAX(n) FROM c_dim)", `"condition":"(\"x\" == \"j0.p0\")","joinType":"INNER"`},
		{"SELECT t.s2, t.i FROM c_types t CROSS JOIN c_dim d WHERE t.s2 = 'red'", red},
		{"SELECT COUNT(*) FROM c_types t CROSS JOIN c_dim d", `"columns":["__time","k","n","name","w"]`},
		{"SELECT t.id FROM c_types t, (SELECT COUNT(*) FROM c_dim)", `"right":{"type":"query","query":{"queryType":"timeseries"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Statements whose condition is never true read no rows; a limit of theirs stays, an order does
// not.
func TestExplainsOfNoRows(t *testing.T) {
	const eternity = `"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},`
	for _, c := range []struct{ sql, want string }{
		{"SELECT ns FROM c_types WHERE FALSE LIMIT 5 OFFSET 2", `"columnNames":["ns"],"columnTypes":["STRING"],"rows":[]},` + eternity +
			`"resultFormat":"compactedList","offset":2,"limit":5,"columns":["ns"]`},
		{"SELECT ns, UPPER(s) AS u FROM c_types WHERE FALSE LIMIT 5", `"columnNames":["s","ns"],"columnTypes":["STRING","STRING"],"rows":[]}`},
		{"SELECT ns, UPPER(s) AS u FROM c_types WHERE FALSE", `"columnNames":["ns","u"],"columnTypes":["STRING","STRING"],"rows":[]}`},
		{"SELECT ns, i FROM c_types WHERE FALSE ORDER BY __time LIMIT 4", `"columnNames":["__time","ns","i"],"columnTypes":["LONG","STRING","LONG"],"rows":[]},` + eternity +
			`"resultFormat":"compactedList","columns":["__time","i","ns"]`},
		{"SELECT s, COUNT(*) FROM c_types WHERE FALSE GROUP BY s LIMIT 3", `"resultFormat":"compactedList","columns":["EXPR$1","s"]`},
		{"SELECT s, COUNT(*) FROM c_types WHERE FALSE GROUP BY s ORDER BY 2 DESC LIMIT 3", `"queryType":"topN","dataSource":{"type":"inline","columnNames":["s"]`},
		{"SELECT s, COUNT(*) AS c FROM c_types WHERE FALSE GROUP BY s HAVING COUNT(*) > 3", `"columnNames":["s","c"]`},
		{"SELECT t.id FROM c_types t LEFT JOIN (SELECT k FROM c_dim WHERE FALSE) d ON t.s2 = d.k", `"right":{"type":"query","query":{"queryType":"scan","dataSource":{"type":"inline"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Keys come in the order of the table, and what is computed of aggregates before or behind an
// order, as in Druid.
func TestExplainsOfOrders(t *testing.T) {
	key := func(name, as string) string { return `"dimension":"` + name + `","outputName":"` + as + `"` }
	post := func(name string) string { return `"postAggregations":[{"type":"expression","name":"` + name + `"` }
	for _, c := range []struct{ sql, want string }{
		{"SELECT f, s, COUNT(*) FROM c_types GROUP BY 1, 2", key("f", "d0")},
		{"SELECT f, s, COUNT(*) FROM c_types GROUP BY 1, 2 ORDER BY 1, 2", key("f", "d0")},
		{"SELECT f, s, COUNT(*) FROM c_types GROUP BY 1, 2 ORDER BY 2", key("f", "d1")},
		{"SELECT f, s, COUNT(*) + 1 FROM c_types GROUP BY 1, 2 ORDER BY 2", key("f", "d0")},
		{"SELECT f, s, BIT_XOR(b) FROM c_types GROUP BY 1, 2 LIMIT 3", key("f", "d1")},
		{"SELECT DISTINCT f, s, f FROM c_types", `"dimension":"s","outputName":"d1","outputType":"STRING"}],"limitSpec"`},
		{"SELECT f, s, ANY_VALUE(s2, 10) FROM c_types GROUP BY 1, 2 LIMIT 3", key("f", "d0")},
		{"SELECT f, s, COUNT(*) AS c FROM c_types GROUP BY CUBE(f, s) ORDER BY c", key("f", "d0")},
		{"SELECT s2, COUNT(*) / 2 FROM c_types GROUP BY 1 ORDER BY 1 DESC", post("p0")},
		{"SELECT s2, COUNT(*) / 2 FROM c_types GROUP BY 1 ORDER BY 1 DESC LIMIT 3", post("s0")},
		{"SELECT s2, MAX(i) AS c, SUM(i) / COUNT(*) FROM c_types GROUP BY 1 ORDER BY c DESC", post("s0")},
	} {
		explains(t, c.sql, c.want)
	}
}

// Filters that Druid gave for comparisons of buckets of time.
func TestExplainsOfBuckets(t *testing.T) {
	at := func(ends string) string {
		return `"filter":{"type":"range","column":"__time","matchValueType":"LONG",` + ends
	}
	for _, c := range []struct{ cond, want string }{
		{"FLOOR(__time TO DAY) > TIMESTAMP '2020-01-01'", at(`"lower":"1577923200000"}`)},
		{"FLOOR(__time TO DAY) < TIMESTAMP '2020-01-01 10:00:00'", at(`"upper":"1577923200000","upperOpen":true}`)},
		{"FLOOR(__time TO DAY) = TIMESTAMP '2020-01-01'", at(`"lower":1577836800000,"upper":1577923200000,"upperOpen":true}`)},
		{"FLOOR(__time TO DAY) = TIMESTAMP '2020-01-01 10:00:00'", `"filter":{"type":"false"}`},
	} {
		explains(t, "SELECT COUNT(*) FILTER (WHERE "+c.cond+") FROM c_types", c.want)
	}
	explains(t, "SELECT COUNT(*) FROM c_types WHERE FLOOR(__time TO YEAR) < TIMESTAMP '2020-01-01' OR MV_OVERLAP(mv, ARRAY['a', 'b']) OR s = 'x'",
		`{"type":"range","column":"__time","matchValueType":"LONG","upper":1577836800000,"upperOpen":true},{"type":"in","dimension":"mv","values":["a","b"]}`)
}

// Filters that Druid gave for selectors of a column, where filters of the older types are asked
// for.
func TestExplainsOfSelectors(t *testing.T) {
	for _, c := range []struct{ where, want string }{
		{"i IN (10, 9, 1)", `"filter":{"type":"in","dimension":"i","values":["1","10","9"]}`},
		{"i IS NULL OR i = 4 OR i = 3", `"filter":{"type":"in","dimension":"i","values":[null,"3","4"]}`},
		{"i = 9 OR s = 'a' OR i = 1", `"fields":[{"type":"selector","dimension":"s","value":"a"},{"type":"in","dimension":"i","values":["1","9"]}]`},
		{"x = 2 OR x = 1.5", `"filter":{"type":"in","dimension":"x","values":["1.5","2"]}`},
		{"x = 10000000000", `"filter":{"type":"selector","dimension":"x","value":"10000000000"}`},
		{"i NOT IN (1, 2)", `"fields":[{"type":"not","field":{"type":"selector","dimension":"i","value":"1"}},{"type":"not","field":{"type":"selector","dimension":"i","value":"2"}}]`},
	} {
		plansAs(t, "SET sqlUseBoundAndSelectors = TRUE; EXPLAIN PLAN FOR SELECT COUNT(*) FROM c_types WHERE "+c.where, c.want)
	}
}

// Parts of plans that Druid gave for lists of texts, what is computed behind a limit, and buckets
// of time in an order.
func TestExplainsOfListsAndLimits(t *testing.T) {
	const hours = `"timestampResultField":"d0","timestampResultFieldGranularity":"\"HOUR\"","timestampResultFieldInOriginalDimensions":0`
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE s IN ('b', 'a', 'b')", `"filter":{"type":"in","dimension":"s","values":["a","b"]}`},
		{"SELECT COUNT(*) FROM c_types WHERE s IN ('b', 'b')", `"filter":{"type":"equals","column":"s","matchValueType":"STRING","matchValue":"b"}`},
		{"SELECT COUNT(*) FROM c_types WHERE s IN ('b', 'a') OR i > 3 OR s = 'c'", `"lowerOpen":true},{"type":"in","dimension":"s","values":["a","b","c"]}]}`},
		{"SELECT COUNT(*) FROM c_types WHERE s NOT IN ('b', 'a', 'a')", `"filter":{"type":"and","fields":[{"type":"not","field":{"type":"equals","column":"s","matchValueType":"STRING",` +
			`"matchValue":"b"}},{"type":"not","field":{"type":"equals","column":"s","matchValueType":"STRING","matchValue":"a"}}]}`},
		{"SELECT COUNT(*) FROM c_types WHERE i IN (5, 3, 3)", `"matchValue":5},{"type":"equals","column":"i","matchValueType":"LONG","matchValue":3}]}`},
		{"SELECT s || s2 || 'x' FROM c_types", `"expression":"concat(concat(\"s\",\"s2\"),'x')"`},
		{"SELECT CONCAT(s, s2, 'x') FROM c_types", `"expression":"concat(\"s\",\"s2\",'x')"`},
		{"SELECT CONCAT(s, i + 1, i > 2, CAST(x AS VARCHAR)) FROM c_types", `"expression":"concat(\"s\",(\"i\" + 1),(\"i\" > 2),CAST(\"x\", 'STRING'))"`},
		{"SELECT s, SUM(i) * 2, COUNT(*) FROM c_types GROUP BY 1 ORDER BY 3 DESC LIMIT 5", `"postAggregations":[{"type":"expression","name":"s0","expression":"(\"a0\" * 2)"}]`},
		{"SELECT s, SUM(i) * 2, COUNT(*) FROM c_types GROUP BY 1 ORDER BY 2 DESC LIMIT 5", `"postAggregations":[{"type":"expression","name":"p0","expression":"(\"a0\" * 2)"}]`},
		{"SELECT s, SUM(i) * 2, COUNT(*) FROM c_types GROUP BY 1 ORDER BY 3 DESC", `"postAggregations":[{"type":"expression","name":"p0","expression":"(\"a0\" * 2)"}]`},
		{"SELECT FLOOR(__time TO HOUR), s, COUNT(*) FROM c_types GROUP BY 1, 2 ORDER BY 1", hours},
		{"SELECT FLOOR(__time TO HOUR), s, COUNT(*) FROM c_types GROUP BY 1, 2 ORDER BY 3 LIMIT 4", hours},
		{"SELECT FLOOR(__time TO HOUR), s, COUNT(*) FROM c_types GROUP BY 1, 2 HAVING COUNT(*) > 3 ORDER BY 1 LIMIT 4", hours},
		{"SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(n, s)", `"columnNames":["n","s"]`},
		{"SELECT COUNT(*) FROM c_types WHERE s IN (SELECT k FROM c_dim)", `"dimensions":[{"type":"default","dimension":"k","outputName":"d0","outputType":"STRING"}]`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for conditions that say one thing twice, contradict themselves, or
// are of a CASE.
func TestExplainsOfConditions(t *testing.T) {
	const none, zero = `"rows":[]`, `"columnNames":["EXPR$0"],"columnTypes":["LONG"],"rows":[[0]]`
	lower := func(n string) string {
		return `"filter":{"type":"range","column":"i","matchValueType":"LONG","lower":` + n + `,"lowerOpen":true}`
	}
	equals := func(c, v string) string {
		return `{"type":"equals","column":"` + c + `","matchValueType":"STRING","matchValue":"` + v + `"}`
	}
	between := `"filter":{"type":"not","field":{"type":"range","column":"i","matchValueType":"LONG","lower":1,"upper":5}}`
	for _, c := range []struct{ cond, want string }{
		{"NOT (s2 = 'a' OR s2 IN ('a','b'))", `"filter":{"type":"and","fields":[{"type":"not","field":` + equals("s2", "a") + `},{"type":"not","field":` + equals("s2", "b") + `}]}`},
		{"NOT (mv = 'a' OR s2 = 'b')", `"filter":{"type":"and","fields":[{"type":"not","field":` + equals("mv", "a") + `},{"type":"not","field":` + equals("s2", "b") + `}]}`},
		{"i > 3 AND i > 5", lower("5")},
		{"i > 3 OR i > 5", lower("3")},
		{"i > 3 AND i <> 2", lower("3")},
		{"i > 3 AND i IS NOT NULL", lower("3")},
		{"i >= 3 AND i <= 3", `"filter":{"type":"equals","column":"i","matchValueType":"LONG","matchValue":3}`},
		{"i NOT BETWEEN 1 AND 5", between},
		{"i < 1 OR i > 5", between},
		{"(i > 3) IS FALSE", `"filter":{"type":"range","column":"i","matchValueType":"LONG","upper":3}`},
		{"s2 IN ('a','b') AND s2 > 'a'", `"filter":` + equals("s2", "b")},
		{"i = 3 AND i = 4", zero},
		{"mv = 'a' AND mv = 'b'", `"filter":{"type":"and","fields":[` + equals("mv", "a") + `,` + equals("mv", "b") + `]}`},
		{"i <> i", zero},
		{"s2 = NULL", zero},
		{"__time < TIMESTAMP '2020-01-01' AND __time > TIMESTAMP '2021-01-01'", zero},
		{"s2 = 'a' AND i = 3 AND s2 = 'b'", `"columnNames":["s2","i"],"columnTypes":["STRING","LONG"],"rows":[]},`},
		{"UPPER(s2) = 'A' AND UPPER(s2) = 'B'", `"intervals":{"type":"intervals","intervals":[]},"virtualColumns":[{"type":"expression","name":"v0","expression":"upper(\"s2\")"`},
		{"CASE WHEN s2 = 'red' THEN 1 ELSE 0 END = 1", `"filter":` + equals("s2", "red")},
		{"CASE WHEN i > 3 THEN 'a' ELSE 'b' END = 'b'", `"filter":{"type":"not","field":{"type":"range","column":"i"`},
		{"CASE WHEN i > 3 THEN i ELSE i END > 4", lower("4")},
		{"COALESCE(s2, 'x') = 'x'", `"filter":{"type":"or","fields":[` + equals("s2", "x") + `,{"type":"null","column":"s2"}]}`},
		{"COALESCE(s2, 'x') = 'y'", `"filter":` + equals("s2", "y")},
		{"NULLIF(s2, 'red') IS NULL", `"filter":{"type":"or","fields":[` + equals("s2", "red") + `,{"type":"and","fields":[{"type":"null","column":"s2"},` +
			`{"type":"not","field":` + equals("s2", "red")},
		{"CAST(i AS VARCHAR) = '3'", `"filter":` + equals("i", "3")},
		{"MILLIS_TO_TIMESTAMP(tm) > TIMESTAMP '1970-01-01'", `"filter":{"type":"range","column":"tm"`},
	} {
		explains(t, "SELECT COUNT(*) FROM c_types WHERE "+c.cond, c.want)
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, s2 FROM c_types WHERE i = 3 AND i = 4", `"columnNames":["id","s2"],"columnTypes":["LONG","STRING"],` + none},
		{"SELECT s2, COUNT(*) AS c FROM c_types WHERE s2 = 'a' AND s2 = 'b' GROUP BY s2", `"columnNames":["s2","c"],"columnTypes":["STRING","LONG"],` + none},
		{"SELECT s2, COUNT(*) AS c FROM c_types WHERE i = 3 AND i = 4 GROUP BY s2", `"columnNames":["s2","$f1"],"columnTypes":["STRING","LONG"],` + none},
		{"SELECT SUM(i) FROM c_types WHERE i = 3 AND i = 4", `"rows":[[null]]`},
		{"SELECT COUNT(*) FILTER (WHERE i <> i) FROM c_types", `"filter":{"type":"false"}`},
		{"SELECT CASE WHEN i > 3 THEN 'a' WHEN i < 2 THEN 'a' ELSE 'b' END FROM c_types", `"expression":"case_searched(((\"i\" > 3) || (\"i\" < 2)),'a','b')"`},
		{"SELECT CASE WHEN i > 3 THEN 1 WHEN i < 2 THEN 2 ELSE 2 END FROM c_types", `"expression":"case_searched((\"i\" > 3),1,2)"`},
		{"SELECT CAST(i AS VARCHAR), COUNT(*) FROM c_types GROUP BY 1", `"dimensions":[{"type":"default","dimension":"i","outputName":"d0","outputType":"STRING"}]`},
		{"SELECT CAST(__time AS DATE), COUNT(*) FROM c_types GROUP BY 1", `"granularity":"DAY"`},
		{"SELECT LOOKUP(s2, 'x'), COUNT(*) FROM c_types GROUP BY 1", `"extractionFn":{"type":"registeredLookup","lookup":"x","retainMissingValue":false,`},
		{"SELECT FLOOR(__time TO DAY), MAX(i + 1) FROM c_types GROUP BY 1", `"virtualColumns":[{"type":"expression","name":"v1"`},
		{"SELECT MAX(CASE WHEN s2 = 'red' THEN i END) FROM c_types", `{"type":"filtered","aggregator":{"type":"longMax","name":"a0","fieldName":"i"}`},
		{"SELECT COUNT(CASE WHEN s2 = 'red' THEN NULL ELSE 1 END) FROM c_types", `"filter":{"type":"not","field":` + equals("s2", "red")},
		{"SELECT SUM(f) FROM c_types", `{"type":"doubleSum","name":"a0","fieldName":"f"}`},
		{"SELECT DISTINCT s2 FROM c_types LIMIT 3", `"threshold":3,"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},` +
			`"granularity":{"type":"all"},"aggregations":[]`},
		{"SELECT MV_FILTER_ONLY(mv, ARRAY['a']) FROM c_types", `{"type":"mv-filtered","name":"v0","delegate":{"type":"default","dimension":"mv",` +
			`"outputName":"mv","outputType":"STRING"},"values":["a"]`},
		{"SELECT MV_CONTAINS(mv, 'a'), ARRAY[1, 2] FROM c_types", `"expression":"array_contains(\"mv\",'a')"`},
		{"SELECT MV_CONTAINS(mv, 'a'), ARRAY[1, 2] FROM c_types", `"expression":"array(1,2)"`},
		{"SELECT x / 2, s2 NOT LIKE 'r%' FROM c_types", `"expression":"(\"x\" / 2)"`},
		{"SELECT t.id FROM c_types t JOIN c_dim d ON t.s2 = d.k WHERE t.i > 3", `"joinType":"INNER"},"intervals":{"type":"intervals","intervals":[` +
			`"-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},"resultFormat":"compactedList",` + lower("3")},
		{"SELECT k FROM (SELECT k FROM c_dim UNION ALL SELECT k FROM c_dim) WHERE k = 'a'", `"dataSource":{"type":"union"`},
		{"SELECT k FROM c_dim UNION ALL SELECT s2 FROM c_types LIMIT 3", `"limit":3,"columns":["s2"]`},
		{"SELECT s2, COUNT(*) FROM c_types GROUP BY 1 HAVING COUNT(*) > 3 ORDER BY 1", `"limitSpec":{"type":"default","columns":[{"dimension":"d0","direction":"ascending"`},
		{"SELECT FLOOR(__time TO DAY), s2, COUNT(*) FROM c_types GROUP BY ROLLUP(FLOOR(__time TO DAY), s2)", `"timestampResultFieldInOriginalDimensions":0`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for what is compared with itself.
func TestExplainsOfComparisonsWithItself(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT l > l FROM c_types", `"expression":"(null && isnull(\"l\"))"`},
		{"SELECT NOT (l > l) FROM c_types", `"expression":"(null || notnull(\"l\"))"`},
		{"SELECT __time >= __time FROM c_types", `"expression":"1"`},
		{"SELECT CASE WHEN l > l THEN i ELSE 0 END FROM c_types", `"expression":"0"`},
		{"SELECT COUNT(*) FROM c_types WHERE l >= l", `"filter":{"type":"not","field":{"type":"null","column":"l"}}`},
		{"SELECT COUNT(*) FROM c_types WHERE l > l OR i = 1", `"filter":{"type":"equals","column":"i","matchValueType":"LONG","matchValue":1}`},
		{"SELECT COUNT(*) FROM c_types WHERE l > l AND i = 1", `"columnNames":["l","i"],"columnTypes":["LONG","LONG"],"rows":[]}`},
		{"SELECT COUNT(*) FILTER (WHERE l > l) FROM c_types", `"filter":{"type":"false"}`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for constant rows: those that are only counted, are in order
// already, or are chosen, and what may be NULL.
func TestExplainsOfConstantRows(t *testing.T) {
	const v, n = "(VALUES (1, 'a'), (2, 'b')) AS t(n, s)", "(VALUES (1, 'a'), (2, NULL)) AS t(n, s)"
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM " + v, `"columnNames":["DUMMY"],"columnTypes":["LONG"],"rows":[[0],[0]]}`},
		{"SELECT COUNT(*) FROM " + v + " WHERE n > 1", `"columnNames":["DUMMY"],"columnTypes":["LONG"],"rows":[[0]]}`},
		{"SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(n)", `"columnNames":["n"],"columnTypes":["LONG"],"rows":[[1],[2]]}`},
		{"SELECT n FROM " + v + " WHERE s = 'c'", `"columnNames":["n","s"],"columnTypes":["LONG","STRING"],"rows":[]}`},
		{"SELECT n FROM " + v + " ORDER BY s", `"rows":[[1,"a"],[2,"b"]]},"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},"resultFormat":"compactedList","columns":["n","s"]`},
		{"SELECT s || 'x' FROM " + v, `"rows":[["ax"],["bx"]]`},
		{"SELECT s || 'x' FROM " + n, `"expression":"concat(\"s\",'x')"`},
		{"SELECT n * 2 FROM " + n, `"rows":[[2],[4]]`},
		{"SELECT COALESCE(s, 'x') FROM " + n, `"expression":"nvl(\"s\",'x')"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for values at paths inside of expressions, which are columns
// behind those that are read.
func TestExplainsOfNestedFields(t *testing.T) {
	field := func(name, path string) string {
		return `{"type":"nested-field","columnName":"j","outputName":"` + name + `","expectedType":"LONG","pathParts":[{"type":"field","field":"` + path + `"}],"processFromRaw":false}`
	}
	const k = "JSON_VALUE(j, '$.k' RETURNING BIGINT)"
	for _, c := range []struct{ sql, want string }{
		{"SELECT " + k + " + 1 FROM c_types", `"expression":"(\"v1\" + 1)","outputType":"LONG"},` + field("v1", "k")},
		{"SELECT " + k + ", " + k + " + 1 FROM c_types", field("v0", "k") + `,{"type":"expression","name":"v1","expression":"(\"v0\" + 1)","outputType":"LONG"}]`},
		{"SELECT " + k + " + 1, i + 1 FROM c_types", `"expression":"(\"i\" + 1)","outputType":"LONG"},` + field("v2", "k")},
		{"SELECT COUNT(*) FROM c_types WHERE " + k + " > i", `"expression":"(json_value(\"j\",'$.k', 'LONG') > \"i\")"`},
		{"SELECT MV_LENGTH(MV_FILTER_ONLY(mv, ARRAY['a'])) FROM c_types", `"expression":"array_length(\"v1\")","outputType":"LONG"},{"type":"mv-filtered","name":"v1"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for exact counts of distinct values beside other aggregates, and
// for NOT IN lists that are groups.
func TestExplainsOfTwoSteps(t *testing.T) {
	known := func(name, key string) string {
		return `{"type":"filtered","aggregator":{"type":"count","name":"` + name + `"},"filter":{"type":"not","field":{"type":"null","column":"` + key + `"}},"name":"` + name + `"}`
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(DISTINCT s), COUNT(*) FROM c_types", `"aggregations":[` + known("_a0", "d0") + `,{"type":"longSum","name":"_a1","fieldName":"a0"}]`},
		{"SELECT COUNT(DISTINCT s), MAX(i), SUM(x) FROM c_types", `{"type":"longMax","name":"_a1","fieldName":"a0"},{"type":"doubleSum","name":"_a2","fieldName":"a1"}]`},
		{"SELECT s2, COUNT(DISTINCT s) FROM c_types GROUP BY 1", `"dimensions":[{"type":"default","dimension":"d1","outputName":"_d0","outputType":"STRING"}],"aggregations":[` + known("a0", "d0")},
		{"SELECT b, COUNT(DISTINCT s) FILTER (WHERE i > 4) FROM c_types GROUP BY 1", `"expression":"case_searched((\"i\" > 4),\"s\",null)","outputType":"STRING"}]`},
		{"SELECT COUNT(DISTINCT s), SUM(l) FILTER (WHERE i > 4) FROM c_types", `"rightPrefix":"j0.","condition":"1","joinType":"INNER"}`},
		{"SELECT s2, COUNT(DISTINCT s) FROM c_types GROUP BY 1 HAVING COUNT(DISTINCT s) > 1", `"aggregations":[` + known("a0", "d1")},
		{"SELECT tx FROM c_types WHERE tx NOT IN (SELECT DISTINCT k FROM c_dim)", `"postAggregations":[{"type":"expression","name":"p0","expression":"1"}]`},
		{"SELECT tx FROM c_types WHERE tx NOT IN (SELECT k FROM c_dim GROUP BY 1 HAVING COUNT(*) > 5)", `"dimensions":[],"aggregations":[{"type":"count","name":"a0"},` + known("a1", "d0")},
		{"SELECT tx FROM c_types WHERE tx NOT IN (SELECT k FROM c_dim GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 5)", `"postAggregations":[{"type":"expression","name":"s0","expression":"1"}]`},
		{"SELECT tx FROM c_types WHERE i > 3 AND tx NOT IN (SELECT k FROM c_dim)", `"filter":{"type":"and","fields":[{"type":"range","column":"i","matchValueType":"LONG","lower":3,"lowerOpen":true},{"type":"or"`},
	} {
		plansAs(t, "SET useApproximateCountDistinct = FALSE; EXPLAIN PLAN FOR "+c.sql, c.want)
	}
	const crossed = `"rightPrefix":"j0.","condition":"1","joinType":"INNER"}`
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(DISTINCT s), COUNT(DISTINCT i) FROM c_types", crossed},
		{"SELECT COUNT(DISTINCT s), AVG(x) FROM c_types", `"columns":["a0","j0.a0"]`},
		{"SELECT COUNT(DISTINCT s), COUNT(DISTINCT i) * 2 FROM c_types", `"expression":"(\"j0.a0\" * 2)"`},
	} {
		plansAs(t, "SET useApproximateCountDistinct = FALSE; EXPLAIN PLAN FOR "+c.sql, c.want)
	}
	equals := func(set string) string {
		return `{"type":"equals","column":"a1","matchValueType":"LONG","matchValue":` + set + `}`
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(DISTINCT s), COUNT(*) FROM c_types", `{"type":"grouping","name":"a1","groupings":["s"]}],"limitSpec":{"type":"NoopLimitSpec"},"subtotalsSpec":[["d0"],[]]`},
		{"SELECT COUNT(DISTINCT s), COUNT(*) FROM c_types", `"filter":{"type":"and","fields":[{"type":"not","field":{"type":"null","column":"d0"}},` + equals("0") + `]},"name":"_a0"}`},
		{"SELECT COUNT(DISTINCT s), SUM(i) FROM c_types", `"aggregator":{"type":"longMin","name":"_a1","fieldName":"a0"},"filter":` + equals("1")},
		{"SELECT s2, COUNT(DISTINCT s), MAX(i) FROM c_types GROUP BY 1", `"groupings":["s2","s"]}],"limitSpec":{"type":"NoopLimitSpec"},"subtotalsSpec":[["d0","d1"],["d1"]]`},
		{"SELECT COUNT(DISTINCT s), COUNT(DISTINCT i), COUNT(*) FROM c_types", `"subtotalsSpec":[["d0"],["d1"],[]]`},
		{"SELECT COUNT(DISTINCT i), COUNT(DISTINCT s) FROM c_types", `"dimensions":[{"type":"default","dimension":"i","outputName":"d0"`},
		{"SELECT COUNT(DISTINCT s), COUNT(DISTINCT i), COUNT(*) FROM c_types", `"aggregator":{"type":"longMin","name":"_a2","fieldName":"a0"},"filter":` + equals("3")},
	} {
		plansAs(t, "SET useApproximateCountDistinct = FALSE; SET useGroupingSetForExactDistinct = TRUE; EXPLAIN PLAN FOR "+c.sql, c.want)
	}
}

// Parts of plans that Druid gave for dates, limits of one group, branches of unions, what is
// computed behind a limit, and types of numbers.
func TestExplainsOfWhatIsShown(t *testing.T) {
	day := `{"type":"range","column":"__time","matchValueType":"LONG","lower":1442016000000,"upper":1442102400000,"upperOpen":true}`
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE CAST(__time AS DATE) = DATE '2015-09-12' OR i = 1", `"filter":{"type":"or","fields":[` + day},
		{"SELECT COUNT(*) FILTER (WHERE CAST(__time AS DATE) <> DATE '2015-09-12') FROM c_types", `"filter":{"type":"not","field":` + day + `}`},
		{"SELECT s FROM c_types WHERE FLOOR(__time TO DAY) = TIMESTAMP '2015-09-12 06:00:00' AND i > 3", `"name":"c_types"},"intervals":{"type":"intervals","intervals":[]},"resultFormat"`},
		{"SELECT COUNT(*) FROM c_types HAVING COUNT(*) > 1 LIMIT 20", `"limitSpec":{"type":"default","columns":[],"limit":20}`},
		{"SELECT s FROM c_types UNION ALL SELECT 'a' AS x", `"columnNames":["x"],"columnTypes":["STRING"],"rows":[["a"]]}`},
		{"SELECT CASE WHEN s IS NOT NULL THEN s END FROM c_types", `"expression":"nvl(\"s\",null)"`},
		{"SELECT CASE WHEN __time >= TIMESTAMP '2020-01-01' AND __time < TIMESTAMP '2020-01-01' THEN 'a' ELSE s END FROM c_types", `"columns":["s"]`},
		{"SELECT c * 2, s FROM (SELECT s, COUNT(*) AS c FROM c_types GROUP BY 1 ORDER BY 2 DESC LIMIT 5)", `"postAggregations":[{"type":"expression","name":"s0","expression":"(\"a0\" * 2)"}]`},
		{"SELECT c * 2, s FROM (SELECT s, COUNT(*) AS c FROM c_types GROUP BY 1 ORDER BY 2 DESC LIMIT 5)", `"signature":[{"name":"s0","type":"LONG"},{"name":"d0","type":"STRING"}]`},
		{"SELECT SUM(CASE WHEN i > 3 THEN f ELSE 0 END), MAX(f - 100), MAX(f * 1.5) FROM c_types", `"expression":"(\"f\" - 100)","outputType":"FLOAT"`},
		{"SELECT SUM(CASE WHEN s = 'a' THEN f ELSE 0 END) FROM c_types", `"outputType":"DOUBLE"`},
		{"SELECT COUNT(*) FROM c_arrays WHERE ARRAY_CONTAINS(da, 1)", `array_contains(\"da\",1)`},
		{"SELECT SUM(f + 1) FROM c_types", `"expression":"(\"f\" + 1)","outputType":"DOUBLE"`},
		{"SELECT MAX(CASE WHEN s = 'a' THEN f ELSE 0 END) FROM c_types", `"outputType":"FLOAT"`},
		{"SELECT HLL_SKETCH_ESTIMATE(DS_HLL(s)) * 2 FROM c_types", `[{"type":"HLLSketchEstimate","name":"p1","field":{"type":"fieldAccess","name":"p0","fieldName":"a0"},"round":false},` +
			`{"type":"expression","name":"p2","expression":"(\"p1\" * 2)"}]`},
		{"SELECT HLL_SKETCH_TO_STRING(DS_HLL(s)), HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS(DS_HLL(s), 2) FROM c_types", `{"type":"HLLSketchToString","name":"p1",` +
			`"field":{"type":"fieldAccess","name":"p0","fieldName":"a0"}},{"type":"HLLSketchEstimateWithBounds","name":"p3","field":{"type":"fieldAccess","name":"p2","fieldName":"a0"},"numStdDev":2}]`},
		{"SELECT i NOT IN ('a', 'b') FROM c_types", `"expression":"null"`},
		{"SELECT CASE WHEN i NOT IN ('a', 'b') THEN s ELSE s2 END FROM c_types", `"columns":["s2"]`},
		{"SELECT COUNT(*) FROM c_types WHERE i IN ('a', 'b')", `"rows":[[0]]`},
		{"SELECT DS_HLL(s) FROM c_types", `"signature":[{"name":"a0","type":"COMPLEX"}]`},
		{"SELECT s2 || '-' || s FROM c_types WHERE s2 = 'tv'", `"expression":"concat('tv-',\"s\")"`},
		{"SELECT tx NOT IN ('a') FROM c_types", `"expression":"(\"tx\" != 'a')"`},
		{"SELECT ARRAY_CONCAT(da, ARRAY[1]) FROM c_arrays", `array_concat(\"da\",array(1))`},
		{"SELECT b.k FROM c_types a RIGHT JOIN (SELECT k FROM c_dim WHERE k = 'red') b ON a.s = b.k", `"expression":"'red'"`},
		{"SELECT COUNT(*) FROM c_types WHERE tx NOT IN (SELECT k FROM c_dim) AND i > 3", `"filter":{"type":"and","fields":[{"type":"or"`},
	} {
		explains(t, c.sql, c.want)
	}
	plansAs(t, "SET useApproximateCountDistinct = FALSE; EXPLAIN PLAN FOR SELECT s, COUNT(DISTINCT s) FROM c_types GROUP BY 1",
		`"postAggregations":[{"type":"expression","name":"p0","expression":"case_searched(notnull(\"d0\"),1,0)"}]`)
}
