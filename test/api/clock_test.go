package api

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// shifted is the system's clock, set forward or back.
type shifted struct {
	clock.Clock
	by atomic.Int64 // nanoseconds
}

func (s *shifted) Now() time.Time { return s.Clock.Now().Add(time.Duration(s.by.Load())) }

// TestClockSetBack sets the clock back between loads: a later REPLACE must win over an earlier one
// all the same, before and after a restart, and an INSERT must add.
func TestClockSetBack(t *testing.T) {
	c := &shifted{Clock: clock.System()}
	dir := t.TempDir()
	s := server.Start(t, server.Options{Dir: dir, Clock: c})
	expect := func(when, want string) {
		t.Helper()
		rows, err := s.Query(t.Context(), "SELECT MIN(n), MAX(n), COUNT(*) FROM x")
		if got := fmt.Sprint(rows); err != nil || got != want {
			t.Errorf("%s the datasource holds %s (%v), want %s", when, got, err, want)
		}
	}
	load := func(verb string, g int) {
		t.Helper()
		if err := s.Ingest(t.Context(), inline(verb, generation(g)...), nil); err != nil {
			t.Fatal(err)
		}
	}
	load("REPLACE INTO x OVERWRITE ALL", 0)
	expect("at first", "[[0 0 5]]")
	c.by.Store(-int64(25 * time.Hour))
	load("REPLACE INTO x OVERWRITE ALL", 3)
	expect("after a REPLACE with the clock set back", "[[3 3 5]]")
	load("INSERT INTO x", 6)
	expect("after an INSERT with the clock set back", "[[3 6 10]]")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	c.by.Store(-int64(50 * time.Hour))
	s = server.Start(t, server.Options{Dir: dir, Clock: c})
	expect("after a restart with the clock set back further", "[[3 6 10]]")
	load("REPLACE INTO x OVERWRITE ALL", 9)
	expect("after a REPLACE then", "[[9 9 5]]")
}
