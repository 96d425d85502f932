package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/server"
)

// cached is a server with a cache of results.
type cached struct {
	*server.Server
	t *testing.T
}

// ask runs a statement and returns its rows and what of them the metrics of the cache say that
// changed: hits, misses, puts.
func (c *cached) ask(sql string, context map[string]any) (rows [][]any, change string) {
	c.t.Helper()
	before := c.counts()
	body := map[string]any{"query": sql, "resultFormat": "array"}
	if context != nil {
		body["context"] = context
	}
	if err := c.Call(c.t.Context(), "POST", "/service/v2/sql", body, &rows); err != nil {
		c.t.Fatal(err)
	}
	var changed []string
	for i, after := range c.counts() {
		if after != before[i] {
			changed = append(changed, []string{"hit", "miss", "put", "oversized"}[i])
		}
	}
	return rows, strings.Join(changed, " ")
}

func (c *cached) counts() (out [4]string) {
	c.t.Helper()
	_, text, err := c.Send(c.t.Context(), "broker", "GET", "/metrics", "")
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		for i, name := range []string{"hits", "misses", "put_ok", "put_oversized"} {
			if rest, ok := strings.CutPrefix(line, "service_query_cache_total_"+name+"{"); ok {
				_, out[i], _ = strings.Cut(rest, "} ")
			}
		}
	}
	return out
}

func (c *cached) expect(sql string, context map[string]any, want string) [][]any {
	c.t.Helper()
	rows, got := c.ask(sql, context)
	if got != want {
		c.t.Errorf("%s: %q, want %q", sql, got, want)
	}
	return rows
}

func (c *cached) load(sql string) {
	c.t.Helper()
	if err := c.Ingest(c.t.Context(), sql, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		c.t.Fatal(err)
	}
}

func startCached(t *testing.T, settings ...string) *cached {
	return &cached{server.Start(t, server.Options{Settings: append([]string{
		"service.broker.cache.useResultLevelCache=true", "service.broker.cache.populateResultLevelCache=true",
		"service.broker.cache.unCacheable=[]",
	}, settings...), Clock: newSteps()}), t}
}

