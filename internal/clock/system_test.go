package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestSystem(t *testing.T) {
	c := System()
	before := Millis(c)
	if err := c.Sleep(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, d := range []time.Duration{0, time.Hour} {
		if err := c.Sleep(ctx, d); !errors.Is(err, context.Canceled) {
			t.Fatalf("Sleep(%v) of a done context = %v", d, err)
		}
	}
	timer := c.NewTimer(time.Nanosecond)
	<-timer.C()
	ticker := c.NewTicker(time.Millisecond)
	<-ticker.C()
	ticker.Stop()
	if after := Millis(c); after < before {
		t.Fatalf("clock went back from %d to %d", before, after)
	}
}
