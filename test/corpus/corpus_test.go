// Package corpus runs the statements that were recorded from Apache Druid (../shared/golden/corpus,
// beside the repository) on a server of this checkout and compares the results.
// testdata/corpus_pending.txt lists statements whose results do not match yet; it only shrinks.
// differs_test.go lists the differences that the specification requires.
//
//	print counts per topic:
//	go test ./test/corpus -v
//	print the most common differences of two topics, with an example each:
//	go test ./test/corpus -v -topics casts,time -summary 20
//	remove passing statements from the list:
//	go test ./test/corpus -update
package corpus

import (
	"context"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/corpus"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

var (
	update      = flag.Bool("update", false, "take what passes out of testdata/corpus_pending.txt; a list whose file was removed is made anew")
	differences = flag.String("differences", "", "write each difference to this file: id, tab, text")
	excusedTo   = flag.String("excused", "", "write each difference that a rule of differs_test.go covers to this file: reason, id, statement, difference")
	summary     = flag.Int("summary", 0, "print this many of the most common differences, with an example each")
	topics      = flag.String("topics", "", "ask the statements of these topics only, separated by commas")
)

// alias is the name the recorded statements came under; they also name the SQL schema of that name.
const alias = "druid"

// recorded is when Druid was asked: some answers have the day in them.
var recorded = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// askers is how many statements are under way at once.
const askers = 2

func TestCorpus(t *testing.T) {
	shared := server.Shared(t)
	wanted := strings.Split(*topics, ",")
	records, err := corpus.Load(filepath.Join(shared, "golden", "corpus"), func(topic string) bool {
		return *topics != "" && !slices.Contains(wanted, topic)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(records) == 0 {
		t.Fatalf("no statements of topics [%s]", *topics)
	}
	s := server.Start(t, server.Options{
		Settings: []string{`service.api.aliases=["` + alias + `"]`},
		Clock:    server.Skewed(recorded.Sub(clock.System().Now())),
	})
	if err := s.LoadCorpus(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	answers := ask(t.Context(), t, &s.Client, records)

	list := pending.Read(t, "testdata/corpus_pending.txt")
	outcome := pending.Outcome{}
	tally := corpus.Tally{}
	excused := newExcuses(t)
	for i, r := range records {
		if answers[i] != "" && excused.covers(r, answers[i]) {
			answers[i] = ""
		}
		outcome[r.ID] = answers[i]
		tally.Add(r, answers[i])
	}
	if *differences != "" {
		if err := os.WriteFile(*differences, []byte(tally.Lines()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("statements answered like the recording:\n%s", tally.Counts())
	if *summary > 0 {
		t.Logf("the most common differences:\n%s", tally.Summary(*summary))
	}
	if *excusedTo != "" {
		if err := os.WriteFile(*excusedTo, []byte(excused.covered.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	excused.report(t, *topics == "")
	list.Settle(t, outcome, *topics == "", *update)
}

// everyNth is which statements are asked of a cluster: all take minutes.
const everyNth = 8

// TestCorpusOverACluster asks a cluster of processes a part of the statements: what is answered
// must not depend on where segments are. Sketches are left out, as what they estimate depends on
// the order of merging, and so is RAND.
func TestCorpusOverACluster(t *testing.T) {
	shared := server.Shared(t)
	records, err := corpus.Load(filepath.Join(shared, "golden", "corpus"), func(topic string) bool { return strings.HasPrefix(topic, "sketch_") })
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	records = slices.DeleteFunc(records, func(r *corpus.Record) bool {
		n++
		return n%everyNth != 0 || strings.Contains(r.SQL, "RAND(")
	})
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: server.Small,
		Settings:  []string{`service.api.aliases=["` + alias + `"]`},
		Clock:     server.Skewed(recorded.Sub(clock.System().Now())),
	})
	oneCopy := []map[string]any{{"type": "loadForever", "tieredReplicants": map[string]int{"_default_tier": 1}}} // as on one server: statements count copies
	if err := c.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/rules/_default", oneCopy, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.LoadCorpus(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	answers := ask(t.Context(), t, &c.Client, records)
	list, excused := pending.Read(t, "testdata/corpus_pending.txt"), newExcuses(t)
	for i, r := range records {
		if answers[i] != "" && !list.Has(r.ID) && !excused.covers(r, answers[i]) {
			t.Errorf("%s: %s\n\t%s", r.ID, answers[i], r.SQL)
		}
	}
	t.Logf("%d statements asked", len(records))
}

// ask sends all statements and returns the difference of each.
func ask(ctx context.Context, t *testing.T, s *server.Client, records []*corpus.Record) []string {
	t.Helper()
	out := make([]string, len(records))
	next := make(chan int)
	var work sync.WaitGroup
	for range askers {
		work.Go(func() {
			for i := range next {
				out[i] = askOne(ctx, s, records[i])
			}
		})
	}
	for i := range records {
		next <- i
	}
	close(next)
	work.Wait()
	return out
}

func askOne(ctx context.Context, s *server.Client, r *corpus.Record) string {
	body, err := r.Body()
	if err != nil {
		return "the request can't be written: " + err.Error()
	}
	status, answer, err := s.Send(ctx, "router", http.MethodPost, "/"+alias+"/v2/sql", string(body))
	if err != nil {
		return err.Error()
	}
	return r.Compare(status, answer)
}