func TestResultsAreCached(t *testing.T) {
	c := startCached(t)
	const rows = ` SELECT TIMESTAMP '2026-01-01' AS __time, x, ARRAY['a', CAST(x AS VARCHAR)] AS l, MV_APPEND(ARRAY['m'], CAST(x AS VARCHAR)) AS mv, ` +
		`JSON_OBJECT('k':x) AS j, CASE WHEN x > 1 THEN x * 0.5E0 END AS d FROM UNNEST(ARRAY[1, 2, 3]) AS u(x) PARTITIONED BY DAY`
	c.load("INSERT INTO a" + rows)
	c.load("INSERT INTO b" + rows)
	for _, sql := range []string{
		"SELECT COUNT(*), SUM(x) FROM a", "SELECT __time, x, l, mv, j, d FROM a ORDER BY x", "SELECT a.x FROM a JOIN b ON a.x = b.x ORDER BY 1",
		"SELECT x, COUNT(*) FROM a GROUP BY 1 ORDER BY 2 DESC, 1", "SELECT x FROM a WHERE x > 100",
	} {
		first := c.expect(sql, nil, "miss put")
		if diff := cmp.Diff(first, c.expect(sql, nil, "hit")); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
	const sum = "SELECT COUNT(*), SUM(x) FROM a"
	// What has no part in the rows has none in the key; what has, has.
	c.expect(sum, map[string]any{"sqlQueryId": "another", "priority": 3, "timeout": 10_000}, "hit")
	c.expect("SELECT TIME_FORMAT(MAX(__time)) FROM a", map[string]any{"sqlTimeZone": "Asia/Tokyo"}, "miss put")
	c.expect("SELECT TIME_FORMAT(MAX(__time)) FROM a", map[string]any{"sqlTimeZone": "Etc/UTC"}, "miss put")
	// Contexts can say no.
	c.expect(sum, map[string]any{"useResultLevelCache": false}, "put")
	c.expect(sum, map[string]any{"useResultLevelCache": false, "populateResultLevelCache": false}, "")
	c.expect("SELECT MAX(x) FROM a", map[string]any{"populateResultLevelCache": false}, "miss")
	// Segments that are not published are others than those of the cache.
	if got := c.expect(sum, map[string]any{"realtimeSegmentsMode": "exclusive"}, ""); fmt.Sprint(got[0][0]) != "0" {
		t.Errorf("rows that are not published: %v", got)
	}
	// What depends on anything but datasources is not kept.
	for _, sql := range []string{
		"SELECT COUNT(*) FROM a WHERE RANDOM() < 2", "SELECT COUNT(*) FROM sys.segments", "SELECT LOOKUP(l, 'none') FROM (SELECT 'x' AS l FROM a)",
	} {
		body := map[string]any{"query": sql}
		before := c.counts()
		_ = c.Call(t.Context(), "POST", "/service/v2/sql", body, nil) // some are errors
		if after := c.counts(); after != before {
			t.Errorf("%s: %v, then %v", sql, before, after)
		}
	}
	// A change of a datasource changes the answers of queries that read it, and of no others.
	c.expect("SELECT MIN(x) FROM b", nil, "miss put")
	c.load("INSERT INTO a" + rows)
	if got := c.expect(sum, nil, "miss put"); fmt.Sprint(got[0][0]) != "6" {
		t.Errorf("after an INSERT: %v", got)
	}
	c.expect("SELECT a.x FROM a JOIN b ON a.x = b.x ORDER BY 1", nil, "miss put")
	c.expect("SELECT MIN(x) FROM b", nil, "hit")
}

func TestTheCacheOfResultsIsBounded(t *testing.T) {
	c := startCached(t, "service.cache.sizeInBytes=2500", "service.broker.cache.resultLevelCacheLimit=2000")
	c.load("INSERT INTO a SELECT TIMESTAMP '2026-01-01' AS __time, x FROM UNNEST(ARRAY[1, 2, 3]) AS u(x) PARTITIONED BY DAY")
	c.expect("SELECT STRING_AGG(RPAD('x', 4000, 'x'), '') FROM a", nil, "miss oversized")
	for _, sql := range []string{"SELECT 1, x FROM a", "SELECT 2, x FROM a", "SELECT 3, x FROM a", "SELECT 4, x FROM a", "SELECT 5, x FROM a", "SELECT 6, x FROM a"} {
		c.expect(sql, nil, "miss put")
	}
	c.expect("SELECT 6, x FROM a", nil, "hit")
	c.expect("SELECT 1, x FROM a", nil, "miss put") // it made room for the others
}

func TestResultsOfScansAreNotKept(t *testing.T) {
	c := startCached(t, `service.broker.cache.unCacheable=["scan"]`)
	c.load("INSERT INTO a SELECT TIMESTAMP '2026-01-01' AS __time, x FROM UNNEST(ARRAY[1, 2, 3]) AS u(x) PARTITIONED BY DAY")
	c.expect("SELECT x FROM a", nil, "")
	c.expect("SELECT SUM(x) FROM a", nil, "miss put")
	scan, series := `{"queryType":"scan","dataSource":"a","intervals":"2026/2027"}`, `{"queryType":"timeseries","dataSource":"a","intervals":"2026/2027","granularity":"all","aggregations":[{"type":"count","name":"n"}]}`
	for body, puts := range map[string]bool{scan: false, series: true} {
		before := c.counts()
		if status, text, err := c.Send(t.Context(), "broker", "POST", "/service/v2", body); err != nil || status != 200 {
			t.Fatalf("%d %s %v", status, text, err)
		}
		if after := c.counts(); (after != before) != puts {
			t.Errorf("%s: %v, then %v", body, before, after)
		}
	}
}

// bySegment is a server that keeps the groups of single segments, and no results.
func bySegment(t *testing.T, settings ...string) *cached {
	return &cached{server.Start(t, server.Options{Settings: append([]string{
		"service.historical.cache.useCache=true", "service.historical.cache.populateCache=true",
	}, settings...), Clock: newSteps()}), t}
}

const twoDays = ` SELECT TIMESTAMP '2026-01-01 12:00:00' + x * INTERVAL '1' HOUR AS __time, x, CONCAT('t', CAST(x - x / 3 * 3 AS VARCHAR)) AS s, x * 0.5E0 AS d ` +
	`FROM UNNEST(ARRAY[1, 2, 3, 4, 5, 13, 14, 15, 16]) AS u(x) PARTITIONED BY DAY`

func TestGroupsOfSegmentsAreCached(t *testing.T) {
	c := bySegment(t)
	c.load("INSERT INTO a" + twoDays)
	for _, sql := range []string{
		"SELECT COUNT(*), SUM(x), MAX(d) FROM a", "SELECT s, COUNT(*), SUM(d) FROM a GROUP BY 1 ORDER BY 1", "SELECT s, COUNT(DISTINCT x) FROM a GROUP BY 1 ORDER BY 1",
		"SELECT COUNT(DISTINCT s), SUM(DISTINCT x) FROM a", "SELECT s, x, COUNT(*) FROM a GROUP BY GROUPING SETS ((s), (x), ()) ORDER BY 1, 2, 3",
		"SELECT APPROX_COUNT_DISTINCT(x), AVG(d) FILTER (WHERE s = 't1') FROM a", "SELECT COUNT(*), MIN(s) FROM a WHERE x > 100",
		"SELECT TIME_FLOOR(__time, 'PT6H'), COUNT(*) FROM a WHERE d > 1 GROUP BY 1 ORDER BY 1", "SELECT AVG(n) FROM (SELECT s, COUNT(*) AS n FROM a GROUP BY 1)",
		"SELECT s, SUM(x) FROM a GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
	} {
		off, _ := c.ask(sql, map[string]any{"useCache": false, "populateCache": false})
		first := c.expect(sql, nil, "miss put")
		if diff := cmp.Diff(off, first); diff != "" {
			t.Errorf("%s, while it is kept: %s", sql, diff)
		}
		if diff := cmp.Diff(first, c.expect(sql, nil, "hit")); diff != "" {
			t.Errorf("%s, as it was kept: %s", sql, diff)
		}
	}
	const sum = "SELECT COUNT(*), SUM(x), MAX(d) FROM a"
	c.expect(sum, map[string]any{"useCache": false}, "put")
	c.expect(sum, map[string]any{"useCache": false, "populateCache": false}, "")
	c.expect("SELECT SUM(x), 1 FROM a", map[string]any{"populateCache": false}, "miss")
	// Segments that lie within the interval as a whole are shared by all intervals; one that it cuts
	// through has an entry of its own.
	c.expect(sum+" WHERE __time >= '2026-01-01'", nil, "hit")
	c.expect(sum+" WHERE __time >= '2026-01-02'", nil, "hit")
	if got := c.expect(sum+" WHERE __time >= '2026-01-01 15:00:00'", nil, "hit miss put"); fmt.Sprint(got) != "[[7 70 8.0]]" {
		t.Errorf("cut through: %v", got)
	}
	// What is not kept: rows, joins, what depends on the time or on chance.
	for _, sql := range []string{
		"SELECT x FROM a ORDER BY 1", "SELECT COUNT(*) FROM a JOIN (VALUES (1), (2)) v(y) ON a.x = v.y", "SELECT COUNT(*) FROM a WHERE RANDOM() < 2",
		"EXPLAIN PLAN FOR SELECT SUM(x) FROM a",
	} {
		c.expect(sql, nil, "")
	}
	// A change makes other segments: those that stay are not read again.
	c.load("REPLACE INTO a OVERWRITE WHERE __time >= TIMESTAMP '2026-01-02' AND __time < TIMESTAMP '2026-01-03' " +
		"SELECT TIMESTAMP '2026-01-02' AS __time, 1000 AS x, 't9' AS s, 1E0 AS d PARTITIONED BY DAY")
	if got := c.expect(sum, nil, "hit miss put"); fmt.Sprint(got) != "[[6 1015 2.5]]" {
		t.Errorf("after a REPLACE: %v", got)
	}
}

func TestTheCacheOfSegmentsIsBounded(t *testing.T) {
	c := bySegment(t, "service.historical.cache.maxEntrySize=600", `service.historical.cache.unCacheable=["topN"]`)
	c.load("INSERT INTO a" + twoDays)
	c.expect("SELECT STRING_AGG(RPAD('x', 900, 'x'), '') FROM a", nil, "miss oversized")
	c.expect("SELECT s, COUNT(*) FROM a GROUP BY 1", nil, "")
	if _, got := c.ask("SELECT s, x, COUNT(*) FROM a GROUP BY 1, 2", nil); got == "" {
		t.Error("groupBy is not looked up")
	}
}
