// Package api replays the HTTP exchanges that were recorded from Apache Druid (../shared/golden,
// beside the repository) against a server of this checkout. testdata/golden_pending.txt lists the
// exchanges that are not supported yet; it only shrinks. testdata/golden_differs.txt lists intended
// differences with their reasons.
package api

import (
	"flag"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

var update = flag.Bool("update", false, "take what passes out of the lists in testdata; a list whose file was removed is made anew")

// families are replayed in this order, on one server, as they were recorded.
var families = []string{"sql", "statements", "sql-task", "explain", "tables"}

// concurrent are the exchanges that were under way at the same time as another, which
// TestCancelledQuery plays.
var concurrent = map[string]bool{
	"sql/cancel-running": true, "sql/cancelled-query": true, "sql/cancel-again": true,
	"sql/cancel-running-broker": true, "sql/cancelled-query-broker": true, "sql/cancel-again-broker": true,
}

// unrecorded are requests that were sent before an exchange and not kept: method and path on the
// Router.
var unrecorded = map[string][2]string{
	"statements/cancelled-at-once-status": {http.MethodDelete, "/service/v2/sql/statements/{{sy}}"},
}

func TestGoldenExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	list := pending.Read(t, "testdata/golden_pending.txt")
	differs := pending.Read(t, "testdata/golden_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	for _, family := range families {
		exchanges, err := golden.Load(filepath.Join(shared, "golden", family))
		if err != nil {
			t.Fatal(err)
		}
		captured := map[string]bool{}
		for _, e := range exchanges {
			for name := range e.Capture {
				captured[name] = captured[name] || e.Complete()
			}
		}
		passed, skipped := 0, 0
		for _, e := range exchanges {
			name := family + "/" + e.Name
			if concurrent[name] {
				continue
			}
			if u, ok := unrecorded[name]; ok {
				if err := player.Do(t.Context(), "router", u[0], u[1]); err != nil {
					t.Errorf("before %s: %v", name, err)
				}
			}
			r := player.Play(t.Context(), e)
			if r.Skipped != "" || r.Missing != "" && !captured[r.Missing] {
				t.Logf("%s is not replayed: %s", name, r.Skipped+r.Missing)
				skipped++
				continue
			}
			if r.Missing != "" {
				r.Difference = "an earlier exchange did not give " + r.Missing
			}
			if r.Difference == "" {
				passed++
			}
			if either[name] {
				continue
			}
			if differs.Has(name) {
				wanted[name] = r.Difference
				continue
			}
			outcome[name] = r.Difference
			if r.Difference != "" {
				t.Logf("%s: %s", name, r.Difference)
			}
		}
		t.Logf("%s: %d of %d exchanges answered like the recording, %d can't be replayed", family, passed, len(exchanges), skipped)
	}
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// either are exchanges that may be answered like the recording and may not: a statement that is
// asked for right after it was cancelled, which is told of as recorded until it has ended, and then
// with the code Canceled.
var either = map[string]bool{"statements/cancelled-status": true, "statements/cancelled-at-once-status": true}

// TestDifferencesHaveReasons keeps the list of wanted differences readable.
func TestDifferencesHaveReasons(t *testing.T) {
	differs := pending.Read(t, "testdata/golden_differs.txt")
	for _, name := range differs.Names() {
		if differs.Reason(name) == "" {
			t.Errorf("golden_differs.txt gives no reason for [%s]: say what the specification wants, and where it says so", name)
		}
	}
}
