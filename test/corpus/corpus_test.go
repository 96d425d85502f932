// Package corpus asks a server of this checkout the statements that the reference system was asked (../shared/golden/corpus, beside the
// repository) and compares the answers. What is not answered like the recording yet is in testdata/corpus_pending.txt, which only
// shrinks; what the specification wants otherwise, in differs_test.go.
//
//	go test ./test/corpus -v                          counts per topic
//	go test ./test/corpus -v -topics casts,time -summary 20     the most common differences of two topics, with an example each
//	go test ./test/corpus -update                     take what passes now out of the list
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

// recorded is when the reference was asked: some answers have the day in them.
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
	answers := ask(t.Context(), t, s, records)

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

// ask sends all statements and returns the difference of each.
func ask(ctx context.Context, t *testing.T, s *server.Server, records []*corpus.Record) []string {
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

func askOne(ctx context.Context, s *server.Server, r *corpus.Record) string {
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
