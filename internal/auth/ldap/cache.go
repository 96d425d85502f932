package ldap

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"runtime"
	"sync"
	"time"
)

const (
	saltBytes = 32
	hashBytes = 64
	// maxIterations bounds the time that one attempt may take.
	maxIterations = 10_000_000
)

// cache remembers users whose password the directory has verified, by salted hashes. It is safe for
// concurrent use.
type cache struct {
	o     *Options
	slots chan struct{} // taken while a password is hashed

	mu struct {
		sync.Mutex
		users map[string]*known
	}
}

// known is a user whose password was right. All but the time of the last use stays as it is.
type known struct {
	salt, hash []byte
	entry      Entry
	created    time.Time
	verified   time.Time
}

func newCache(o *Options) *cache {
	c := &cache{o: o, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	c.mu.users = map[string]*known{}
	return c
}

// find returns the entry of a user if it is remembered with that password.
func (c *cache) find(ctx context.Context, user, password string) (Entry, bool) {
	c.mu.Lock()
	k := c.mu.users[user]
	if k != nil && c.expired(k) {
		delete(c.mu.users, user)
		k = nil
	}
	c.mu.Unlock()
	if k == nil {
		return Entry{}, false
	}
	hash := c.hash(ctx, password, k.salt)
	if hash == nil || subtle.ConstantTimeCompare(hash, k.hash) != 1 {
		return Entry{}, false
	}
	c.mu.Lock()
	k.verified = c.o.Clock.Now()
	c.mu.Unlock()
	return k.entry, true
}

func (c *cache) expired(k *known) bool {
	now := c.o.Clock.Now()
	return now.Sub(k.created) > c.o.MaxAge || now.Sub(k.verified) > c.o.VerifyAge
}

// keep remembers a user, in place of the oldest if there are too many.
func (c *cache) keep(ctx context.Context, user, password string, entry Entry) {
	if c.o.CacheSize <= 0 {
		return
	}
	k := &known{salt: make([]byte, saltBytes), entry: entry}
	_, _ = rand.Read(k.salt) // it never fails: the process ends instead
	if k.hash = c.hash(ctx, password, k.salt); k.hash == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.created = c.o.Clock.Now()
	k.verified = k.created
	c.mu.users[user] = k
	for len(c.mu.users) > c.o.CacheSize {
		oldest := ""
		for name, o := range c.mu.users {
			if oldest == "" || o.created.Before(c.mu.users[oldest].created) {
				oldest = name
			}
		}
		delete(c.mu.users, oldest)
	}
}

// hash returns the hash of a password; nil: it could not be made in time.
func (c *cache) hash(ctx context.Context, password string, salt []byte) []byte {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil
	}
	out, err := pbkdf2.Key(sha512.New, password, salt, c.o.Iterations, hashBytes)
	if err != nil {
		return nil // where FIPS mode refuses the lengths, nothing is remembered
	}
	return out
}
