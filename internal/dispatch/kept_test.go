package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// days makes a load of some days of a month, a few rows each.
func days(t *testing.T, r *rand.Rand, version int) *slt.Load {
	t.Helper()
	columns, err := fixture.ParseColumns("__time TIMESTAMP, k VARCHAR, l VARCHAR, n BIGINT")
	if err != nil {
		t.Fatal(err)
	}
	load := &slt.Load{DataSource: "wiki", Version: fmt.Sprint(version), Table: fixture.Table{Columns: columns}}
	from := r.IntN(20)
	for day := from; day < from+1+r.IntN(8); day++ {
		for range 1 + r.IntN(12) {
			if err := load.Table.Add(fmt.Sprintf(`["2024-01-%02dT%02d:00:00Z","k%02d","l%d",%d]`, 1+day, r.IntN(24), r.IntN(9), r.IntN(3), r.IntN(1000))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return load
}

// statement makes a random aggregation: over all of time, over days, or over times that cut through
// days.
func statement(r *rand.Rand) string {
	calls := []string{
		"COUNT(*) AS c", "SUM(n) AS s", "MIN(n) AS least", "MAX(l) AS most", "COUNT(DISTINCT k) AS d", "SUM(n) FILTER (WHERE l = 'l1') AS f",
		"APPROX_COUNT_DISTINCT_DS_HLL(k) AS h", "AVG(n) AS a",
	}
	r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	keys := []string{"", "k", "TIME_FLOOR(__time, 'PT6H')", "k, l", "CONCAT(k, l)"}[r.IntN(5)]
	where := []string{
		"", " WHERE n > 500", " WHERE k IN ('k01', 'k02')", " WHERE __time >= TIMESTAMP '2024-01-05' AND __time < TIMESTAMP '2024-01-20'",
		fmt.Sprintf(" WHERE __time >= TIMESTAMP '2024-01-%02d %02d:00:00'", 1+r.IntN(20), r.IntN(24)), " WHERE k = 'none'",
	}[r.IntN(6)]
	sql := "SELECT "
	if keys != "" {
		sql += keys + ", "
	}
	sql += calls[0] + ", " + calls[1] + " FROM wiki" + where
	if keys != "" {
		sql += " GROUP BY " + keys + " ORDER BY " + keys
	}
	return sql
}

// A Broker that keeps what servers made of single segments answers as one that keeps nothing does,
// whatever of the segments is replaced in between, however little it may keep and whether or not
// servers break.
func TestKeptGroupsAreThoseOfTheSegmentsOfNow(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 77))
		o := engine.Options{SegmentRows: 1 + r.IntN(12), Servers: 2 + r.IntN(5), FanIn: 2, Kept: true, Threads: r.IntN(4), BatchRows: r.IntN(8), Broken: seed%3 == 2}
		if seed%2 == 1 {
			o.KeptBytes = 20_000
		}
		keeps, one := engine.Serve(t, o), engine.Serve(t, engine.Options{SegmentRows: o.SegmentRows})
		var asked []string
		for version := range 4 {
			load := days(t, r, version)
			if version == 0 {
				load = days(t, rand.New(rand.NewPCG(seed, 1)), 0)
			}
			for _, e := range []engine.Served{keeps, one} {
				if err := e.Load(t.Context(), load); err != nil {
					t.Fatal(err)
				}
			}
			for range 8 {
				asked = append(asked, statement(r))
			}
			for _, sql := range asked { // the old ones again
				want, err := one.Query(t.Context(), &slt.Statement{SQL: sql})
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				got, err := keeps.Query(t.Context(), &slt.Statement{SQL: sql})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, sql, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d, version %d: %s: %s", seed, version, sql, diff)
				}
			}
		}
	}
}

// What is known is asked of nobody; what a context does not want used or kept, what is not an
// aggregation, joins, and groupings by several dimensions are.
func TestKnownSegmentsAreAskedOfNobody(t *testing.T) {
	told := &asked{requests: map[string]*dispatch.Request{}}
	served := engine.Serve(t, engine.Options{SegmentRows: 3, Servers: 4, Asked: told.add, Kept: true})
	e := served.HTTP // each statement once
	if err := served.Load(t.Context(), days(t, rand.New(rand.NewPCG(1, 1)), 0)); err != nil {
		t.Fatal(err)
	}
	segments := func(sql string, context map[string]any) (all, single int) {
		t.Helper()
		told.requests = map[string]*dispatch.Request{}
		if _, err := e.Query(t.Context(), &slt.Statement{SQL: sql, Context: context}); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for _, r := range told.requests {
			all += len(r.Segments)
			if r.BySegment {
				single += len(r.Segments)
			}
		}
		return all, single
	}
	const sum = "SELECT k, SUM(n) AS s FROM wiki GROUP BY 1 ORDER BY 1"
	first, single := segments(sum, map[string]any{"populateCache": false})
	if first < 4 || single != 0 {
		t.Errorf("without keeping: %d segments are asked for, %d by themselves", first, single)
	}
	for i, want := range [][2]int{{first, first}, {0, 0}} {
		if all, single := segments(sum, nil); all != want[0] || single != want[1] {
			t.Errorf("time %d: %d segments are asked for, %d by themselves", i, all, single)
		}
	}
	if all, _ := segments(sum, map[string]any{"useCache": false}); all != first {
		t.Errorf("useCache=false: %d segments are asked for", all)
	}
	for _, sql := range []string{
		"SELECT k, l, SUM(n) AS s FROM wiki GROUP BY 1, 2", "SELECT n FROM wiki ORDER BY n LIMIT 3", "SELECT COUNT(*) AS c FROM wiki WHERE RANDOM() < 2",
		"SELECT COUNT(*) AS c FROM wiki JOIN (VALUES ('k01'), ('k02')) v(y) ON wiki.k = v.y",
	} {
		for range 2 {
			if all, single := segments(sql, nil); all != first || single != 0 {
				t.Errorf("%s: %d segments are asked for, %d by themselves", sql, all, single)
			}
		}
	}
}
