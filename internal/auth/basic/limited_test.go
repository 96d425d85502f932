package basic

import (
	"context"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// directory knows ann, and counts how often it is asked.
type directory struct {
	asked int
	down  bool
}

func (d *directory) Validate(_ context.Context, user, password, _ string) (Outcome, Entry, error) {
	d.asked++
	switch {
	case d.down:
		return Undecided, Entry{}, nil
	case user != "ann":
		return Unknown, Entry{}, nil
	case password != "right":
		return Wrong, Entry{}, nil
	}
	return Right, Entry{}, nil
}

func TestLimited(t *testing.T) {
	for name, test := range map[string]struct {
		user   string
		passOn bool
		// blocks says whether failures have attempts refused unseen.
		blocks bool
	}{
		"wrong passwords":     {"ann", false, true},
		"wrong, passing on":   {"ann", true, true},
		"unknown users":       {"bob", false, true},
		"unknown of this one": {"bob", true, false},
	} {
		c, d := fakeclock.New(time.Unix(0, 0)), &directory{}
		l := NewLimited(d, test.passOn, c)
		try := func(password, peer string) Outcome {
			t.Helper()
			done := make(chan Outcome, 1)
			go func() {
				outcome, _, err := l.Validate(t.Context(), test.user, password, peer)
				if err != nil {
					t.Error(err)
				}
				done <- outcome
			}()
			for {
				select {
				case outcome := <-done:
					return outcome
				default:
					if l.limit.blocked(test.user, peer) && c.BlockUntil(t.Context(), 1) == nil {
						c.Advance(refusalDelay)
						return <-done
					}
				}
			}
		}
		for range maxFailures - 1 {
			try("wrong", "here")
		}
		before := d.asked
		d.down = true
		if outcome, _, err := l.Validate(t.Context(), test.user, "x", "here"); outcome != Unknown || err != nil || d.asked != before+1 {
			t.Errorf("%s: a directory that is away: %v %v", name, outcome, err)
		}
		d.down = false
		if _, _, err := l.Validate(t.Context(), test.user, "wrong", "here"); err != nil {
			t.Error(err)
		}
		before = d.asked
		if test.blocks {
			if got := try("right", "here"); got != Wrong || d.asked != before {
				t.Errorf("%s: after many failures: %v, asked %d times", name, got, d.asked-before)
			}
		} else if l.limit.blocked(test.user, "here") {
			t.Errorf("%s: blocked", name)
		}
		if l.limit.blocked(test.user, "elsewhere") {
			t.Errorf("%s: blocked from elsewhere", name)
		}
		c.Advance(failureWindow)
		if l.limit.blocked(test.user, "here") {
			t.Errorf("%s: blocked for ever", name)
		}
	}
}
