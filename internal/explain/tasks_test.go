package explain

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
)

// Parts of plans that Druid gave for statements that tasks run: groups are of one kind, scans say
// what their columns are and sort by any, and what is stored is sorted by CLUSTERED BY.
func TestExplainsForTasks(t *testing.T) {
	const k, n = `{\"name\":\"k\",\"type\":\"STRING\"}`, `{\"name\":\"n\",\"type\":\"LONG\"}`
	const extern = `EXTERN('{"type":"inline","data":"a"}', '{"type":"json"}')) EXTEND (ts VARCHAR)`
	for _, c := range []struct{ sql, plan, resources string }{
		{"SELECT COUNT(*) FROM c_dim", `"queryType":"groupBy"`, "c_dim DATASOURCE"},
		{"SELECT FLOOR(__time TO DAY), COUNT(*) FROM c_dim GROUP BY 1", `"virtualColumns":[{"type":"expression","name":"v0","expression":"timestamp_floor(`, "c_dim DATASOURCE"},
		{"SELECT k, COUNT(*) FROM c_dim GROUP BY 1 ORDER BY 2 DESC LIMIT 3", `"dimensionOrder":{"type":"numeric"}}],"limit":3}`, "c_dim DATASOURCE"},
		{"SELECT n, k, n FROM c_dim LIMIT 5", `"context":{"scanSignature":"[` + k + `,` + n + `]"}`, "c_dim DATASOURCE"},
		{"INSERT INTO x SELECT __time, k FROM c_dim PARTITIONED BY DAY CLUSTERED BY k", `"orderBy":[{"columnName":"k","order":"ascending"}]`, "c_dim DATASOURCE x DATASOURCE"},
		{"INSERT INTO x SELECT k FROM c_dim PARTITIONED BY ALL CLUSTERED BY n", `"orderBy":[{"columnName":"n","order":"ascending"}],"columns":["k","n"]`, "c_dim DATASOURCE x DATASOURCE"},
		{"INSERT INTO x SELECT __time, k, COUNT(*) AS c FROM c_dim GROUP BY 1, 2 PARTITIONED BY DAY CLUSTERED BY c", `"limitSpec":{"type":"default","columns":[{"dimension":"a0"`, "c_dim DATASOURCE x DATASOURCE"},
		{"INSERT INTO c_dim SELECT __time, k FROM c_dim PARTITIONED BY DAY", `"queryType":"scan"`, "c_dim DATASOURCE c_dim DATASOURCE"},
		{"INSERT INTO x SELECT TIME_PARSE(ts) AS __time FROM TABLE(" + extern + " PARTITIONED BY DAY", `"signature":[{"name":"ts","type":"STRING"}]}`, "EXTERNAL EXTERNAL x DATASOURCE"},
	} {
		s, err := prepare("EXPLAIN PLAN FOR "+c.sql, func(r *sql.Request) { r.Engine = sql.MSQ })
		if err != nil {
			t.Fatal(err)
		}
		got, err := Of(s, s.Context, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.Plan, c.plan) {
			t.Errorf("%s: plan %s\nwant it with %s", c.sql, got.Plan, c.plan)
		}
		resources := strings.NewReplacer(`[{"name":"`, "", `","type":"`, " ", `"},{"name":"`, " ", `"}]`, "").Replace(got.Resources)
		if resources != c.resources {
			t.Errorf("%s: resources %s, want %s", c.sql, resources, c.resources)
		}
	}
}

// Reports of tasks show groups with the number of their set, which GROUPING is computed of there.
func TestFragmentsWithGroupingSets(t *testing.T) {
	const text = "SELECT k, n, GROUPING(k) AS g, SUM(n) FROM c_dim GROUP BY GROUPING SETS ((k), (n))"
	s, err := prepare(text, func(r *sql.Request) { r.Engine = sql.MSQ })
	if err != nil {
		t.Fatal(err)
	}
	q, err := native.Fragment(plan.Optimize(s.Plan, plan.Options{Context: s.Env()}), native.Options{Expr: s.Env(), Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"subtotalsSpec":[["d0"],["d1"]]`, `"type":"longSum"`, `$grouping`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the query is %s, want it with %s", got, want)
		}
	}
}
