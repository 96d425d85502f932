package auth

import (
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// pacedUsers is how many users' times are kept before those are dropped that allow a request
// anyway.
const pacedUsers = 10_000

// Pacer rejects requests of users who exceed their limit of requests per second. A burst of one
// second's worth of requests is allowed. It is safe for concurrent use; a nil Pacer rejects
// nothing.
//
// It stores one time per user, the time of the next request at an even rate (the generic cell rate
// algorithm). A request is accepted up to one second before that time.
type Pacer struct {
	clock clock.Clock

	mu struct {
		sync.Mutex
		due map[string]time.Time
	}
}

// NewPacer returns a Pacer without recorded requests.
func NewPacer(c clock.Clock) *Pacer {
	p := &Pacer{clock: c}
	p.mu.due = map[string]time.Time{}
	return p
}

// Take counts a request of a user, or rejects it.
func (p *Pacer) Take(a *Access) error {
	if p == nil {
		return nil
	}
	bounds := a.Bounds()
	limit, limited := bounds.Find(RequestsPerSecond)
	if !limited {
		return nil
	}
	pause := time.Duration(float64(time.Second) / limit.Most)
	early := max(0, time.Second-pause)
	key, now := a.Key(), p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.mu.due[key]
	if due.Before(now) {
		due = now
	}
	if wait := due.Sub(now) - early; wait > 0 {
		return bounds.TooFast(wait)
	}
	if len(p.mu.due) >= pacedUsers {
		for k, at := range p.mu.due {
			if !at.After(now) {
				delete(p.mu.due, k)
			}
		}
	}
	p.mu.due[key] = due.Add(pause)
	return nil
}
