package broker_test

import (
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// steps is the system's clock, but for Now, which goes on by more than a monitor keeps its samples
// with every look: so metrics are of this moment.
type steps struct {
	clock.Clock
	looks atomic.Int64
}

func newSteps() *steps { return &steps{Clock: clock.System()} }

// Now returns a later time than the last one.
func (s *steps) Now() time.Time {
	return s.Clock.Now().Add(time.Duration(s.looks.Add(1)) * 6 * time.Second)
}
