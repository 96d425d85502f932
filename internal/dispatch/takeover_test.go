package dispatch

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// A rule that wants one copy in place of two takes each server another half of the segments away. A query that was planned before finds that both lack
// something, and is answered all the same: who takes a part over is told where its files are.
func TestCopiesDroppedOnSeveralServersAtATimeAreRead(t *testing.T) {
	start := func(name string, dropped string) *Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			req, err := ReadRequest(r.Body, 0)
			if err != nil {
				t.Error(err)
				return
			}
			out := NewStreamWriter(w, req.Version, 0, nil)
			var failed error
			for _, s := range req.Segments {
				if s.ID == dropped && s.LoadSpec == nil {
					failed = Elsewhere(fault.NotFound("Segment [%s] is not loaded on this node", s.ID))
					break
				}
				if err := out.Rows(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{s.Interval().Start})}}); err != nil {
					t.Error(err)
				}
			}
			if err := out.End(failed); err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(s.Close)
		return &Server{Name: name, URL: s.URL}
	}
	a, b := start("a", "one"), start("b", "two")
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
			d := New(Options{Client: &http.Client{Transport: transport}, Clock: clock.NewFake(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler)})
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
