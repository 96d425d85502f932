package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

const (
	// maxSessions bounds sessions. Beyond it the one that was used longest ago ends; its client then
	// begins another.
	maxSessions = 1000
	// idleSession is how long a session stays that nobody uses.
	idleSession = time.Hour
)

// errCancelled ends a request that its client has cancelled.
var errCancelled = errors.New("the client has cancelled the request")

// sessions are those of the clients of one process.
type sessions struct {
	clock clock.Clock

	mu   sync.Mutex
	byID map[string]*session
}

// session is what is kept of a client. Its requests are told apart by their ids.
type session struct {
	user    string
	version string
	used    time.Time
	running map[string]context.CancelCauseFunc
}

// begin opens a session of a user and returns its id.
func (s *sessions) begin(user, version string) string {
	now := s.clock.Now()
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := ""
	for id, of := range s.byID {
		if now.Sub(of.used) > idleSession {
			of.endLocked()
			delete(s.byID, id)
		} else if oldest == "" || of.used.Before(s.byID[oldest].used) {
			oldest = id
		}
	}
	if len(s.byID) >= maxSessions {
		s.byID[oldest].endLocked()
		delete(s.byID, oldest)
	}
	s.byID[id] = &session{user: user, version: version, used: now, running: map[string]context.CancelCauseFunc{}}
	return id
}

// endLocked cancels what runs.
func (s *session) endLocked() {
	for _, cancel := range s.running {
		cancel(errCancelled)
	}
}

// findLocked returns a session of a user; nil: there is none, or it is somebody else's.
func (s *sessions) findLocked(id, user string) *session {
	of := s.byID[id]
	if of == nil || of.user != user || s.clock.Now().Sub(of.used) > idleSession {
		return nil
	}
	of.used = s.clock.Now()
	return of
}

// version returns the version of the protocol that a session speaks.
func (s *sessions) version(id, user string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.findLocked(id, user)
	if of == nil {
		return "", false
	}
	return of.version, true
}

// run returns the context of a request, which a notification of the session may cancel, and what
// ends it. A request whose id is in use can't be cancelled.
func (s *sessions) run(ctx context.Context, id, user string, request json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := string(request)
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.findLocked(id, user)
	if of == nil || of.running[key] != nil {
		return ctx, func() { cancel(nil) }
	}
	of.running[key] = cancel
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(of.running, key)
	}
}

// cancel ends a request of a session.
func (s *sessions) cancel(id, user string, request json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.findLocked(id, user); of != nil {
		if cancel := of.running[string(request)]; cancel != nil {
			cancel(errCancelled)
		}
	}
}

// end ends a session, and reports whether it was there.
func (s *sessions) end(id, user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.findLocked(id, user)
	if of == nil {
		return false
	}
	of.endLocked()
	delete(s.byID, id)
	return true
}
