package sql

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// Whatever the text, preparing and optimizing neither panics nor gives an error that is no fault.
func FuzzPrepare(f *testing.F) {
	for _, seed := range []string{
		"SELECT dim1, COUNT(*) AS n FROM t WHERE dim2 = 'a' AND __time > TIMESTAMP '2020-01-01' GROUP BY 1 HAVING n > 2 ORDER BY n DESC LIMIT 3",
		"SELECT dim3, UPPER(dim3), COUNT(DISTINCT dim1) FROM t GROUP BY CUBE (dim3, dim1) ORDER BY 1",
		"SELECT a, (SELECT COUNT(*) FROM t WHERE t.dim1 = u.a) FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.cnt < u.b) OR a IN (SELECT dim2 FROM t)",
		"WITH w AS (SELECT a FROM u UNION ALL SELECT dim1 FROM t) SELECT * FROM w JOIN u USING (a) WHERE b NOT IN (1, 2, NULL)",
		"SELECT ROW_NUMBER() OVER (PARTITION BY dim1 ORDER BY m1), SUM(m1) OVER (ROWS 3 PRECEDING) FROM t QUALIFY RANK() OVER (ORDER BY m2) = 1",
		"SELECT x.d FROM t CROSS JOIN UNNEST(MV_TO_ARRAY(dim3)) AS x(d), LATERAL (SELECT MAX(b) FROM u WHERE u.a = x.d) AS v",
		"SELECT * FROM (SELECT dim1, dim2, m1 FROM t) PIVOT (SUM(m1) FOR dim2 IN ('a' AS A, 'b'))",
		"VALUES (1, 'a'), (NULL, CURRENT_TIMESTAMP)",
		"INSERT INTO x SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY dim1",
		"EXPLAIN PLAN FOR SELECT CASE WHEN dim3 = 'a' THEN dim3 ELSE 'b' END FROM t INTERSECT SELECT a FROM u",
		"SELECT t.dim1, l.b FROM t LEFT JOIN LATERAL (SELECT b FROM u WHERE u.a = t.dim1 AND u.b > t.cnt LIMIT 1) AS l ON l.b > 2, UNNEST(ARRAY[1], MV_TO_ARRAY(dim3)) AS x(p, q)",
		"SELECT * FROM t TABLESAMPLE BERNOULLI(10) REPEATABLE(1) FULL JOIN u ON (SELECT MAX(b) FROM u AS v WHERE v.a = t.dim1 AND v.b < u.b) > 1",
		"WITH w AS (SELECT dim1, COUNT(*) AS c FROM t GROUP BY 1) SELECT * FROM w a, w b, u WHERE a.c = b.c AND u.a = a.dim1 AND dim3 IN (SELECT a FROM u)",
		"SELECT * FROM TABLE(APPEND('t', 'u')) WHERE cnt BETWEEN 1 AND b ORDER BY b NULLS LAST OFFSET 3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := prepare(text, func(r *Request) {
			r.Params = []Param{{Type: "INTEGER", Value: int64(3)}, {Type: "VARCHAR", Value: "x"}}
			if strings.Contains(text, "INTO") {
				r.Engine = MSQ
			}
		})
		if err != nil {
			if fault.Find(err) == nil {
				t.Fatalf("%q: error is no fault: %v", text, err)
			}
			return
		}
		n := plan.Optimize(s.Plan, plan.Options{})
		before, after := s.Plan.Columns(), n.Columns()
		if len(before) != len(after) {
			t.Fatalf("%q: %d columns became %d", text, len(before), len(after))
		}
		for i := range before {
			if before[i].Type.Runtime() != after[i].Type.Runtime() {
				t.Fatalf("%q: column %d was %s and is %s", text, i, before[i].Type, after[i].Type)
			}
		}
		plan.Format(n)
	})
}

