package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// writes keeps what was written, write by write.
type writes struct{ list []string }

func (w *writes) Write(p []byte) (int, error) {
	w.list = append(w.list, string(p))
	return len(p), nil
}

// paced is a paceSample on its way, on a clock that stands still.
type paced struct {
	t     *testing.T
	clock *fakeclock.Clock
	out   *writes
	ended chan error
	stop  context.CancelFunc
}

func startPaced(t *testing.T, o sampleOptions) *paced {
	ctx, stop := context.WithCancel(context.Background())
	p := &paced{t: t, clock: fakeclock.New(time.UnixMilli(1_700_000_000_000)), out: &writes{}, ended: make(chan error, 1), stop: stop}
	go func() { p.ended <- paceSample(ctx, p.out, p.clock, o) }()
	t.Cleanup(stop)
	return p
}

func (p *paced) step(d time.Duration) {
	_ = p.clock.BlockUntil(p.t.Context(), 1) // the test ends before it
	p.clock.Advance(d)
}

// times returns the times of the events, in milliseconds after the start.
func (p *paced) times() (out []int64) {
	p.t.Helper()
	for line := range strings.Lines(strings.Join(p.out.list, "")) {
		var event struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		out = append(out, event.Time.UnixMilli()-1_700_000_000_000)
	}
	return out
}

func TestSampleAtARate(t *testing.T) {
	p := startPaced(t, sampleOptions{rows: 1001, seed: 1, rate: 1000})
	for range 100 {
		p.step(samplePause)
	}
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	times := p.times()
	if len(times) != 1001 {
		t.Fatalf("%d events in a second, want 1001 with the first", len(times))
	}
	for i, at := range times {
		if at != int64(i) {
			t.Fatalf("event %d happens at %d ms", i, at)
		}
	}
	if n := len(p.out.list); n < 20 {
		t.Errorf("%d writes in a second", n)
	}
}

// A stream without end ends when it is interrupted, and that is no error; what a stop of the reader
// held back comes after it.
func TestSampleWithoutEnd(t *testing.T) {
	p := startPaced(t, sampleOptions{rows: 1 << 62, seed: 1, rate: 0.5})
	for range 3 {
		p.step(2 * time.Second)
	}
	p.step(10 * time.Second)
	_ = p.clock.BlockUntil(p.t.Context(), 1) // the test ends before it
	p.stop()
	if err := <-p.ended; err != nil {
		t.Errorf("interrupted: %v", err)
	}
	want := []int64{0, 2000, 4000, 6000, 8000, 10000, 12000, 14000, 16000}
	if got := p.times(); len(got) != len(want) || got[8] != want[8] || got[4] != want[4] {
		t.Errorf("events at %v, want %v", got, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSampleRefusals(t *testing.T) {
	err := paceSample(context.Background(), fullDisk{}, fakeclock.New(time.Time{}), sampleOptions{rows: 5, rate: 1})
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a failed write: %v", err)
	}
	for _, args := range [][]string{
		{"--rate", "0"}, {"--rate", "-1"}, {"--rate", "NaN"}, {"--rate", "Inf"}, {"--rate", "5", "--start", "2026-01-01"},
		{"--rate", "5", "--span", "P1D"}, {"--rate", "5", "--rows", "-1"},
	} {
		cmd := sampleCommand()
		var out bytes.Buffer
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || out.Len() > 0 {
			t.Errorf("henge sample %q: %v, %q", args, err, out.String())
		}
	}
}
