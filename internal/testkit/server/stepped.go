package server

import (
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// stepPause is how often a Stepped clock moves by itself.
const stepPause = time.Millisecond

// Stepped is a clock that goes on as the machine's does, and jumps ahead when a test says so
// (Advance): what waits for a minute waits for no time. Held, it stands still, so that what happens
// is not because somebody looked again after a while.
type Stepped struct {
	*fakeclock.Clock

	mu sync.Mutex // held while the clock does not go on by itself
}

// NewStepped returns a clock that goes on until the test has ended. What uses it is opened later,
// and so closed before.
func NewStepped(t testing.TB) *Stepped {
	system := clock.System()
	s := &Stepped{Clock: fakeclock.New(system.Now())}
	stop := make(chan struct{})
	var going sync.WaitGroup
	going.Go(func() {
		tick := system.NewTicker(stepPause)
		defer tick.Stop()
		for last := system.Now(); ; {
			select {
			case <-stop:
				return
			case <-tick.C():
			}
			now := system.Now()
			s.mu.Lock()
			s.Advance(now.Sub(last))
			s.mu.Unlock()
			last = now
		}
	})
	t.Cleanup(func() {
		close(stop)
		going.Wait()
	})
	return s
}

// Hold lets the clock stand still until the function that it returns is called.
func (s *Stepped) Hold() (goOn func()) {
	s.mu.Lock()
	return s.mu.Unlock
}
