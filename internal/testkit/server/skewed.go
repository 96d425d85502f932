package server

import (
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// skewed is a clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

// Skewed returns the system's clock with times that are off by a duration: too late where it is
// positive.
func Skewed(by time.Duration) clock.Clock { return skew(clock.System(), by) }

func skew(c clock.Clock, by time.Duration) clock.Clock {
	if by == 0 {
		return c
	}
	return skewed{c, by}
}

// Now implements clock.Clock.
func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }
