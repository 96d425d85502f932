package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// TestWhoFollowsIsTold waits until those who follow a log have asked for what comes after a change.
func TestWhoFollowsIsTold(t *testing.T) {
	l := NewLog(1, func() ([]string, int64) { return nil, 0 })
	c := clock.System()
	since := func(at Counter) *Delta {
		d, err := l.Since(t.Context(), at, 10*time.Second, c)
		if err != nil {
			t.Error(err)
		}
		return d
	}
	told := func() bool { // at once
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.AwaitFollowers(ctx, time.Hour, c)
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.mu.telling) == 0
	}
	if !told() {
		t.Error("nobody follows")
	}
	d := since(Beginning)
	if told() {
		t.Error("who has got the first answer has not asked again")
	}
	next := make(chan *Delta)
	go func() { next <- since(d.Counter) }()
	l.AwaitFollowers(t.Context(), time.Hour, c)
	l.Loaded("a")
	d = <-next
	if told() {
		t.Error("who was told of a change has not asked again")
	}
	go func() { next <- since(d.Counter) }()
	l.AwaitFollowers(t.Context(), time.Hour, c)
	l.Loaded("b")
	<-next // and is never heard of again
	began := time.Now()
	l.AwaitFollowers(t.Context(), 50*time.Millisecond, c)
	if time.Since(began) < 50*time.Millisecond {
		t.Error("nobody was waited for")
	}
	for a := range l.mu.telling {
		a.since = time.Now().Add(-time.Minute)
	}
	if !told() {
		t.Error("who does not ask again is waited for")
	}
}
