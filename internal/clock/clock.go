// Package clock is the only place that reads the time of the machine or waits for it.
//
// Code that needs the current time or a delay (duties, supervisors, leases, timeouts) takes a
// Clock: System in main, and in tests a Fake that the test advances. Arithmetic on instants, zones
// and periods is in package chrono, which never reads the time. Deadlines of requests are contexts,
// set at the edge.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits for it. Implementations are safe for use by many goroutines.
type Clock interface {
	// Now returns the present. System's carries a monotonic reading, so differences of two are safe
	// against a clock that is set.
	Now() time.Time
	// Sleep returns nil after d, or ctx.Err() as soon as ctx is done. It returns at once for d <= 0,
	// with ctx.Err() if ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
	// NewTimer returns a timer that sends once, after d.
	NewTimer(d time.Duration) Timer
	// NewTicker returns a ticker that sends every d, which must be positive; ticks that nobody takes
	// are dropped.
	NewTicker(d time.Duration) Ticker
}

// Timer sends the time once on its channel. As with time.Timer of Go 1.23 and later, no stale value
// is received after Stop or Reset.
type Timer interface {
	C() <-chan time.Time
	// Stop reports whether it kept the timer from firing.
	Stop() bool
	// Reset starts the timer anew and reports whether it had been running.
	Reset(d time.Duration) bool
}

// Ticker sends the time again and again on its channel.
type Ticker interface {
	C() <-chan time.Time
	Stop()
}

// Millis returns the present as milliseconds since the epoch, the unit of every instant in Henge.
func Millis(c Clock) int64 { return c.Now().UnixMilli() }

// Deadline returns the instant in d by the clock of the machine, whatever Clock is used:
// connections compare their deadlines with that one.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) }

// System returns the clock of the machine.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (system) NewTimer(d time.Duration) Timer   { return systemTimer{time.NewTimer(d)} }
func (system) NewTicker(d time.Duration) Ticker { return systemTicker{time.NewTicker(d)} }

type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time        { return t.t.C }
func (t systemTimer) Stop() bool                 { return t.t.Stop() }
func (t systemTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }

type systemTicker struct{ t *time.Ticker }

func (t systemTicker) C() <-chan time.Time { return t.t.C }
func (t systemTicker) Stop()               { t.t.Stop() }
