package basic

import (
	"container/list"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// hasher verifies passwords. It remembers those that were right, by digests with a key of this
// process, and bounds how many are hashed at once. It is safe for concurrent use.
type hasher struct {
	key   []byte
	clock clock.Clock
	slots chan struct{} // taken while a password is hashed
	// hash is hash, which a test counts.
	hash func(password string, salt []byte, iterations int) ([]byte, error)

	mu struct {
		sync.Mutex
		known map[string]*list.Element // of verification
		used  *list.List               // the last used first
	}
}

// verification is a password that was right for a record.
type verification struct {
	key  string
	last time.Time
}

func newHasher(c clock.Clock) *hasher {
	h := &hasher{key: random(sha256.Size), clock: c, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), hash: hash}
	h.mu.known, h.mu.used = map[string]*list.Element{}, list.New()
	return h
}

// verify tells whether a password is that of a record. The context bounds how long it waits for its
// turn.
func (h *hasher) verify(ctx context.Context, user, password string, c *Credential) (bool, error) {
	key := h.digest(user, password, c)
	if h.recall(key) {
		return true, nil
	}
	right, err := h.compare(ctx, key, password, c)
	if right {
		h.remember(key)
	}
	return right, err
}

// waste takes the time of a verification for a user that does not exist. A pair that was passed on
// to the next authenticator is remembered, so that the users of that one don't pay at each request.
func (h *hasher) waste(ctx context.Context, user, password string, dummy *Credential, passed bool) error {
	key := h.digest(user, password, dummy)
	if known := h.recall(key); known && passed { // looked for in any case, as verify does
		return nil
	}
	_, err := h.compare(ctx, key, password, dummy)
	if passed && err == nil {
		h.remember(key)
	}
	return err
}

// digest names a password and a record. Nothing can be learned of the password from it without the
// key, which is random and only in memory.
func (h *hasher) digest(user, password string, c *Credential) string {
	m := hmac.New(sha256.New, h.key)
	for _, part := range []string{user, password, string(c.Salt), string(c.Hash)} {
		m.Write([]byte{byte(len(part) >> 24), byte(len(part) >> 16), byte(len(part) >> 8), byte(len(part))})
		m.Write([]byte(part))
	}
	m.Write([]byte{byte(c.Iterations >> 24), byte(c.Iterations >> 16), byte(c.Iterations >> 8), byte(c.Iterations)})
	return string(m.Sum(nil))
}

// compare hashes a password when it is its turn, unless it has become known meanwhile.
func (h *hasher) compare(ctx context.Context, key, password string, c *Credential) (bool, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if h.recall(key) {
		return true, nil
	}
	got, err := h.hash(password, c.Salt, c.Iterations)
	return err == nil && equal(got, c.Hash), err
}

func (h *hasher) recall(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, found := h.mu.known[key]
	if !found {
		return false
	}
	v := at.Value.(*verification)
	now := h.clock.Now()
	if now.Sub(v.last) > cachedFor {
		h.forgetLocked(at)
		return false
	}
	v.last = now
	h.mu.used.MoveToFront(at)
	return true
}

func (h *hasher) remember(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, found := h.mu.known[key]; found {
		return
	}
	h.mu.known[key] = h.mu.used.PushFront(&verification{key: key, last: h.clock.Now()})
	for h.mu.used.Len() > cachedVerifications {
		h.forgetLocked(h.mu.used.Back())
	}
}

func (h *hasher) forgetLocked(at *list.Element) {
	delete(h.mu.known, at.Value.(*verification).key)
	h.mu.used.Remove(at)
}

// limiter counts failed attempts by user and peer. It is safe for concurrent use.
type limiter struct {
	clock clock.Clock

	mu struct {
		sync.Mutex
		failures map[string][]time.Time
	}
}

func newLimiter(c clock.Clock) *limiter {
	l := &limiter{clock: c}
	l.mu.failures = map[string][]time.Time{}
	return l
}

func pair(user, peer string) string {
	if len(user) > maxNameLength { // no such user exists
		user = user[:maxNameLength]
	}
	return strings.ToLower(peer) + "\x00" + user
}

// blocked tells whether attempts of a peer for a user are refused for now.
func (l *limiter) blocked(user, peer string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.recentLocked(pair(user, peer), l.clock.Now())) >= maxFailures
}

// failed counts a failure.
func (l *limiter) failed(user, peer string) {
	key, now := pair(user, peer), l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	recent := l.recentLocked(key, now)
	if _, known := l.mu.failures[key]; !known && len(l.mu.failures) >= limitedPairs {
		l.makeRoomLocked(now)
	}
	l.mu.failures[key] = append(recent, now)
}

// recentLocked returns the failures of a pair that count, and forgets the others.
func (l *limiter) recentLocked(key string, now time.Time) []time.Time {
	all := l.mu.failures[key]
	first := 0
	for first < len(all) && now.Sub(all[first]) >= failureWindow {
		first++
	}
	switch {
	case first == len(all):
		delete(l.mu.failures, key)
		return nil
	case first > 0:
		all = append([]time.Time(nil), all[first:]...)
		l.mu.failures[key] = all
	}
	return all
}

// makeRoomLocked forgets the pairs that no longer count, and a quarter of the others if that is not
// enough: the memory is bounded, whoever asks.
func (l *limiter) makeRoomLocked(now time.Time) {
	for key := range l.mu.failures {
		l.recentLocked(key, now)
	}
	for key := range l.mu.failures {
		if len(l.mu.failures) <= limitedPairs*3/4 {
			return
		}
		delete(l.mu.failures, key)
	}
}
