package dispatch

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
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

// pausing returns a server that answers nothing while it is paused.
func pausing(t *testing.T, name string) (s *Server, paused *atomic.Bool, asked *atomic.Int64) {
	paused, asked = &atomic.Bool{}, &atomic.Int64{}
	s = answering(t, name, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if paused.Load() {
			if r.Method == http.MethodPost {
				if _, err := ReadRequest(r.Body, 0); err != nil {
					t.Error(err)
				}
			}
			<-r.Context().Done()
		}
	})
	return s, paused, asked
}

func newPulse(t *testing.T) (*Pulse, *http.Client) {
	client := &http.Client{Transport: &http.Transport{}}
	p := NewPulse(client, clock.System())
	t.Cleanup(func() {
		p.Close()
		client.CloseIdleConnections()
	})
	return p, client
}

func TestAPulseIsTakenWhileSomebodyWaits(t *testing.T) {
	s, paused, asked := pausing(t, "s")
	p, _ := newPulse(t)
	if p.Silent(s.URL) || asked.Load() != 0 {
		t.Error("a server was asked that nobody waits for")
	}
	silent, done := p.Watch(s.URL)
	for asked.Load() < 2 { // it lives, and is asked again
	}
	if p.Silent(s.URL) {
		t.Error("a server that answers is silent")
	}
	paused.Store(true)
	select {
	case <-silent:
	case <-time.After(10 * time.Second):
		t.Fatal("a server that is paused is not silent")
	}
	done()
	if !p.Silent(s.URL) {
		t.Error("it is forgotten at once that a server is silent")
	}
	paused.Store(false)
	for began := time.Now(); p.Silent(s.URL); {
		if time.Since(began) > 10*time.Second {
			t.Fatal("a server that answers again stays silent")
		}
	}
	var none *Pulse
	if silent, done := none.Watch(s.URL); silent != nil || none.Silent(s.URL) {
		t.Error("nobody looks, and a server is silent")
	} else {
		done()
	}
}

// The only part of a query is at a server that is silent: another goes on, be it a part that is
// held back until it is whole or one whose rows are given as they come. The query that comes next
// does not ask the silent one at all.
func TestAPartOfASilentServerIsDoneByAnother(t *testing.T) {
	for name, streamed := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			still, paused, asked := pausing(t, "still")
			paused.Store(true)
			second := starts(t, "second", nil)
			p, client := newPulse(t)
			d := New(Options{Client: client, Pulse: p, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
			servers := []*Server{still, second}
			q := &Query{Memory: budget.Root(0), Live: func() []*Server { return servers }, Holders: func(string) []*Server { return servers }}
			segment := Segment{Of: &timeline.Segment{Rows: 1}, ID: "a", Visible: chrono.Interval{Start: 7, End: 8}, Holders: servers}
			far := &remote{d: d, q: q, shares: []share{{server: still, segments: []Segment{segment}}}}
			parts, err := far.Open(t.Context(), &exec.Fragment{Plan: &plan.Scan{DataSource: "t", Limit: -1}, Groups: !streamed, Streamed: streamed})
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			if err := exec.Drain(t.Context(), parts[0], func(b *vector.Batch) error {
				rows += b.Rows()
				return nil
			}); err != nil || rows != 1 {
				t.Errorf("[%d] rows, %v", rows, err)
			}
			parts[0].Close()
			if asked.Load() < 1+pulseMisses {
				t.Errorf("the silent server was asked [%d] times", asked.Load())
			}
			shares, err := d.place(q, []Segment{segment}, nil)
			if err != nil || len(shares) != 1 || shares[0].server != second {
				t.Errorf("the next query asks %v, %v", shares, err)
			}
		})
	}
}

// The only server of a part falls silent in the middle of its answer: the query ends with that,
// though its timeout is far.
func TestAServerThatIsTheOnlyOneFallsSilent(t *testing.T) {
	for name, streamed := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paused atomic.Bool
			still := answering(t, "still", func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					if paused.Load() {
						<-r.Context().Done()
					}
					return
				}
				req, err := ReadRequest(r.Body, 0)
				if err != nil {
					t.Error(err)
					return
				}
				out := NewStreamWriter(w, req.Version, 0, func() { _ = http.NewResponseController(w).Flush() })
				if err := out.Begin(); err != nil {
					t.Error(err)
				}
				paused.Store(true)
				<-r.Context().Done()
			})
			p, client := newPulse(t)
			d := New(Options{Client: client, Pulse: p, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
			servers := []*Server{still}
			q := &Query{Memory: budget.Root(0), Live: func() []*Server { return servers }, Holders: func(string) []*Server { return servers }}
			segment := Segment{Of: &timeline.Segment{Rows: 1}, ID: "a", Visible: chrono.Interval{Start: 7, End: 8}, Holders: servers}
			far := &remote{d: d, q: q, shares: []share{{server: still, segments: []Segment{segment}}}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			parts, err := far.Open(ctx, &exec.Fragment{Plan: &plan.Scan{DataSource: "t", Limit: -1}, Groups: !streamed, Streamed: streamed})
			if err != nil {
				t.Fatal(err)
			}
			err = exec.Drain(ctx, parts[0], func(*vector.Batch) error { return nil })
			if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable ||
				!strings.Contains(f.Message, "Server [still] does not answer, neither its part of a query nor whether it lives") {
				t.Errorf("the query ends with %v", err)
			}
			parts[0].Close()
		})
	}
}
