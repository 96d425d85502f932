package cluster

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestQueriesGoOnWithoutTheMetastore takes the metastore away for a minute of the processes' clocks, and of the database's, many times longer than any lease
// lasts: queries are answered all the time, what would change something is refused with a word, and when the metastore is back so is everything else.
func TestQueriesGoOnWithoutTheMetastore(t *testing.T) {
	store, clock := postgres.URL(t), server.NewStepped(t)
	link := postgres.NewLink(t, store)
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, Metastore: metastore.Options{URL: link.URL}, Clock: clock})
	days(t, c, "wiki", 0, 5)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	exact := func(when string) {
		t.Helper()
		if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "225" {
			t.Fatalf("%s: the sum is [%s] instead of [225]", when, got)
		}
	}
	exact("before")
	link.Cut()
	for range outage / step {
		clock.Advance(step)
		exact("without the metastore")
	}
	agePostgres(t, store, outage)
	_, err := c.Submit(t.Context(), "INSERT INTO wiki SELECT TIMESTAMP '2024-01-06' AS __time, 100 AS n PARTITIONED BY DAY", nil)
	if err == nil {
		t.Error("a task was accepted that nobody could note down")
	} else if text := err.Error(); !strings.Contains(text, "503") && !strings.Contains(strings.ToLower(text), "metadata") {
		t.Errorf("a refusal that does not say why: %s", text)
	}
	link.Mend()
	c.Until("a row can be added", func() bool {
		return c.Ingest(t.Context(), "INSERT INTO wiki SELECT TIMESTAMP '2024-01-06' AS __time, 100 AS n PARTITIONED BY DAY", nil) == nil
	})
	if got := ask(t, c, "SELECT SUM(n) - 100 * (COUNT(*) - 50) FROM wiki"); got != "225" {
		t.Errorf("behind the outage the sum of the old rows is [%s]", got)
	}
}

const (
	outage = time.Minute
	step   = time.Second / 2
)

// agePostgres has the leases and announcements in a database run out by as much earlier, as if its clock had gone on.
func agePostgres(t *testing.T, store string, by time.Duration) {
	t.Helper()
	db, err := sql.Open("pgx", store)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"leases", "members"} {
		if _, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET expires = expires - $1", by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClocksMayBeMinutesApart has processes whose clocks differ by ten minutes: leases, fencing and time limits don't mind.
func TestClocksMayBeMinutesApart(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Skew: 5 * time.Minute, Processes: [][]string{
		{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"router"},
	}})
	days(t, c, "wiki", 0, 5)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	if err := c.Ingest(t.Context(), "REPLACE INTO wiki OVERWRITE ALL SELECT __time, n + 1 AS n FROM wiki PARTITIONED BY DAY", nil); err != nil {
		t.Fatal(err)
	}
	c.Kill(c.Nodes[0])
	c.Until("a row can be added", func() bool {
		return c.Ingest(t.Context(), "INSERT INTO wiki SELECT TIMESTAMP '2024-01-06' AS __time, 1000 AS n PARTITIONED BY DAY", nil) == nil
	})
	if got := ask(t, c, "SELECT MOD(SUM(n), 1000) FROM wiki"); got != "275" {
		t.Errorf("the sum of the rows is [%s]", got)
	}
	for range 20 { // each way through Broker and Historicals has a limit in time, which must not be over before it begins
		if got := ask(t, c, "SELECT COUNT(*) FROM wiki WHERE n < 1000"); got != "50" {
			t.Fatalf("[%s] rows", got)
		}
	}
}
