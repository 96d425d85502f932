package timeline

import (
	"context"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
)

func TestPublished(t *testing.T) {
	p := NewPublished()
	pinned := p.Pin()
	old := segments(t, "0-10:a:0/1 10-20:a:0/1")
	if err := p.Advance(1, Added(old...)); err != nil {
		t.Fatal(err)
	}
	one := p.Pin()
	replacement := segments(t, "0-10:b:0/1 10-20:b:T")
	if err := p.Advance(5, Added(replacement...)); err != nil {
		t.Fatal(err)
	}
	iv := chrono.Interval{Start: 0, End: 20}
	for _, tt := range []struct {
		state  *State
		number int64
		want   string
	}{
		{pinned, 0, ""},
		{one, 1, "0-10:a[0] 10-20:a[0]"},
		{p.Pin(), 5, "0-10:b[0] 10-20:b[0]"},
	} {
		if got := show(tt.state.Timeline("d").Lookup(iv)); got != tt.want || tt.state.Number() != tt.number {
			t.Errorf("state %d: %q, want %d: %q", tt.state.Number(), got, tt.number, tt.want)
		}
	}
	var gone []Change
	for s := range p.Pin().Timeline("d").All() {
		gone = append(gone, Change{ID: s.ID})
	}
	if err := p.Advance(6, gone); err != nil {
		t.Fatal(err)
	}
	if names := p.Pin().DataSources(); len(names) != 0 {
		t.Errorf("datasources without segments stay: %v", names)
	}
	if err := p.Advance(9, nil); err != nil || p.Pin().Number() != 9 {
		t.Errorf("an empty step: %v, number %d", err, p.Pin().Number())
	}
	p.Reset(NewState(7, slices.Values(old)))
	if got := p.Pin(); got.Number() != 7 || got.Timeline("d").Len() != 2 {
		t.Errorf("after reset: %d", got.Number())
	}
}

func TestPublishedWait(t *testing.T) {
	p := NewPublished()
	done := make(chan int64)
	go func() {
		s, err := p.Wait(t.Context(), 3)
		if err != nil {
			t.Error(err)
			done <- -1
			return
		}
		done <- s.Number()
	}()
	for n := range int64(4) {
		if err := p.Advance(n+1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-done; got < 3 {
		t.Errorf("woke at %d", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ctx, 100); err != context.Canceled {
		t.Errorf("a cancelled wait gave %v", err)
	}
}
