package keys

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/jsontext"
)

// uses are when keys were last used in this process, and not yet stored. It is safe for concurrent
// use.
type uses struct {
	mu struct {
		sync.Mutex
		at map[string]time.Time
	}
}

func (u *uses) note(id string, at time.Time) {
	at = at.UTC().Truncate(time.Second)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.at == nil {
		u.mu.at = map[string]time.Time{}
	}
	u.mu.at[id] = at
}

// take returns what is noted, and forgets it.
func (u *uses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.mu.at
	u.mu.at = nil
	return out
}

// again notes what was taken and could not be stored.
func (u *uses) again(taken map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.Copy(taken, u.mu.at)
	u.mu.at = taken
}

// since returns what is stored, and noted after it.
func (u *uses) since(stored json.RawMessage) map[string]time.Time {
	u.mu.Lock()
	noted := maps.Clone(u.mu.at)
	u.mu.Unlock()
	return later(stored, noted)
}

// later unites what is stored with newer times. A stored value that can't be read is replaced: it
// is for people to look at only.
func later(stored json.RawMessage, noted map[string]time.Time) map[string]time.Time {
	out := map[string]time.Time{}
	if json.Unmarshal(stored, &out) != nil || out == nil {
		out = map[string]time.Time{}
	}
	for id, at := range noted {
		if at.After(out[id]) {
			out[id] = at
		}
	}
	return out
}

// Run stores the times of the last use of keys, at most once a minute, until ctx is done.
func (k *Keeper) Run(ctx context.Context, log *slog.Logger) error {
	for k.clock.Sleep(ctx, usesPeriod) == nil {
		k.writeUses(ctx, log)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	k.writeUses(last, log)
	return nil
}

func (k *Keeper) writeUses(ctx context.Context, log *slog.Logger) {
	noted := k.ring.uses.take()
	if len(noted) == 0 {
		return
	}
	err := swap(ctx, k.store, k.clock, usesDocument, nil, func(stored json.RawMessage) (json.RawMessage, error) {
		out := later(stored, noted)
		known := *k.ring.keys.Load() // it was loaded when keys were used
		maps.DeleteFunc(out, func(id string, _ time.Time) bool { _, found := known[id]; return !found })
		return jsontext.Marshal(out)
	})
	if err != nil {
		log.WarnContext(ctx, "failed to store the last use of API keys", "keys", len(noted), "error", err)
		k.ring.uses.again(noted) // whose map it is from here on
	}
}
