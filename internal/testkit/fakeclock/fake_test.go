package fakeclock

import (
	"context"
	"errors"
	"testing"
	"time"
)

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func received(c <-chan time.Time) (time.Time, bool) {
	select {
	case t := <-c:
		return t, true
	default:
		return time.Time{}, false
	}
}

func TestFakeTimerFiresWhenReached(t *testing.T) {
	f := New(epoch)
	timer := f.NewTimer(10 * time.Second)
	f.Advance(9 * time.Second)
	if _, ok := received(timer.C()); ok {
		t.Fatal("fired early")
	}
	f.Advance(5 * time.Second)
	at, ok := received(timer.C())
	if !ok || !at.Equal(epoch.Add(10*time.Second)) {
		t.Fatalf("fired %v at %v, want at its own time", ok, at)
	}
	if !f.Now().Equal(epoch.Add(14 * time.Second)) {
		t.Fatalf("clock stands at %v", f.Now())
	}
	if timer.Stop() {
		t.Fatal("Stop says a fired timer was running")
	}
}

func TestFakeTimerStopAndReset(t *testing.T) {
	f := New(epoch)
	timer := f.NewTimer(time.Second)
	if !timer.Stop() {
		t.Fatal("Stop says a running timer was not")
	}
	f.Advance(time.Minute)
	if _, ok := received(timer.C()); ok {
		t.Fatal("a stopped timer fired")
	}
	if timer.Reset(time.Second) {
		t.Fatal("Reset says a stopped timer was running")
	}
	f.Advance(time.Second)
	timer.Reset(time.Second) // drops the value that was sent and not taken
	if _, ok := received(timer.C()); ok {
		t.Fatal("stale value after Reset")
	}
	if _, ok := received(f.NewTimer(0).C()); !ok {
		t.Fatal("a timer of no duration must fire at once")
	}
}

func TestFakeTickerDropsMissedTicks(t *testing.T) {
	f := New(epoch)
	ticker := f.NewTicker(time.Second)
	f.Advance(3 * time.Second)
	if at, ok := received(ticker.C()); !ok || !at.Equal(epoch.Add(time.Second)) {
		t.Fatalf("first tick %v %v", at, ok)
	}
	if _, ok := received(ticker.C()); ok {
		t.Fatal("missed ticks were kept")
	}
	ticker.Stop()
	f.Advance(time.Hour)
	if _, ok := received(ticker.C()); ok {
		t.Fatal("a stopped ticker ticked")
	}
}

func TestFakeSleep(t *testing.T) {
	f := New(epoch)
	done := make(chan error, 1)
	go func() { done <- f.Sleep(context.Background(), time.Minute) }()
	if err := f.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Minute)
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- f.Sleep(ctx, time.Minute) }()
	if err := f.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Sleep = %v, want canceled", err)
	}
	if err := f.BlockUntil(ctx, 99); !errors.Is(err, context.Canceled) {
		t.Fatalf("BlockUntil = %v, want canceled", err)
	}
}

func TestFakeSetBackFiresNothing(t *testing.T) {
	f := New(epoch)
	timer := f.NewTimer(time.Second)
	f.Set(epoch.Add(-time.Hour))
	if _, ok := received(timer.C()); ok || !f.Now().Equal(epoch.Add(-time.Hour)) {
		t.Fatalf("fired %v, clock at %v", ok, f.Now())
	}
	f.Set(epoch.Add(time.Second))
	if _, ok := received(timer.C()); !ok {
		t.Fatal("did not fire when reached")
	}
}
