package audit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// sink keeps what is written, or refuses it while down is not nil.
type sink struct {
	mu    sync.Mutex
	down  error
	lines []string
	calls int
}

func (s *sink) write(_ context.Context, lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.down != nil {
		return s.down
	}
	s.lines = append(s.lines, strings.Split(strings.TrimSpace(string(lines)), "\n")...)
	return nil
}

// logTo returns a log that writes to s, and what ends it.
func logTo(t *testing.T, s *sink, required bool, c clock.Clock) (l *Log, stop func()) {
	t.Helper()
	l = NewLog(Options{Write: s.write, Required: required, Server: "here:1", Clock: c, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A burst neither waits for the log nor loses what there is room for, and what was dropped is
// counted.
func TestABurstIsTakenOrCounted(t *testing.T) {
	s := &sink{}
	l, stop := logTo(t, s, false, clock.System())
	const burst = 10_000
	for range burst {
		l.Add(&Entry{Kind: Query, Statement: Statement("SELECT 1 FROM wiki")})
	}
	stop()
	if len(s.lines)+int(l.Dropped()) != burst || l.Dropped() != 0 {
		t.Errorf("written %d, dropped %d", len(s.lines), l.Dropped())
	}
	if s.calls > 100 {
		t.Errorf("%d writes", s.calls)
	}
	var e Entry
	if err := json.Unmarshal([]byte(s.lines[0]), &e); err != nil || e.Server != "here:1" || e.Time == 0 || e.Kind != Query {
		t.Errorf("%+v %v", e, err)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	l := NewLog(Options{Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}) // nobody writes
	for range maxQueue + 5 {
		l.Add(&Entry{})
	}
	if l.Dropped() != 5 {
		t.Errorf("dropped %d", l.Dropped())
	}
	l = NewLog(Options{Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	long := strings.Repeat("x", maxStatement)
	for range 3000 {
		l.Add(&Entry{Statement: long})
	}
	if l.bytes.Load() > maxBytes || l.Dropped() == 0 || l.Dropped() > 1500 {
		t.Errorf("%d bytes, %d dropped", l.bytes.Load(), l.Dropped())
	}
}

// What can't be written is tried again, and nothing of it is lost or written twice.
func TestWritesAreTriedAgain(t *testing.T) {
	c := fakeclock.New(time.Unix(0, 0))
	s := &sink{down: errors.New("away")}
	l, stop := logTo(t, s, true, c)
	l.Add(&Entry{Kind: Change})
	if err := c.BlockUntil(t.Context(), 1); err != nil { // it waits after a failure
		t.Fatal(err)
	}
	s.mu.Lock()
	s.down = nil
	s.mu.Unlock()
	c.Advance(firstPause)
	stop()
	if len(s.lines) != 1 || s.calls != 2 {
		t.Errorf("%d lines after %d calls", len(s.lines), s.calls)
	}
}

func TestBeginWaitsWhereTheAuditIsRequired(t *testing.T) {
	s := &sink{}
	l, stop := logTo(t, s, true, clock.System())
	if err := l.Begin(t.Context(), Entry{Kind: Query}); err != nil || len(s.lines) != 1 || !strings.Contains(s.lines[0], `"outcome":"begun"`) {
		t.Error(err, s.lines)
	}
	stop()

	c := fakeclock.New(time.Unix(0, 0))
	s = &sink{down: errors.New("away")}
	l, stop = logTo(t, s, true, c)
	refused := make(chan error, 1)
	go func() { refused <- l.Begin(t.Context(), Entry{Kind: Query}) }()
	for range 2 { // the request, and the pause of the writer
		if err := c.BlockUntil(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(requiredWait)
	if f := fault.Find(<-refused); f == nil || f.Category != fault.CategoryServiceUnavailable {
		t.Errorf("got %v", f)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Begin(gone, Entry{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop()

	l, stop = logTo(t, &sink{}, false, clock.System())
	if err := l.Begin(t.Context(), Entry{}); err != nil { // nobody asked for it
		t.Error(err)
	}
	stop()
	var none *Log
	none.Add(&Entry{})
	if none.Begin(t.Context(), Entry{}) != nil || none.Dropped() != 0 {
		t.Error("no log has done something")
	}
}

func TestStatementsAreMaskedAndCut(t *testing.T) {
	const text = `SELECT * FROM TABLE(EXTERN('{"type":"http","httpAuthenticationPassword":"sesame"}', '{}'))`
	if got := Statement(text); strings.Contains(got, "sesame") || !strings.Contains(got, "********") {
		t.Error(got)
	}
	if got := Statement(strings.Repeat("ü", maxStatement)); len(got) > maxStatement+4 || !strings.HasSuffix(got, "ü ...") {
		t.Error(len(got))
	}
}
