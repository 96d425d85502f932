package explain

import "testing"

// Parts of plans that Druid gave for what joins and queries over groups compute and choose, and for
// the order of keys.
func TestExplainsOfWhatIsBeside(t *testing.T) {
	const whole = `"columns":["__time","k","n","name","w"]`
	const largest = " FROM (SELECT s2 AS g, MAX(i) AS c FROM c_types GROUP BY 1 HAVING COUNT(*) > 2) "
	for _, c := range []struct{ sql, want string }{
		{"SELECT d.m FROM c_types t LEFT JOIN (SELECT k, n * 2 AS m FROM c_dim) d ON t.s2 = d.k", whole},
		{"SELECT d.m FROM c_types t LEFT JOIN (SELECT k, n * 2 AS m FROM c_dim) d ON t.s2 = d.k", `"expression":"(\"j0.n\" * 2)"`},
		{"SELECT d.m FROM c_types t JOIN (SELECT k, n * 2 AS m FROM c_dim) d ON t.l = d.m", `"condition":"(\"l\" == \"j0.v0\")"`},
		{"SELECT d.m FROM c_types t JOIN (SELECT k, n * 2 AS m FROM c_dim WHERE w > 2) d ON t.s2 = d.k", `"columns":["j0.v0"]`},
		{"SELECT COUNT(*) FROM c_types t JOIN c_dim d ON t.s2 = d.k WHERE t.i > 4 OR d.n = 3", `"condition":"(\"s2\" == \"j0.k\")","joinType":"INNER"}`},
		{"SELECT d.k, COUNT(*) FROM c_types t FULL JOIN c_dim d ON t.s2 = d.k WHERE d.n > 4 GROUP BY 1", `"joinType":"FULL"}`},
		{"SELECT d.k FROM c_types t FULL JOIN c_dim d ON t.s2 = d.k WHERE d.n > 4", `"joinType":"RIGHT"}`},
		{"SELECT COUNT(*) FROM c_types t, c_dim d WHERE t.s2 = d.k", `"condition":"(\"s2\" == \"j0.k\")","joinType":"INNER"}`},
		{"SELECT c, COUNT(*)" + largest + "GROUP BY c", `"filter":{"type":"range","column":"a1","matchValueType":"LONG","lower":2,"lowerOpen":true},"granularity":{"type":"all"},"dimensions":[{"type":"default","dimension":"a0","outputName":"d0"`},
		{"SELECT MAX(c), COUNT(g)" + largest, `"having":{"type":"filter","filter":{"type":"range","column":"a1"`},
		{"SELECT COUNT(c) FROM (SELECT s2, SUM(l) AS c FROM c_types GROUP BY 1) WHERE c > 4", `"aggregations":[{"type":"count","name":"_a0"}]`},
		{"SELECT COUNT(*) FROM (SELECT b, COUNT(*) AS c FROM c_types GROUP BY b ORDER BY 2 LIMIT 4)", `"aggregations":[{"type":"count","name":"_a0"}]`},
		{"SELECT s2, b, COUNT(*) FROM c_types GROUP BY b, s2", `"dimensions":[{"type":"default","dimension":"s2","outputName":"d0"`},
		{"SELECT b, COUNT(*) FROM c_types GROUP BY b, s2", `"dimensions":[{"type":"default","dimension":"s2","outputName":"d0"`},
		{"SELECT COUNT(*), b, s2 FROM c_types GROUP BY b, s2", `"dimensions":[{"type":"default","dimension":"b","outputName":"d0"`},
		{"SELECT CAST(__time AS DATE), i FROM c_types ORDER BY 1", `"order":"ascending","columns":["__time","i","v0"]`},
	} {
		explains(t, c.sql, c.want)
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT MAX(__time) FROM c_types WHERE i = 4", `"queryType":"timeBoundary","dataSource":{"type":"table","name":"c_types"}`},
		{"SELECT MAX(__time) FROM c_types WHERE i = 4", `"bound":"maxTime","filter":{"type":"equals","column":"i","matchValueType":"LONG","matchValue":4},"context":{"enableTimeBoundaryPlanning":true,"maxTimeArrayOutputName":"a0"}`},
		{"SELECT MIN(__time), MAX(__time) FROM c_types", `"queryType":"timeseries"`},
		{"SELECT MIN(__time) IS NULL FROM c_types", `"queryType":"timeseries"`},
	} {
		plansAs(t, "SET enableTimeBoundaryPlanning = TRUE; EXPLAIN PLAN FOR "+c.sql, c.want)
	}
}

// Parts of plans that Druid gave for sums and means of values that stand for NULL, and for one
// expression that is asked for in two ways.
func TestExplainsOfValuesForNull(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT SUM(COALESCE(l, 0)) FROM c_types", `{"type":"filtered","aggregator":{"type":"longSum","name":"a0","fieldName":"l"},"filter":{"type":"not","field":{"type":"null","column":"l"}},"name":"a0"}`},
		{"SELECT SUM(COALESCE(l * 2, 0)) FROM c_types", `"filter":{"type":"not","field":{"type":"null","column":"l"}}`},
		{"SELECT SUM(COALESCE(l, 3)) FROM c_types", `{"type":"longSum","name":"a0","fieldName":"v0"}`},
		{"SELECT AVG(COALESCE(l, 3)) FROM c_types", `{"type":"filtered","aggregator":{"type":"count","name":"a0:count"},"filter":{"type":"not","field":{"type":"null","column":"v0"}}`},
		{"SELECT TIME_EXTRACT(__time, 'MONTH'), COUNT(*) FROM c_types WHERE EXTRACT(MONTH FROM __time) IN (2, 3) GROUP BY 1", `"dimension":"v0"`},
	} {
		explains(t, c.sql, c.want)
	}
}