// Statements of absurd size are bound or refused, in milliseconds: what would double at each level
// is bounded.
func TestExtremeStatements(t *testing.T) {
	many := func(n int, part, sep string) string { return strings.Repeat(part+sep, n-1) + part }
	with := "WITH a0 AS (SELECT 1 AS x)"
	for i := 1; i < 60; i++ {
		with += ", a" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + " AS (SELECT p.x FROM "
		prev := "a0"
		if i > 1 {
			prev = "a" + string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		}
		with += prev + " p, " + prev + " q)"
	}
	within := func(n int, before, x, after string) string {
		return strings.Repeat(before, n) + x + strings.Repeat(after, n)
	}
	const tooLarge = "is too large: written out these have more than [50000] parts"
	for name, text := range map[string]string{
		"nested NULLIF":    "SELECT " + within(60, "NULLIF(", "cnt", ", 1)") + " FROM t",
		"nested BETWEEN":   "SELECT COUNT(*) FROM t WHERE " + within(60, "(", "cnt", " BETWEEN 0 AND 1)"),
		"nested SYMMETRIC": "SELECT COUNT(*) FROM t WHERE " + within(60, "(", "cnt", " BETWEEN SYMMETRIC 0 AND 1)"),
		"nested lists":     "SELECT COUNT(*) FROM t WHERE " + within(60, "(", "cnt", " IN (cnt, 2, 3))"),
		"nested rows":      "SELECT COUNT(*) FROM t WHERE " + within(60, "(", "cnt", ", 1) IN ((1, 1), (0, 1))"),
		"nested ANY":       "SELECT COUNT(*) FROM t WHERE " + within(60, "(", "cnt", " > ANY (2, 3))"),
		"nested choices":   "SELECT " + within(60, "CASE ", "cnt", " WHEN 1 THEN 2 WHEN 2 THEN 1 END") + " FROM t",
	} {
		if _, err := prepare(text); err == nil || !strings.Contains(err.Error(), tooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"10,000 parentheses":   "SELECT " + strings.Repeat("(", 10000) + "1" + strings.Repeat(")", 10000),
		"10,000 values":        "SELECT dim1 FROM t WHERE cnt IN (" + many(10000, "7", ",") + ")",
		"10,000 terms":         "SELECT dim1 FROM t WHERE " + many(10000, "dim1 = 'x'", " OR "),
		"5,000 additions":      "SELECT " + many(5000, "cnt", " + ") + " FROM t",
		"2,000 columns":        "SELECT " + many(2000, "dim1", ", ") + " FROM t GROUP BY dim1",
		"2,000 aggregates":     "SELECT " + many(2000, "SUM(cnt + 1)", ", ") + " FROM t",
		"nested queries":       strings.Repeat("SELECT * FROM (", 500) + "SELECT 1" + strings.Repeat(")", 500),
		"doubling WITH":        with + " SELECT * FROM a59",
		"nested CASE":          "SELECT " + strings.Repeat("CASE WHEN cnt = 1 THEN 1 ELSE ", 900) + "2" + strings.Repeat(" END", 900) + " FROM t",
		"cube of 20":           "SELECT 1 FROM t GROUP BY CUBE (" + many(20, "cnt", ", ") + ")",
		"NOT of NOT":           "SELECT " + strings.Repeat("NOT ", 1500) + "TRUE",
		"doubling conditions":  strings.Repeat("SELECT x + x AS x FROM (", 100) + "SELECT cnt AS x FROM t" + strings.Repeat(") WHERE x > 0", 100),
		"doubling projections": strings.Repeat("SELECT x + x AS x FROM (", 100) + "SELECT cnt AS x FROM t" + strings.Repeat(")", 100),
	} {
		s, err := prepare(text)
		if err == nil {
			plan.Optimize(s.Plan, plan.Options{})
		} else if fault.Find(err) == nil {
			t.Errorf("%s: error is no fault: %v", name, err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	const text = `SELECT FLOOR(__time TO HOUR) AS "hour", country, device, COUNT(*) AS edits, SUM(bytes) AS bytes, MAX(ms) AS slowest,
COUNT(DISTINCT "user") AS users, SUM(price) FILTER (WHERE status = 200) / COUNT(*) AS average
FROM c_events WHERE __time >= TIMESTAMP '2022-10-01' AND __time < CURRENT_TIMESTAMP AND country IN ('US', 'DE', 'FR')
AND (page LIKE '/a%' OR device = 'phone') AND tags = 'x' GROUP BY 1, 2, 3 HAVING COUNT(*) > 10 ORDER BY edits DESC, country LIMIT 100`
	b.ReportAllocs()
	for b.Loop() {
		s, err := prepare(text)
		if err != nil {
			b.Fatal(err)
		}
		plan.Optimize(s.Plan, plan.Options{})
	}
}
