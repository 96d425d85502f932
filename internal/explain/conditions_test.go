package explain

import "testing"

// Parts of plans that Druid gave for terms of conditions that say something of one operand.
func TestExplainsOfTermsOfOneOperand(t *testing.T) {
	const red = `{"type":"equals","column":"s2","matchValueType":"STRING","matchValue":"red"}`
	const known = `"filter":{"type":"not","field":{"type":"null","column":"s2"}}`
	for _, c := range []struct{ cond, want string }{
		{"s2 = 'red' AND s2 <> 'blue'", `{"type":"and","fields":[` + red + `,{"type":"not"`},
		{"s2 <> 'blue' AND s2 = 'red'", `"matchValue":"blue"}},` + red + `]}`},
		{"s2 = 'red' AND s2 NOT IN ('blue', 'red')", `"rows":[[0]]`},
		{"s2 IN ('blue', 'red') AND s2 <> 'red'", `{"type":"in","dimension":"s2","values":["blue","red"]},{"type":"not","field":` + red},
		{"s2 IN ('blue', 'red') AND s2 IN ('red', 'tan')", `"values":["blue","red"]},{"type":"in","dimension":"s2","values":["red","tan"]}`},
		{"s2 IN ('blue', 'red') AND s2 > 'm'", `"filter":` + red},
		{"i BETWEEN 2 AND 5 AND i <> 9", `"matchValue":9}},{"type":"range","column":"i","matchValueType":"LONG","lower":2,"upper":5}`},
		{"i > 2 AND i <> 1", `"filter":{"type":"range","column":"i","matchValueType":"LONG","lower":2,"lowerOpen":true}`},
		{"s2 <> 'red' OR s2 <> 'blue'", known},
		{"mv <> 'a' OR mv <> 'b'", `"filter":{"type":"not","field":{"type":"null","column":"mv"}}`},
		{"i > 2 OR i <> 5", `{"type":"table","name":"c_types"},"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},"granularity"`},
	} {
		explains(t, "SELECT COUNT(*) FROM c_types WHERE "+c.cond, c.want)
	}
}

// Parts of plans that Druid gave for lists, values of multi-value strings and arrays.
func TestExplainsOfLists(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"c_types WHERE SUBSTRING(s, 1, 2) IN ('ab', 'cd')", `{"type":"or","fields":[{"type":"expression","expression":"(substring(\"s\", 0, 2) == 'ab')"},{"type":"expression"`},
		{"c_types WHERE SUBSTRING(s, 1, 2) NOT IN ('ab', 'cd')", `{"type":"and","fields":[{"type":"expression","expression":"(substring(\"s\", 0, 2) != 'ab')"}`},
		{"c_types WHERE NOT MV_OVERLAP(mv, ARRAY['x', 'y'])", `{"type":"not","field":{"type":"in","dimension":"mv","values":["x","y"]}}`},
		{"c_types WHERE NOT MV_CONTAINS(mv, ARRAY['x', 'y'])", `{"type":"not","field":{"type":"and","fields":[{"type":"equals","column":"mv"`},
		{"c_arrays WHERE la = ARRAY[4, 5]", `{"type":"equals","column":"la","matchValueType":"ARRAY<LONG>","matchValue":[4,5]}`},
		{"c_arrays WHERE da = ARRAY[0.5, 2.0]", `"matchValueType":"ARRAY<DOUBLE>","matchValue":[0.5,2.0]}`},
		{"c_types WHERE FLOOR(__time TO DAY) IN (TIMESTAMP '2021-03-01', TIMESTAMP '2021-03-04')", `"intervals":["2021-03-01T00:00:00.000Z/2021-03-02T00:00:00.000Z","2021-03-04T00:00:00.000Z/2021-03-05T00:00:00.000Z"]`},
		{"c_types WHERE FLOOR(__time TO DAY) IN (TIMESTAMP '2021-03-01', TIMESTAMP '2021-03-04') OR i = 2", `[{"type":"range","column":"__time","matchValueType":"LONG","lower":1614556800000,"upper":1614643200000,"upperOpen":true}`},
	} {
		explains(t, "SELECT COUNT(*) FROM "+c.sql, c.want)
	}
}

