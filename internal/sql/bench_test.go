package sql

import (
	"context"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// typical are statements of about 500 characters, as dashboards and consoles send them.
var typical = map[string]string{
	"dashboard": `SELECT TIME_FLOOR(CAST("__time" AS TIMESTAMP), 'PT1H') AS "__timestamp", "dim1" AS "dim1", "dim2", COUNT(*) AS "count", SUM("m1") AS "SUM(m1)", ` +
		`APPROX_COUNT_DISTINCT("dim2") AS "distinct", SUM("m2") FILTER (WHERE "dim2" LIKE 'a%') / NULLIF(COUNT(*), 0) AS "rate" FROM "t" ` +
		`WHERE "__time" >= TIME_PARSE('2020-01-01T00:00:00') AND "__time" < TIME_PARSE('2020-02-01T00:00:00') AND "dim1" IN ('a', 'b', 'c') AND NOT ("dim2" = 'x') ` +
		`GROUP BY TIME_FLOOR(CAST("__time" AS TIMESTAMP), 'PT1H'), "dim1", "dim2" HAVING COUNT(*) > 10 ORDER BY "count" DESC LIMIT 1001`,
	"joins": `WITH top AS (SELECT dim1, SUM(m1) AS total FROM t WHERE __time >= TIMESTAMP '2020-01-01 00:00:00' GROUP BY dim1 ORDER BY total DESC LIMIT 10) ` +
		`SELECT t.dim2, u.b, top.total, COUNT(*) AS n, MAX(t.m2) AS most FROM t JOIN top ON t.dim1 = top.dim1 LEFT JOIN u ON u.a = t.dim2 AND u.b > 3 ` +
		`WHERE t.__time >= TIMESTAMP '2020-01-01 00:00:00' AND t.dim2 NOT IN ('x', 'y') AND EXISTS (SELECT 1 FROM u AS v WHERE v.a = t.dim1) ` +
		`AND CASE WHEN t.m1 > 5 THEN 'high' ELSE 'low' END = 'high' GROUP BY t.dim2, u.b, top.total ORDER BY n DESC, t.dim2 LIMIT 50`,
	"windows": `SELECT * FROM (SELECT dim1, dim2, FLOOR(__time TO DAY) AS d, SUM(cnt) AS c, RANK() OVER (PARTITION BY dim1 ORDER BY SUM(cnt) DESC) AS r, ` +
		`SUM(SUM(cnt)) OVER (PARTITION BY dim1 ORDER BY FLOOR(__time TO DAY) ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM t ` +
		`WHERE __time BETWEEN TIMESTAMP '2020-01-01 00:00:00' AND TIMESTAMP '2020-03-01 00:00:00' AND (dim2 = 'a' OR dim2 LIKE 'b%' OR UPPER(dim1) = 'X') ` +
		`GROUP BY dim1, dim2, FLOOR(__time TO DAY)) AS q WHERE r <= 3 ORDER BY dim1, r`,
}

// A query of 500 characters has to be planned in less than 200 microseconds.
func BenchmarkPlan(b *testing.B) {
	for name, text := range typical {
		b.Run(name, func(b *testing.B) {
			known := knownTables{}
			for _, name := range []string{"t", "u"} {
				known[name], _ = tables.Table(b.Context(), SchemaData, name)
			}
			b.ReportAllocs()
			for b.Loop() {
				s, err := Prepare(b.Context(), Request{Text: text, Catalog: known})
				if err != nil {
					b.Fatal(err)
				}
				plan.Optimize(s.Plan, plan.Options{Context: s.Env(), Rows: func(*plan.Scan) float64 { return 1e6 }})
			}
		})
	}
}

// knownTables is a catalog that takes no time.
type knownTables map[string]*Table

func (k knownTables) Table(_ context.Context, _ Schema, name string) (*Table, error) {
	return k[name], nil
}
func (k knownTables) Names(context.Context, Schema) []string { return nil }
