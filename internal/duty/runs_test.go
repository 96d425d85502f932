package duty

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestRuns(t *testing.T) {
	start := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	c := fakeclock.New(start)
	r := &Runs{Name: "group", Clock: c}
	if diff := cmp.Diff(RunStats{}, r.Stats()); diff != "" {
		t.Error(diff)
	}
	for _, took := range []time.Duration{time.Second, 3 * time.Second} {
		end := r.Begin()
		c.Advance(took)
		end()
		c.Advance(time.Minute)
	}
	want := RunStats{Count: 2, Start: start.Add(61 * time.Second), End: start.Add(64 * time.Second), Runtime: 2 * time.Second, Gap: 61 * time.Second}
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Error(diff)
	}
	var none *Runs
	none.Begin()()
}
