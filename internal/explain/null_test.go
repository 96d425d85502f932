package explain

import "testing"

// Tests for NULL of what operators compute are tests of their operands, in conditions and where
// they are shown; functions are asked themselves.
func TestExplainsOfTestsForNull(t *testing.T) {
	missing := func(c string) string { return `{"type":"null","column":"` + c + `"}` }
	known := func(c string) string { return `{"type":"not","field":` + missing(c) + `}` }
	for _, c := range []struct{ cond, want string }{
		{"(x > i) IS NULL", `"filter":{"type":"or","fields":[` + missing("x") + `,` + missing("i") + `]}`},
		{"(x > i) IS NOT NULL", `"filter":{"type":"and","fields":[` + known("x") + `,` + known("i") + `]}`},
		{"i * 2 + l IS NOT NULL", `"filter":{"type":"and","fields":[` + known("i") + `,` + known("l") + `]}`},
		{"(s LIKE 'a%') IS NULL", `"filter":` + missing("s")},
		{"(NOT (i > 3)) IS NULL", `"filter":` + missing("i")},
		{"(mv = 'a') IS NULL", `"filter":` + missing("mv")},
		{"FLOOR(x) IS NULL", `"filter":` + missing("x")},
		{"CAST(x AS BIGINT) + 1 IS NULL", `"filter":` + missing("x")},
		{"CAST(s AS BIGINT) IS NULL", `"filter":` + missing("v0")},
		{"ABS(i) + x IS NULL", `"filter":{"type":"or","fields":[` + missing("v0") + `,` + missing("x") + `]}`},
		{"(i + 1) * 2 IS NULL OR i IS NULL", `"filter":` + missing("i")},
		{"(i > 3 AND x > 2) IS NULL", `"filter":` + missing("v0")},
		{"CASE WHEN (i > 3) IS NULL THEN 1 ELSE 0 END = 1", `"filter":` + missing("i")},
		{"i > 3 AND i IS NULL OR s2 IS NULL", `"filter":` + missing("s2")},
		{"NOT ((x > 3) IS NOT FALSE)", `"filter":{"type":"range","column":"x","matchValueType":"LONG","upper":3}`},
		{"EXTRACT(YEAR FROM __time) IS NULL", `"rows":[[0]]`},
		{"COALESCE(x, 0) IS NOT NULL AND i = 7", `"filter":{"type":"equals","column":"i","matchValueType":"LONG","matchValue":7}`},
	} {
		explains(t, "SELECT COUNT(*) FROM c_types WHERE "+c.cond, c.want)
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT i + l IS NOT NULL FROM c_types", `"expression":"(notnull(\"i\") && notnull(\"l\"))"`},
		{"SELECT CASE WHEN (i > 3) IS NULL THEN 'n' ELSE 'y' END FROM c_types", `"expression":"case_searched(isnull(\"i\"),'n','y')"`},
		{"SELECT CAST(s AS BIGINT) IS NULL FROM c_types", `"expression":"isnull(CAST(\"s\", 'LONG'))"`},
		{"SELECT s2, MAX(x) - MIN(x), MIN(x) FROM c_types GROUP BY 1 HAVING MAX(x) - MIN(x) IS NOT NULL", `"filter":{"type":"and","fields":[` + known("a0") + `,` + known("a1") + `]}`},
		{"SELECT COALESCE(x, 0) IS NOT NULL FROM c_types", `"expression":"1"`},
		{"SELECT COUNT(*) FROM c_types WHERE FALSE LIMIT 3", `"rows":[[0]]},"intervals":{"type":"intervals","intervals":["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]},"resultFormat":"compactedList","limit":3`},
		{"SELECT COUNT(*) FROM c_types WHERE NOT (CASE WHEN l > 1 THEN TRUE ELSE FALSE END)", `"filter":{"type":"not","field":{"type":"range","column":"l"`},
		{"SELECT AVG(x) FROM c_types WHERE FALSE", `"queryType":"timeseries","dataSource":{"type":"inline","columnNames":["x"],"columnTypes":["DOUBLE"],"rows":[]}`},
		{"SELECT COUNT(*) FILTER (WHERE i > 1) FROM c_types WHERE FALSE", `"dataSource":{"type":"inline","columnNames":["i"],"columnTypes":["LONG"],"rows":[]}`},
		{"SELECT CAST(f AS BIGINT) < 0 FROM c_types", `"expression":"(CAST(\"f\", 'LONG') < 0)"`},
	} {
		explains(t, c.sql, c.want)
	}
}
