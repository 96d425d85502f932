package explain

import "testing"

// Parts of plans that Druid gave for constant rows: those that are joined have what is compared
// once more.
func TestExplainsOfJoinedRows(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT d.w FROM c_dim d JOIN (VALUES ('tan'), ('red')) v(c) ON d.k = v.c", `"columnNames":["c0"],"columnTypes":["STRING"],"rows":[["tan"],["red"]]},"rightPrefix":"j0.","condition":"(\"k\" == \"j0.c0\")"`},
		{"SELECT d.w, v.y FROM c_dim d JOIN (VALUES ('tan', 4), ('red', 5)) v(c, y) ON d.k = v.c", `"columnNames":["y","c0"],"columnTypes":["LONG","STRING"],"rows":[[4,"tan"],[5,"red"]]`},
		{"SELECT d.w FROM c_dim d JOIN (VALUES ('tan', 4), ('red', 5)) v(c, y) ON d.n = v.y", `"columnNames":["y","y0"]`},
		{"SELECT d.w, v.c FROM c_dim d JOIN (VALUES ('tan', 4), ('red', 5)) v(c, y) ON d.n = v.y", `"columnNames":["c","y","y0"]`},
		{"SELECT d.w FROM c_dim d LEFT JOIN (VALUES ('tan', 4)) v(c, y) ON d.k = v.c", `"columnNames":["c","y","c0"]`},
		{"SELECT COUNT(*) FROM (VALUES ('tan', 4)) v(c, y) JOIN c_dim d ON v.c = d.k", `"left":{"type":"inline","columnNames":["c","y","c0"]`},
		{"SELECT v.c, d.w FROM (VALUES ('tan', 4)) v(c, y) JOIN c_dim d ON v.c = d.k", `"left":{"type":"inline","columnNames":["c","y","c0"]`},
		{"SELECT AVG(x) FROM (VALUES (2.5), (4.5)) v(x)", `"aggregator":{"type":"count","name":"a0:count"},"filter":{"type":"not","field":{"type":"null","column":"x"}}`},
		{"SELECT COUNT(*)", `{"type":"inline","columnNames":["ZERO"],"columnTypes":["LONG"],"rows":[[0]]}`},
		{"SELECT MIN(7), COUNT(*)", `{"type":"inline","columnNames":["$f0"],"columnTypes":["LONG"],"rows":[[7]]}`},
		{"VALUES (ARRAY[3, 4])", `"virtualColumns":[{"type":"expression","name":"v0","expression":"array(3,4)","outputType":"ARRAY<LONG>"}]`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for what joins ask of their sides, and for their limits and keys.
func TestExplainsOfSidesOfJoins(t *testing.T) {
	const above = "(SELECT k, n FROM c_dim WHERE n > 4) d"
	for _, c := range []struct{ sql, want string }{
		{"SELECT t.id, d.w FROM c_types t LEFT JOIN c_dim d ON t.s2 = d.k AND d.n = 4", `"columns":["k","n","w"]`},
		{"SELECT t.id, d.w FROM c_types t LEFT JOIN c_dim d ON t.s2 = d.k AND d.n = 4", `"condition":"((\"s2\" == \"j0.k\") && (4 == \"j0.n\"))"`},
		{"SELECT t.id FROM c_types t RIGHT JOIN " + above + " ON t.s2 = d.k WHERE d.n > 4", `"filter":{"type":"not","field":{"type":"null","column":"j0.n"}},"columns":["id"]`},
		{"SELECT t.id FROM c_types t JOIN " + above + " ON t.l = d.n WHERE d.n > 4", `"joinType":"INNER"},"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},"resultFormat":"compactedList","columns":["id"]`},
		{"SELECT t.id FROM c_types t JOIN c_dim d ON t.s2 = d.k WHERE t.l = d.n", `"filter":{"type":"expression","expression":"(\"l\" == \"j0.n\")"}`},
		{"SELECT id FROM c_types WHERE l IN (SELECT MAX(n) FROM c_dim GROUP BY k)", `"dimensions":[{"type":"default","dimension":"a0","outputName":"d0"`},
		{"SELECT t.id, d.w FROM c_types t RIGHT JOIN c_dim d ON t.s2 = d.k LIMIT 4", `"limit":4,"columns":["k","w"]`},
		{"SELECT t.s2, d.w FROM (SELECT s2 FROM c_types GROUP BY s2) t LEFT JOIN c_dim d ON t.s2 = d.k LIMIT 4", `"threshold":4`},
		{"SELECT d.w, t.i, COUNT(*) FROM c_types t JOIN c_dim d ON t.s2 = d.k GROUP BY 1, 2", `"dimensions":[{"type":"default","dimension":"i","outputName":"d0"`},
		{"SELECT d.w, t.i, COUNT(*) + 1 FROM c_types t JOIN c_dim d ON t.s2 = d.k GROUP BY 1, 2", `"dimensions":[{"type":"default","dimension":"j0.w","outputName":"d0"`},
	} {
		explains(t, c.sql, c.want)
	}
}

// Parts of plans that Druid gave for terms of conditions within others, for truths of numbers, and
// for lists of fractions.
func TestExplainsOfTermsWithinOthers(t *testing.T) {
	for _, c := range []struct{ cond, want string }{
		{"i > 4 AND (i > 2 OR s2 = 'red')", `{"type":"or","fields":[{"type":"not","field":{"type":"null","column":"i"}},{"type":"equals","column":"s2"`},
		{"(s2 = 'red' OR i = 4) AND s2 = 'tan'", `"filter":{"type":"and","fields":[{"type":"equals","column":"i","matchValueType":"LONG","matchValue":4},{"type":"equals","column":"s2","matchValueType":"STRING","matchValue":"tan"}]}`},
		{"COALESCE(s, s2) IS NOT NULL", `{"type":"or","fields":[{"type":"not","field":{"type":"null","column":"s"}},{"type":"not","field":{"type":"null","column":"s2"}}]}`},
		{"COALESCE(s, s2) IS NULL", `{"type":"and","fields":[{"type":"null","column":"s2"},{"type":"null","column":"s"}]}`},
		{"COALESCE(s, 'p') IN ('p', 'q')", `{"type":"or","fields":[{"type":"null","column":"s"},{"type":"in","dimension":"s","values":["p","q"]}]}`},
		{"COALESCE(l, 4) IN (4, 7)", `[{"type":"equals","column":"l","matchValueType":"LONG","matchValue":4},{"type":"null","column":"l"},{"type":"equals"`},
		{"TIME_FORMAT(__time) = 'x'", `'yyyy-MM-dd\\u0027T\\u0027HH:mm:ss.SSSZZ'`},
		{"CAST(b AS BOOLEAN)", `"filter":{"type":"not","field":{"type":"equals","column":"b","matchValueType":"LONG","matchValue":0}}`},
		{"NOT CAST(b AS BOOLEAN)", `"filter":{"type":"equals","column":"b","matchValueType":"LONG","matchValue":0}`},
		{"l IN (4, 7.5)", `"matchValue":4},{"type":"equals","column":"l","matchValueType":"LONG","matchValue":7}`},
		{"JSON_VALUE(jt, '$.k') = 'x'", `{"type":"nested-field","columnName":"jt"`},
	} {
		explains(t, "SELECT COUNT(*) FROM c_types WHERE "+c.cond, c.want)
	}
	explains(t, "SELECT v FROM UNNEST(ARRAY['p', 'q']) AS u(v) WHERE v = 'p'", `"expression":"'p'"`)
	explains(t, "SELECT id, v FROM c_arrays CROSS JOIN UNNEST(ARRAY['p', 'q']) AS u(v) WHERE v = 'p'", `"condition":"('p' == \"j0.EXPR$0\")"`)
}
