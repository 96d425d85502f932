package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// asked collects what servers are asked for.
type asked struct {
	mu       sync.Mutex
	requests map[string]*dispatch.Request // by server
	twice    []string
}

func (a *asked) add(server string, r *dispatch.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests[server] != nil {
		a.twice = append(a.twice, server)
	}
	a.requests[server] = r
}

// below returns the servers of shares, those that are merged below them too; most is how many one
// of them merges.
func below(r *dispatch.Request, shares []dispatch.SentShare) (names []string, most int) {
	most = len(shares)
	for _, s := range shares {
		names = append(names, r.Servers[s.Server].Name)
		more, n := below(r, s.Others)
		names, most = append(names, more...), max(most, n)
	}
	return names, most
}

// Forty servers give the groups and the first rows of a query. The Broker merges the parts of four
// and each server those of four at most, all rows are read once, and the answers are those of one
// process.
func TestABrokerMergesThePartsOfFewServers(t *testing.T) {
	const servers, fanIn = 40, 4
	columns, err := fixture.ParseColumns("__time TIMESTAMP, k VARCHAR, n BIGINT")
	if err != nil {
		t.Fatal(err)
	}
	load := &slt.Load{DataSource: "wiki", Version: "1", Table: fixture.Table{Columns: columns}}
	for i := range 600 {
		if err := load.Table.Add(fmt.Sprintf(`["2024-01-%02dT00:00:00Z","k%02d",%d]`, 1+i%28, i%37, i)); err != nil {
			t.Fatal(err)
		}
	}
	told := &asked{requests: map[string]*dispatch.Request{}}
	tree := engine.Serve(t, engine.Options{SegmentRows: 3, Servers: servers, FanIn: fanIn, Asked: told.add})
	flat := engine.Serve(t, engine.Options{SegmentRows: 3, Servers: servers, FanIn: -1})
	one := engine.Serve(t, engine.Options{SegmentRows: 3})
	for _, e := range []engine.Served{tree, flat, one} {
		if err := e.Load(t.Context(), load); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		"SELECT k, COUNT(*) AS c, SUM(n) AS s, MIN(n) AS least FROM wiki GROUP BY 1 ORDER BY 1",
		"SELECT COUNT(*) AS c, SUM(n) AS s, COUNT(DISTINCT k) AS d FROM wiki",
		"SELECT k, APPROX_COUNT_DISTINCT(n) AS d, APPROX_COUNT_DISTINCT_DS_HLL(n) AS h FROM wiki GROUP BY 1 ORDER BY 1",
		"SELECT k, APPROX_QUANTILE_DS(n, 0.5) AS q FROM wiki GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
		"SELECT DISTINCT k FROM wiki WHERE n > 100 ORDER BY 1",
		"SELECT n, k FROM wiki ORDER BY n + 0 DESC LIMIT 7",
		"SELECT k, c, COUNT(*) AS d FROM (SELECT k, n / 50 AS c FROM wiki) GROUP BY GROUPING SETS ((k), (c), ()) ORDER BY 1, 2, 3",
	} {
		told.requests, told.twice = map[string]*dispatch.Request{}, nil
		answer := func(e engine.Served) *slt.Answer {
			a, err := e.Query(t.Context(), &slt.Statement{SQL: sql})
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			return a
		}
		got := answer(tree)
		for _, other := range []engine.Served{flat, one} {
			if diff := cmp.Diff(answer(other), got); diff != "" {
				t.Errorf("%s: %s", sql, diff)
			}
		}
		merged := map[string]int{}
		segments := map[string]int{}
		for name, r := range told.requests {
			for _, s := range r.Segments {
				segments[fmt.Sprint(s.ID, s.Visible)]++
			}
			names, most := below(r, r.Others)
			if most > fanIn {
				t.Errorf("%s: server [%s] has one merge the parts of %d", sql, name, most)
			}
			for _, n := range names {
				merged[n]++
			}
		}
		var top []string
		for name := range told.requests {
			if merged[name] == 0 {
				top = append(top, name)
			}
		}
		if len(told.requests) < servers/2 || len(top) != fanIn || len(told.twice) > 0 {
			t.Errorf("%s: of %d servers %v were asked by the Broker; asked twice were %v", sql, len(told.requests), top, told.twice)
		}
		for id, n := range segments {
			if n != 1 || !strings.HasPrefix(id, "wiki_") {
				t.Errorf("%s: segment [%s] is read %d times", sql, id, n)
			}
		}
		if len(segments) < 200 {
			t.Errorf("%s: %d segments", sql, len(segments))
		}
	}
}