// Parts of plans with the older filters that Druid gave for parts of texts, arrays, numbers as
// texts and values as they are written.
func TestExplainsOfOlderFilters(t *testing.T) {
	const fn = `"extractionFn":{"type":"substring","index":0,"length":2}`
	for _, c := range []struct{ sql, want string }{
		{"c_types WHERE SUBSTRING(s, 1, 2) IN ('ab', 'cd')", `{"type":"in","dimension":"s","values":["ab","cd"],` + fn + `}`},
		{"c_types WHERE SUBSTRING(s, 1, 2) > 'ab'", `{"type":"bound","dimension":"s","lower":"ab","lowerStrict":true,` + fn + `,"ordering":{"type":"lexicographic"}}`},
		{"c_types WHERE SUBSTRING(s, 1, 2) BETWEEN 'ab' AND 'cd'", `"lower":"ab","upper":"cd",` + fn},
		{"c_types WHERE SUBSTRING(s, 1, 2) IS NULL", `{"type":"selector","dimension":"s","value":null,` + fn + `}`},
		{"c_types WHERE CAST(i AS VARCHAR) = '7'", `{"type":"bound","dimension":"i","lower":"7","upper":"7","ordering":{"type":"lexicographic"}}`},
		{"c_types WHERE CAST(i AS VARCHAR) IN ('7', '8')", `{"type":"or","fields":[{"type":"bound","dimension":"i","lower":"7"`},
		{"c_types WHERE x BETWEEN 0.75 AND 3", `"lower":"0.75","upper":"3"`},
		{"c_types WHERE MV_OVERLAP(mv, ARRAY['x'])", `{"type":"selector","dimension":"mv","value":"x"}`},
		{"c_arrays WHERE la <> ARRAY[4, 5]", `{"type":"expression","expression":"(\"la\" != array(4,5))"}`},
	} {
		plansAs(t, "SET sqlUseBoundAndSelectors = TRUE; EXPLAIN PLAN FOR SELECT COUNT(*) FROM "+c.sql, c.want)
	}
}

// Parts of plans that Druid gave for comparisons of buckets, and for what is computed of FLOATs.
func TestExplainsOfBucketsAndFloats(t *testing.T) {
	const year = "FLOOR(__time TO YEAR) > TIMESTAMP '2021-01-01'"
	for _, c := range []struct{ cond, want string }{
		{"(s = 'a' OR " + year + ") AND i = 2", `"column":"__time","matchValueType":"LONG","lower":"1640995200000"}`},
		{"s = 'a' OR " + year, `"column":"__time","matchValueType":"LONG","lower":1640995200000}`},
		{"s = 'a' AND i = 3 OR " + year + " AND i = 2", `"lower":"1640995200000"}`},
		{"ABS(f) > 2", `"expression":"abs(\"f\")","outputType":"FLOAT"`},
		{"l - f > 2", `"expression":"(\"l\" - \"f\")","outputType":"FLOAT"`},
		{"CEIL(f) = 2", `"matchValueType":"FLOAT","matchValue":2.0`},
		{"f * 0.5 > 2", `"outputType":"DOUBLE"`},
	} {
		explains(t, "SELECT COUNT(*) FROM c_types WHERE "+c.cond, c.want)
	}
	explains(t, "SELECT AVG(f + 2) FROM c_types", `"virtualColumns":[{"type":"expression","name":"v0","expression":"(\"f\" + 2)","outputType":"FLOAT"}],"granularity"`)
	explains(t, "SELECT i+1, i+2, i+3, i+4, i+5, i+6, i+7, i+8, i+9, i+10, i+11 FROM c_types", `"name":"v10","expression":"(\"i\" + 11)","outputType":"LONG"},{"type":"expression","name":"v2"`)
}

// Parts of plans that Druid gave for groups of groups by the same keys, and for rows in the order
// of a query within.
func TestExplainsOfRowsAsTheyAre(t *testing.T) {
	const groups = " FROM (SELECT b AS g, MAX(i) AS c FROM c_types GROUP BY 1) "
	for _, c := range []struct{ sql, want string }{
		{"SELECT g, SUM(c)" + groups + "GROUP BY g", `"dataSource":{"type":"table","name":"c_types"}`},
		{"SELECT g, COUNT(*)" + groups + "GROUP BY g", `"postAggregations":[{"type":"expression","name":"p0","expression":"1"}]`},
		{"SELECT g, COUNT(DISTINCT c)" + groups + "GROUP BY g", `"expression":"case_searched(notnull(\"a0\"),1,0)"`},
		{"SELECT g, SUM(c)" + groups + "WHERE c > 2 GROUP BY g", `"having":{"type":"filter","filter":{"type":"range","column":"a0"`},
		{"SELECT g, c, MIN(c)" + groups + "GROUP BY g, c", `"signature":[{"name":"d0","type":"LONG"},{"name":"a0","type":"LONG"},{"name":"a0","type":"LONG"}]`},
		{"SELECT g, SUM(c) FILTER (WHERE c > 2)" + groups + "GROUP BY g", `"dataSource":{"type":"query"`},
		{"SELECT c, COUNT(*)" + groups + "GROUP BY c", `"dataSource":{"type":"query"`},
		{"SELECT k FROM (SELECT k, n FROM c_dim ORDER BY __time LIMIT 2)", `"signature":[{"name":"k","type":"STRING"}]`},
		{"SELECT n * 2 FROM (SELECT k, n FROM c_dim ORDER BY __time LIMIT 2)", `"limit":2,"order":"ascending","columns":["__time","v0"]`},
		{"SELECT k FROM c_dim ORDER BY __time LIMIT 2", `"signature":[{"name":"k","type":"STRING"},{"name":"__time","type":"LONG"}]`},
	} {
		explains(t, c.sql, c.want)
	}
}
