package keys

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// The names of the stored documents: the keys, and the times of their last use.
const (
	document     = "api_keys"
	usesDocument = "api_keys_used"
)

// Keeper changes the stored keys. It is safe for concurrent use.
type Keeper struct {
	store basic.Store
	clock clock.Clock
	ring  *Ring // whose uses count beside the stored ones
}

// NewKeeper returns the keeper of the keys of a store.
func NewKeeper(s basic.Store, c clock.Clock, ring *Ring) *Keeper {
	return &Keeper{store: s, clock: c, ring: ring}
}

// Request describes a new key.
type Request struct {
	Description string
	Roles       []string
	Networks    []string
	Expires     *time.Time
}

// Listed is a key with the time of its last use.
type Listed struct {
	Key
	LastUsed *time.Time
}

// Read returns the stored keys in the form that a Ring loads.
func (k *Keeper) Read(ctx context.Context) ([]byte, error) {
	stored, err := k.store.Read(ctx, document)
	if err != nil {
		return nil, err
	}
	if stored[0] == nil {
		return []byte("{}"), nil
	}
	return stored[0], nil
}

// List returns all keys, sorted by creation time.
func (k *Keeper) List(ctx context.Context) ([]Listed, error) {
	stored, err := k.store.Read(ctx, document, usesDocument)
	if err != nil {
		return nil, err
	}
	all, err := decode(stored[0])
	if err != nil {
		return nil, err
	}
	used := k.ring.uses.since(stored[1])
	out := make([]Listed, 0, len(all))
	for id, key := range all {
		l := Listed{Key: *key}
		if t, found := used[id]; found {
			l.LastUsed = &t
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Listed) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// Create creates a key and returns it with its text, which is not stored.
func (k *Keeper) Create(ctx context.Context, by *basic.Author, r Request) (key *Key, text string, err error) {
	now := k.now()
	if err := r.check(now); err != nil {
		return nil, "", err
	}
	secret, hash := newSecret()
	key = &Key{
		ID: newID(), Description: r.Description, Roles: r.Roles, Networks: r.Networks, Expires: r.Expires,
		Created: now, CreatedBy: by.Identity, Hash: hash,
	}
	err = k.update(ctx, by, "Create API key ["+key.ID+"]", func(all map[string]*Key) error {
		if len(all) >= maxKeys {
			return fault.InvalidInput("There are [%d] API keys, which are as many as there may be; revoke some first", len(all))
		}
		all[key.ID] = key
		return nil
	})
	return key, whole(key.ID, secret), err
}

// Rotate gives a key a new secret. The previous secret remains valid for a while; older ones do
// not.
func (k *Keeper) Rotate(ctx context.Context, by *basic.Author, id string, overlap time.Duration) (key *Key, text string, err error) {
	if overlap < 0 || overlap > maxOverlap {
		return nil, "", fault.InvalidInput("The time in which both secrets of an API key are good must be between 0 and [%d] days",
			int(maxOverlap.Hours()/24))
	}
	now := k.now()
	secret, hash := newSecret()
	err = k.update(ctx, by, "Rotate API key ["+id+"]", func(all map[string]*Key) error {
		old, found := all[id]
		if !found {
			return notFound(id)
		}
		fresh := *old
		fresh.Hash, fresh.Rotated, fresh.Previous, fresh.PreviousUntil = hash, &now, nil, nil
		if until := now.Add(overlap); overlap > 0 {
			fresh.Previous, fresh.PreviousUntil = &old.Hash, &until
		}
		key, all[id] = &fresh, &fresh
		return nil
	})
	return key, whole(id, secret), err
}

// Revoke deletes a key.
func (k *Keeper) Revoke(ctx context.Context, by *basic.Author, id string) error {
	return k.update(ctx, by, "Revoke API key ["+id+"]", func(all map[string]*Key) error {
		if _, found := all[id]; !found {
			return notFound(id)
		}
		delete(all, id)
		return nil
	})
}

func notFound(id string) error { return fault.NotFound("API key [%s] does not exist", id) }

func (k *Keeper) now() time.Time { return k.clock.Now().UTC().Truncate(time.Millisecond) }

// check refuses what can't be a key.
func (r Request) check(now time.Time) error {
	switch {
	case len(r.Roles) == 0:
		return fault.InvalidInput("An API key needs at least one role; without one it may do nothing")
	case len(r.Roles) > maxRoles:
		return fault.InvalidInput("An API key has at most [%d] roles, not [%d]", maxRoles, len(r.Roles))
	case len(r.Networks) > maxNetworks:
		return fault.InvalidInput("An API key has at most [%d] networks, not [%d]", maxNetworks, len(r.Networks))
	case utf8.RuneCountInString(r.Description) > maxDescription || strings.ContainsFunc(r.Description, unicode.IsControl):
		return fault.InvalidInput("The description of an API key has at most [%d] characters, and no control characters", maxDescription)
	case r.Expires != nil && !r.Expires.After(now):
		return fault.InvalidInput("The time [%s] at which the API key would expire is over", r.Expires.Format(time.RFC3339))
	}
	for _, role := range r.Roles {
		if strings.TrimSpace(role) == "" || len(role) > maxName {
			return fault.InvalidInput("Role [%s] can't be the name of one", role)
		}
	}
	_, err := parseNetworks(r.Networks)
	return err
}

// update changes the document. It tries again when another process was faster.
func (k *Keeper) update(ctx context.Context, by *basic.Author, what string, change func(map[string]*Key) error) error {
	entry := &basic.Change{Kind: "api.keys", Key: document, Text: what, By: by}
	return swap(ctx, k.store, k.clock, document, entry, func(stored json.RawMessage) (json.RawMessage, error) {
		all, err := decode(stored)
		if err != nil {
			return nil, err
		}
		if err := change(all); err != nil {
			return nil, err
		}
		return jsontext.Marshal(all)
	})
}

// swap replaces a document by what next makes of it. Next is called again when another process was
// faster.
func swap(
	ctx context.Context, s basic.Store, c clock.Clock, name string, entry *basic.Change, next func(json.RawMessage) (json.RawMessage, error),
) error {
	for range swapTries {
		stored, err := s.Read(ctx, name)
		if err != nil {
			return err
		}
		text, err := next(stored[0])
		if err != nil || string(text) == string(stored[0]) {
			return err
		}
		swapped, err := s.Swap(ctx, []basic.Document{{Name: name, Old: stored[0], New: text}}, entry)
		if swapped || err != nil {
			return err
		}
		if err := c.Sleep(ctx, rand.N(swapPause)); err != nil {
			return err
		}
	}
	return fault.Runtime("The API keys could not be changed since others change them again and again")
}
