package cluster

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestQueriesGoOnWithoutTheMetastore takes the metastore away for a minute of the processes'
// clocks, and of the database's, many times longer than any lease lasts: queries are answered all
// the time, what would change something is refused with a word, and when the metastore is back so
// is everything else.
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

// agePostgres has the leases and announcements in a database run out by as much earlier, as if its
// clock had gone on.
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

// TestTheClockOfTheMetastoreGoesForward has the clock of the database go forward by ten minutes at
// random moments: every lease and announcement has run out by it, but nobody is deposed, and no
// query, load or question to the leaders fails. The moments are further apart than a lease is long:
// if the clock jumped behind each renewal, nobody could see that there was one.
func TestTheClockOfTheMetastoreGoesForward(t *testing.T) {
	store, rnd := postgres.URL(t), rand.New(rand.NewPCG(1, 8))
	c := server.StartCluster(t, server.ClusterOptions{
		Metastore: metastore.Options{URL: store},
		Processes: [][]string{
			{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"worker"}, {"broker"}, {"router"},
		},
		// A renewal may be late by a third of a lease, which a busy machine needs.
		Settings: []string{"service.leader.leaseDuration=PT4S", "service.discovery.leaseDuration=PT4S"},
	})
	days(t, c, "wiki", 0, 3)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	leader := leading(t, c)
	for jump := range 3 {
		until := time.Now().Add(time.Duration(4200+rnd.IntN(1000)) * time.Millisecond)
		agePostgres(t, store, 10*time.Minute)
		for asked := 0; time.Now().Before(until); asked++ {
			if got, want := ask(t, c, "SELECT COUNT(*) FROM wiki"), "30"; got != want {
				t.Fatalf("jump [%d], query [%d]: [%s] rows instead of [%s]", jump, asked, got, want)
			}
			for _, role := range []string{"coordinator", "indexer"} {
				status, answer, err := c.Send(t.Context(), "router", http.MethodGet, "/service/"+role+"/v1/leader", "")
				if err != nil || status != http.StatusOK {
					t.Fatalf("jump [%d], the leader of [%s]: %d %s %v", jump, role, status, answer, err)
				}
			}
			if got := ask(t, c, "SELECT COUNT(*) FROM sys.servers"); got != "9" {
				t.Fatalf("jump [%d]: [%s] servers", jump, got)
			}
		}
		if now := leading(t, c); now != leader {
			t.Fatalf("jump [%d]: the leader is another", jump)
		}
	}
	if err := c.Ingest(t.Context(), "INSERT INTO wiki SELECT TIMESTAMP '2024-01-06' AS __time, 100 AS n PARTITIONED BY DAY", nil); err != nil {
		t.Error(err)
	}
}

// TestClocksMayBeMinutesApart has processes whose clocks differ by ten minutes: leases,
// announcements, fencing and time limits don't mind, neither with one store for all of them nor
// with one of each, whose clock is as wrong as the process's.
func TestClocksMayBeMinutesApart(t *testing.T) {
	t.Parallel()
	t.Run("one store", func(t *testing.T) { minutesApart(t, server.ClusterOptions{}) })
	t.Run("a store of each", func(t *testing.T) {
		minutesApart(t, server.ClusterOptions{Links: true, Metastore: metastore.Options{URL: postgres.URL(t)}})
	})
}

func minutesApart(t *testing.T, o server.ClusterOptions) {
	o.Skew = 5 * time.Minute
	o.Processes = [][]string{ // of each role one that is too early and one that is too late
		{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"broker"}, {"router"},
	}
	c := server.StartCluster(t, o)
	// announced is how many servers a Broker sees, and Brokers are those that are too early and too
	// late.
	announced := func(broker *server.Process) string {
		asker := server.Client{Addresses: map[string]string{"router": broker.Addresses["broker"]}}
		rows, err := asker.Query(t.Context(), "SELECT COUNT(*) FROM sys.servers")
		return fmt.Sprint(rows, err)
	}
	brokers := c.Nodes[6:8]
	days(t, c, "wiki", 0, 5)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	if err := c.Ingest(t.Context(), "REPLACE INTO wiki OVERWRITE ALL SELECT __time, n + 1 AS n FROM wiki PARTITIONED BY DAY", nil); err != nil {
		t.Fatal(err)
	}
	for _, b := range brokers { // those who are late would take all announcements for run out
		if got := announced(b); got != "[[11]] <nil>" {
			t.Errorf("before anything ends a Broker sees %s servers", got)
		}
	}
	leader := leading(t, c)
	c.Kill(leader)
	c.Until("a row can be added", func() bool {
		return c.Ingest(t.Context(), "INSERT INTO wiki SELECT TIMESTAMP '2024-01-06' AS __time, 1000 AS n PARTITIONED BY DAY", nil) == nil
	})
	if next := leading(t, c); next == leader || next == nil {
		t.Errorf("nobody has followed the leader that was killed")
	}
	for _, b := range brokers { // those who are early would see the one that was killed for minutes
		c.Until("the announcement of the leader has run out, and nobody else's", func() bool { return announced(b) == "[[9]] <nil>" })
	}
	if got := ask(t, c, "SELECT MOD(SUM(n), 1000) FROM wiki"); got != "275" {
		t.Errorf("the sum of the rows is [%s]", got)
	}
	for range 20 { // each way through Broker and Historicals has a limit in time, which must not be over before it begins
		if got := ask(t, c, "SELECT COUNT(*) FROM wiki WHERE n < 1000"); got != "50" {
			t.Fatalf("[%s] rows", got)
		}
	}
	for _, b := range brokers {
		if got := announced(b); got != "[[9]] <nil>" {
			t.Errorf("in the end a Broker sees %s servers", got)
		}
	}
}

// leading returns the process that leads as Coordinator; nil: nobody does.
func leading(t *testing.T, c *server.Cluster) (leader *server.Process) {
	t.Helper()
	for _, p := range c.Nodes {
		if p.Addresses["coordinator"] == "" || !p.Runs() {
			continue
		}
		asked := server.Client{Addresses: p.Addresses}
		status, _, err := asked.Send(t.Context(), "coordinator", http.MethodGet, "/service/coordinator/v1/isLeader", "")
		switch {
		case err != nil || status != http.StatusOK:
		case leader != nil:
			t.Error("two processes lead")
		default:
			leader = p
		}
	}
	return leader
}
