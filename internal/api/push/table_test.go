package push

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	stream "github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/supervisor"
)

// states are those of the one supervisor.
const (
	runs int32 = iota
	suspended
	terminated
)

// streamSpec is the specification of a stream's supervisor.
type streamSpec struct{ *spec.Stream }

func (streamSpec) ID() string                        { return "push_d" }
func (streamSpec) DataSources() []string             { return []string{"d"} }
func (streamSpec) Source() string                    { return "" }
func (s streamSpec) Suspended() bool                 { return s.Stream.Suspended }
func (s streamSpec) Suspend(on bool) supervisor.Spec { return streamSpec{s.Stream.Suspend(on)} }

// oneSupervisor is that of a datasource. It implements Supervisors.
type oneSupervisor struct {
	spec  *spec.Stream
	state atomic.Int32
	puts  atomic.Int32
}

func (s *oneSupervisor) Find(context.Context, string) (*supervisor.Supervisor, error) {
	state := s.state.Load()
	if state == terminated {
		return nil, nil
	}
	return &supervisor.Supervisor{Spec: streamSpec{s.spec.Suspend(state == suspended)}}, nil
}

func (s *oneSupervisor) Put(context.Context, json.RawMessage, bool, func(string) *metastore.AuditEntry) (
	*supervisor.Supervisor, supervisor.Change, error,
) {
	s.puts.Add(1)
	s.state.Store(runs)
	return nil, supervisor.Change{}, nil
}

// pushing is the endpoints with a log that nobody reads.
type pushing struct {
	*API
	log  *stream.Log
	only *oneSupervisor
}

func startPushing(t *testing.T) *pushing {
	t.Helper()
	text := specification("d", json.RawMessage(`{"dataSource":"d","timestampSpec":{"column":"t"},"dimensionsSpec":{}}`), wanted{1, 1})
	read, err := spec.ParseStream(spec.Push, text)
	if err != nil {
		t.Fatal(err)
	}
	store, err := stream.OpenStore(stream.Options{Dir: t.TempDir(), Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	log, err := store.Log("d")
	if err != nil {
		t.Fatal(err)
	}
	only := &oneSupervisor{spec: read}
	a := New(Options{Logs: Stored{store}, Supervisors: only, MaxBytes: 100_000, Clock: clock.System()})
	a.every = 5 * time.Millisecond
	return &pushing{a, log, only}
}

// send sends a row and returns the status and the text of the answer.
func (p *pushing) send(t *testing.T, query string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path+"d"+query, strings.NewReader(`{"t":"2024-01-01"}`))
	r.SetPathValue("datasource", "d")
	w := httptest.NewRecorder()
	if err := p.Receive(w, r); err != nil {
		return edge.Status(err), err.Error()
	}
	return w.Code, w.Body.String()
}

// TestRowsThatNobodyReads sends rows whose supervisor has ended since the process looked last, or
// whose tasks don't come: the answer says what becomes of the rows, which count once.
func TestRowsThatNobodyReads(t *testing.T) {
	for _, c := range []struct {
		name  string
		state int32
		query string
		want  []string
	}{
		{"suspended", suspended, "?channel=c&offset=1", []string{"is suspended", "when it is resumed", "sent again as they were", "count once"}},
		{"terminated", terminated, "?channel=c&offset=1", []string{"was terminated", "when others are sent", "count once"}},
		{"no tasks", runs, "?channel=c&offset=1", []string{"No task has read the rows", "count once"}},
		{"published, suspended", suspended, "?channel=c&offset=1&ack=published", []string{"is suspended"}},
		{"nobody says", suspended, "", []string{"is suspended", "would count twice"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPushing(t)
			if _, err := p.look(t.Context(), "d", 0); err != nil { // the process knows that it runs
				t.Fatal(err)
			}
			p.only.state.Store(c.state)
			status, text := p.send(t, c.query)
			if status != http.StatusServiceUnavailable {
				t.Errorf("%d %s", status, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the answer lacks [%s]: %s", want, text)
				}
			}
			if _, next := p.log.Bounds(); next != 1 {
				t.Errorf("the log has %d entries", next)
			}
			if c.state == suspended {
				if status, text = p.send(t, c.query); status != http.StatusServiceUnavailable || !strings.Contains(text, "takes no rows") {
					t.Errorf("while it is suspended: %d %s", status, text)
				}
			}
			if c.query == "" {
				return
			}
			// It goes on, and a task reads.
			if c.state == suspended {
				p.only.state.Store(runs)
			}
			p.log.Read("task", 1)
			if err := p.log.Published(1); err != nil {
				t.Fatal(err)
			}
			status, text = p.send(t, c.query)
			if _, next := p.log.Bounds(); status != http.StatusOK || !strings.Contains(text, `"duplicate":true`) || next != 1 {
				t.Errorf("sent again: %d %s, %d entries", status, text, next)
			}
			if puts := p.only.puts.Load(); (puts == 1) != (c.state == terminated) {
				t.Errorf("%d supervisors were made", puts)
			}
		})
	}
}

// TestPublishedTakesItsTime waits for published segments longer than for a task that reads.
func TestPublishedTakesItsTime(t *testing.T) {
	p := startPushing(t)
	answered := make(chan string, 1)
	go func() {
		_, text := p.send(t, "?channel=c&offset=1&ack=published")
		answered <- text
	}()
	began := time.Now()
	for time.Since(began) < 2*looks*p.every {
		select {
		case text := <-answered:
			t.Fatalf("it is answered before anything is published: %s", text)
		case <-time.After(p.every):
		}
	}
	if err := p.log.Published(1); err != nil {
		t.Fatal(err)
	}
	if text := <-answered; !strings.Contains(text, `"rows":1`) {
		t.Error(text)
	}
}
