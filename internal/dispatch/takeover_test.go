package dispatch

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// A rule that wants one copy in place of two takes each server another half of the segments away. A
// query that was planned before finds that both lack something, and is answered all the same: who
// takes a part over is told where its files are.
func TestCopiesDroppedOnSeveralServersAtATimeAreRead(t *testing.T) {
	without := func(name, dropped string) *Server {
		return starts(t, name, func(s SentSegment) error {
			if s.ID == dropped && s.LoadSpec == nil {
				return Elsewhere(fault.NotFound("Segment [%s] is not loaded on this node", s.ID))
			}
			return nil
		})
	}
	a, b := without("a", "one"), without("b", "two")
	both := []*Server{a, b}
	segment := func(id string, start int64) Segment {
		of := (&timeline.Segment{Rows: 1}).Locate([]byte(`{"type":"local"}`))
		return Segment{Of: of, ID: id, Visible: chrono.Interval{Start: start, End: start + 1}, Holders: both}
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, streamed := range []bool{false, true} {
		for _, groups := range []bool{false, true} {
			if streamed && groups {
				continue
			}
			d := New(Options{Client: &http.Client{Transport: transport}, Clock: fakeclock.New(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler)})
			far := &remote{d: d, shares: []share{{server: a, segments: []Segment{segment("one", 1), segment("two", 2)}}}, q: &Query{
				Memory: budget.Root(0), Live: func() []*Server { return both }, Holders: func(string) []*Server { return both },
			}}
			parts, err := far.Open(t.Context(), &exec.Fragment{Plan: &plan.Scan{DataSource: "t", Limit: -1}, Groups: groups, Streamed: streamed})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, part := range parts {
				if err := exec.Drain(t.Context(), part, func(b *vector.Batch) error {
					got = append(got, b.Cols[0].LongAt(0))
					return nil
				}); err != nil {
					t.Errorf("streamed [%v], groups [%v]: %v", streamed, groups, err)
				}
				part.Close()
			}
			if len(got) != 2 || got[0] != 1 || got[1] != 2 {
				t.Errorf("streamed [%v], groups [%v]: the rows are %v", streamed, groups, got)
			}
		}
	}
}
