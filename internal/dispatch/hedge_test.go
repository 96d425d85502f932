package dispatch

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// answering returns a server that answers requests.
func answering(t *testing.T, name string, answer http.HandlerFunc) *Server {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return &Server{Name: name, URL: s.URL}
}

// starts returns a server that answers with the starts of the segments that it is asked for, up to
// one of which refuse, if not nil, returns a failure.
func starts(t *testing.T, name string, refuse func(SentSegment) error) *Server {
	return answering(t, name, func(w http.ResponseWriter, r *http.Request) {
		req, err := ReadRequest(r.Body, 0)
		if err != nil {
			t.Error(err)
			return
		}
		out := NewStreamWriter(w, req.Version, 0, nil)
		var failed error
		for _, s := range req.Segments {
			if refuse != nil {
				if failed = refuse(s); failed != nil {
					break
				}
			}
			if err := out.Rows(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{s.Interval().Start})}}); err != nil {
				t.Error(err)
			}
		}
		if err := out.End(failed); err != nil {
			t.Error(err)
		}
	})
}

// A server that is late with its part, when others have given theirs, does not hold the query up:
// one that holds the same segments is asked too, and the first that answers counts. The late one is
// told that nobody waits any more.
func TestALatePartIsAskedForASecondTime(t *testing.T) {
	stuck, left := make(chan struct{}), make(chan struct{})
	quick, second := starts(t, "quick", nil), starts(t, "second", nil)
	late := answering(t, "late", func(_ http.ResponseWriter, r *http.Request) {
		if _, err := ReadRequest(r.Body, 0); err != nil {
			t.Error(err)
		}
		close(stuck)
		<-r.Context().Done()
		close(left)
	})
	segment := func(id string, start int64, holders ...*Server) Segment {
		return Segment{Of: &timeline.Segment{Rows: 1}, ID: id, Visible: chrono.Interval{Start: start, End: start + 1}, Holders: holders}
	}
	fake := fakeclock.New(time.Unix(0, 0))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	d := New(Options{Client: &http.Client{Transport: transport}, Clock: fake, Log: slog.New(slog.DiscardHandler)})
	q := &Query{Memory: budget.Root(0)}
	far := &remote{d: d, q: q, shares: []share{
		{server: quick, segments: []Segment{segment("a", 1, quick)}},
		{server: late, segments: []Segment{segment("b", 2, late, second), segment("c", 3, quick, late, second)}},
	}}
	parts, err := far.Open(t.Context(), &exec.Fragment{Plan: &plan.Scan{DataSource: "t", Limit: -1}, Groups: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	read := func(part exec.Operator) {
		t.Helper()
		if err := exec.Drain(t.Context(), part, func(b *vector.Batch) error {
			got = append(got, b.Cols[0].LongAt(0))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		part.Close()
	}
	read(parts[0])
	<-stuck
	if err := fake.BlockUntil(t.Context(), 1); err != nil { // somebody looks whether it is late
		t.Fatal(err)
	}
	fake.Advance(hedgeLeast + hedgeLook)
	read(parts[1])
	<-left
	if len(got) != 3 || got[0] != 1 || got[1] != 2 || got[2] != 3 {
		t.Errorf("the rows are %v", got)
	}
}
