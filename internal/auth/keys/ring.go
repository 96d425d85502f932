package keys

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/clock"
)

// Ring contains the keys that a process has loaded. It is safe for concurrent use.
type Ring struct {
	clock clock.Clock
	keys  atomic.Pointer[map[string]*known]
	uses  uses
}

// NewRing returns a ring without keys.
func NewRing(c clock.Clock) *Ring { return &Ring{clock: c} }

// Part returns the map that a Follower loads into the ring.
func (r *Ring) Part() *basic.Part { return &basic.Part{Name: "keys", Load: r.load} }

func (r *Ring) load(text []byte) error {
	stored, err := decode(text)
	if err != nil {
		return err
	}
	out := make(map[string]*known, len(stored))
	for id, k := range stored {
		networks, err := parseNetworks(k.Networks)
		if err != nil {
			return err
		}
		out[id] = &known{*k, networks}
	}
	r.keys.Store(&out)
	return nil
}

func (r *Ring) loaded() bool { return r.keys.Load() != nil }

// find returns the key of an id and a secret that is good now for requests from a host; nil: there
// is none. It takes as long whatever is wrong.
func (r *Ring) find(id, secret string, peer netip.Addr) *known {
	hash := Hash(sha256.Sum256([]byte(secret)))
	k, found := (*r.keys.Load())[id]
	if !found {
		k = &known{}
	}
	now := r.clock.Now()
	good := subtle.ConstantTimeCompare(hash[:], k.Hash[:])
	previous, until := Hash{}, time.Time{}
	if k.Previous != nil && k.PreviousUntil != nil {
		previous, until = *k.Previous, *k.PreviousUntil
	}
	good |= subtle.ConstantTimeCompare(hash[:], previous[:]) & bit(now.Before(until))
	good &= bit(found)
	good &= bit(k.Expires == nil || now.Before(*k.Expires))
	within := slices.ContainsFunc(k.networks, func(p netip.Prefix) bool { return p.Contains(peer) })
	good &= bit(len(k.networks) == 0 || within)
	if good != 1 {
		return nil
	}
	r.uses.note(id, now)
	return k
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
